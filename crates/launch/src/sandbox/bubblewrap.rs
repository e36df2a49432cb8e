//! Separate namespaces for a program, made by bubblewrap (`bwrap`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::system_paths;
use super::{NetworkAccess, Sandbox};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bubblewrap {
    pub(crate) program: PathBuf,
    /// True if bubblewrap can keep the program from making namespaces. The filter of system calls does so too.
    disable_userns: bool,
}

/// The inputs of a bubblewrap command line: the inner launcher confines itself and executes the program.
pub(crate) struct WrappedLaunch<'a> {
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) program: &'a Path,
    pub(crate) cwd: &'a Path,
    pub(crate) launcher: &'a Path,
    /// The arguments of the inner launcher.
    pub(crate) args: Vec<OsString>,
}

/// The path of the launcher inside. No rule lets the program read or execute it.
const LAUNCHER: &str = "/run/haft/launcher";

/// The option that old versions of bubblewrap do not have.
const DISABLE_USERNS: &str = "--disable-userns";

/// Separate users, processes, messages, host names and control groups, in a new session that ends with its parent.
const ISOLATED: &[&str] = &[
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup",
    "--die-with-parent",
    "--new-session",
];

/// File systems that belong to the namespaces.
const OWN_FILES: &[&str] = &["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"];

impl Bubblewrap {
    /// Looks up `bwrap` in `PATH` and tries it.
    ///
    /// # Errors
    /// The reason for users: bubblewrap is missing or does not work.
    pub(super) fn find() -> Result<Self, String> {
        let program = crate::program::find_program("bwrap")
            .map_err(|_| "bubblewrap (the program bwrap) is not installed; install the package bubblewrap")?;
        let newer = Self { program, disable_userns: true };
        let older = Self { disable_userns: false, ..newer.clone() };
        let reason = match newer.try_run() {
            Ok(()) => return Ok(newer),
            Err(reason) if reason.contains(DISABLE_USERNS) => match older.try_run() {
                Ok(()) => return Ok(older),
                Err(reason) => reason,
            },
            Err(reason) => reason,
        };
        Err(format!(
            "{} cannot make namespaces here ({reason}); allow unprivileged user namespaces",
            newer.program.display()
        ))
    }

    #[expect(clippy::disallowed_methods, reason = "a test run that is waited for")]
    fn try_run(&self) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        command.args(self.isolation_args(NetworkAccess::None)).args(["--ro-bind", "/", "/"]).args(OWN_FILES);
        command.args(["--", "/bin/true"]).env_clear().current_dir("/").stdin(Stdio::null());
        let output = command.output().map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().next_back().unwrap_or("no message");
        Err(line.trim_start_matches("bwrap: ").chars().filter(|char| !char.is_control()).take(200).collect())
    }

    fn isolation_args(&self, net: NetworkAccess) -> impl Iterator<Item = &'static str> {
        let userns = self.disable_userns.then_some(DISABLE_USERNS);
        let net = (net != NetworkAccess::All).then_some("--unshare-net");
        ISOLATED.iter().copied().chain(userns).chain(net)
    }

    pub(crate) fn command_line(&self, wrapped: WrappedLaunch<'_>) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![self.program.clone().into()];
        words.extend(self.isolation_args(wrapped.sandbox.net).map(OsString::from));
        words.extend(system_mounts());
        words.extend(OWN_FILES.iter().map(OsString::from));
        words.extend(mount_args("--ro-bind", wrapped.launcher, Path::new(LAUNCHER)));
        for (path, mount) in sandbox_mounts(wrapped.sandbox, wrapped.program) {
            words.extend(mount_args(mount.bind_option(), &path, &path));
        }
        // The directories that were created as mount points must not be writable either.
        words.extend(["--remount-ro", "/", "--chdir"].map(OsString::from));
        words.extend([wrapped.cwd.into(), "--".into(), LAUNCHER.into()]);
        words.extend(wrapped.args);
        words
    }
}

/// The access to a mounted path from inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MountAccess {
    Read,
    Write,
    /// Takes precedence over `Write` for the same path.
    Protected,
}

impl MountAccess {
    fn bind_option(self) -> &'static str {
        match self {
            Self::Read | Self::Protected => "--ro-bind",
            Self::Write => "--bind",
        }
    }
}

/// Returns the mounts, outer paths first, because a later mount hides an earlier one below it.
fn sandbox_mounts(sandbox: &Sandbox, program: &Path) -> Vec<(PathBuf, MountAccess)> {
    let mut mounts: BTreeMap<PathBuf, MountAccess> = BTreeMap::new();
    let mut add = |path: &Path, mount: MountAccess| {
        let entry = mounts.entry(path.to_owned()).or_insert(mount);
        *entry = mount.max(*entry);
    };
    let started = system_paths::started_by(program);
    let hidden = |path: &&PathBuf| !in_system(path);
    started.iter().filter(hidden).for_each(|path| add(path, MountAccess::Read));
    sandbox.read.iter().chain(&sandbox.exec).for_each(|path| add(path, MountAccess::Read));
    sandbox.write.iter().for_each(|path| add(path, MountAccess::Write));
    sandbox.protect.iter().for_each(|path| add(path, MountAccess::Protected));
    let name_servers = (sandbox.net == NetworkAccess::All).then(system_paths::name_servers).flatten();
    name_servers.iter().filter(hidden).for_each(|path| add(path, MountAccess::Read));
    // Paths compare component by component, so a directory comes before its contents.
    let all: Vec<(PathBuf, MountAccess)> = mounts.into_iter().collect();
    all.iter().filter(|(path, mount)| !is_covered(path, *mount, &all)).cloned().collect()
}

/// True for a readable path below another readable path, which needs no separate mount.
fn is_covered(path: &Path, mount: MountAccess, all: &[(PathBuf, MountAccess)]) -> bool {
    mount == MountAccess::Read && all.iter().any(|(other, _)| other != path && path.starts_with(other))
}

fn in_system(path: &Path) -> bool {
    system_paths::PROGRAMS.iter().chain([&system_paths::SETTINGS]).any(|place| path.starts_with(place))
}

fn system_mounts() -> impl Iterator<Item = OsString> {
    let places = system_paths::PROGRAMS.iter().chain([&system_paths::SETTINGS]).map(Path::new);
    places.filter(|place| place.exists()).flat_map(|place| match std::fs::read_link(place) {
        Ok(target) => mount_args("--symlink", &target, place),
        Err(_) => mount_args("--ro-bind", place, place),
    })
}

fn mount_args(option: &str, source: &Path, place: &Path) -> [OsString; 3] {
    [option.into(), source.into(), place.into()]
}

#[cfg(test)]
mod tests;
