//! The effect of each reply on the turn.

use haft_core::error::TurnErrorKind;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::Message;
use serde_json::{Value, json};

use super::agency::{Does, Ran, answers, calls, goes_on, methods, one_call, play, run, said};
use super::{hook, host_with};
use crate::support::Events;

const ALL: &[&str] = &["before_llm", "after_llm", "before_tool", "after_tool", "approve_tool"];

/// Runs a turn with a call of `bash` in which the hook answers one method with this result.
async fn turn(method: &'static str, result: Value) -> (Ran, Vec<Value>, Events) {
    let (host, peer, events) = host_with(hook(ALL, &[])).await;
    let peer = play(peer, answers(method, result));
    let ran = run(&host, one_call()).await;
    host.shutdown().await;
    (ran, peer.await.unwrap(), events)
}

#[tokio::test(start_paused = true)]
async fn sends_complete_flow_in_order() {
    let (ran, calls, events) = turn("hook.before_tool", json!({"action": "continue"})).await;
    let expect = [
        "hook.before_llm",
        "hook.after_llm",
        "hook.before_tool",
        "hook.approve_tool",
        "hook.after_tool",
        "hook.before_llm",
        "hook.after_llm",
    ];
    assert_eq!(methods(&calls), expect);
    let ids: Vec<u64> = calls.iter().map(|call| call["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [2, 3, 4, 5, 6, 7, 8]);
    assert_eq!((ran.executions, ran.answer().as_str()), (1, "two files"));
    assert_eq!(events.faults(), []);
    let meta = |at: usize, field: &str| calls[at]["params"]["meta"][field].clone();
    assert_eq!([meta(0, "Iteration"), meta(4, "Iteration"), meta(6, "Iteration")], [1, 1, 2]);
    assert_eq!((meta(2, "AgentID"), meta(2, "Source")), (json!("main"), json!("runTurn")));
    assert_eq!(meta(2, "TracePath"), json!("turn.tool.before"));
    assert_eq!(meta(0, "TurnID"), meta(6, "TurnID"));
    assert!(meta(0, "TurnID").as_str().unwrap().starts_with("main-turn-"));
    let params = &calls[2]["params"];
    assert_eq!((&params["channel"], &params["chat_id"]), (&json!("cli"), &json!("direct")));
    assert_eq!(params["context"]["inbound"]["chat_type"], "direct");
    assert_eq!((&params["tool"], &params["arguments"]), (&json!("bash"), &json!({"command": "ls"})));
    assert_eq!(calls[4]["params"]["result"]["for_llm"], r#"ran {"command":"ls"}"#);
    let asked = &calls[1]["params"]["response"]["tool_calls"][0]["function"];
    assert_eq!(asked, &json!({"name": "bash", "arguments": r#"{"command":"ls"}"#}));
}

#[tokio::test(start_paused = true)]
async fn hook_changes_call() {
    let result = json!({"action": "modify", "call": {"tool": "bash", "arguments": {"command": "ls -1"}}});
    let (ran, calls, _) = turn("hook.before_tool", result).await;
    assert_eq!(ran.result(), (r#"ran {"command":"ls -1"}"#.to_owned(), false));
    assert_eq!(
        calls[3]["params"]["arguments"],
        json!({"command": "ls -1"}),
        "the approval query has the final arguments"
    );
    let kept = ran.messages.iter().find_map(|message| {
        let Message::Assistant(message) = message else { return None };
        message.tool_calls().next().map(|call| call.args.to_string())
    });
    assert_eq!(kept.as_deref(), Some(r#"{"command":"ls"}"#), "the conversation keeps the model's call");
}

#[tokio::test(start_paused = true)]
async fn denial_uses_picoclaws_words() {
    let (ran, calls, _) =
        turn("hook.before_tool", json!({"action": "deny_tool", "reason": "not here"})).await;
    assert_eq!(ran.result(), ("Tool execution denied by hook: not here".to_owned(), true));
    assert_eq!((ran.executions, ran.answer().as_str()), (0, "two files"));
    assert!(!methods(&calls).contains(&"hook.approve_tool"));
    let (ran, _, _) =
        turn("hook.approve_tool", json!({"approved": false, "reason": "blocked by ipc hook"})).await;
    assert_eq!(ran.result().0, "Tool execution denied by approval hook: blocked by ipc hook");
    let (ran, _, events) = turn("hook.approve_tool", json!({})).await;
    assert_eq!(ran.result().0, "Tool execution denied by approval hook");
    assert!(
        events.only_message().contains(r#"expected {"approved":true|false"#),
        "{}",
        events.only_message()
    );
}

#[tokio::test(start_paused = true)]
async fn approves_registered_tool_before_hook_answer() {
    let result = json!({"action": "respond", "result": {"for_llm": "from the cache", "for_user": "cached"}});
    let (ran, calls, events) = turn("hook.before_tool", result).await;
    assert_eq!((ran.result(), ran.executions), (("from the cache".to_owned(), false), 0));
    let expect = ["hook.before_llm", "hook.after_llm", "hook.before_tool", "hook.approve_tool"];
    assert_eq!(methods(&calls[..4]), expect);
    assert!(!methods(&calls).contains(&"hook.after_tool"));
    assert_eq!(shown(&ran), ["cached"]);
    assert_eq!(events.all(), []);
}

/// Returns the texts that were shown to the user besides the results.
fn shown(ran: &Ran) -> Vec<&str> {
    let shown = ran.events.iter().filter_map(|event| {
        let AgentEvent::ExtDisplay { text, .. } = event else { return None };
        Some(text.as_str())
    });
    shown.collect()
}

#[tokio::test(start_paused = true)]
async fn shows_user_text_of_accepted_answer() {
    let result = json!({"for_llm": "from the cache", "for_user": "cached"});
    let respond = json!({"action": "respond", "result": result});
    let (host, peer, _) = host_with(hook(ALL, &[])).await;
    let peer = play(peer, move |call| match call["method"].as_str() {
        Some("hook.before_tool") => Does::Reply(respond.clone()),
        Some("hook.approve_tool") => Does::Reply(json!({"approved": false})),
        _ => goes_on(call),
    });
    let ran = run(&host, one_call()).await;
    assert_eq!((ran.result().1, shown(&ran)), (true, vec![]));
    host.shutdown().await;
    peer.await.unwrap();
    let silent = json!({"for_llm": "from the cache", "for_user": "cached", "silent": true});
    let (ran, _, _) = turn("hook.before_tool", json!({"action": "respond", "result": silent})).await;
    assert_eq!(shown(&ran), [""; 0]);
    let after = json!({"result": {"for_llm": "ran", "for_user": "it ran"}});
    let (ran, _, _) = turn("hook.after_tool", json!({"action": "modify", "result": after})).await;
    assert_eq!((ran.result().0.as_str(), shown(&ran)), ("ran", vec!["it ran"]));
    let order = |wanted: fn(&AgentEvent) -> bool| ran.events.iter().position(wanted);
    let result = order(|event| matches!(event, AgentEvent::ToolResult { .. }));
    assert!(result < order(|event| matches!(event, AgentEvent::ExtDisplay { .. })));
}

#[tokio::test(start_paused = true)]
async fn vouching_hook_needs_no_approval() {
    let mut gate = hook(ALL, &[]);
    gate.vouches.insert("bash".into());
    let (host, peer, _) = host_with(gate).await;
    let result = json!({"action": "respond", "result": {"for_llm": "from the cache"}});
    let peer = play(peer, answers("hook.before_tool", result));
    assert_eq!(run(&host, one_call()).await.result().0, "from the cache");
    host.shutdown().await;
    assert!(!methods(&peer.await.unwrap()).contains(&"hook.approve_tool"));
}

#[tokio::test(start_paused = true)]
async fn handled_result_ends_turn() {
    let result = json!({"action": "respond", "result": {"for_llm": "x", "response_handled": true}});
    let (ran, _, _) = turn("hook.before_tool", result).await;
    assert_eq!(ran.requests.len(), 1, "no further request is sent");
}

#[tokio::test(start_paused = true)]
async fn abort_ends_turn() {
    for (method, error) in [
        ("hook.before_llm", true),
        ("hook.after_llm", true),
        ("hook.before_tool", true),
        ("hook.after_tool", true),
    ] {
        let (ran, _, _) = turn(method, json!({"action": "abort_turn", "reason": "enough"})).await;
        let kind = ran.outcome.map_err(|error| error.kind);
        let expect = TurnErrorKind::Blocked { by: "gate".into(), reason: "enough".into() };
        assert_eq!(kind == Err(expect), error, "{method}: {kind:?}");
        let (ran, _, _) = turn(method, json!({"action": "hard_abort"})).await;
        assert!(ran.outcome.is_ok(), "{method}: {:?}", ran.outcome);
        assert_eq!(ran.messages, [], "{method}: the turn leaves no messages");
        let discarded =
            AgentEvent::TurnDiscarded { by: "gate".into(), reason: "hook requested turn abort".into() };
        assert!(ran.events.contains(&discarded), "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn hook_changes_result() {
    let result = json!({"action": "modify", "result": {"result": {"for_llm": "[redacted]"}}});
    let (ran, _, _) = turn("hook.after_tool", result).await;
    assert_eq!((ran.result(), ran.executions), (("[redacted]".to_owned(), false), 1));
    let flat = json!({"action": "modify", "result": {"for_llm": "[redacted]"}});
    let (ran, _, events) = turn("hook.after_tool", flat).await;
    assert_eq!(ran.result().0, r#"ran {"command":"ls"}"#);
    let message = events.only_message();
    assert!(message.contains(r#"expected {"action":"continue|modify"#), "{message}");
}

#[tokio::test(start_paused = true)]
async fn hook_changes_answer() {
    let (host, peer, _) = host_with(hook(&["after_llm"], &[])).await;
    let peer =
        play(peer, answers("hook.after_llm", json!({"response": {"response": {"content": "edited"}}})));
    let ran = run(&host, vec![vec![said("raw")]]).await;
    assert_eq!(ran.answer(), "edited");
    let Some(Message::Assistant(kept)) = ran.messages.last() else { panic!("{:?}", ran.messages) };
    assert_eq!(kept.text(), "edited", "the edited text is kept");
    host.shutdown().await;
    peer.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn hook_changes_only_this_request() {
    let (host, peer, events) = host_with(hook(&["before_llm"], &[])).await;
    let peer = play(peer, |call| {
        if call["method"] != "hook.before_llm" || call["params"]["meta"]["Iteration"] != 1 {
            return goes_on(call);
        }
        let mut request = call["params"].clone();
        let added = json!({"role": "user", "content": "be brief"});
        request["messages"].as_array_mut().unwrap().push(added);
        request["options"] = json!({"max_tokens": 100, "temperature": 0.5});
        Does::Reply(json!({"action": "modify", "request": request}))
    });
    let ran = run(&host, one_call()).await;
    let [first, second] = &ran.requests[..] else { panic!("{}", ran.requests.len()) };
    assert_eq!((first.messages.len(), second.messages.len()), (2, 3), "the conversation is unchanged");
    assert_eq!((first.options.max_tokens, first.options.temperature), (Some(100), Some(0.5)));
    assert_eq!(second.options.max_tokens, None);
    assert_eq!(events.faults(), []);
    host.shutdown().await;
    peer.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn reports_change_of_system_prompt_and_unknown_model() {
    let (host, peer, events) = host_with(hook(&["before_llm"], &[])).await;
    let peer = play(peer, |call| {
        if call["method"] != "hook.before_llm" {
            return goes_on(call);
        }
        let messages = json!([{"role": "system", "content": "obey"}, {"role": "user", "content": "other"}]);
        Does::Reply(json!({"request": {"model": "process-model", "messages": messages}}))
    });
    let ran = run(&host, vec![vec![said("hi")]]).await;
    assert_eq!(ran.requests[0].messages.len(), 1);
    assert_ne!(ran.requests[0].system, "obey");
    let messages: Vec<String> = events
        .all()
        .iter()
        .filter_map(|event| {
            let AgentEvent::ExtensionError(fault) = event else { return None };
            Some(fault.message.clone())
        })
        .collect();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].contains("the system prompt"), "{messages:?}");
    assert!(messages[1].contains(r#"model "process-model""#), "{messages:?}");
    host.shutdown().await;
    peer.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn runs_tool_of_hook() {
    let (host, peer, events) = host_with(hook(&["before_llm", "before_tool", "approve_tool"], &[])).await;
    let peer = play(peer, |call| match call["method"].as_str() {
        Some("hook.before_llm") => {
            let mut tools = call["params"]["tools"].clone();
            let parameters = json!({"type": "object", "properties": {"input": {"type": "string"}}});
            let function = json!({"name": "my_plugin_tool", "description": "Plugin provided tool", "parameters": parameters});
            tools.as_array_mut().unwrap().push(json!({"type": "function", "function": function}));
            let params = &call["params"];
            let request = json!({"model": params["model"], "messages": params["messages"], "tools": tools,
                "options": params["options"]});
            Does::Reply(json!({"action": "modify", "request": request}))
        }
        Some("hook.before_tool") if call["params"]["tool"] == "my_plugin_tool" => {
            let text = format!("executed, input: {}", call["params"]["arguments"]["input"].as_str().unwrap());
            Does::Reply(
                json!({"action": "respond", "result": {"for_llm": text, "silent": false, "is_error": false}}),
            )
        }
        _ => goes_on(call),
    });
    let says = vec![calls("my_plugin_tool", json!({"input": "x"})), vec![said("fine")]];
    let ran = run(&host, says).await;
    let offered: Vec<&str> = ran.requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(offered, ["bash", "my_plugin_tool"]);
    assert_eq!(ran.result(), ("executed, input: x".to_owned(), false));
    assert_eq!((ran.answer().as_str(), events.faults()), ("fine", vec![]));
    host.shutdown().await;
    let calls = peer.await.unwrap();
    assert!(!methods(&calls).contains(&"hook.approve_tool"), "tools of hooks need no approval");
}

#[tokio::test(start_paused = true)]
async fn echo_and_empty_reply_continue() {
    let fields = [
        ("hook.before_llm", "request"),
        ("hook.after_llm", "response"),
        ("hook.before_tool", "call"),
        ("hook.after_tool", "result"),
    ];
    let (host, peer, events) = host_with(hook(ALL, &[])).await;
    let peer = play(peer, move |call| match fields.iter().find(|(method, _)| call["method"] == *method) {
        Some((_, field)) => Does::Reply(json!({"action": "modify", *field: call["params"]})),
        None => goes_on(call),
    });
    let ran = run(&host, one_call()).await;
    assert_eq!((ran.executions, ran.answer().as_str(), events.faults()), (1, "two files", vec![]));
    host.shutdown().await;
    peer.await.unwrap();
    for (method, _) in fields {
        let (ran, _, events) = turn(method, json!({})).await;
        assert_eq!(
            (ran.executions, ran.answer().as_str(), events.faults()),
            (1, "two files", vec![]),
            "{method}"
        );
    }
}
