//! The order of a launcher, in its arguments.

use std::ffi::{OsStr, OsString};
use std::io;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use crate::sandbox::Bubblewrap;
use crate::sandbox::Sandbox;

/// Before the program that shall be started; everything before it is the launcher's own.
pub(super) const SEPARATOR: &str = "--";

/// Before the number of the host.
const HOST: &str = "--host";

/// Before a [`SandboxOrder`] as text.
const SANDBOX: &str = "--sandbox";

/// Start this and guard it: `--host PID [--sandbox TEXT] -- PROGRAM ARGS…`.
pub(crate) struct LaunchOrder {
    /// The process whose end ends everything.
    pub(crate) host: Pid,
    pub(crate) sandbox: Option<SandboxOrder>,
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
}

/// A sandbox, and what only the host knows of how to put it on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SandboxOrder {
    pub(crate) sandbox: Sandbox,
    /// There if the sandbox needs it.
    #[cfg(target_os = "linux")]
    pub(crate) bubblewrap: Option<Bubblewrap>,
    /// The words before a launcher's own arguments; it is started again inside.
    pub(crate) role: Vec<String>,
}

impl SandboxOrder {
    /// # Errors
    /// When the machine cannot do it, or the role is no Unicode text.
    pub(crate) fn new(sandbox: Sandbox, role: &[OsString]) -> io::Result<Self> {
        let role = role.iter().map(|word| word.clone().into_string()).collect::<Result<_, _>>();
        Ok(Self {
            #[cfg(target_os = "linux")]
            bubblewrap: match sandbox.level {
                crate::sandbox::ConfinementLevel::Standard => None,
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
    /// The arguments that [`parse`](Self::parse) understands.
    pub(crate) fn into_args(self) -> io::Result<Vec<OsString>> {
        let mut words = vec![HOST.into(), self.host.as_raw_nonzero().to_string().into()];
        if let Some(confine) = &self.sandbox {
            words.extend([SANDBOX.into(), serde_json::to_string(confine)?.into()]);
        }
        words.extend([SEPARATOR.into(), self.program]);
        words.extend(self.args);
        Ok(words)
    }

    pub(super) fn parse(args: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let usage = "the launcher is started by a host, with --host PID -- PROGRAM ARGS";
        Self::parse_args(args).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, usage))
    }

    fn parse_args(mut args: impl Iterator<Item = OsString>) -> Option<Self> {
        args.next().filter(|flag| flag == HOST)?;
        let host = args.next()?.to_str()?.parse().ok().and_then(Pid::from_raw)?;
        let mut next = args.next()?;
        let mut sandbox = None;
        if next == SANDBOX {
            sandbox = Some(from_text(&args.next()?)?);
            next = args.next()?;
        }
        (next == SEPARATOR).then_some(())?;
        Some(Self { host, sandbox, program: args.next()?, args: args.collect() })
    }
}

/// Reads the text of another launcher or a host.
pub(super) fn from_text<T: for<'a> Deserialize<'a>>(text: &OsStr) -> Option<T> {
    serde_json::from_str(text.to_str()?).ok()
}
