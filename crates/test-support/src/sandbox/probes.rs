//! The list of probes, with the expected outcome at each sandbox level.

use ProbeOutcome::{Absent, Any, Refused, Works};

/// The outcome of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// The action succeeds.
    Works,
    /// The target exists, and the action is not permitted.
    Refused,
    /// The target does not exist.
    Absent,
    /// The outcome depends on the machine and the user, and is not checked.
    Any,
}

/// The sandbox in which the probes run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeConfinement {
    /// No sandbox. Actions that a sandbox refuses must succeed here, or the probe proves nothing.
    Free,
    /// Level standard without network.
    Standard,
    /// Level standard with full network.
    StandardAll,
    /// Level strict without network.
    Strict,
    /// Level strict with its own loopback device.
    StrictLoopback,
    /// Level strict with full network.
    StrictAll,
}

/// The level of `tools.sandbox` at which a tool starts the probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolProbeLevel {
    /// Only the private temporary directory is writable.
    ReadOnly,
    /// The working directory is writable as well.
    Workspace,
    /// No sandbox.
    Full,
}

impl ToolProbeLevel {
    /// Returns the value of `--sandbox`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Workspace => "workspace",
            Self::Full => "full",
        }
    }
}

/// A probe.
#[derive(Debug, Clone, Copy)]
pub struct SandboxProbe {
    /// The name of the probe in `sandbox-probe`.
    pub name: &'static str,
    /// The outcomes in the order of [`ProbeConfinement`].
    expect: [ProbeOutcome; 6],
    /// The outcomes in a command of a tool, in the order of [`ToolProbeLevel`].
    in_tool: [ProbeOutcome; 3],
}

impl SandboxProbe {
    /// Sets the outcomes in a command of a tool at the levels `read-only` and `workspace`. The default is that of an
    /// extension at level standard.
    const fn tools(mut self, read_only: ProbeOutcome, workspace: ProbeOutcome) -> Self {
        let [_, _, full] = self.in_tool;
        self.in_tool = [read_only, workspace, full];
        self
    }

    /// Sets the outcome in a command of a tool at level `full`. The default is that without a sandbox.
    const fn at_full(mut self, full: ProbeOutcome) -> Self {
        let [read_only, workspace, _] = self.in_tool;
        self.in_tool = [read_only, workspace, full];
        self
    }

    /// Returns the expected outcome in a command of a tool.
    pub fn expected_in_tool(&self, level: ToolProbeLevel) -> ProbeOutcome {
        let [read_only, workspace, full] = self.in_tool;
        match level {
            ToolProbeLevel::ReadOnly => read_only,
            ToolProbeLevel::Workspace => workspace,
            ToolProbeLevel::Full => full,
        }
    }

    /// Returns the expected outcome.
    pub fn expected(&self, column: ProbeConfinement) -> ProbeOutcome {
        let [free, standard, standard_all, strict, strict_loopback, strict_all] = self.expect;
        match column {
            ProbeConfinement::Free => free,
            ProbeConfinement::Standard => standard,
            ProbeConfinement::StandardAll => standard_all,
            ProbeConfinement::Strict => strict,
            ProbeConfinement::StrictLoopback => strict_loopback,
            ProbeConfinement::StrictAll => strict_all,
        }
    }
}

/// Creates a probe whose outcome is the same for every network setting.
const fn probe(
    name: &'static str,
    free: ProbeOutcome,
    standard: ProbeOutcome,
    strict: ProbeOutcome,
) -> SandboxProbe {
    net(name, [free, standard, standard, strict, strict, strict])
}

/// Creates a probe of the network, with outcomes for: no sandbox; standard without and with network; strict without,
/// with loopback and with network.
const fn net(name: &'static str, expect: [ProbeOutcome; 6]) -> SandboxProbe {
    let [free, standard, ..] = expect;
    SandboxProbe { name, expect, in_tool: [standard, standard, free] }
}

/// All probes; each name has an arm in `sandbox-probe`.
pub const PROBES: &[SandboxProbe] = &[
    // Actions that must work.
    probe("read-own-data", Works, Works, Works),
    probe("write-own-data", Works, Works, Works),
    probe("rename-in-own-data", Works, Works, Works),
    probe("read-granted", Works, Works, Works),
    probe("run-system-program", Works, Works, Works),
    probe("start-thread", Works, Works, Works),
    probe("signal-own-child", Works, Works, Works),
    probe("limit-itself", Works, Works, Works),
    probe("null-device", Works, Works, Works),
    probe("own-status", Works, Works, Works),
    probe("stream-pair", Works, Works, Works),
    // Files.
    probe("write-granted-to-read", Works, Refused, Refused),
    probe("read-data-of-other", Works, Refused, Absent).tools(Works, Works),
    probe("write-data-of-other", Works, Refused, Absent),
    probe("read-secret", Works, Refused, Absent).tools(Absent, Absent),
    probe("read-secret-by-link", Works, Refused, Absent).tools(Absent, Absent),
    probe("list-home", Works, Refused, Absent).tools(Works, Works),
    probe("write-workspace", Works, Refused, Absent).tools(Refused, Works),
    probe("write-git-hook", Works, Refused, Absent),
    probe("truncate-secret", Works, Refused, Absent).tools(Absent, Absent),
    probe("open-secret-to-truncate", Works, Refused, Absent).tools(Absent, Absent),
    probe("remove-secret", Works, Refused, Absent),
    probe("rename-out", Works, Refused, Absent),
    probe("link-in", Works, Refused, Absent).tools(Absent, Absent),
    // Files of a user: secrets, other files, and those that make code run later.
    probe("read-user-secret", Works, Refused, Absent).tools(Absent, Absent),
    probe("read-hidden-file", Works, Refused, Absent).tools(Absent, Absent),
    probe("list-user-secrets", Works, Refused, Absent).tools(Absent, Absent),
    probe("read-home-file", Works, Refused, Absent).tools(Works, Works),
    probe("write-home-file", Works, Refused, Absent),
    probe("create-in-home", Works, Refused, Absent),
    probe("rename-from-home", Works, Refused, Absent),
    probe("write-git-config", Works, Refused, Absent),
    probe("move-git-directory", Works, Refused, Absent),
    probe("write-settings", Works, Refused, Absent),
    probe("read-results", Works, Refused, Absent).tools(Works, Works),
    probe("write-results", Works, Refused, Absent),
    probe("write-system", Any, Refused, Refused),
    probe("make-device", Any, Refused, Refused),
    // The host chooses the environment of an extension, not the sandbox.
    probe("secret-variable", Any, Any, Any).tools(Absent, Absent).at_full(Absent),
    // Landlock does not cover these actions; see docs/sandbox.md.
    probe("stat-secret", Works, Works, Absent).tools(Absent, Absent),
    probe("chmod-secret", Works, Works, Absent).tools(Absent, Absent),
    probe("change-mode-of-home-file", Works, Works, Absent).tools(Refused, Refused),
    probe("change-times-of-home-file", Works, Works, Absent).tools(Refused, Refused),
    probe("watch-home", Works, Works, Absent),
    probe("run-own-data", Works, Refused, Refused).tools(Works, Works),
    // A file without a name is on no allow list; see docs/sandbox.md.
    probe("run-from-memory", Works, Works, Works),
    probe("list-root", Works, Refused, Refused).tools(Works, Works),
    probe("write-root", Any, Refused, Refused),
    probe("open-terminal", Any, Refused, Refused).at_full(Absent),
    // Other processes.
    probe("environ-of-host", Works, Refused, Absent),
    probe("command-line-of-host", Works, Refused, Absent).tools(Works, Works),
    probe("memory-of-host", Any, Refused, Absent),
    probe("read-memory-by-call", Any, Refused, Refused),
    probe("trace-host", Any, Refused, Refused),
    probe("signal-host", Works, Refused, Absent),
    probe("signal-guardian", Any, Refused, Any).tools(Any, Any),
    probe("signal-other", Works, Refused, Absent),
    probe("signal-other-by-descriptor", Works, Refused, Absent),
    probe("limit-other", Works, Refused, Refused),
    probe("slow-all-of-user", Works, Refused, Refused),
    probe("common-memory", Any, Refused, Refused),
    probe("list-processes", Works, Refused, Works).tools(Works, Works),
    // The network.
    net("tcp", [Works, Refused, Works, Refused, Absent, Works]).tools(Absent, Absent),
    net("tcp-listen", [Works, Refused, Works, Refused, Works, Works]).tools(Works, Works),
    net("udp", [Works, Refused, Works, Refused, Works, Works]).tools(Works, Works),
    net("tables-of-routes", [Works, Refused, Works, Refused, Works, Works]).tools(Works, Works),
    probe("raw-socket", Any, Refused, Refused),
    probe("packet-socket", Any, Refused, Refused),
    probe("unix-by-path", Works, Refused, Refused),
    probe("unix-by-name", Works, Refused, Refused),
    probe("unix-by-pair", Works, Refused, Refused),
    // The kernel.
    probe("own-users", Any, Refused, Refused),
    probe("own-users-by-clone", Any, Refused, Refused),
    probe("enter-namespace", Any, Refused, Refused),
    probe("mount", Any, Refused, Refused),
    probe("chroot", Any, Refused, Refused),
    probe("ring", Any, Refused, Refused),
    probe("kernel-program", Any, Refused, Refused),
    probe("count-events", Any, Refused, Refused),
    probe("handle-faults", Any, Refused, Refused),
    probe("keys", Any, Refused, Refused),
    probe("new-kernel", Any, Refused, Refused),
    probe("newer-call", Any, Refused, Refused),
    probe("type-into-terminal", Any, Refused, Refused),
    // The probe's own state: few rights, a separate session.
    probe("no-capabilities", Any, Works, Works),
    probe("no-new-rights", Any, Works, Works),
    probe("is-filtered", Any, Works, Works),
    probe("own-session", Any, Works, Works).tools(Any, Any),
    probe("no-core-dump", Any, Works, Works),
    probe("nothing-inherited", Any, Works, Works),
];
