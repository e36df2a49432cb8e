//! The launch order, passed to a launcher in its arguments.

use std::ffi::{OsStr, OsString};
use std::io;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::program::ProgramKind;
#[cfg(target_os = "linux")]
use crate::sandbox::Bubblewrap;
use crate::sandbox::Sandbox;

/// The separator before the program; all arguments before it belong to the launcher.
pub(super) const SEPARATOR: &str = "--";

/// The flag before the host's process id.
const HOST: &str = "--host";

/// The flag before the JSON text of a [`SandboxOrder`].
const SANDBOX: &str = "--sandbox";

/// The flag of a program of the kind [`ProgramKind::Command`].
const COMMAND: &str = "--command";

/// A request to start and guard a program: `--host PID [--command] [--sandbox TEXT] -- PROGRAM ARGS…`.
pub(crate) struct LaunchOrder {
    /// The process whose end ends the whole tree.
    pub(crate) host: Pid,
    pub(crate) kind: ProgramKind,
    pub(crate) sandbox: Option<SandboxOrder>,
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
}

/// A sandbox, and details for applying it that only the host knows.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SandboxOrder {
    pub(crate) sandbox: Sandbox,
    /// The bubblewrap to use, if the sandbox needs one.
    #[cfg(target_os = "linux")]
    pub(crate) bubblewrap: Option<Bubblewrap>,
    /// The arguments before the launcher's own; the launcher is started again inside the sandbox.
    pub(crate) role: Vec<String>,
}

impl SandboxOrder {
    /// # Errors
    /// When the machine cannot provide the sandbox, or the role is not Unicode text.
    pub(crate) fn new(sandbox: Sandbox, role: &[OsString]) -> io::Result<Self> {
        let role = role.iter().map(|word| word.clone().into_string()).collect::<Result<_, _>>();
        Ok(Self {
            #[cfg(target_os = "linux")]
            bubblewrap: match sandbox.level {
                crate::sandbox::ConfinementLevel::Standard | crate::sandbox::ConfinementLevel::Isolated => {
                    None
                }
                crate::sandbox::ConfinementLevel::Strict => {
                    Some(crate::sandbox::found_bubblewrap().map_err(io::Error::other)?)
                }
            },
            sandbox,
            role: role.map_err(|_| io::Error::other("the launcher's arguments are not Unicode"))?,
        })
    }
}

impl LaunchOrder {
    /// Returns the arguments that [`parse`](Self::parse) reads.
    pub(crate) fn into_args(self) -> io::Result<Vec<OsString>> {
        let mut words = vec![HOST.into(), self.host.as_raw_nonzero().to_string().into()];
        if self.kind == ProgramKind::Command {
            words.push(COMMAND.into());
        }
        if let Some(confine) = &self.sandbox {
            words.extend([SANDBOX.into(), serde_json::to_string(confine)?.into()]);
        }
        words.extend([SEPARATOR.into(), self.program]);
        words.extend(self.args);
        Ok(words)
    }

    pub(super) fn parse(args: impl Iterator<Item = OsString>) -> io::Result<Self> {
        // A host searches the program file for the end of this text: see `Launcher::beside_this_program`.
        let usage = concat!(
            "invalid launcher arguments; expected --host PID -- PROGRAM ARGS, by the same build: haft-launcher ",
            env!("CARGO_PKG_VERSION"),
            " ",
            env!("HAFT_LAUNCH_BUILD")
        );
        Self::parse_args(args).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, usage))
    }

    fn parse_args(mut args: impl Iterator<Item = OsString>) -> Option<Self> {
        args.next().filter(|flag| flag == HOST)?;
        let host = args.next()?.to_str()?.parse().ok().and_then(Pid::from_raw)?;
        let mut next = args.next()?;
        let mut kind = ProgramKind::Service;
        if next == COMMAND {
            kind = ProgramKind::Command;
            next = args.next()?;
        }
        let mut sandbox = None;
        if next == SANDBOX {
            sandbox = Some(from_text(&args.next()?)?);
            next = args.next()?;
        }
        (next == SEPARATOR).then_some(())?;
        Some(Self { host, kind, sandbox, program: args.next()?, args: args.collect() })
    }
}

/// Parses JSON text from another launcher or a host.
pub(super) fn from_text<T: for<'a> Deserialize<'a>>(text: &OsStr) -> Option<T> {
    serde_json::from_str(text.to_str()?).ok()
}
