//! Rules about files, programs, connections and signals, enforced by Landlock.

use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope,
};

use super::{ConfinementLevel, NetworkAccess, Sandbox};
use super::{mounts, system_paths};

/// The location of a program: outside of separate namespaces, on separate mounts, or inside of namespaces where only
/// listed paths exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramLocation {
    Outside,
    OwnMounts,
    Inside,
}

impl ProgramLocation {
    pub(super) fn for_level(level: ConfinementLevel) -> Self {
        match level {
            ConfinementLevel::Standard => Self::Outside,
            ConfinementLevel::Isolated => Self::OwnMounts,
            ConfinementLevel::Strict => Self::Inside,
        }
    }
}

/// A Landlock ruleset under construction, and the kernel's Landlock version.
pub(super) struct LandlockRules {
    ruleset: RulesetCreated,
    abi: ABI,
}

impl LandlockRules {
    /// Builds the rules of a sandbox, except those that only the restricted process can add.
    ///
    /// # Errors
    /// When a listed path cannot be opened, or the kernel refuses a rule.
    pub(super) fn new(
        sandbox: &Sandbox,
        program: &Path,
        place: ProgramLocation,
        abi: u32,
    ) -> io::Result<Self> {
        let abi = ABI::from(i32::try_from(abi).unwrap_or(i32::MAX));
        let ruleset = build_ruleset(sandbox.net, abi).map_err(refusal_error)?;
        let mut rules = Self { ruleset, abi };
        rules.allow_system(sandbox, place)?;
        for path in system_paths::started_by(program) {
            rules.allow_listed(&path, AccessRight::Execute)?;
        }
        if !sandbox.system_programs {
            for path in system_paths::dynamic_loaders() {
                rules.allow_if_present(&path, AccessRight::Execute)?;
            }
        }
        let hide = hidden_from_rules(sandbox, place);
        let lists = [
            (&sandbox.read, AccessRight::Read),
            (&sandbox.exec, AccessRight::Execute),
            (&sandbox.write, AccessRight::Write),
        ];
        for (paths, right) in lists {
            for path in paths {
                for visible in system_paths::visible_paths(path, hide) {
                    rules.allow_listed(&visible, right)?;
                }
            }
        }
        Ok(rules)
    }

    /// Allows what every program needs.
    fn allow_system(&mut self, sandbox: &Sandbox, place: ProgramLocation) -> io::Result<()> {
        let programs = if sandbox.system_programs { AccessRight::Execute } else { AccessRight::Read };
        let mut all: Vec<(PathBuf, AccessRight)> = Vec::new();
        let mut add =
            |paths: &[&str], right| all.extend(paths.iter().map(|path| (PathBuf::from(path), right)));
        add(system_paths::SOURCES, AccessRight::Read);
        add(system_paths::SINKS, AccessRight::Write);
        if !sandbox.read_all {
            add(system_paths::PROGRAMS, programs);
            add(&[system_paths::SETTINGS], AccessRight::Read);
            add(system_paths::KERNEL, AccessRight::Read);
        }
        if place == ProgramLocation::Inside {
            // All processes and directories in there belong to the program.
            add(&["/proc", "/sys"], AccessRight::Read);
            add(&["/tmp", "/dev/shm"], AccessRight::Write);
        }
        if place == ProgramLocation::OwnMounts {
            all.push((mounts::SHARED_MEMORY.into(), AccessRight::Write));
        }
        if sandbox.read_all {
            // Landlock denies access to the files of processes outside of the sandbox in `/proc`.
            all.extend(["/proc", "/sys"].map(|path| (path.into(), AccessRight::Read)));
            let visible = system_paths::visible_paths(Path::new("/"), hidden_from_rules(sandbox, place));
            all.extend(visible.into_iter().map(|path| (path, AccessRight::Execute)));
            if place == ProgramLocation::OwnMounts {
                // Hidden directories are empty there.
                all.push(("/".into(), AccessRight::List));
            }
        }
        if sandbox.net == NetworkAccess::All {
            all.extend(system_paths::name_servers().map(|path| (path, AccessRight::Read)));
        }
        all.iter().try_for_each(|(path, right)| self.allow_if_present(path, *right))
    }

    /// Allows the files in `/proc/self` of the calling process. Its children cannot read their own.
    pub(super) fn allow_own_process(&mut self) -> io::Result<()> {
        self.allow_if_present(Path::new("/proc/self"), AccessRight::Read)
    }

    /// Restricts this process and all processes that it starts.
    ///
    /// # Errors
    /// When a rule was not enforced.
    pub(super) fn enforce(self) -> io::Result<()> {
        let status = self.ruleset.restrict_self().map_err(refusal_error)?;
        match status {
            RestrictionStatus { ruleset: RulesetStatus::FullyEnforced, no_new_privs: true, .. } => Ok(()),
            status => {
                Err(io::Error::other(format!("the kernel enforces only a part of the rules: {status:?}")))
            }
        }
    }

    /// # Errors
    /// When the path does not exist, cannot be opened, or is refused by the kernel.
    fn allow_listed(&mut self, path: &Path, right: AccessRight) -> io::Result<()> {
        let fd = PathFd::new(path).map_err(|error| {
            let cause =
                std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            io::Error::other(format!("cannot open the listed path {}: {cause}", path.display()))
        })?;
        self.add(fd, right).map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
    }

    fn allow_if_present(&mut self, path: &Path, right: AccessRight) -> io::Result<()> {
        match path.exists() {
            true => self.allow_listed(path, right),
            false => Ok(()),
        }
    }

    fn add(&mut self, fd: PathFd, right: AccessRight) -> io::Result<()> {
        let stat = rustix::fs::fstat(fd.as_fd())?;
        let is_dir = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
        let all = right.access_flags(self.abi);
        let access = if is_dir { all } else { all & AccessFs::from_file(self.abi) };
        (&mut self.ruleset).add_rule(PathBeneath::new(fd, access)).map_err(refusal_error)?;
        Ok(())
    }
}

/// Returns the hidden paths that the rules must leave out. On separate mounts there are none, because the mounts hide
/// them: a rule for each entry of the home directory takes milliseconds.
fn hidden_from_rules(sandbox: &Sandbox, place: ProgramLocation) -> &[PathBuf] {
    match place {
        ProgramLocation::OwnMounts => &[],
        ProgramLocation::Outside | ProgramLocation::Inside => &sandbox.hide,
    }
}

#[derive(Debug, Clone, Copy)]
enum AccessRight {
    /// To see the names in directories.
    List,
    Read,
    Execute,
    Write,
}

impl AccessRight {
    fn access_flags(self, abi: ABI) -> BitFlags<AccessFs> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        match self {
            Self::List => AccessFs::ReadDir.into(),
            Self::Read => read,
            Self::Execute => read | AccessFs::Execute,
            // New devices could bypass the rules; sockets of other programs are not reachable anyway.
            Self::Write => {
                let not =
                    AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev | AccessFs::ResolveUnix;
                read | (AccessFs::from_write(abi) & !not)
            }
        }
    }
}

/// Creates a ruleset that handles every access this kernel can restrict. Access sets are chosen by Landlock version, so
/// that no access is silently left out.
fn build_ruleset(net: NetworkAccess, abi: ABI) -> Result<RulesetCreated, RulesetError> {
    let hard = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let mut ruleset = hard.handle_access(AccessFs::from_all(abi))?;
    if net == NetworkAccess::None && abi >= ABI::V4 {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    if abi >= ABI::V6 {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    ruleset.create()
}

fn refusal_error(error: RulesetError) -> io::Error {
    io::Error::other(format!("the kernel rejects the rules: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::landlock_abi;

    /// Rules for older Landlock versions are also accepted by a newer kernel.
    #[test]
    fn builds_rules_for_every_supported_version() {
        let Ok(newest) = landlock_abi() else { return };
        let dir = tempfile::tempdir().unwrap();
        let mut sandbox = Sandbox::new(ConfinementLevel::Standard);
        sandbox.write = vec![dir.path().to_owned(), "/dev/null".into()];
        for abi in 1..=newest {
            for net in [NetworkAccess::None, NetworkAccess::All] {
                sandbox.net = net;
                LandlockRules::new(&sandbox, Path::new("/bin/sh"), ProgramLocation::Outside, abi).unwrap();
            }
        }
    }
}
