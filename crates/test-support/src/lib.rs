//! The other ends of haft's connections: scripted peers and an extension that misbehaves. For tests only.
//!
//! For whom: the tests of every crate. Never in here: anything a program could depend on.

mod binary;
mod fake_peer;

pub use binary::bin;
pub use fake_peer::FakePeer;
