//! Sandbox levels that this machine supports, and the reasons for missing ones.

use super::{ConfinementLevel, SandboxError};

/// The sandbox levels of this machine, with a readable reason for each missing one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSupport {
    /// The basis of [`ConfinementLevel::Standard`], or the reason why the level is not available.
    pub standard: Result<SandboxBasis, String>,
    /// The basis of [`ConfinementLevel::Isolated`], or the reason why the level is not available.
    pub isolated: Result<SandboxBasis, String>,
    /// The basis of [`ConfinementLevel::Strict`], or the reason why the level is not available.
    pub strict: Result<SandboxBasis, String>,
}

/// The mechanisms and the gaps of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxBasis {
    /// The mechanisms as readable text: `Landlock 7, seccomp`.
    pub means: String,
    /// Guarantees of this level that this machine cannot enforce, each a part of a sentence.
    pub gaps: Vec<&'static str>,
}

/// Detects the supported levels, once per process. The first call blocks for about ten milliseconds, because bubblewrap
/// is tried.
pub fn detect_support() -> SandboxSupport {
    SandboxSupport {
        standard: system::detect_standard(),
        isolated: system::detect_isolated(),
        strict: system::detect_strict(),
    }
}

/// Detects one level, once per process: its basis, or the reason why it is not available. The first call for
/// [`ConfinementLevel::Isolated`] blocks for about two milliseconds, for [`ConfinementLevel::Strict`] for ten.
///
/// # Errors
/// The reason, as readable text.
pub fn detect_level(level: ConfinementLevel) -> Result<SandboxBasis, String> {
    match level {
        ConfinementLevel::Standard => system::detect_standard(),
        ConfinementLevel::Isolated => system::detect_isolated(),
        ConfinementLevel::Strict => system::detect_strict(),
    }
}

pub(super) fn check(level: ConfinementLevel) -> Result<(), SandboxError> {
    detect_level(level).map(drop).map_err(|reason| SandboxError::Unavailable { level, reason })
}

#[cfg(target_os = "linux")]
pub(crate) use system::{find_bubblewrap, landlock_abi};

#[cfg(target_os = "linux")]
mod system {
    use std::sync::OnceLock;

    use super::SandboxBasis;
    use crate::sandbox::Bubblewrap;

    /// The first Landlock version that restricts signals.
    const SCOPES_SIGNALS: u32 = 6;

    pub(super) fn detect_standard() -> Result<SandboxBasis, String> {
        static DETECTED: OnceLock<Result<SandboxBasis, String>> = OnceLock::new();
        DETECTED.get_or_init(detect_kernel_rules).clone()
    }

    fn detect_kernel_rules() -> Result<SandboxBasis, String> {
        let abi = landlock_abi()?;
        if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            return Err(format!("haft has no filter of system calls for {}", std::env::consts::ARCH));
        }
        crate::sys::can_filter_calls()
            .map_err(|error| format!("the kernel does not filter system calls (seccomp): {error}"))?;
        let gaps =
            if abi < SCOPES_SIGNALS { vec!["programs of the same user can be signaled"] } else { Vec::new() };
        Ok(SandboxBasis { means: format!("Landlock {abi}, seccomp"), gaps })
    }

    pub(super) fn detect_isolated() -> Result<SandboxBasis, String> {
        static NAMESPACES: OnceLock<Result<(), String>> = OnceLock::new();
        let SandboxBasis { means, gaps } = detect_standard()?;
        NAMESPACES.get_or_init(can_make_namespaces).clone()?;
        Ok(SandboxBasis { means: format!("namespaces, {means}"), gaps })
    }

    fn can_make_namespaces() -> Result<(), String> {
        crate::sys::try_namespaces().map_err(|error| {
            format!("this machine does not allow namespaces ({error}); allow unprivileged user namespaces")
        })
    }

    pub(super) fn detect_strict() -> Result<SandboxBasis, String> {
        let SandboxBasis { means, .. } = detect_standard()?;
        let found = find_bubblewrap()?;
        // Other processes are not visible inside, so they cannot be signaled.
        Ok(SandboxBasis { means: format!("{}, {means}", found.program.display()), gaps: Vec::new() })
    }

    /// Returns the kernel's Landlock version.
    ///
    /// # Errors
    /// The reason why Landlock is not available, as readable text.
    pub(crate) fn landlock_abi() -> Result<u32, String> {
        crate::sys::landlock_abi().map_err(|error| match error.raw_os_error() {
            Some(libc::ENOSYS) => "the kernel has no Landlock; use Linux 5.13 or newer".to_owned(),
            Some(libc::EOPNOTSUPP) => {
                "Landlock is disabled; add lsm=landlock,… to the kernel's command line".to_owned()
            }
            _ => format!("cannot detect Landlock: {error}"),
        })
    }

    /// # Errors
    /// The reason why no working bubblewrap was found, as readable text.
    pub(crate) fn find_bubblewrap() -> Result<Bubblewrap, String> {
        static FOUND: OnceLock<Result<Bubblewrap, String>> = OnceLock::new();
        FOUND.get_or_init(Bubblewrap::find).clone()
    }
}

#[cfg(target_os = "macos")]
mod system {
    use super::SandboxBasis;
    use crate::sandbox::seatbelt::PROGRAM;

    pub(super) fn detect_standard() -> Result<SandboxBasis, String> {
        if !std::path::Path::new(PROGRAM).exists() {
            return Err(format!("{PROGRAM} is missing"));
        }
        Ok(SandboxBasis { means: "sandbox-exec (untested)".to_owned(), gaps: Vec::new() })
    }

    pub(super) fn detect_isolated() -> Result<SandboxBasis, String> {
        detect_strict()
    }

    pub(super) fn detect_strict() -> Result<SandboxBasis, String> {
        Err("macOS has only the level standard".to_owned())
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod system {
    use super::SandboxBasis;

    pub(super) fn detect_standard() -> Result<SandboxBasis, String> {
        Err("haft has no sandbox for this operating system".to_owned())
    }

    pub(super) fn detect_isolated() -> Result<SandboxBasis, String> {
        detect_standard()
    }

    pub(super) fn detect_strict() -> Result<SandboxBasis, String> {
        detect_standard()
    }
}
