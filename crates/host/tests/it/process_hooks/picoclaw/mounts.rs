//! The set of hooks and their order.

use haft_adapter_picoclaw::wire::HookSubscriptions;
use haft_core::hooks::{BeforeToolExecute, CancellationToken, HookRole, ToolDecision};
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_test_support::FakePeer;
use serde_json::{Value, json};

use super::super::agency::{Stage, answers, goes_on, one_call, play, run, said};
use super::super::{hook, host_with};
use super::ALL;
use crate::support::{Events, builder};

/// With the names of its configuration, the hook takes part from the first message.
#[tokio::test(start_paused = true)]
async fn auto_mounts_process_hook() {
    let (host, peer, events) = host_with(hook(&["before_llm", "after_llm"], &["turn_end"])).await;
    let peer =
        play(peer, answers("hook.after_llm", json!({"response": {"response": {"content": "hooked"}}})));
    assert_eq!(run(&host, vec![vec![said("raw")]]).await.answer(), "hooked");
    host.ping().await;
    host.shutdown().await;
    assert_eq!(events.faults(), []);
    let told = peer.await.unwrap();
    let methods: Vec<&Value> = told.iter().map(|line| &line["method"]).collect();
    assert_eq!(methods, ["hook.before_llm", "hook.after_llm", "hook.runtime_event"]);
    assert_eq!(told[2]["params"]["kind"], "agent.turn.end");
}

#[tokio::test(start_paused = true)]
async fn observe_kinds_from_config_accepts_runtime_names() {
    let observe =
        &["turn_start", "agent.tool.exec_end", "tool_exec_end", "gateway.ready", "mcp.server.failed"];
    let (host, peer, _) = host_with(hook(&[], observe)).await;
    let peer = play(peer, goes_on);
    run(&host, one_call()).await;
    host.ping().await;
    host.shutdown().await;
    let told = peer.await.unwrap();
    let kinds: Vec<&Value> = told.iter().map(|line| &line["params"]["kind"]).collect();
    assert_eq!(kinds, ["agent.turn.start", "agent.tool.exec_end"]);
    let error = HookSubscriptions::parse::<&str>(&["turn_ends"], &[]).unwrap_err().to_string();
    assert!(error.starts_with(r#"unsupported observe event "turn_ends""#), "{error}");
    let error = HookSubscriptions::parse(&["*"], &["before_everything"]).unwrap_err().to_string();
    assert!(error.starts_with(r#"unsupported intercept "before_everything""#), "{error}");
}

/// A hook within the program: replaces a call and records its queries.
struct InProcess;

#[async_trait::async_trait]
impl BeforeToolExecute for InProcess {
    async fn before_tool_execute(&self, _: &CancellationToken, _: &ToolCall) -> ToolDecision {
        let args = RawJson::parse(r#"{"command":"of the program"}"#).unwrap();
        ToolDecision::Rewrite { tool: None, args }
    }

    fn role(&self, _: &str) -> Option<HookRole> {
        Some(HookRole::Ordered)
    }

    fn name(&self) -> &str {
        "program"
    }
}

/// For every priority, a process hook runs after the hooks within the program. Native extensions also run
/// after those, and before process hooks.
#[tokio::test(start_paused = true)]
async fn sorts_in_process_before_process() {
    let mut first = hook(ALL, &[]);
    first.priority = i32::MIN;
    let (host, peer, events) = host_with(first).await;
    let peer = play(peer, goes_on);
    let stage = Stage::new(one_call());
    let agent = stage.agent(&host).before_tool_execute(InProcess).build().unwrap();
    let ran = stage.prompt(&agent, "hello").await;
    host.shutdown().await;
    assert_eq!((ran.executions, events.faults()), (1, vec![]));
    let asked = peer.await.unwrap();
    let before = asked.iter().find(|line| line["method"] == "hook.before_tool").unwrap();
    assert_eq!(before["params"]["arguments"], json!({"command": "of the program"}));
}

/// Runs a call with two approving hooks that send these answers. Returns its result and the number of queries
/// to the second hook.
async fn approved(first: Value, second: Value) -> (String, usize) {
    let events = Events::default();
    let (mut builder, mut peers) = (builder(&events), Vec::new());
    for (name, answer) in [("a", first), ("b", second)] {
        let (peer, reader, writer) = FakePeer::pair();
        builder = builder.hook_streams(name, hook(&["approve_tool"], &[]), reader, writer);
        peers.push(play(peer, answers("hook.approve_tool", answer)));
    }
    let host = builder.start().await;
    let ran = run(&host, one_call()).await;
    host.shutdown().await;
    assert_eq!(events.faults(), []);
    let asked = peers.pop().unwrap().await.unwrap();
    (ran.result().0, asked.iter().filter(|line| line["method"] == "hook.approve_tool").count())
}

#[tokio::test(start_paused = true)]
async fn first_denial_of_approvers_counts() {
    let (yes, no) = (json!({"approved": true}), |by: &str| json!({"approved": false, "reason": by}));
    let denied = |by: &str| format!("Tool execution denied by approval hook: {by}");
    assert_eq!(approved(yes.clone(), yes.clone()).await, (r#"ran {"command":"ls"}"#.to_owned(), 1));
    assert_eq!(approved(yes.clone(), no("b")).await, (denied("b"), 1));
    assert_eq!(approved(no("a"), no("b")).await, (denied("a"), 0), "the second hook is not queried");
    assert_eq!(approved(no("a"), yes).await, (denied("a"), 0));
}

/// The next hook receives the result of the previous one, with all data of the turn. In PicoClaw, a part that
/// a hook did not send back is lost.
#[tokio::test(start_paused = true)]
async fn partial_reply_keeps_input_of_next_hook() {
    let events = Events::default();
    let (mut builder, mut peers) = (builder(&events), Vec::new());
    let changed = json!({"action": "modify", "call": {"arguments": {"command": "ls -1"}}});
    for (name, reply) in [("a", changed), ("b", json!({}))] {
        let (peer, reader, writer) = FakePeer::pair();
        builder = builder.hook_streams(name, hook(&["before_tool"], &[]), reader, writer);
        peers.push(play(peer, answers("hook.before_tool", reply)));
    }
    let host = builder.start().await;
    let ran = run(&host, one_call()).await;
    host.shutdown().await;
    assert_eq!((ran.result().0.as_str(), events.faults()), (r#"ran {"command":"ls -1"}"#, vec![]));
    let asked = peers.pop().unwrap().await.unwrap();
    let params = &asked.iter().find(|line| line["method"] == "hook.before_tool").unwrap()["params"];
    assert_eq!((&params["tool"], &params["meta"]["AgentID"]), (&json!("bash"), &json!("main")));
    assert_eq!(params["context"]["inbound"]["channel"], "cli");
}
