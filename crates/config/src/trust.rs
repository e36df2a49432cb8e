//! Which projects the user trusts, and what exactly of them.
//!
//! Trust is in what a project holds, not in its name: it ends when any file changes that haft would run or obey.

mod decision;
mod digest;
mod snapshot;
mod store;

pub use decision::{Asked, Decision, PinError};
pub use digest::Digest;
pub use haft_protocol::difference::Difference;
pub use haft_protocol::digest::NoDigest;
pub use snapshot::{Snapshot, SnapshotError};
pub use store::{Record, TrustError, TrustFile};

#[cfg(test)]
mod tests;
