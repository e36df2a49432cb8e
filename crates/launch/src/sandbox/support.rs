//! Sandbox levels of this machine, and the reasons for missing ones.

use super::{ConfinementLevel, SandboxError};

/// Which levels there are on this machine, with a reason in plain words for each that is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSupport {
    /// The basis of [`ConfinementLevel::Standard`], or why it is not available.
    pub standard: Result<SandboxBasis, String>,
    /// The basis of [`ConfinementLevel::Strict`], or why it is not available.
    pub strict: Result<SandboxBasis, String>,
}

/// The basis of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxBasis {
    /// The means, for people: `Landlock 7, seccomp`.
    pub means: String,
    /// Promises of this level that cannot be enforced here, each a sentence's part.
    pub gaps: Vec<&'static str>,
}

/// Looked up once in a process's life. Blocks for some ten milliseconds the first time, because bubblewrap is tried.
pub fn detect_support() -> SandboxSupport {
    SandboxSupport { standard: system::standard(), strict: system::strict() }
}

pub(super) fn check(level: ConfinementLevel) -> Result<(), SandboxError> {
    let basis = match level {
        ConfinementLevel::Standard => system::standard(),
        ConfinementLevel::Strict => system::strict(),
    };
    basis.map(drop).map_err(|reason| SandboxError::Unavailable { level, reason })
}

#[cfg(target_os = "linux")]
pub(crate) use system::{find_bubblewrap, landlock_abi};

#[cfg(target_os = "linux")]
mod system {
    use std::sync::OnceLock;

    use super::SandboxBasis;
    use crate::sandbox::Bubblewrap;

    /// Signals are kept inside since this version of the kernel's rules.
    const SCOPES_SIGNALS: u32 = 6;

    pub(super) fn standard() -> Result<SandboxBasis, String> {
        let abi = landlock_abi()?;
        if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            return Err(format!("there is no filter of system calls for {}", std::env::consts::ARCH));
        }
        crate::sys::can_filter_calls()
            .map_err(|error| format!("the kernel does not filter system calls (seccomp): {error}"))?;
        let gaps = if abi < SCOPES_SIGNALS {
            vec!["programs of the same user can be signalled"]
        } else {
            Vec::new()
        };
        Ok(SandboxBasis { means: format!("Landlock {abi}, seccomp"), gaps })
    }

    pub(super) fn strict() -> Result<SandboxBasis, String> {
        let SandboxBasis { means, .. } = standard()?;
        let found = find_bubblewrap()?;
        // Nobody else is there to be signalled.
        Ok(SandboxBasis { means: format!("{}, {means}", found.program.display()), gaps: Vec::new() })
    }

    /// The version of the kernel's rules.
    ///
    /// # Errors
    /// Why there are none, for people.
    pub(crate) fn landlock_abi() -> Result<u32, String> {
        crate::sys::landlock_abi().map_err(|error| match error.raw_os_error() {
            Some(libc::ENOSYS) => "the kernel has no Landlock; it is there since Linux 5.13".to_owned(),
            Some(libc::EOPNOTSUPP) => {
                "Landlock is switched off; start the kernel with lsm=landlock,… on its command line"
                    .to_owned()
            }
            _ => format!("the kernel does not say whether it has Landlock: {error}"),
        })
    }

    /// # Errors
    /// Why there is none that works, for people.
    pub(crate) fn find_bubblewrap() -> Result<Bubblewrap, String> {
        static FOUND: OnceLock<Result<Bubblewrap, String>> = OnceLock::new();
        FOUND.get_or_init(Bubblewrap::find).clone()
    }
}

#[cfg(target_os = "macos")]
mod system {
    use super::SandboxBasis;
    use crate::sandbox::seatbelt::PROGRAM;

    pub(super) fn standard() -> Result<SandboxBasis, String> {
        if !std::path::Path::new(PROGRAM).exists() {
            return Err(format!("{PROGRAM} is missing"));
        }
        Ok(SandboxBasis { means: "sandbox-exec (untested)".to_owned(), gaps: Vec::new() })
    }

    pub(super) fn strict() -> Result<SandboxBasis, String> {
        Err("there is no such level on macOS".to_owned())
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod system {
    use super::SandboxBasis;

    pub(super) fn standard() -> Result<SandboxBasis, String> {
        Err("there is no sandbox for this system yet".to_owned())
    }

    pub(super) fn strict() -> Result<SandboxBasis, String> {
        standard()
    }
}
