//! `Sandbox`: what a program may do, as data. The modules below enforce it, each by a means of its own.

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod confinement;
#[cfg(target_os = "linux")]
mod places;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
mod support;

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub(crate) use bubblewrap::{Bubblewrap, WrappedLaunch};
#[cfg(target_os = "linux")]
pub(crate) use confinement::Confinement;
#[cfg(target_os = "linux")]
pub use places::started_by;
#[cfg(target_os = "macos")]
pub(crate) use seatbelt::words as seatbelt_words;
pub use support::{SandboxBasis, SandboxSupport, detect_support};
#[cfg(target_os = "linux")]
pub(crate) use support::{find_bubblewrap as found_bubblewrap, landlock_abi};

/// The rights of a program behind a [`Launcher`](crate::Launcher): nothing but what is listed here and what every
/// program needs (the system's programs, libraries and settings to read, a few devices). All paths are absolute; a
/// directory stands for everything below it.
///
/// As text it is a JSON object with the fields below; fields that this version does not know are an error, for they
/// might restrict something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    /// Of this format; [`Sandbox::VERSION`].
    pub version: u32,
    /// By which means, and so how tightly.
    pub level: ConfinementLevel,
    /// The paths that it may read: its own directory, the home of its interpreter, what it was granted.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    /// The paths that it may read and change: files are created, renamed and removed below.
    #[serde(default)]
    pub write: Vec<PathBuf>,
    /// The paths below `write` that it may only read. Needs [`ConfinementLevel::Strict`].
    #[serde(default)]
    pub protect: Vec<PathBuf>,
    /// The files that it may read and execute beside itself and its interpreter.
    #[serde(default)]
    pub exec: Vec<PathBuf>,
    /// True if it may execute the system's programs, those in `/usr` and the like. This keeps it from starting them, not
    /// from doing the same by itself, with code of its own.
    #[serde(default)]
    pub system_programs: bool,
    /// The network peers that it may talk to.
    pub net: NetworkAccess,
    /// The size in bytes that no file may grow beyond by its writing; none: as large as the disk allows.
    #[serde(default)]
    pub max_file_bytes: Option<u64>,
}

/// By which means a [`Sandbox`] is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfinementLevel {
    /// By the kernel's access control (Landlock) and a filter of system calls (seccomp); needs no rights. On macOS by
    /// `sandbox-exec`.
    Standard,
    /// The same in namespaces of its own (by bubblewrap): what is not listed is not there at all.
    Strict,
}

/// The network peers that a program may talk to. No level distinguishes hosts by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkAccess {
    /// Nobody, over no kind of socket. Pairs of sockets among its own processes work.
    #[default]
    None,
    /// Its own processes over IP: a loopback device of its own, not the machine's. Needs [`ConfinementLevel::Strict`].
    Loopback,
    /// Everybody over TCP and UDP, whatever listens on the machine's own loopback device included; no Unix sockets.
    All,
}

/// Why a sandbox cannot be had. Nothing was started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// This machine cannot do it. There is no lower level that would be taken instead.
    #[error("sandbox level {level} is not available: {reason}")]
    Unavailable {
        /// The level that was asked for.
        level: ConfinementLevel,
        /// The missing part, and the next step if there is one.
        reason: String,
    },
    /// It was written for another version.
    #[error("the sandbox is of version {0}, and only {known} is known; approve it again", known = Sandbox::VERSION)]
    Version(u32),
    /// A path that cannot be listed.
    #[error("sandbox path {} {reason}", path.display())]
    Path {
        /// The path as it is listed.
        path: PathBuf,
        /// The mistake.
        reason: &'static str,
    },
    /// It asks for what its level cannot enforce.
    #[error("{0} cannot be enforced at sandbox level standard; choose strict")]
    NeedsStrict(&'static str),
}

impl Sandbox {
    /// The version of the format that this version of haft writes and reads.
    pub const VERSION: u32 = 1;

    /// One that allows no more than every program needs, with the system's programs to execute.
    pub fn new(level: ConfinementLevel) -> Self {
        Self {
            version: Self::VERSION,
            level,
            read: Vec::new(),
            write: Vec::new(),
            protect: Vec::new(),
            exec: Vec::new(),
            system_programs: true,
            net: NetworkAccess::None,
            max_file_bytes: None,
        }
    }

    /// Checks that the sandbox is available on this machine and that its paths are valid. Asked before anything is
    /// started, also by [`GroupChild::spawn`](crate::GroupChild::spawn); what the machine can do is looked up once. At
    /// [`ConfinementLevel::Strict`] the first call blocks for some ten milliseconds.
    ///
    /// # Errors
    /// See [`SandboxError`].
    pub fn check(&self) -> Result<(), SandboxError> {
        self.check_consistency()?;
        self.check_link_targets()?;
        support::check(self.level)
    }

    /// A link may lead to what cannot be listed. What is not there is for the launcher to refuse.
    fn check_link_targets(&self) -> Result<(), SandboxError> {
        for path in self.listed_paths() {
            let Ok(real) = path.canonicalize() else { continue };
            check_listable(&real).map_err(|error| error.with_path(path))?;
            if self.write.contains(path) {
                check_writable(&real).map_err(|error| error.with_path(path))?;
            }
        }
        Ok(())
    }

    fn listed_paths(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.read, &self.write, &self.protect, &self.exec].into_iter().flatten()
    }

    /// Checks the parts that need no look at the machine.
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
                reason: "is protected, but lies below nothing writable",
            });
        }
        match (self.level, self.net, self.protect.is_empty()) {
            (ConfinementLevel::Strict, _, _)
            | (ConfinementLevel::Standard, NetworkAccess::None | NetworkAccess::All, true) => Ok(()),
            (ConfinementLevel::Standard, NetworkAccess::Loopback, _) => {
                Err(SandboxError::NeedsStrict("network access to loopback only"))
            }
            (ConfinementLevel::Standard, _, false) => {
                Err(SandboxError::NeedsStrict("a protected path below a writable one"))
            }
        }
    }

    fn may_write(&self, path: &Path) -> bool {
        self.write.iter().any(|writable| path.starts_with(writable))
    }
}

impl SandboxError {
    /// The same, of the path that was listed and not of the one that it leads to.
    fn with_path(self, listed: &Path) -> Self {
        match self {
            Self::Path { reason, .. } => Self::Path { path: listed.to_owned(), reason },
            other @ (Self::Unavailable { .. } | Self::Version(_) | Self::NeedsStrict(_)) => other,
        }
    }
}

/// Returns the files that must be executed for a program to start: itself, and the interpreter that its first line
/// names.
#[cfg(not(target_os = "linux"))]
pub fn started_by(program: &Path) -> Vec<PathBuf> {
    vec![program.to_owned()]
}

fn check_listable(path: &Path) -> Result<(), SandboxError> {
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let reason = if !path.is_absolute() {
        "is not absolute"
    } else if !plain {
        "has `..` in it"
    } else if path.to_str().is_none() {
        "is not Unicode"
    } else if path == Path::new("/") {
        "is everything, which is no sandbox"
    } else if path.starts_with("/proc") {
        "tells of other programs"
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
            Self::Strict => "strict",
        })
    }
}

#[cfg(test)]
mod tests;
