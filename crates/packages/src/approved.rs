//! Approvals of the user: the lock file that says it, the store of its code, and the check right before each start.

pub(crate) mod contents;
pub(crate) mod copies;
pub(crate) mod copy;
mod digest;
pub(crate) mod error;
pub mod lock;
mod pin;
pub(crate) mod seal;
mod tools;
pub(crate) mod trees;
mod verify;
pub(crate) mod workshop;

pub use haft_protocol::difference::Difference;

pub use contents::Contents;
pub use copies::Kept;
pub(crate) use copy::{MAX_BYTES, MAX_ENTRIES};
pub use digest::{Digest, copied, digest_of};
pub use error::{InstallError, TreeError};
pub use pin::Pin;
pub use tools::{Background, LockedTools, agree_to_tools};
pub use trees::Trees;
pub use verify::{Lost, check_approved, files_beside_code, lost_extensions};
