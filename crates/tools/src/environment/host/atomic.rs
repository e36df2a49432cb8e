//! Atomic replacement of a file's content. Everything here blocks.
//!
//! The content is written to a new file in the same directory, synced, and renamed to the old name, so readers see
//! either the old content or the new. The new file gets the permission bits, owner, extended attributes and access
//! lists (which Linux stores in extended attributes) of the old one. If that is not possible, the file itself is
//! overwritten, with a temporary backup of its content elsewhere.
//!
//! Paths are already resolved and have no links. They are opened without following any link, so the file that is read
//! and written is the resolved one.

#[cfg(unix)]
mod attributes;
#[cfg(unix)]
mod dir;
#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod in_place;
#[cfg(unix)]
mod location;
#[cfg(unix)]
mod swap;
#[cfg(unix)]
mod temp;

#[cfg(not(unix))]
pub(super) use elsewhere::{
    FileStamp, PathBoundary, SharedWriteState, create_parents, open_within, read, read_stamp, replace,
};
#[cfg(unix)]
pub(super) use location::{PathBoundary, create_parents};
#[cfg(unix)]
pub(super) use swap::{FileStamp, SharedWriteState, open_within, read, read_stamp, replace};
