//! `Confinement`: a sandbox, made ready by one process and put on by itself or its child.

use std::io;
use std::path::Path;

use rustix::process::{Resource, Rlimit, geteuid, setrlimit};
use rustix::thread::{
    CapabilitySet, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set,
};

use super::rules::{LandlockRules, ProgramLocation};
use super::seccomp::SyscallFilters;
use super::{Sandbox, landlock_abi};

/// Everything but the last step. Whatever can fail with a reason for people has been done; what remains are a few calls
/// of the kernel.
pub(crate) struct Confinement {
    /// None once it is put on.
    rules: Option<LandlockRules>,
    filters: SyscallFilters,
    place: ProgramLocation,
    max_file_bytes: Option<u64>,
}

impl Confinement {
    /// # Errors
    /// When anything of it cannot be had, with the words of the kernel.
    pub(crate) fn prepare(sandbox: &Sandbox, program: &Path) -> io::Result<Self> {
        sandbox.check_consistency().map_err(|error| explain(io::Error::other(error)))?;
        let abi = landlock_abi().map_err(|reason| explain(io::Error::other(reason)))?;
        let place = ProgramLocation::for_level(sandbox.level);
        let rules = LandlockRules::new(sandbox, program, place, abi).map_err(explain)?;
        let filters = SyscallFilters::new(sandbox.net, abi).map_err(explain)?;
        Ok(Self { rules: Some(rules), filters, place, max_file_bytes: sandbox.max_file_bytes })
    }

    /// From here on the calling thread and all that it starts are confined. Only once, and only by a process with a
    /// single thread.
    ///
    /// # Errors
    /// When anything of it was refused; then the process must not go on.
    pub(crate) fn apply(&mut self) -> io::Result<()> {
        self.apply_all().map_err(explain)
    }

    fn apply_all(&mut self) -> io::Result<()> {
        let mut rules = self.rules.take().ok_or_else(|| io::Error::other("put on already"))?;
        if self.place == ProgramLocation::Outside {
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
        self.filters.install()
    }
}

fn explain(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("no sandbox: {error}"))
}

/// Drops the capabilities of root, which the program will not have. Access to files of other owners stays, because the
/// rules bound it, and a container's root has little else.
fn drop_capabilities() -> io::Result<()> {
    clear_ambient_capability_set()?;
    if !geteuid().is_root() {
        // Without a way to new privileges the program has none.
        return Ok(());
    }
    let all = CapabilitySet::all() - CapabilitySet::DAC_OVERRIDE;
    for capability in all.iter() {
        // A kernel that does not know one does not grant it.
        if capability_is_in_bounding_set(capability).unwrap_or(false) {
            remove_capability_from_bounding_set(capability)?;
        }
    }
    Ok(())
}
