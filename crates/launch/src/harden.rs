//! Hardening of the calling process at its start.

use std::io;

/// A hardening step that failed. No step is a reason to stop: log the error and continue.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step}: {error}")]
pub struct HardenError {
    /// The step that failed.
    pub step: &'static str,
    error: io::Error,
}

/// Raises the limit of open files, and protects this process's memory, which holds keys.
///
/// The limit of open files is raised as far as possible, because each extension takes three. Core dumps are disabled,
/// and on Linux debuggers of the same user are kept out. Programs started later inherit the limits. Platforms other
/// than Unix have no such limits; the function does nothing there.
///
/// An embedder calls this function first in `main`, before reading a key. Otherwise an extension of the same user can
/// read the environment of its host in `/proc`, whatever the extension's own environment contains. Root is not kept
/// out.
///
/// Returns the steps that failed.
pub fn harden_self() -> Vec<HardenError> {
    harden_steps()
        .into_iter()
        .filter_map(|(step, result)| result.err().map(|error| HardenError { step, error }))
        .collect()
}

#[cfg(unix)]
fn harden_steps() -> Vec<(&'static str, io::Result<()>)> {
    vec![
        ("raise the limit of open files", unix::raise_open_files()),
        ("disable core dumps", unix::no_core_dumps()),
        #[cfg(target_os = "linux")]
        ("keep out debuggers", unix::not_dumpable()),
    ]
}

#[cfg(not(unix))]
fn harden_steps() -> Vec<(&'static str, io::Result<()>)> {
    Vec::new()
}

#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    /// macOS reports no hard limit and yet rejects higher values.
    const APPLE_OPEN_MAX: u64 = 10_240;

    pub(super) fn raise_open_files() -> io::Result<()> {
        let limit = getrlimit(Resource::Nofile);
        let wanted = if cfg!(target_vendor = "apple") {
            Some(limit.maximum.map_or(APPLE_OPEN_MAX, |hard| hard.min(APPLE_OPEN_MAX)))
        } else {
            limit.maximum
        };
        let enough = match (limit.current, wanted) {
            (None, _) => true,
            (Some(current), Some(wanted)) => current >= wanted,
            (Some(_), None) => false,
        };
        if enough {
            return Ok(());
        }
        Ok(setrlimit(Resource::Nofile, Rlimit { current: wanted, maximum: limit.maximum })?)
    }

    /// Lowers only the soft limit: a started program may raise it again for itself.
    pub(super) fn no_core_dumps() -> io::Result<()> {
        let maximum = getrlimit(Resource::Core).maximum;
        Ok(setrlimit(Resource::Core, Rlimit { current: Some(0), maximum })?)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn not_dumpable() -> io::Result<()> {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
    }
}
