//! The keys of `[hooks]`: PicoClaw's, and haft's own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ValueKind::{self, Bool, Choice, Int, List, Table, Text};
use super::{ConfigKey, KeyScope, OnTimeout, TableKind};

keys! {
    /// Process hooks: programs that speak PicoClaw's protocol.
    #[derive(Serialize)]
    Hooks {
        /// True if process hooks run. The user's `false` counts for those of every project, a project's for its own.
        enabled: bool = "hooks.enabled" {
            kind: Bool,
            unset: "`true`",
            reach: TrustedProject,
        }
        tables {
            /// How long hooks may take that say nothing else. A project's count for its own hooks.
            defaults: HookDefaults = "hooks.defaults" {
                kind: Table(TableKind::Keys),
                unset: "as below",
                reach: TrustedProject,
            }
            /// Hooks that are part of PicoClaw itself. haft has none: one that is `enabled` is an error.
            builtins: BTreeMap<String, toml::Table> = "hooks.builtins.NAME" {
                kind: Table(TableKind::Any),
                unset: "none",
                reach: TrustedProject,
            }
            /// The hook of this name. A project may add hooks; it cannot change one of the user's.
            processes: BTreeMap<String, HookProcess> = "hooks.processes.NAME" {
                kind: Table(TableKind::Keys),
                unset: "none",
                reach: TrustedProject,
            }
        }
    }
}

keys! {
    /// How long hooks may take that say nothing else.
    #[derive(Serialize)]
    HookDefaults {
        /// What PicoClaw waits for an event to be written to a hook, in milliseconds. haft waits for no hook that is only
        /// told something, so that it changes nothing here.
        observer_timeout_ms: i64 = "hooks.defaults.observer_timeout_ms" {
            kind: ValueKind::INTEGER,
            unset: "nothing",
            reach: TrustedProject,
        }
        /// Milliseconds for an answer to `before_llm`, `after_llm`, `before_tool` and `after_tool`; 0 and less stand for
        /// the default, more than a day for a day.
        interceptor_timeout_ms: i64 = "hooks.defaults.interceptor_timeout_ms" {
            kind: ValueKind::INTEGER,
            unset: "5000",
            reach: TrustedProject,
        }
        /// Milliseconds for an answer to `approve_tool`: a person may be asked.
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
        /// True if the hook runs. What a hook that does not run would do is not looked at.
        enabled: bool = "hooks.processes.NAME.enabled" {
            kind: Bool,
            unset: "`false`",
            reach: TrustedProject,
        }
        /// Hooks with a lower number are asked first; then the name decides.
        priority: i32 = "hooks.processes.NAME.priority" {
            kind: Int { min: i32::MIN as i64, max: i32::MAX as i64 },
            unset: "0",
            reach: TrustedProject,
        }
        /// How haft and the hook talk: by standard input and output, and in no other way.
        transport: String = "hooks.processes.NAME.transport" {
            kind: Text("`stdio`"),
            unset: "`stdio`",
            reach: TrustedProject,
        }
        /// The program and its arguments. No shell reads them, and nothing in them is expanded. A program without a `/` is
        /// looked for in `PATH`; one with it is relative to `dir`.
        command: Vec<String> = "hooks.processes.NAME.command" {
            kind: List("words"),
            unset: "none: a hook must have one",
            reach: TrustedProject,
        }
        /// Where the hook runs, relative to the directory that haft works in.
        dir: String = "hooks.processes.NAME.dir" {
            kind: Text("a path"),
            unset: "the directory that haft works in",
            reach: TrustedProject,
        }
        /// Variables that the hook gets beside those of haft's own environment, or in their place.
        env: BTreeMap<String, String> = "hooks.processes.NAME.env" {
            kind: Table(TableKind::Texts),
            unset: "none",
            reach: TrustedProject,
        }
        /// The events that the hook is told, by either of PicoClaw's names; `""`, `"*"` or `"all"` for all of them.
        observe: Vec<String> = "hooks.processes.NAME.observe" {
            kind: List("events"),
            unset: "none",
            reach: TrustedProject,
        }
        /// Where the hook is asked: `before_llm`, `after_llm`, `before_tool`, `after_tool`, `approve_tool`. One of a pair
        /// brings the other, as in PicoClaw.
        intercept: Vec<String> = "hooks.processes.NAME.intercept" {
            kind: List("points"),
            unset: "none",
            reach: TrustedProject,
        }
        /// That the hook is told events as `hook.event`, as PicoClaw before 0.2.9 did, with their kind as a name, which
        /// its documents show, or as a number, which it sent. Without it they are `hook.runtime_event`.
        event_kind: EventKind = "hooks.processes.NAME.event_kind" {
            kind: Choice(EventKind::NAMES),
            unset: "events are `hook.runtime_event`",
            reach: TrustedProject,
        }
        /// Whose names of tools the hook is told and may use: haft's (`bash`, `read`), or PicoClaw's (`exec`, `read_file`).
        tool_names: ToolNames = "hooks.processes.NAME.tool_names" {
            kind: Choice(ToolNames::NAMES),
            unset: "`haft`; `picoclaw` in a `config.json`",
            reach: TrustedProject,
        }
        /// As `hooks.defaults.interceptor_timeout_ms`, for this hook.
        timeout_ms: i64 = "hooks.processes.NAME.timeout_ms" {
            kind: ValueKind::INTEGER,
            unset: "that of `hooks.defaults`",
            reach: TrustedProject,
        }
        /// As `hooks.defaults.approval_timeout_ms`, for this hook.
        approval_timeout_ms: i64 = "hooks.processes.NAME.approval_timeout_ms" {
            kind: ValueKind::INTEGER,
            unset: "that of `hooks.defaults`",
            reach: TrustedProject,
        }
        /// What happens when the hook does not answer `before_tool` or `approve_tool` in time. `block`: the tool does not
        /// run. `allow`: it does, and the failure is reported. `grant.NAME.on_timeout` does the same.
        on_timeout: OnTimeout = "hooks.processes.NAME.on_timeout" {
            kind: Choice(OnTimeout::NAMES),
            unset: "`block`",
        }
        /// Registered tools that this hook may answer for without anybody being asked for approval; `"*"` for all of them.
        /// An answer for a tool that only hooks know needs none.
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
    /// The names of tools that a hook is told and may use.
    #[derive(Default)]
    ToolNames {
        /// haft's own.
        #[default]
        Haft = "haft",
        /// PicoClaw's, for the tools that it has as well.
        PicoClaw = "picoclaw",
    }
}
