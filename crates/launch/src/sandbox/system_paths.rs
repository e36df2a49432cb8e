//! Paths of a Linux system that every program needs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub(super) const PROGRAMS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/// Settings: users, hosts, certificates, the cache of the dynamic loader.
pub(super) const SETTINGS: &str = "/etc";

/// Kernel files that runtimes read: memory, processors, version. None of them exposes other programs.
pub(super) const KERNEL: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/proc/uptime",
    "/proc/version",
    "/sys/devices/system/cpu",
    "/sys/kernel/mm/transparent_hugepage",
];

/// Devices to read.
pub(super) const SOURCES: &[&str] = &["/dev/random", "/dev/urandom"];

/// Devices to read and to write.
pub(super) const SINKS: &[&str] = &["/dev/full", "/dev/null", "/dev/zero"];

/// Directories of the kernel and of running services: their contents are listed one by one, or not at all.
const SPECIAL: &[&str] = &["/dev", "/proc", "/run", "/sys", "/var/run"];

/// Returns paths that together cover a directory except the hidden paths and special directories. Landlock can only
/// permit, so a directory with a hidden path inside is replaced by its entries; entries that appear later are not
/// covered.
pub(super) fn visible_paths(root: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let special = SPECIAL.iter().map(Path::new).filter(|path| *path != root);
    let hidden: Vec<&Path> = special.chain(hidden.iter().map(PathBuf::as_path)).collect();
    let (mut visible, mut open) = (Vec::new(), vec![root.to_owned()]);
    while let Some(dir) = open.pop() {
        if hidden.contains(&dir.as_path()) {
            continue;
        }
        let inside: Vec<&&Path> = hidden.iter().filter(|path| path.starts_with(&dir)).collect();
        if inside.is_empty() {
            visible.push(dir);
            continue;
        }
        match std::fs::read_dir(&dir) {
            // The target of a link has a path of its own.
            Ok(entries) => open.extend(
                entries
                    .flatten()
                    .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
                    .map(|entry| entry.path()),
            ),
            // A directory that cannot be listed may still contain the user's home directory.
            Err(_) => open.extend(inside.iter().filter_map(|path| {
                path.strip_prefix(&dir).ok()?.components().next().map(|name| dir.join(name))
            })),
        }
    }
    visible
}

/// Returns the file with the name servers, which on many systems is a link to a path outside `/etc`.
pub(super) fn name_servers() -> Option<PathBuf> {
    std::fs::canonicalize("/etc/resolv.conf").ok()
}

/// Returns the files that must be executable to start a program: the program, and the interpreter of its first line.
pub fn started_by(program: &Path) -> Vec<PathBuf> {
    let mut all = vec![program.to_owned()];
    if let Some((interpreter, argument)) = crate::program::first_line(program) {
        let named = (interpreter.file_name() == Some(OsStr::new("env")))
            .then(|| argument.as_deref().and_then(named_for_env))
            .flatten();
        all.push(interpreter);
        all.extend(named);
    }
    all
}

/// Returns the program that `env` looks up in `PATH`, after `-S` and variable assignments.
fn named_for_env(argument: &str) -> Option<PathBuf> {
    let word = argument.split_whitespace().find(|word| !word.starts_with('-') && !word.contains('='))?;
    crate::program::find_program(word).ok()
}

/// Returns the dynamic loaders, which the kernel executes for dynamically linked programs.
pub(super) fn dynamic_loaders() -> Vec<PathBuf> {
    let entries = ["/lib", "/lib32", "/lib64"].into_iter().filter_map(|dir| std::fs::read_dir(dir).ok());
    let is_loader = |name: &str| name.starts_with("ld-") && name.contains(".so");
    entries
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_loader))
        .map(|entry| entry.path())
        .collect()
}
