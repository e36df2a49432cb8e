//! `Sandbox`: the rights of a program, as data. The submodules enforce them by different mechanisms.

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod confinement;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
mod support;
#[cfg(target_os = "linux")]
mod system_paths;

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub(crate) use bubblewrap::{Bubblewrap, WrappedLaunch};
#[cfg(target_os = "linux")]
pub(crate) use confinement::{Confinement, confine_process};
#[cfg(target_os = "macos")]
pub(crate) use seatbelt::command_line as seatbelt_command_line;
pub use support::{SandboxBasis, SandboxSupport, detect_level, detect_support};
#[cfg(target_os = "linux")]
pub(crate) use support::{find_bubblewrap as found_bubblewrap, landlock_abi};
#[cfg(target_os = "linux")]
pub use system_paths::started_by;

/// The rights of a program behind a [`Launcher`](crate::Launcher): the listed ones and those that every program needs
/// (reading the system's programs, libraries and settings, and a few devices). All paths are absolute; a directory
/// includes everything below it.
///
/// The text form is a JSON object with the fields below. Unknown fields are an error, because they might restrict
/// something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    /// The version of this format; see [`Sandbox::VERSION`].
    pub version: u32,
    /// The mechanism of the sandbox, which determines its strictness.
    pub level: ConfinementLevel,
    /// The paths that the program may read: its own directory, the directory of its interpreter, and granted paths.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    /// True if the program may read and execute all files, except devices, sockets and `/run`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_all: bool,
    /// Paths that the program may not use even if they are below another path. A path listed below a hidden one can be
    /// used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<PathBuf>,
    /// The paths that the program may read and change, including creating, renaming and removing files below them.
    #[serde(default)]
    pub write: Vec<PathBuf>,
    /// The paths below `write` that the program may only read. A link is kept from being replaced; list its target, too.
    /// Needs [`ConfinementLevel::Isolated`].
    #[serde(default)]
    pub protect: Vec<PathBuf>,
    /// The files that the program may read and execute, in addition to itself and its interpreter.
    #[serde(default)]
    pub exec: Vec<PathBuf>,
    /// True if the program may execute the system's programs, for example in `/usr`. If false, the program can still do
    /// the same work with its own code.
    #[serde(default)]
    pub system_programs: bool,
    /// The network access of the program.
    pub net: NetworkAccess,
    /// The largest size in bytes to which the program may grow a file; unlimited if `None`.
    #[serde(default)]
    pub max_file_bytes: Option<u64>,
}

/// The mechanism by which a [`Sandbox`] is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfinementLevel {
    /// The kernel's access control (Landlock) and a filter of system calls (seccomp); needs no privileges. On macOS:
    /// `sandbox-exec`.
    Standard,
    /// `Standard` plus separate mounts and a separate network, made by the launcher itself. All files that the program
    /// may not write are on read-only mounts, so it cannot change their permissions either. Linux only.
    Isolated,
    /// `Standard` plus separate namespaces (bubblewrap), in which paths that are not listed do not exist.
    Strict,
}

/// The network access of a program. No level distinguishes hosts by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkAccess {
    /// No sockets, except pairs of sockets among the program's own processes.
    #[default]
    None,
    /// IP among the program's own processes, over a separate loopback device. Needs [`ConfinementLevel::Isolated`].
    Loopback,
    /// TCP and UDP to every peer, including services on the machine's own loopback device; no Unix sockets.
    All,
}

/// The reason why a sandbox is not available. No program was started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The machine cannot provide the level. A lower level is never used instead.
    #[error("sandbox level {level} is not available: {reason}")]
    Unavailable {
        /// The requested level.
        level: ConfinementLevel,
        /// The missing part, and the next step if one is known.
        reason: String,
    },
    /// The sandbox has another version of the format.
    #[error("sandbox version {0} is not supported, only version {known} is; approve the extension again", known = Sandbox::VERSION)]
    Version(u32),
    /// The path cannot be listed in a sandbox.
    #[error("sandbox path {} {reason}", path.display())]
    Path {
        /// The path as listed.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// The level cannot enforce the request.
    #[error("{what} cannot be enforced at sandbox level {level}; choose {needed}")]
    NeedsLevel {
        /// The request.
        what: &'static str,
        /// The level of the sandbox.
        level: ConfinementLevel,
        /// A level that can enforce the request.
        needed: ConfinementLevel,
    },
}

/// True if [`ConfinementLevel::Standard`] can deny a path below a permitted one.
const STANDARD_PROTECTS: bool = cfg!(target_os = "macos");

impl Sandbox {
    /// The version of the format that this version of haft writes and reads.
    pub const VERSION: u32 = 1;

    /// Returns a sandbox with only the rights that every program needs, and execution of the system's programs.
    pub fn new(level: ConfinementLevel) -> Self {
        Self {
            version: Self::VERSION,
            level,
            read: Vec::new(),
            read_all: false,
            hide: Vec::new(),
            write: Vec::new(),
            protect: Vec::new(),
            exec: Vec::new(),
            system_programs: true,
            net: NetworkAccess::None,
            max_file_bytes: None,
        }
    }

    /// Checks that the sandbox is available on this machine and that its paths are valid.
    /// [`GroupChild::spawn`](crate::GroupChild::spawn) also calls this function before it starts a program. The
    /// machine's support is detected once; at [`ConfinementLevel::Strict`] the first call blocks for about ten
    /// milliseconds.
    ///
    /// # Errors
    /// See [`SandboxError`].
    pub fn check(&self) -> Result<(), SandboxError> {
        self.check_consistency()?;
        self.check_link_targets()?;
        support::check(self.level)
    }

    /// Checks the targets of symbolic links, which may lead to paths that cannot be listed. The launcher rejects
    /// missing paths.
    fn check_link_targets(&self) -> Result<(), SandboxError> {
        // A protected link gives no access to its target.
        for path in self.listed_paths().filter(|path| !self.protect.contains(path)) {
            let Ok(real) = path.canonicalize() else { continue };
            check_listable(&real).map_err(|error| error.with_path(path))?;
            if self.write.contains(path) {
                check_writable(&real).map_err(|error| error.with_path(path))?;
            }
        }
        Ok(())
    }

    fn listed_paths(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.read, &self.write, &self.protect, &self.exec, &self.hide].into_iter().flatten()
    }

    /// Checks the parts that do not depend on the machine.
    pub(crate) fn check_consistency(&self) -> Result<(), SandboxError> {
        if self.version != Self::VERSION {
            return Err(SandboxError::Version(self.version));
        }
        for path in self.listed_paths() {
            check_listable(path)?;
        }
        for path in &self.write {
            check_writable(path)?;
        }
        if let Some(path) = self.protect.iter().find(|path| !self.may_write(path)) {
            return Err(SandboxError::Path {
                path: path.clone(),
                reason: "is protected but not below a writable path",
            });
        }
        let needs = |what, needed| Err(SandboxError::NeedsLevel { what, level: self.level, needed });
        match self.level {
            ConfinementLevel::Strict if self.read_all || !self.hide.is_empty() => {
                needs("reading all files except some", ConfinementLevel::Isolated)
            }
            ConfinementLevel::Standard if self.net == NetworkAccess::Loopback => {
                needs("network access to loopback only", ConfinementLevel::Strict)
            }
            ConfinementLevel::Standard if !self.protect.is_empty() && !STANDARD_PROTECTS => {
                needs("a protected path below a writable path", ConfinementLevel::Strict)
            }
            ConfinementLevel::Standard | ConfinementLevel::Isolated | ConfinementLevel::Strict => Ok(()),
        }
    }

    fn may_write(&self, path: &Path) -> bool {
        self.write.iter().any(|writable| path.starts_with(writable))
    }
}

impl SandboxError {
    /// Replaces the path in the error with the listed path that leads to it.
    fn with_path(self, listed: &Path) -> Self {
        match self {
            Self::Path { reason, .. } => Self::Path { path: listed.to_owned(), reason },
            other @ (Self::Unavailable { .. } | Self::Version(_) | Self::NeedsLevel { .. }) => other,
        }
    }
}

/// Returns the files that must be executable to start a program: the program, and the interpreter of its first line.
#[cfg(not(target_os = "linux"))]
pub fn started_by(program: &Path) -> Vec<PathBuf> {
    vec![program.to_owned()]
}

fn check_listable(path: &Path) -> Result<(), SandboxError> {
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let reason = if !path.is_absolute() {
        "is not absolute"
    } else if !plain {
        "contains `..`"
    } else if path.to_str().is_none() {
        "is not Unicode"
    } else if path == Path::new("/") {
        "covers all files; list the needed directories instead"
    } else if path.starts_with("/proc") {
        "exposes other processes"
    } else {
        return Ok(());
    };
    Err(SandboxError::Path { path: path.to_owned(), reason })
}

fn check_writable(path: &Path) -> Result<(), SandboxError> {
    if path.starts_with("/sys") || path == Path::new("/dev") {
        return Err(SandboxError::Path { path: path.to_owned(), reason: "belongs to the kernel" });
    }
    Ok(())
}

impl fmt::Display for ConfinementLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "standard",
            Self::Isolated => "isolated",
            Self::Strict => "strict",
        })
    }
}

#[cfg(test)]
mod tests;
