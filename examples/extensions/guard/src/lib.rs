//! Example extension `guard`: keeps an audit log of the agent's actions, and blocks dangerous shell
//! commands.
//!
//! It prevents accidents, not attacks: no pattern finds `python clean.py`. Use a sandbox for strict
//! limits.

use std::path::PathBuf;

use haft_sdk::{Extension, GateDecision, Host, InterceptToolCall, LifecycleEvent};
use serde::Deserialize;

mod audit;
mod danger;
mod script;
mod words;

pub use danger::{Danger, danger_in};

/// The extension: observes every event, and is a gate for `bash`.
pub fn extension() -> Extension {
    ["session_start", "turn_start", "tool_call", "assistant_message", "turn_end"]
        .into_iter()
        .fold(Extension::new("guard", "1.0.0"), |extension, event| extension.on_event(event, record))
        .gate("bash", |call, host| async move { decide(&call, &host) })
}

async fn record(event: LifecycleEvent, host: Host) -> std::io::Result<()> {
    audit::append(&log_file(&host).await, &event)
}

async fn log_file(host: &Host) -> PathBuf {
    host.data_dir().await.join("audit.jsonl")
}

fn decide(call: &InterceptToolCall, host: &Host) -> GateDecision {
    #[derive(Deserialize)]
    struct Shell {
        command: String,
    }
    // A gate that cannot read the request must not allow it.
    let Ok(shell) = call.tool_args.read::<Shell>() else {
        return GateDecision::block("refused: bash call without a command");
    };
    match danger_in(&shell.command) {
        None => GateDecision::allow(),
        Some(danger) => {
            host.log(format_args!("refused {:?}", shell.command));
            GateDecision::block(format!("refused: matches danger pattern \"{}\"", danger.name()))
        }
    }
}
