//! The order of the top-level modules of a crate: each may import only from modules before it in the list.

use super::CrateModules;

/// Crates with their top-level modules, the lowest first. The root of a crate may import from all of them.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "cli",
        &[
            "bin",
            "timeouts",
            "exit",
            "advice",
            "interrupt",
            "sandbox",
            "token",
            "tool_sandbox",
            "console",
            "logging",
            "prompt",
            "args",
            "caller",
            "pages",
            "fetch",
            "resources",
            "hooks",
            "extensions",
            "setup",
            "config",
            "skill",
            "usage",
            "login",
            "trust",
            "zot",
            "session",
            "ext",
            "doctor",
            "run",
            "demo",
            "rpc",
            "interactive",
        ],
    ),
    (
        "config",
        &[
            "timeouts",
            "read",
            "write",
            "home",
            "project",
            "front_matter",
            "origin",
            "nearest",
            "keys",
            "hooks",
            "file",
            "picoclaw",
            "edit",
            "layers",
            "rows",
            "auth",
            "context",
            "skill",
            "template",
            "trust",
            "machine",
            "configured_agent",
        ],
    ),
    ("export", &["select", "portable", "html", "import"]),
    (
        "launch",
        &[
            "sys",
            "timeouts",
            "ancestry",
            "program",
            "terminal_request",
            "harden",
            "sandbox",
            "guardian",
            "launcher",
            "spawn",
            "group",
            "child",
            "bin",
        ],
    ),
    (
        "packages",
        &[
            "timeouts",
            "hash",
            "file_name",
            "file_stamp",
            "open",
            "shell",
            "environment",
            "grant",
            "pins",
            "project_check",
            "manifest",
            "state_files",
            "approval",
            "spec",
            "discovery",
            "install",
        ],
    ),
    (
        "providers",
        &[
            "timeouts", "limits", "config", "redact", "retry", "presets", "catalog", "models", "wire",
            "http", "scripted", "fallback", "choose",
        ],
    ),
    (
        "tools",
        &[
            "timeouts",
            "limits",
            "results",
            "diff",
            "environment",
            "read_tracker",
            "failure",
            "path",
            "approval",
            "builtin",
            "write",
            "edit",
            "grep",
            "find",
            "ls",
            "read",
            "bash",
            "job",
            "skill",
            "mentions",
            "list",
        ],
    ),
    (
        "protocol",
        &[
            // Values and names.
            "named_enum",
            "defense",
            "limits",
            "ids",
            "names",
            "digest",
            "change_set",
            "project",
            "text",
            "thinking",
            "shared_line",
            "error",
            // JSON text.
            "surrogate",
            "scan",
            "compact",
            "reader",
            "read",
            "json",
            "tagged",
            "bounded",
            // The vocabulary that the dialects share.
            "content",
            "dialog",
            "message",
            "agent_state",
            "event",
            // Lines, and the dialects in them.
            "codec",
            "object_line",
            "ext",
            "rpc",
            // For adapters of other dialects.
            "foreign",
        ],
    ),
    (
        "sdk",
        &[
            "timeouts",
            "platform",
            "logging",
            "error",
            "config",
            "completion",
            "panel",
            "tool",
            "pending_calls",
            "open_requests",
            "mirror",
            // The connection, and the extension that it is for.
            "outbox",
            "host",
            "service",
            "handler",
            "tool_builder",
            "extension",
            // Serving it.
            "running_handlers",
            "dispatch",
            "serve",
            "run",
            "peer",
            "testing",
        ],
    ),
    (
        "core",
        &[
            // Texts, files and schemas.
            "forward",
            "panics",
            "timeouts",
            "age",
            "json_shape",
            "limits",
            "sanitize",
            "text_filter",
            "image",
            "truncate",
            "schema",
            "file_queue",
            "jobs",
            // What an agent works with.
            "tool",
            "model",
            "error",
            "session",
            "stats",
            "transcript",
            "compact",
            "services",
            // What others may decide and hear.
            "hooks",
            "chain",
            "prompt",
            "emitter",
            "queue",
            // One call, one run, the agent.
            "agent_state",
            "run_context",
            "call",
            "completion",
            "turn",
            "run",
            "agent",
            "prelude",
        ],
    ),
    (
        "tui",
        &[
            "timeouts",
            "mouse",
            "humanize",
            "fuzzy",
            // Text and how it looks.
            "clean",
            "wrap",
            "theme",
            "image",
            "draw_context",
            "highlight",
            "markdown",
            "diff",
            // Keys, and what they write.
            "keys",
            "editor",
            "frame",
            "field",
            "complete",
            "history",
            "queue",
            // Parts of the screen.
            "picker",
            "panel",
            "transcript",
            "dialog",
            // The whole, and the terminal around it.
            "app",
            "terminal",
        ],
    ),
    ("adapters/picoclaw", &["wire", "translate", "peer", "author"]),
    ("host", &["timeouts", "wire", "session", "process", "extension", "supervision", "agent", "host"]),
    (
        "rpc",
        &[
            // State machines.
            "timeouts",
            "extension_commands",
            "command_scheduler",
            "dialogs",
            "auth_gate",
            "outbox",
            "open_sessions",
            // The client's lines.
            "input",
            "client_sink",
            "writer",
            "question_broker",
            "screen",
            // Sessions, and serving them.
            "session_provider",
            "serve",
        ],
    ),
];

/// Reports imports of higher modules, and modules that are not in the list.
pub(super) fn check(one: &CrateModules) -> Vec<String> {
    let order = LAYERS.iter().find(|(name, _)| *name == one.name);
    order.map_or_else(Vec::new, |(_, order)| upward_imports(one, order))
}

fn upward_imports(one: &CrateModules, order: &[&str]) -> Vec<String> {
    let mut findings = Vec::new();
    for module in one.modules.iter().filter(|module| !module.name.is_empty()) {
        let Some(place) = layer_index(&module.name, order) else {
            findings.push(format!(
                "crates/{}/src/{}: is not in the order of xtask/src/tidy/structure/layers.rs",
                one.name, module.file
            ));
            continue;
        };
        let higher = one
            .imported_modules(module)
            .into_iter()
            .filter(|other| layer_index(&other.name, order) > Some(place));
        findings.extend(higher.map(|other| {
            format!(
                "crates/{}/src/{}: imports from the higher module {}; see xtask/src/tidy/structure/layers.rs",
                one.name, module.file, other.file
            )
        }));
    }
    findings
}

fn layer_index(name: &[String], order: &[&str]) -> Option<usize> {
    order.iter().position(|layer| name.first().is_some_and(|first| first == layer))
}

#[cfg(test)]
mod tests {
    use super::super::tests::planted;
    use super::*;

    #[test]
    fn finds_an_import_of_a_higher_module() {
        let files = [
            ("low.rs", "use crate::high::part::H;"),
            ("high.rs", "mod part; use crate::low::L;"),
            ("high/part.rs", ""),
        ];
        let findings = upward_imports(&planted("x", &files), &["low", "high"]);
        assert_eq!(
            findings,
            [
                "crates/x/src/low.rs: imports from the higher module high/part.rs; see xtask/src/tidy/structure/layers.rs"
            ]
        );
        assert_eq!(upward_imports(&planted("x", &files), &["high", "low"]).len(), 1);
    }

    #[test]
    fn finds_a_module_that_is_not_in_the_list() {
        let findings = upward_imports(&planted("x", &[("low.rs", ""), ("new.rs", "")]), &["low"]);
        assert!(findings[0].contains("new.rs: is not in the order"), "{findings:?}");
    }
}
