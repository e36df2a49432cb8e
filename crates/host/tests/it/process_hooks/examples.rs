//! The example hooks as real processes in a whole turn: one table for the SDK version and the plain version.

use std::path::{Path, PathBuf};

use haft_host::Host;
use haft_packages::{ExtensionSpec, HookCommand};
use haft_protocol::ids::ExtensionName;
use serde_json::{Value, json};

use super::agency::{Ran, calls, run, said};
use super::hook;
use crate::support::{Events, brisk, config, program};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hooks")
}

/// Returns a hook with this command, configured as in its README.
fn policy(command: &[PathBuf]) -> ExtensionSpec {
    let command = command.iter().map(|word| word.display().to_string()).collect();
    let command = HookCommand { command, dir: None };
    let asked = hook(&["before_llm", "before_tool", "approve_tool"], &[]);
    let mut spec = ExtensionSpec::from_hook(ExtensionName::new("policy"), asked, &command, Path::new("/"));
    spec.lifecycle.hello = Some(brisk().hello);
    spec
}

/// Runs a turn in which the model calls this tool.
async fn turn(host: &Host, tool: &str, args: Value) -> Ran {
    run(host, vec![calls(tool, args), vec![said("done")]]).await
}

/// Checks the number of shell runs and the text that the model read.
#[track_caller]
fn check(ran: &Ran, executions: usize, result: &str) {
    assert_eq!((ran.executions, ran.result().0.as_str()), (executions, result));
    assert_eq!(ran.answer(), "done");
}

async fn holds_the_policy(command: &[PathBuf]) {
    let (events, mut config) = (Events::default(), config());
    config.timeouts = brisk();
    let host = Host::builder(config).events(events.sink()).specs(vec![policy(command)]).start().await;

    let denied = |reason: &str| format!("Tool execution denied by approval hook: {reason}");
    for (args, reason) in [
        (json!({"command": "cd x && rm -rf build"}), "rm -rf is refused here; remove single files"),
        (json!({"command": "sudo ls"}), "sudo is refused here; work with the rights you have"),
        (json!({"command": "git push -f"}), "git push --force is refused here; push without force"),
    ] {
        check(&turn(&host, "bash", args).await, 0, &denied(reason));
    }
    let ran = turn(&host, "bash", json!({"command": "rm -r build"})).await;
    check(&ran, 1, r#"ran {"command":"rm -r build"}"#);

    for request in &ran.requests {
        let offered: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(offered, ["bash", "explain_policy"], "at every call of the model");
    }
    let sudo = json!({"command": "sudo ls"});
    check(
        &turn(&host, "explain_policy", sudo).await,
        0,
        "sudo is refused here; work with the rights you have",
    );
    check(&turn(&host, "explain_policy", json!({"command": "ls"})).await, 0, "not refused");

    let secrets = json!({"command": "echo DB_PASSWORD=hunter2 AKIAIOSFODNN7EXAMPLE"});
    let ran = turn(&host, "bash", secrets).await;
    check(&ran, 1, r#"ran {"command":"echo DB_PASSWORD=[redacted] [redacted]"}"#);

    host.shutdown().await;
    assert_eq!(events.faults(), []);
}

#[tokio::test]
async fn rust_example_enforces_policy() {
    holds_the_policy(&[haft_test_support::example_hook("policy")]).await;
}

#[tokio::test]
async fn python_example_enforces_policy() {
    holds_the_policy(&[program(&["python3"]), examples().join("policy.py")]).await;
    let lines = std::fs::read_to_string(examples().join("policy.py")).unwrap().lines().count();
    assert!(lines < 100, "its README promises less than 100 lines");
}
