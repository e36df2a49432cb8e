//! Putting new content in a file's place. Everything here blocks.
//!
//! The content goes to a new file in the same directory, to the disk, and then takes the old name; whoever looks sees
//! the old content or the new. Permission bits, owner, extended attributes and access lists (which Linux keeps in
//! extended attributes) are those of the old file. Where that cannot be done the file itself is overwritten, with a
//! copy of its content elsewhere until that is over.
//!
//! Paths are those that were looked up, without links. The way to a file is gone without following any, so what is read
//! and written is what was looked up, or nothing.

#[cfg(unix)]
mod attributes;
#[cfg(unix)]
mod dir;
#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod in_place;
#[cfg(unix)]
mod spot;
#[cfg(unix)]
mod swap;
#[cfg(unix)]
mod temp;

#[cfg(not(unix))]
pub(super) use elsewhere::{
    FileStamp, PathBoundary, SharedWriteState, create_parents, open_within, read, read_stamp, replace,
};
#[cfg(unix)]
pub(super) use spot::{PathBoundary, create_parents};
#[cfg(unix)]
pub(super) use swap::{FileStamp, SharedWriteState, open_within, read, read_stamp, replace};
