//! Behavior that only real processes show: their start, input and end.

use std::fs;
use std::path::Path;
use std::time::Duration;

use haft_host::{ExtensionState, Host, RestartTiming};
use haft_packages::{ExtensionSpec, HookCommand, HookSpec};
use haft_protocol::ids::ExtensionName;
use serde_json::{Value, json};

use super::agency::{one_call, run};
use super::hook;
use crate::support::{Events, brisk, config, fault, state};

/// Returns a hook that answers from this table in this directory, and records its calls.
fn spec(name: &str, mut hook: HookSpec, dir: &Path, replies: &Value) -> ExtensionSpec {
    hook.timeouts.interceptor = brisk().intercept;
    let peer = haft_test_support::test_binary("hook-peer");
    let log = dir.join(format!("{name}.log"));
    let command = [peer.display().to_string(), log.display().to_string(), replies.to_string()];
    let command = HookCommand { command: command.to_vec(), dir: Some(dir.to_owned()) };
    patient(ExtensionSpec::from_hook(ExtensionName::new(name), hook, &command, Path::new("/")))
}

/// Extends the timeouts for busy machines.
pub(super) fn patient(mut spec: ExtensionSpec) -> ExtensionSpec {
    spec.lifecycle.hello = Some(brisk().hello);
    spec
}

fn calls(name: &str, dir: &Path) -> Vec<String> {
    let log = fs::read_to_string(dir.join(format!("{name}.log"))).unwrap_or_default();
    log.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

pub(super) async fn host(specs: Vec<ExtensionSpec>, events: &Events) -> Host {
    let mut config = config();
    config.timeouts = brisk();
    Host::builder(config).events(events.sink()).specs(specs).start().await
}

#[tokio::test]
async fn review_gate_sees_complete_flow() {
    let dir = tempfile::tempdir().unwrap();
    let mut gate = hook(&["before_llm", "before_tool", "approve_tool"], &["agent.turn.end"]);
    gate.env.insert("HOOK_MODE".into(), "strict".into());
    let events = Events::default();
    let host = host(vec![spec("review", gate, dir.path(), &json!({}))], &events).await;
    let ran = run(&host, one_call()).await;
    host.shutdown().await;
    assert_eq!((ran.executions, ran.answer().as_str(), events.faults()), (1, "two files", vec![]));
    let expect = [
        "hook.hello",
        "hook.before_llm",
        "hook.after_llm",
        "hook.before_tool",
        "hook.approve_tool",
        "hook.after_tool",
        "hook.before_llm",
        "hook.after_llm",
        "hook.runtime_event",
        "end",
    ];
    assert_eq!(calls("review", dir.path()), expect, "the calls are followed by the end of the input");
    let log = fs::read_to_string(dir.path().join("review.log")).unwrap();
    let here = fs::canonicalize(dir.path()).unwrap();
    assert!(log.starts_with(&format!("hook.hello {} strict\n", here.display())), "{log}");
}

#[tokio::test]
async fn queries_hooks_by_priority_and_name() {
    let dir = tempfile::tempdir().unwrap();
    let deny = |reason: &str| json!({"hook.before_tool": {"action": "deny_tool", "reason": reason}});
    let with = |priority| HookSpec { priority, ..hook(&["before_tool"], &[]) };
    let specs = vec![
        spec("b", with(0), dir.path(), &deny("b")),
        spec("a", with(0), dir.path(), &deny("a")),
        spec("z", with(-1), dir.path(), &json!({})),
        spec("y", with(7), dir.path(), &deny("y")),
    ];
    let events = Events::default();
    let host = host(specs, &events).await;
    let names: Vec<String> = host.statuses().iter().map(|status| status.name.to_string()).collect();
    assert_eq!(names, ["z", "a", "b", "y"]);
    let ran = run(&host, one_call()).await;
    host.shutdown().await;
    assert_eq!(ran.result().0, "Tool execution denied by hook: a");
    assert!(calls("z", dir.path()).contains(&"hook.before_tool".to_owned()));
    assert!(!calls("b", dir.path()).contains(&"hook.before_tool".to_owned()));
}

#[tokio::test]
async fn exit_of_gate_blocks_call_and_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let events = Events::default();
    let mut config = config();
    let mut restarts = RestartTiming::default();
    restarts.first_pause = Duration::from_millis(10);
    config.timeouts = brisk();
    config.timeouts.restarts = restarts;
    let specs =
        vec![spec("gate", hook(&["before_tool"], &[]), dir.path(), &json!({"hook.before_tool": "exit"}))];
    let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
    for _ in 0..2 {
        let ran = run(&host, one_call()).await;
        assert_eq!(ran.executions, 0);
        assert!(ran.result().0.contains("exited with status 3"), "{}", ran.result().0);
    }
    host.shutdown().await;
    assert_eq!(events.faults(), [fault("gate", "exited"), fault("gate", "exited")]);
    let hellos = calls("gate", dir.path()).iter().filter(|call| *call == "hook.hello").count();
    assert!(hellos >= 2, "{hellos}");
}

#[tokio::test]
async fn gate_that_cannot_run_blocks_with_reason() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("broken.sh");
    fs::write(&script, "echo 'SyntaxError: line 3' >&2\nexit 1\n").unwrap();
    let command =
        HookCommand { command: vec!["sh".into(), "./broken.sh".into()], dir: Some(dir.path().to_owned()) };
    let name = ExtensionName::new("gate");
    let spec =
        patient(ExtensionSpec::from_hook(name, hook(&["approve_tool"], &[]), &command, Path::new("/")));
    let events = Events::default();
    let host = host(vec![spec], &events).await;
    host.wait_until_settled().await;
    assert!(matches!(state(&host, "gate"), ExtensionState::Failed { .. }));
    let message = events.only_message();
    assert!(message.contains("before hello") && message.contains("SyntaxError: line 3"), "{message}");
    assert_eq!(run(&host, one_call()).await.executions, 0);
    host.shutdown().await;
}

#[tokio::test]
async fn gate_with_changed_code_is_not_restarted_and_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let (script, starts) = (dir.path().join("gate.sh"), dir.path().join("starts"));
    let text = format!(
        "echo started >> {}\nexec {} {} '{{}}'\n",
        starts.display(),
        haft_test_support::test_binary("hook-peer").display(),
        dir.path().join("gate.log").display()
    );
    fs::write(&script, &text).unwrap();
    let starts = || fs::read_to_string(&starts).unwrap().lines().count();
    let code = vec![script.clone(), dir.path().join("not-there")];
    let hook = HookSpec { code, ..hook(&["approve_tool"], &[]) };
    let command =
        HookCommand { command: vec!["sh".into(), "./gate.sh".into()], dir: Some(dir.path().to_owned()) };
    let name = ExtensionName::new("gate");
    let spec = patient(ExtensionSpec::from_hook(name.clone(), hook, &command, Path::new("/")));
    let events = Events::default();
    let host = host(vec![spec], &events).await;
    host.wait_until_settled().await;
    host.restart(&name).await.unwrap();
    assert_eq!((starts(), events.faults()), (2, vec![]), "unchanged code is restarted");
    fs::write(&script, format!("{text}# and a line more")).unwrap();
    assert!(host.restart(&name).await.is_err());
    assert_eq!(run(&host, one_call()).await.executions, 0);
    assert_eq!((starts(), events.faults().first()), (2, Some(&fault("gate", "pin_mismatch"))));
    host.shutdown().await;
}
