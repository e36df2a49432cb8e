//! The keys of `[hooks]`: PicoClaw's, and haft's own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ValueKind::{self, Bool, Choice, Int, List, Table, Text};
use super::{ConfigKey, KeyScope, OnTimeout, TableKind};

keys! {
    /// Process hooks: programs that speak PicoClaw's protocol.
    #[derive(Serialize)]
    Hooks {
        /// True if process hooks run. `false` in the user's file turns off all hooks, `false` in a project's file only the
        /// hooks of the project.
        enabled: bool = "hooks.enabled" {
            kind: Bool,
            unset: "`true`",
            reach: TrustedProject,
        }
        tables {
            /// Default deadlines of hooks. The defaults of a project apply to its own hooks only.
            defaults: HookDefaults = "hooks.defaults" {
                kind: Table(TableKind::Keys),
                unset: "as below",
                reach: TrustedProject,
            }
            /// Hooks that are built into PicoClaw. haft has none; an `enabled` entry is an error.
            builtins: BTreeMap<String, toml::Table> = "hooks.builtins.NAME" {
                kind: Table(TableKind::Any),
                unset: "none",
                reach: TrustedProject,
            }
            /// The hook `NAME`. A project may add hooks; it cannot change a hook of the user.
            processes: BTreeMap<String, HookProcess> = "hooks.processes.NAME" {
                kind: Table(TableKind::Keys),
                unset: "none",
                reach: TrustedProject,
            }
        }
    }
}

keys! {
    /// The default timeouts of hooks.
    #[derive(Serialize)]
    HookDefaults {
        /// PicoClaw's deadline for writing an event to a hook, in milliseconds. haft accepts and ignores it, because haft
        /// never waits for observers.
        observer_timeout_ms: i64 = "hooks.defaults.observer_timeout_ms" {
            kind: ValueKind::INTEGER,
            unset: "no effect",
            reach: TrustedProject,
        }
        /// The deadline of answers to `before_llm`, `after_llm`, `before_tool` and `after_tool`, in milliseconds. Values of
        /// 0 and less mean the default. The maximum is one day.
        interceptor_timeout_ms: i64 = "hooks.defaults.interceptor_timeout_ms" {
            kind: ValueKind::INTEGER,
            unset: "5000",
            reach: TrustedProject,
        }
        /// The deadline of answers to `approve_tool`, in milliseconds. It is longer, because the hook may ask a person.
        approval_timeout_ms: i64 = "hooks.defaults.approval_timeout_ms" {
            kind: ValueKind::INTEGER,
            unset: "60000",
            reach: TrustedProject,
        }
    }
}

keys! {
    /// One process hook.
    #[derive(Serialize)]
    HookProcess {
        /// True if the hook runs. haft does not check the other keys of a hook that does not run.
        enabled: bool = "hooks.processes.NAME.enabled" {
            kind: Bool,
            unset: "`false`",
            reach: TrustedProject,
        }
        /// The order of hooks: a lower number comes first. Hooks with equal numbers run in the order of their names.
        priority: i32 = "hooks.processes.NAME.priority" {
            kind: Int { min: i32::MIN as i64, max: i32::MAX as i64 },
            unset: "0",
            reach: TrustedProject,
        }
        /// The transport. haft supports standard input and output only.
        transport: String = "hooks.processes.NAME.transport" {
            kind: Text("`stdio`"),
            unset: "`stdio`",
            reach: TrustedProject,
        }
        /// The program and its arguments. haft uses no shell and expands nothing. haft searches a program without `/` in
        /// `PATH`; a relative path with `/` starts at `dir`.
        command: Vec<String> = "hooks.processes.NAME.command" {
            kind: List("words"),
            unset: "required",
            reach: TrustedProject,
        }
        /// The working directory of the hook. A relative path starts at haft's working directory.
        dir: String = "hooks.processes.NAME.dir" {
            kind: Text("a path"),
            unset: "haft's working directory",
            reach: TrustedProject,
        }
        /// Environment variables of the hook. They override variables of haft's environment.
        env: BTreeMap<String, String> = "hooks.processes.NAME.env" {
            kind: Table(TableKind::Texts),
            unset: "none",
            reach: TrustedProject,
        }
        /// The events that the hook receives, by their old or new names in PicoClaw. `""`, `"*"` and `"all"` mean all events.
        observe: Vec<String> = "hooks.processes.NAME.observe" {
            kind: List("events"),
            unset: "none",
            reach: TrustedProject,
        }
        /// The points at which the hook decides: `before_llm`, `after_llm`, `before_tool`, `after_tool`, `approve_tool`. As in
        /// PicoClaw, one name of a before–after pair adds the other one.
        intercept: Vec<String> = "hooks.processes.NAME.intercept" {
            kind: List("points"),
            unset: "none",
            reach: TrustedProject,
        }
        /// Sends events as `hook.event`, the format of PicoClaw before 0.2.9. The event kind is a `name`, as in PicoClaw's
        /// documents, or a `number`, as PicoClaw sent it. Without this key, events are `hook.runtime_event`.
        event_kind: EventKind = "hooks.processes.NAME.event_kind" {
            kind: Choice(EventKind::NAMES),
            unset: "events are `hook.runtime_event`",
            reach: TrustedProject,
        }
        /// The tool names that the hook receives and may use: haft's (`bash`, `read`), or PicoClaw's (`exec`, `read_file`).
        tool_names: ToolNames = "hooks.processes.NAME.tool_names" {
            kind: Choice(ToolNames::NAMES),
            unset: "`haft`; `picoclaw` in a `config.json`",
            reach: TrustedProject,
        }
        /// Overrides `hooks.defaults.interceptor_timeout_ms` for this hook.
        timeout_ms: i64 = "hooks.processes.NAME.timeout_ms" {
            kind: ValueKind::INTEGER,
            unset: "the value in `hooks.defaults`",
            reach: TrustedProject,
        }
        /// Overrides `hooks.defaults.approval_timeout_ms` for this hook.
        approval_timeout_ms: i64 = "hooks.processes.NAME.approval_timeout_ms" {
            kind: ValueKind::INTEGER,
            unset: "the value in `hooks.defaults`",
            reach: TrustedProject,
        }
        /// The verdict when the hook does not answer `before_tool` or `approve_tool` in time. `block`: the tool does not run.
        /// `allow`: the tool runs, and haft reports the failure. `grant.NAME.on_timeout` has the same effect.
        on_timeout: OnTimeout = "hooks.processes.NAME.on_timeout" {
            kind: Choice(OnTimeout::NAMES),
            unset: "`block`",
        }
        /// Tools for which haft accepts an answer of this hook in place of the tool (`respond`) without asking
        /// `approve_tool` or you; `"*"` means all. Gates are asked in any case. A tool that exists only through a hook needs
        /// no entry.
        vouches: Vec<String> = "hooks.processes.NAME.vouches" {
            kind: List("tools"),
            unset: "none",
        }
    }
}

choices! {
    /// The form of an event's kind in `hook.event`.
    EventKind {
        /// A name, as in PicoClaw's documents: `"turn_end"`.
        Name = "name",
        /// A number, as PicoClaw to 0.2.8 sent it: `1`.
        Number = "number",
    }
}

choices! {
    /// The names of tools that a hook receives and may use.
    #[derive(Default)]
    ToolNames {
        /// The names of haft.
        #[default]
        Haft = "haft",
        /// The names of PicoClaw, for tools that PicoClaw also has.
        PicoClaw = "picoclaw",
    }
}
