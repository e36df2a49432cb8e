//! Tool calls that hooks change, approve and refuse.

use serde_json::{Value, json};

use super::super::agency::{Does, answers, calls, goes_on};
use super::{ALL, Scene};

fn echo(text: &str) -> Vec<Vec<haft_protocol::message::AssistantBlock>> {
    vec![calls("echo_text", json!({"text": text}))]
}

#[tokio::test(start_paused = true)]
async fn hooks_tool_interceptor_can_rewrite() {
    let scene = Scene::new(&["before_tool", "after_tool"], echo("original"), |call| {
        let mut params = call["params"].clone();
        match call["method"].as_str() {
            Some("hook.before_tool") => {
                params["arguments"]["text"] = json!("modified");
                Does::Reply(json!({"action": "modify", "call": params}))
            }
            Some("hook.after_tool") => {
                let text = params["result"]["for_llm"].as_str().unwrap();
                params["result"]["for_llm"] = json!(format!("after:{text}"));
                Does::Reply(json!({"action": "modify", "result": params}))
            }
            _ => goes_on(call),
        }
    });
    let (ran, told) = scene.await.prompt().await;
    assert_eq!(ran.answer(), "after:modified");
    assert_eq!(told.events.faults(), []);
}

/// The conversation keeps the name of the model's call; events are about the tool that ran.
#[tokio::test(start_paused = true)]
async fn hooks_tool_feedback_uses_rewritten_tool_name() {
    let call = json!({"tool": "echo_text", "arguments": {"text": "instead"}});
    let does = answers("hook.before_tool", json!({"action": "modify", "call": call}));
    let (ran, told) = Scene::new(ALL, super::super::agency::one_call(), does).await.prompt().await;
    assert_eq!((ran.result(), ran.executions), (("instead".to_owned(), false), 0));
    for kind in ["agent.tool.exec_start", "agent.tool.exec_end"] {
        let names: Vec<&Value> =
            told.events(kind).into_iter().map(|event| &event["payload"]["Tool"]).collect();
        assert_eq!(names, ["echo_text"], "{kind}");
    }
    let end = told.events("agent.turn.end")[0];
    assert_eq!(end["payload"]["ToolKinds"], json!(["echo_text"]));
    assert_eq!(told.asked("hook.approve_tool")[0]["tool"], "echo_text");
    assert_eq!(told.asked("hook.after_tool")[0]["tool"], "echo_text");
    assert_eq!(told.events.faults(), []);
}

/// Checks a call that does not run: the text for the model, and the reason of the skip event.
#[track_caller]
fn check_denied(told: &super::HookTranscript, ran: &super::Ran, text: &str) {
    assert_eq!(ran.result(), (text.to_owned(), true));
    assert_eq!(ran.answer(), text, "the model receives the reason and continues");
    let [skipped] = &told.events("agent.tool.exec_skipped")[..] else { panic!("{:?}", told.kinds()) };
    assert_eq!(skipped["payload"], json!({"Tool": "echo_text", "Reason": text}));
    assert_eq!(skipped["severity"], "warn");
    assert!(told.events("agent.tool.exec_start").is_empty() && told.events("agent.tool.exec_end").is_empty());
}

#[tokio::test(start_paused = true)]
async fn hooks_tool_approver_can_deny() {
    let does = answers("hook.approve_tool", json!({"approved": false, "reason": "blocked"}));
    let (ran, told) = Scene::new(ALL, echo("x"), does).await.prompt().await;
    check_denied(&told, &ran, "Tool execution denied by approval hook: blocked");
}

#[tokio::test(start_paused = true)]
async fn hooks_tool_deny_action() {
    let does = answers("hook.before_tool", json!({"action": "deny_tool", "reason": "tool denied by hook"}));
    let (ran, told) = Scene::new(ALL, echo("x"), does).await.prompt().await;
    check_denied(&told, &ran, "Tool execution denied by hook: tool denied by hook");
    assert_eq!(told.asked("hook.approve_tool").len(), 0);
}

/// A tool without arguments is called with an empty object, not with `null`.
#[tokio::test(start_paused = true)]
async fn clone_string_any_map_empty_map_returns_non_nil() {
    let says = || vec![calls("echo_text", json!({}))];
    let call = json!({"tool": "echo_text", "arguments": {}});
    for reply in [
        json!({"action": "continue"}),
        json!({"action": "modify", "call": call}),
        json!({"action": "modify", "call": {"tool": "echo_text"}}),
        json!({"action": "modify", "call": {"tool": "echo_text", "arguments": null}}),
    ] {
        let (ran, told) =
            Scene::new(ALL, says(), answers("hook.before_tool", reply.clone())).await.prompt().await;
        assert_eq!((ran.result(), told.events.faults()), ((String::new(), false), vec![]), "{reply}");
        for method in ["hook.before_tool", "hook.approve_tool", "hook.after_tool"] {
            assert_eq!(told.asked(method)[0]["arguments"], json!({}), "{method} {reply}");
        }
        assert_eq!(told.events("agent.tool.exec_start")[0]["payload"]["Arguments"], json!({}));
    }
}
