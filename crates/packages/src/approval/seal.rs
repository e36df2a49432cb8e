//! Protects the trees of the store: makes them read-only and syncs them to the disk.

use std::fs::{self, File};
use std::path::Path;

use super::InstallError;
use super::contents::{is_executable, walk_tree};

/// Makes all entries of a tree read-only and syncs them. The tree's own directory can still be moved.
pub(super) fn seal(root: &Path) -> Result<(), InstallError> {
    let mut dirs = vec![root.to_owned()];
    walk_tree(root, &mut |_, path, metadata| {
        if metadata.is_dir() {
            dirs.push(path.to_owned());
        } else if metadata.is_file() {
            let mode = if is_executable(metadata) { 0o555 } else { 0o444 };
            set_mode(path, mode).map_err(InstallError::io("protect", path))?;
            sync(path).map_err(InstallError::io("write", path))?;
        }
        Ok(())
    })?;
    for dir in dirs.iter().rev() {
        if dir != root {
            set_mode(dir, 0o555).map_err(InstallError::io("protect", dir))?;
        }
        sync(dir).map_err(InstallError::io("write", dir))?;
    }
    Ok(())
}

/// Makes a directory movable, for its owner only. Entries other than directories can always be moved.
pub(crate) fn make_movable(place: &Path) -> std::io::Result<()> {
    let metadata = place.symlink_metadata()?;
    if metadata.is_dir() { set_mode(place, movable_mode(&metadata)) } else { Ok(()) }
}

#[cfg(unix)]
fn movable_mode(metadata: &fs::Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o7777 | 0o700
}

#[cfg(not(unix))]
fn movable_mode(_: &fs::Metadata) -> u32 {
    0o755
}

pub(super) fn unseal(root: &Path) -> std::io::Result<()> {
    set_mode(root, 0o755)?;
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            unseal(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(unix)]
pub(super) fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
pub(super) fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    let mut permissions = fs::metadata(path)?.permissions();
    permissions.set_readonly(path.is_file() && mode & 0o200 == 0);
    fs::set_permissions(path, permissions)
}

/// Waits until a file, or the names in a directory, are on the disk.
pub(super) fn sync(path: &Path) -> std::io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}
