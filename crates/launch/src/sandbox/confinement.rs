//! `Confinement`: a prepared sandbox, applied by the preparing process or by its child.

use std::io;
use std::path::Path;

use rustix::process::{Resource, Rlimit, geteuid, setrlimit};
use rustix::thread::{
    CapabilitySet, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set,
};

use super::rules::{LandlockRules, ProgramLocation};
use super::seccomp::SyscallFilter;
use super::{ConfinementLevel, Sandbox, landlock_abi, mounts};

/// A prepared sandbox. All steps that can fail with a readable reason are done; only a few kernel calls remain.
pub(crate) struct Confinement {
    /// `None` after the rules were applied.
    rules: Option<LandlockRules>,
    filter: SyscallFilter,
    place: ProgramLocation,
    max_file_bytes: Option<u64>,
}

/// Confines the calling process at the level of a sandbox without bubblewrap. Must be called only in a process with a
/// single thread, immediately before it executes the program.
///
/// # Errors
/// When a part of the sandbox is not available; the process must not continue.
pub(crate) fn confine_process(sandbox: &Sandbox, program: &Path) -> io::Result<()> {
    if sandbox.level == ConfinementLevel::Isolated {
        let cwd = std::env::current_dir()?;
        mounts::separate_mounts(sandbox).map_err(sandbox_error)?;
        // The directory may be on one of the new mounts now.
        std::env::set_current_dir(cwd)?;
    }
    Confinement::prepare(sandbox, program)?.apply()
}

impl Confinement {
    /// # Errors
    /// When a part of the sandbox is not available; the text includes the kernel's message.
    pub(crate) fn prepare(sandbox: &Sandbox, program: &Path) -> io::Result<Self> {
        sandbox.check_consistency().map_err(|error| sandbox_error(io::Error::other(error)))?;
        let abi = landlock_abi().map_err(|reason| sandbox_error(io::Error::other(reason)))?;
        let place = ProgramLocation::for_level(sandbox.level);
        let rules = LandlockRules::new(sandbox, program, place, abi).map_err(sandbox_error)?;
        let filter = SyscallFilter::new(sandbox.net, abi).map_err(sandbox_error)?;
        Ok(Self { rules: Some(rules), filter, place, max_file_bytes: sandbox.max_file_bytes })
    }

    /// Confines the calling thread and all processes that it starts. Must be called only once, and only in a process
    /// with a single thread.
    ///
    /// # Errors
    /// When a part was refused; the process must not continue.
    pub(crate) fn apply(&mut self) -> io::Result<()> {
        self.apply_all().map_err(sandbox_error)
    }

    fn apply_all(&mut self) -> io::Result<()> {
        let mut rules =
            self.rules.take().ok_or_else(|| io::Error::other("the sandbox was already applied"))?;
        if self.place != ProgramLocation::Inside {
            rules.allow_own_process()?;
        }
        if self.max_file_bytes.is_some() {
            setrlimit(
                Resource::Fsize,
                Rlimit { current: self.max_file_bytes, maximum: self.max_file_bytes },
            )?;
        }
        drop_capabilities()?;
        rules.enforce()?;
        self.filter.install()
    }
}

fn sandbox_error(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("no sandbox: {error}"))
}

/// Drops root's capabilities, which the program must not have. Access to files of other owners stays, because the rules
/// limit it, and root in a container often depends on it.
fn drop_capabilities() -> io::Result<()> {
    clear_ambient_capability_set()?;
    if !geteuid().is_root() {
        // `no_new_privs` keeps a program of a normal user from gaining capabilities.
        return Ok(());
    }
    let all = CapabilitySet::all() - CapabilitySet::DAC_OVERRIDE;
    for capability in all.iter() {
        // A kernel that does not know a capability does not grant it.
        if capability_is_in_bounding_set(capability).unwrap_or(false) {
            remove_capability_from_bounding_set(capability)?;
        }
    }
    Ok(())
}
