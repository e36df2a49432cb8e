//! Separate mounts and a separate network for a program, made by the launcher itself.
//!
//! Landlock permits paths but cannot deny a path inside a permitted one, and it does not restrict `chmod`. Mounts close
//! both gaps.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, fstat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind,
    mount_bind_recursive, mount_change, mount_remount, move_mount, open_tree,
};
use rustix::process::{getegid, geteuid};

use super::{NetworkAccess, Sandbox};
use crate::sys;

/// Files in memory that programs share by name.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

/// The file that is mounted over hidden files; it has a name only during the preparation.
const EMPTY_FILE: &str = "/dev/shm/.haft-hidden";

/// Gives this process separate mounts, on which everything is read-only except `write` without `protect`, and without
/// the paths in `hide`. Must be called only in a process with a single thread, before other restrictions.
///
/// # Errors
/// When the kernel refuses a step; the process must not continue.
pub(super) fn separate_mounts(sandbox: &Sandbox) -> io::Result<()> {
    let own_network = sandbox.net != NetworkAccess::All;
    separate_namespaces(own_network).map_err(|error| {
        let error = io::Error::from(error);
        io::Error::new(error.kind(), format!("cannot create namespaces: {error}"))
    })?;
    if sandbox.net == NetworkAccess::Loopback {
        sys::enable_loopback()?;
    }
    restrict_writing(&sandbox.write)?;
    protect_paths(sandbox)?;
    mount("tmpfs", SHARED_MEMORY, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=1777")
        .map_err(|error| step_failed("mount", Path::new(SHARED_MEMORY), error))?;
    hide_paths(sandbox)
}

/// Makes the namespaces. A user without privileges also gets a user namespace, in which the ids stay the same.
fn separate_namespaces(own_network: bool) -> rustix::io::Result<()> {
    let flags = libc::CLONE_NEWNS | if own_network { libc::CLONE_NEWNET } else { 0 };
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    match sys::enter_namespaces(flags) {
        Err(Errno::PERM) => {
            sys::enter_namespaces(flags | libc::CLONE_NEWUSER)?;
            let write = |file: &str, text: String| std::fs::write(file, text).map_err(|_| Errno::PERM);
            // The kernel accepts a group mapping only after this.
            write("/proc/self/setgroups", "deny".to_owned())?;
            write("/proc/self/uid_map", format!("{user} {user} 1"))?;
            write("/proc/self/gid_map", format!("{group} {group} 1"))?;
        }
        result => result?,
    }
    // Later mounts and unmounts of the system arrive here, but not the other way round.
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
}

fn restrict_writing(writable: &[PathBuf]) -> io::Result<()> {
    let is_outermost =
        |path: &&PathBuf| !writable.iter().any(|other| other != *path && path.starts_with(other));
    let trees: Vec<(&PathBuf, OwnedFd)> = writable
        .iter()
        .filter(is_outermost)
        .map(|path| Ok((path, clone_tree(path).map_err(|error| step_failed("open", path, error))?)))
        .collect::<io::Result<_>>()?;
    sys::set_read_only(Path::new("/")).map_err(|error| step_failed("protect", Path::new("/"), error))?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_SYMLINKS;
    trees.iter().try_for_each(|(path, tree)| {
        move_mount(tree, c"", CWD, path.as_path(), flags).map_err(|error| step_failed("mount", path, error))
    })
}

fn clone_tree(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags)
}

/// Makes the protected paths read-only. Keeps the directories between them, or hidden paths, and a writable directory
/// from being renamed: a mount point cannot be. Otherwise a later program would find the path at another place.
fn protect_paths(sandbox: &Sandbox) -> io::Result<()> {
    let mut pinned = BTreeSet::new();
    for path in &sandbox.protect {
        pin_parents(path, &sandbox.write, &mut pinned)?;
        if path.is_symlink() {
            pin_link(path).map_err(|error| step_failed("protect", path, error))?;
            continue;
        }
        if pinned.insert(path.clone()) {
            pin_in_place(path)?;
        }
        sys::set_read_only(path).map_err(|error| step_failed("protect", path, error))?;
    }
    // A hidden path itself becomes a mount point later.
    sandbox.hide.iter().filter(|path| path.exists()).try_for_each(|path| {
        let Ok(real) = path.canonicalize() else { return Ok(()) };
        pin_parents(&real, &sandbox.write, &mut pinned)
    })
}

/// Keeps the directories between a path and its writable directory from being renamed.
fn pin_parents(path: &Path, writable: &[PathBuf], pinned: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let root = writable.iter().find(|writable| path.starts_with(writable));
    let between = path.ancestors().skip(1).take_while(|dir| root.is_some_and(|root| dir != root));
    let mut between: Vec<&Path> = between.collect();
    between.reverse();
    between.into_iter().try_for_each(|dir| match pinned.insert(dir.to_owned()) {
        true => pin_in_place(dir),
        false => Ok(()),
    })
}

fn pin_in_place(path: &Path) -> io::Result<()> {
    mount_bind_recursive(path, path).map_err(|error| step_failed("protect", path, error))
}

/// Keeps a link from being replaced. Its target is not affected.
fn pin_link(link: &Path) -> rustix::io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let tree = open_tree(CWD, link, flags)?;
    move_mount(&tree, c"", CWD, link, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Replaces the paths that the program may not read with empty, read-only ones.
fn hide_paths(sandbox: &Sandbox) -> io::Result<()> {
    std::fs::write(EMPTY_FILE, "")?;
    // A second mount on the same path would be on the empty file itself.
    for path in sandbox.hide.iter().collect::<BTreeSet<_>>() {
        let Ok(data) = path.metadata() else { continue };
        let listed = [&sandbox.read, &sandbox.write, &sandbox.exec].into_iter().flatten();
        let listed: Vec<&PathBuf> = listed.filter(|listed| listed.starts_with(path)).collect();
        match data.is_dir() {
            // A listed path stays visible.
            _ if listed.contains(&path) => {}
            true => hide_directory(path, &listed)?,
            false => hide_file(path).map_err(|error| step_failed("hide", path, error))?,
        }
    }
    // The mounts keep the file.
    std::fs::remove_file(EMPTY_FILE)
}

/// Replaces a file with an empty one. `/dev/null` would swallow what the program writes.
fn hide_file(path: &Path) -> rustix::io::Result<()> {
    mount_bind(EMPTY_FILE, path)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount_remount(path, MountFlags::BIND | MountFlags::RDONLY | flags, c"")
}

/// Replaces a directory with one that contains only the listed paths.
fn hide_directory(dir: &Path, listed: &[&PathBuf]) -> io::Result<()> {
    let open = |path: &&PathBuf| clone_tree(path).map_err(|error| step_failed("open", path, error));
    let trees: Vec<OwnedFd> = listed.iter().map(open).collect::<io::Result<_>>()?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", dir, "tmpfs", flags, c"mode=755").map_err(|error| step_failed("hide", dir, error))?;
    for (path, tree) in listed.iter().zip(&trees) {
        // A listed path in another listed one is there already.
        if !path.exists() {
            create_mount_point(path, tree)?;
            move_mount(tree, c"", CWD, path.as_path(), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
                .map_err(|error| step_failed("mount", path, error))?;
        }
    }
    mount_remount(dir, MountFlags::BIND | MountFlags::RDONLY | flags, c"")
        .map_err(|error| step_failed("hide", dir, error))
}

fn create_mount_point(path: &Path, tree: &OwnedFd) -> io::Result<()> {
    let is_dir = FileType::from_raw_mode(fstat(tree)?.st_mode).is_dir();
    let (dir, file) = if is_dir { (Some(path), None) } else { (path.parent(), Some(path)) };
    dir.map_or(Ok(()), std::fs::create_dir_all)?;
    file.map_or(Ok(()), |file| std::fs::write(file, ""))
}

fn step_failed(step: &str, path: &Path, error: Errno) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("cannot {step} {}: {error}", path.display()))
}
