//! The user's approvals: the lock file, the store of approved code, and the check before each start.

pub(crate) mod contents;
pub(crate) mod copies;
pub(crate) mod copy;
mod digest;
mod directory_code;
pub(crate) mod error;
pub mod lock;
mod pin;
mod required;
pub(crate) mod seal;
pub(crate) mod staging;
mod tools;
pub(crate) mod trees;
mod verify;

pub use haft_protocol::change_set::ChangeSet;

pub use contents::TreeContents;
pub use copies::PreservedPath;
pub(crate) use copy::{MAX_BYTES, MAX_ENTRIES};
pub use digest::{Digest, copy_and_digest, digest_of};
pub use directory_code::DirectoryCode;
pub use error::{InstallError, TreeError};
pub use pin::CodePin;
pub use required::RequiredExtensions;
pub use tools::{BackgroundSpawner, LockFileToolPins, approve_tools};
pub use trees::TreeStore;
pub use verify::{LostExtension, check_approved, files_beside_code, lost_extensions};
