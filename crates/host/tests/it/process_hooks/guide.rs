//! The programs of `docs/hooks.md`, run here to keep the guide correct.

use std::fs;
use std::path::Path;

use haft_host::Host;
use haft_packages::{ExtensionSpec, HookCommand};
use haft_protocol::ids::ExtensionName;
use serde_json::json;

use super::agency::{Ran, calls, run, said};
use super::hook;
use crate::support::{Events, brisk, config};

const GUIDE: &str = include_str!("../../../../../docs/hooks.md");

/// The Python blocks of the guide, in order.
fn blocks() -> Vec<&'static str> {
    let begins = GUIDE.split("```python\n").skip(1);
    begins.map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

/// Returns the guide's first program with these functions instead of its own.
fn program(functions: &[&str], handlers: &[&str]) -> String {
    let whole = blocks()[0];
    let (head, rest) = whole.split_once("def before_tool").unwrap();
    let loop_of = rest.split_once("for line in sys.stdin").unwrap().1;
    let table: Vec<String> = handlers.iter().map(|name| format!("\"hook.{name}\": {name}")).collect();
    format!(
        "{head}\n{}\nHANDLERS = {{{}}}\n\nfor line in sys.stdin{loop_of}",
        functions.join("\n"),
        table.join(", ")
    )
}

/// Runs a turn in which the model makes this call, with that program as the hook.
async fn turn(program: &str, intercept: &[&str], tool: &str, args: serde_json::Value) -> Ran {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("hook.py"), program).unwrap();
    let command =
        HookCommand { command: vec!["python3".into(), "hook.py".into()], dir: Some(dir.path().to_owned()) };
    let mut spec =
        ExtensionSpec::from_hook(ExtensionName::new("gate"), hook(intercept, &[]), &command, Path::new("/"));
    spec.lifecycle.hello = Some(brisk().hello);
    let events = Events::default();
    let mut config = config();
    config.timeouts = brisk();
    let host = Host::builder(config).events(events.sink()).specs(vec![spec]).start().await;
    let ran = run(&host, vec![calls(tool, args), vec![said("done")]]).await;
    host.shutdown().await;
    assert_eq!(events.faults(), []);
    ran
}

#[tokio::test]
async fn guide_gate_denies_and_allows() {
    let gate = blocks()[0];
    let ran = turn(gate, &["before_tool"], "bash", json!({"command": "rm -rf build"})).await;
    let denied = "Tool execution denied by hook: remove single files instead";
    assert_eq!((ran.executions, ran.result()), (0, (denied.to_owned(), true)));
    let ran = turn(gate, &["before_tool"], "bash", json!({"command": "ls"})).await;
    assert_eq!(ran.executions, 1);
}

#[tokio::test]
async fn guide_tool_is_offered_and_answers() {
    let program = program(&[blocks()[1]], &["before_llm", "before_tool"]);
    let ran = turn(&program, &["before_llm", "before_tool"], "ticket", json!({"id": "7"})).await;
    assert!(ran.requests[0].tools.iter().any(|tool| tool.name == "ticket"));
    assert_eq!(ran.result(), ("Ticket 7: the fog horn is silent.".to_owned(), false));
}

#[tokio::test]
async fn guide_hook_changes_result() {
    let program = program(&[blocks()[2]], &["after_tool"]);
    let args = json!({"command": "echo PASSWORD=x"});
    let ran = turn(&program, &["after_tool"], "bash", args).await;
    assert_eq!((ran.executions, ran.result()), (1, ("[hidden]".to_owned(), false)));
}
