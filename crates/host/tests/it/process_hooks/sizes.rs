//! Size limits of a hook's texts: the call survives, and no gate is bypassed.

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
use haft_host::Host;
use haft_protocol::content::ToolCall;
use haft_protocol::message::AssistantBlock;
use serde_json::{Value, json};

use super::agency::{Does, Ran, Stage, answers, calls, goes_on, one_call, play, run, said};
use super::{hook, host_with};
use crate::support::{Events, fault};

/// Returns a text beyond all limits except that of arguments.
fn long() -> String {
    "x".repeat(300 << 10)
}

/// Returns arguments beyond the limit.
fn long_arguments() -> Value {
    json!({"command": "x".repeat(1 << 20)})
}

/// Runs one call with a hook that sends this answer at one point.
async fn under(point: &'static str, method: &'static str, result: Value) -> (Ran, Events) {
    let (host, peer, events) = host_with(hook(&[point], &[])).await;
    let peer = play(peer, answers(method, result));
    let ran = run(&host, one_call()).await;
    host.shutdown().await;
    peer.await.unwrap();
    (ran, events)
}

#[tokio::test(start_paused = true)]
async fn truncates_reason() {
    for (point, method, result) in [
        ("before_tool", "hook.before_tool", json!({"action": "deny_tool", "reason": long()})),
        ("approve_tool", "hook.approve_tool", json!({"approved": false, "reason": long()})),
    ] {
        let (ran, events) = under(point, method, result).await;
        let (text, _) = ran.result();
        assert!(text.len() < 5_000 && text.ends_with("the limit is 4096]"), "{point}: {}", text.len());
        assert_eq!((ran.executions, events.faults()), (0, vec![]), "{point}");
    }
    for (point, method) in [
        ("before_llm", "hook.before_llm"),
        ("after_llm", "hook.after_llm"),
        ("before_tool", "hook.before_tool"),
        ("after_tool", "hook.after_tool"),
    ] {
        let (ran, _) = under(point, method, json!({"action": "abort_turn", "reason": long()})).await;
        let error = ran.outcome.unwrap_err();
        assert!(format!("{error:?}").len() < 10_000, "{point}");
    }
}

/// Arguments are not truncated, because truncated ones have another meaning.
#[tokio::test(start_paused = true)]
async fn does_not_run_call_with_oversized_arguments() {
    let changed = json!({"action": "modify", "call": {"arguments": long_arguments()}});
    let (ran, events) = under("before_tool", "hook.before_tool", changed).await;
    assert_eq!((ran.executions, events.faults()), (0, vec![fault("gate", "hook_error")]));
    insta::assert_snapshot!(ran.result().0, @r#"Tool execution denied by hook: blocked: extension gate, which must approve this, sent an invalid answer: the field "arguments" has 1048590 bytes; the limit is 1048576; the user was notified"#);
    let changed = json!({"action": "modify", "call": {"tool": long()}});
    let (ran, events) = under("before_tool", "hook.before_tool", changed).await;
    assert_eq!((ran.executions, events.faults()), (0, vec![fault("gate", "hook_error")]));
    assert!(ran.result().0.len() < 1_000);
}

#[tokio::test(start_paused = true)]
async fn truncates_text_for_people() {
    let result = json!({"action": "respond", "result": {"for_llm": "fine", "for_user": long()}});
    let (ran, _) = under("before_tool", "hook.before_tool", result).await;
    assert_eq!((ran.executions, ran.result().0.as_str()), (0, "fine"));
    assert!(format!("{:?}", ran.events).len() < 200_000);
}

/// The text is truncated, because the hook rejected the original; its oversized calls are dropped.
#[tokio::test(start_paused = true)]
async fn truncates_edited_answer() {
    let call = |arguments: Value| {
        let function = json!({"name": "bash", "arguments": arguments.to_string()});
        json!({"id": "t1", "type": "function", "function": function})
    };
    let edit = |response: Value| json!({"action": "modify", "response": {"response": response}});
    let edited = edit(json!({"content": long()}));
    let (ran, events) = under("after_llm", "hook.after_llm", edited).await;
    assert!(ran.outcome.is_ok(), "{:?}", ran.outcome);
    assert_eq!((ran.executions, events.faults().first()), (1, Some(&fault("gate", "hook_error"))));
    assert!((200_000..300_000).contains(&ran.answer().len()), "{}", ran.answer().len());
    let edited = edit(json!({"content": "", "tool_calls": [call(long_arguments())]}));
    let (ran, events) = under("after_llm", "hook.after_llm", edited).await;
    assert_eq!((ran.executions, events.faults()), (0, vec![fault("gate", "hook_error")]));
}

/// A tool with exactly this result.
struct Full(ToolOutput);

#[async_trait]
impl Tool for Full {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::new(ToolSpec::new("full", "Is full."))
    }

    async fn execute(&self, _: ToolContext, _: ToolCall) -> ToolOutput {
        self.0.clone()
    }
}

/// Returns the result of a tool with this text after a hook removed one word.
async fn redacted(host: &Host, says: String) -> String {
    let call: Vec<AssistantBlock> = calls("full", json!({}));
    let stage = Stage::new(vec![call, vec![said("done")]]);
    let agent = stage.agent(host).tool(Full(ToolOutput::text(says))).build().unwrap();
    stage.prompt(&agent, "go").await.result().0
}

#[tokio::test(start_paused = true)]
async fn full_result_loses_only_removed_parts() {
    let (host, peer, events) = host_with(hook(&["after_tool"], &[])).await;
    let peer = play(peer, |call| {
        if call["method"] != "hook.after_tool" {
            return goes_on(call);
        }
        let text = call["params"]["result"]["for_llm"].as_str().unwrap();
        Does::Reply(json!({"result": {"result": {"for_llm": text.replace("pw", "[redacted]")}}}))
    });
    let notes = "[the whole output is in /tmp/x]\nexit code 3";
    for full in [format!("pw\n{}", "line\n".repeat(1_999)), format!("pw{}\n", "x".repeat(51_197))] {
        let before = format!("{full}{notes}");
        assert_eq!(redacted(&host, before.clone()).await, before.replace("pw", "[redacted]"));
    }
    host.shutdown().await;
    peer.await.unwrap();
    assert_eq!(events.faults(), []);
}
