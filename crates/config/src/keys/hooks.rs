//! The keys of `[hooks]`: PicoClaw's, and haft's own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Key, OnTimeout, Reach};

keys! {
    /// Process hooks: programs that speak PicoClaw's protocol.
    #[derive(Serialize)]
    Hooks {
        /// Whether process hooks run. The user's `false` counts for those of every project, a project's for its own.
        enabled: Option<bool> = "hooks.enabled" {
            takes: "`true` or `false`",
            default: "`true`",
            reach: TrustedProject,
        }
        /// How long hooks may take that say nothing else. A project's count for its own hooks.
        defaults: HookDefaults = "hooks.defaults" {
            takes: "a table, below",
            default: "as below",
            reach: TrustedProject,
        }
        /// Hooks that are part of PicoClaw itself. haft has none: one that is `enabled` is an error.
        builtins: BTreeMap<String, HookBuiltin> = "hooks.builtins.NAME" {
            takes: "a table with `enabled = false`",
            default: "none",
            reach: TrustedProject,
        }
        /// The hook of this name. A project may add hooks; it cannot change one of the user's.
        processes: BTreeMap<String, HookProcess> = "hooks.processes.NAME" {
            takes: "a table, below",
            default: "none",
            reach: TrustedProject,
        }
    }
}

keys! {
    /// How long hooks may take that say nothing else.
    #[derive(Serialize)]
    HookDefaults {
        /// What PicoClaw waits for an event to be written to a hook, in milliseconds. haft waits for no hook that is only
        /// told something, so that it changes nothing here.
        observer_timeout_ms: Option<i64> = "hooks.defaults.observer_timeout_ms" {
            takes: "a whole number",
            default: "nothing",
            reach: TrustedProject,
        }
        /// Milliseconds for an answer to `before_llm`, `after_llm`, `before_tool` and `after_tool`; 0 and less stand for
        /// the default, more than a day for a day.
        interceptor_timeout_ms: Option<i64> = "hooks.defaults.interceptor_timeout_ms" {
            takes: "a whole number",
            default: "5000",
            reach: TrustedProject,
        }
        /// Milliseconds for an answer to `approve_tool`: a person may be asked.
        approval_timeout_ms: Option<i64> = "hooks.defaults.approval_timeout_ms" {
            takes: "a whole number",
            default: "60000",
            reach: TrustedProject,
        }
    }
}

keys! {
    /// One process hook.
    #[derive(Serialize)]
    HookProcess {
        /// Whether the hook runs. What a hook that does not run would do is not looked at.
        enabled: Option<bool> = "hooks.processes.NAME.enabled" {
            takes: "`true` or `false`",
            default: "`false`",
            reach: TrustedProject,
        }
        /// Hooks with a lower number are asked first; then the name decides.
        priority: Option<i32> = "hooks.processes.NAME.priority" {
            takes: "a whole number",
            default: "0",
            reach: TrustedProject,
        }
        /// How haft and the hook talk: by standard input and output, and in no other way.
        transport: Option<String> = "hooks.processes.NAME.transport" {
            takes: "`stdio`",
            default: "`stdio`",
            reach: TrustedProject,
        }
        /// The program and its arguments. No shell reads them, and nothing in them is expanded. A program without a `/` is
        /// looked for in `PATH`; one with it is relative to `dir`.
        command: Option<Vec<String>> = "hooks.processes.NAME.command" {
            takes: "a list of words",
            default: "none: a hook must have one",
            reach: TrustedProject,
        }
        /// Where the hook runs, relative to the directory that haft works in.
        dir: Option<String> = "hooks.processes.NAME.dir" {
            takes: "a path",
            default: "the directory that haft works in",
            reach: TrustedProject,
        }
        /// Variables that the hook gets beside those of haft's own environment, or in their place.
        env: Option<BTreeMap<String, String>> = "hooks.processes.NAME.env" {
            takes: "a table of texts",
            default: "none",
            reach: TrustedProject,
        }
        /// The events that the hook is told, by either of PicoClaw's names; `""`, `"*"` or `"all"` for all of them.
        observe: Option<Vec<String>> = "hooks.processes.NAME.observe" {
            takes: "a list of events",
            default: "none",
            reach: TrustedProject,
        }
        /// Where the hook is asked: `before_llm`, `after_llm`, `before_tool`, `after_tool`, `approve_tool`. One of a pair
        /// brings the other, as in PicoClaw.
        intercept: Option<Vec<String>> = "hooks.processes.NAME.intercept" {
            takes: "a list of points",
            default: "none",
            reach: TrustedProject,
        }
        /// That the hook is told events as `hook.event`, as PicoClaw before 0.2.9 did, with their kind as a name, which
        /// its documents show, or as a number, which it sent. Without it they are `hook.runtime_event`.
        event_kind: Option<EventKind> = "hooks.processes.NAME.event_kind" {
            takes: "`name` or `number`",
            default: "events are `hook.runtime_event`",
            reach: TrustedProject,
        }
        /// Whose names of tools the hook is told and may use: haft's (`bash`, `read`), or PicoClaw's (`exec`, `read_file`).
        tool_names: Option<ToolNames> = "hooks.processes.NAME.tool_names" {
            takes: "`haft` or `picoclaw`",
            default: "`haft`; `picoclaw` in a `config.json`",
            reach: TrustedProject,
        }
        /// As `hooks.defaults.interceptor_timeout_ms`, for this hook.
        timeout_ms: Option<i64> = "hooks.processes.NAME.timeout_ms" {
            takes: "a whole number",
            default: "that of `hooks.defaults`",
            reach: TrustedProject,
        }
        /// As `hooks.defaults.approval_timeout_ms`, for this hook.
        approval_timeout_ms: Option<i64> = "hooks.processes.NAME.approval_timeout_ms" {
            takes: "a whole number",
            default: "that of `hooks.defaults`",
            reach: TrustedProject,
        }
        /// What happens when the hook does not answer `before_tool` or `approve_tool` in time. `block`: the tool does not
        /// run. `allow`: it does, and the failure is reported. `grant.NAME.on_timeout` does the same.
        on_timeout: Option<OnTimeout> = "hooks.processes.NAME.on_timeout" {
            takes: "`block` or `allow`",
            default: "`block`",
            reach: User,
        }
        /// Registered tools that this hook may answer for without anybody being asked for approval; `"*"` for all of them.
        /// An answer for a tool that only hooks know needs none.
        vouches: Option<Vec<String>> = "hooks.processes.NAME.vouches" {
            takes: "a list of tools",
            default: "none",
            reach: User,
        }
    }
}

/// A hook that is part of PicoClaw itself. Read so that a configuration with a disabled one is taken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HookBuiltin {
    /// Whether it would run.
    pub enabled: bool,
    /// When it would be asked.
    pub priority: i32,
    /// What it would be told.
    #[serde(skip_serializing)]
    pub config: Option<toml::Value>,
}

/// How the kind of an event is written in `hook.event`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// As PicoClaw's documents show it: `"turn_end"`.
    Name,
    /// As PicoClaw to 0.2.8 sent it: `1`.
    Number,
}

/// Whose names of tools a hook is told and may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolNames {
    /// haft's own.
    #[default]
    Haft,
    /// PicoClaw's, for the tools that it has as well.
    PicoClaw,
}
