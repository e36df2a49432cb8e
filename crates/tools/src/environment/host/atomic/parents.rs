//! Making the directories above a file.

use std::io;
use std::path::Path;

use rustix::fs::FileType;

use super::spot::{Root, open_dir};
use crate::environment::EnvironmentError;

/// Makes every directory that is missing above `path`, in the root if there is one, and makes sure that each survives a
/// power cut.
pub(in super::super) fn create_above(root: Option<&Root>, path: &Path) -> Result<(), EnvironmentError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    let missing: Vec<&Path> = parent.ancestors().take_while(|dir| is_missing(dir)).collect();
    for dir in missing.into_iter().rev() {
        create(root, dir)?;
    }
    // What is there and no directory is in the way.
    match parent.metadata() {
        Ok(data) if !data.is_dir() => Err(failed(parent, rustix::io::Errno::EXIST.into())),
        Ok(_) => Ok(()),
        Err(error) => Err(failed(parent, error)),
    }
}

fn is_missing(dir: &Path) -> bool {
    dir.metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Makes one in the one above it, which is there.
fn create(root: Option<&Root>, dir: &Path) -> Result<(), EnvironmentError> {
    // `..` behind one that was missing is there as soon as that one is.
    let (Some(name), Some(above)) = (dir.file_name(), dir.parent()) else { return Ok(()) };
    let above = above.canonicalize().map_err(|error| failed(dir, error))?;
    let above = open_dir(root, &above)?;
    match above.create_dir(name) {
        Ok(()) => above.sync().unwrap_or_else(|error| {
            tracing::warn!(dir = %dir.display(), %error, "directory not flushed after another was made in it");
        }),
        // Somebody else was faster, or there is a link that leads nowhere.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match above.stat(name) {
            Ok(Some(stat)) if FileType::from_raw_mode(stat.st_mode).is_dir() => {}
            _ => return Err(failed(dir, error)),
        },
        Err(error) => return Err(failed(dir, error)),
    }
    Ok(())
}

fn failed(dir: &Path, error: io::Error) -> EnvironmentError {
    EnvironmentError::io("create the directory", dir, error)
}
