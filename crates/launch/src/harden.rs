//! Hardening of a process at its start.

use std::io;

/// A step that failed. None of them is a reason to stop: log it and go on.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step}: {error}")]
pub struct HardenError {
    /// The step that failed.
    pub step: &'static str,
    error: io::Error,
}

/// Raises the limit of open files as far as it goes (each extension takes three), and keeps this process's memory,
/// which holds keys, out of core dumps and, on Linux, away from debuggers of the same user. Programs started later
/// inherit the limits; no other platform than Unix has them, and there nothing happens.
///
/// Whoever embeds haft calls it first thing in `main`, before a key is read: without it an extension that runs as the
/// same user reads the environment of its host in `/proc`, whatever its own environment holds. It does nothing
/// against root.
///
/// Returns the steps that failed.
pub fn harden_self() -> Vec<HardenError> {
    steps()
        .into_iter()
        .filter_map(|(step, result)| result.err().map(|error| HardenError { step, error }))
        .collect()
}

#[cfg(unix)]
fn steps() -> Vec<(&'static str, io::Result<()>)> {
    vec![
        ("raise the limit of open files", unix::raise_open_files()),
        ("switch core dumps off", unix::no_core_dumps()),
        #[cfg(target_os = "linux")]
        ("keep debuggers away", unix::not_dumpable()),
    ]
}

#[cfg(not(unix))]
fn steps() -> Vec<(&'static str, io::Result<()>)> {
    Vec::new()
}

#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    /// macOS reports no hard limit and yet refuses more than this.
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

    /// Only the soft limit: a started program may raise it again for itself.
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
