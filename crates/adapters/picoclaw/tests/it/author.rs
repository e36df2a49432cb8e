//! Process hooks in memory: the wire form of each decision, and its meaning for haft.

use haft_adapter_picoclaw::author::HookHarness;
use haft_adapter_picoclaw::author::{
    ApprovalDecision, Hook, HookEvent, HookEventKind, HookEventPayload, HookMessage, HookToolResult,
    RequestDecision, ResponseDecision, ResultDecision, ToolDecision, ToolDefinition,
};
use haft_adapter_picoclaw::wire::{
    BeforeLlm, Call, HookHello, HookMode, LegacyEvent, LlmDecision, LlmEdit, MessageEdit, Method,
    RuntimeEvent, ToolExecEnd, TurnEnd,
};
use haft_protocol::RawJson;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Every mode, as PicoClaw's documents show them: what is not known of the params is repeated.
const CALLS: &str = r#"{"jsonrpc":"2.0","id":2,"method":"hook.before_llm","params":{"meta":{"TurnID":"turn-1","Iteration":0,"New":1},"model":"claude-sonnet","messages":[{"role":"user","content":"a < b","prompt_slot":7}],"tools":[{"type":"function","function":{"name":"echo","description":"echo text","parameters":{"type":"object"}}}],"options":{"max_tokens":8192,"temperature":0.7,"top_k":40}}}
{"jsonrpc":"2.0","id":3,"method":"hook.after_llm","params":{"meta":{"TurnID":"turn-1"},"model":"claude-sonnet","response":{"content":"Hi!","finish_reason":"stop","tool_calls":[{"id":"tc-1","type":"function","function":{"name":"echo","arguments":"{}"}}],"new":[1]}}}
{"jsonrpc":"2.0","id":4,"method":"hook.before_tool","params":{"meta":{"TurnID":"turn-1"},"tool":"echo_text","arguments":{"text":"hello"}}}
{"jsonrpc":"2.0","id":5,"method":"hook.after_tool","params":{"meta":{"TurnID":"turn-1"},"tool":"echo_text","result":{"for_llm":"echoed: hello","silent":false,"is_error":false,"async":false,"new":1},"duration":15000000}}
{"jsonrpc":"2.0","id":6,"method":"hook.approve_tool","params":{"meta":{"TurnID":"turn-1"},"tool":"bash","arguments":{"command":"rm -rf /"}}}
"#;

/// Returns the replies of a hook to [`CALLS`], in the order of the calls.
#[track_caller]
fn replies(hook: Hook) -> Vec<String> {
    said(hook, CALLS)
}

/// Returns the replies of a hook to these lines, by id.
#[track_caller]
fn said(hook: Hook, lines: &str) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut output = Vec::new();
    runtime.block_on(hook.serve_on(lines.as_bytes(), &mut output)).unwrap();
    let output = String::from_utf8(output).unwrap();
    let mut lines: Vec<String> = output.lines().map(str::to_owned).collect();
    lines.sort_by_key(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64());
    lines
}

fn changing() -> Hook {
    Hook::new()
        .before_llm(|mut call| async move {
            call.add_tool(ToolDefinition::new("echo", "another", json!({})));
            call.add_tool(ToolDefinition::new("late", "late", json!({"type": "object"})));
            RequestDecision::modify(call)
        })
        .after_llm(|mut call| async move {
            call.response.content.push('?');
            ResponseDecision::modify(call.response)
        })
        .before_tool(|_| async { ToolDecision::arguments(json!({"text": "changed"})) })
        .after_tool(|mut call| async move {
            call.result.for_llm = call.result.for_llm.to_uppercase();
            ResultDecision::modify(call.result)
        })
        .approve_tool(|_| async { ApprovalDecision::Approve })
}

#[test]
fn changes_are_sent_with_all_params() {
    let expect = [
        r#"{"jsonrpc":"2.0","id":2,"result":{"action":"modify","request":{"messages":[{"role":"user","content":"a < b","prompt_slot":7}],"meta":{"TurnID":"turn-1","Iteration":0,"New":1},"model":"claude-sonnet","options":{"max_tokens":8192,"temperature":0.7,"top_k":40},"tools":[{"type":"function","function":{"name":"echo","description":"echo text","parameters":{"type":"object"}}},{"type":"function","function":{"name":"late","description":"late","parameters":{"type":"object"}}}]}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"action":"modify","response":{"meta":{"TurnID":"turn-1"},"model":"claude-sonnet","response":{"content":"Hi!?","finish_reason":"stop","new":[1],"tool_calls":[{"id":"tc-1","type":"function","function":{"name":"echo","arguments":"{}"}}]}}}}"#,
        r#"{"jsonrpc":"2.0","id":4,"result":{"action":"modify","call":{"arguments":{"text":"changed"},"meta":{"TurnID":"turn-1"},"tool":"echo_text"}}}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":{"action":"modify","result":{"arguments":{},"duration":15000000,"meta":{"TurnID":"turn-1"},"result":{"async":false,"for_llm":"ECHOED: HELLO","is_error":false,"new":1,"silent":false},"tool":"echo_text"}}}"#,
        r#"{"jsonrpc":"2.0","id":6,"result":{"approved":true}}"#,
    ];
    assert_eq!(replies(changing()), expect);
}

#[test]
fn hook_without_handlers_allows_all_but_approvals() {
    let replies = replies(Hook::new());
    for (id, reply) in (2..6).zip(&replies) {
        assert_eq!(*reply, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"continue"}}}}"#));
    }
    let denied = r#"{"jsonrpc":"2.0","id":6,"result":{"approved":false,"reason":"this hook has no approve_tool handler; remove approve_tool from its intercept list"}}"#;
    assert_eq!(replies[4], denied);
}

#[test]
fn unchanged_params_send_an_empty_reply() {
    let hook = Hook::new()
        .before_llm(|call| async move { RequestDecision::modify(call) })
        .after_llm(|call| async move { ResponseDecision::modify(call.response) })
        .before_tool(|call| async move { ToolDecision::arguments(call.arguments) })
        .after_tool(|call| async move { ResultDecision::modify(call.result) });
    for reply in &replies(hook)[..4] {
        assert!(reply.ends_with(r#""result":{"action":"continue"}}"#), "{reply}");
    }
}

#[test]
fn aborts_and_denials_have_their_actions() {
    let hook = Hook::new()
        .before_llm(|_| async { RequestDecision::abort_turn("a") })
        .after_llm(|_| async { ResponseDecision::hard_abort("b") })
        .before_tool(|_| async { ToolDecision::deny("c") })
        .after_tool(|_| async { ResultDecision::abort_turn("") })
        .approve_tool(|_| async { ApprovalDecision::deny("d") });
    let results: Vec<Value> = replies(hook).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let results: Vec<&Value> = results.iter().map(|reply| &reply["result"]).collect();
    let expect = [
        json!({"action": "abort_turn", "reason": "a"}),
        json!({"action": "hard_abort", "reason": "b"}),
        json!({"action": "deny_tool", "reason": "c"}),
        json!({"action": "abort_turn"}),
        json!({"approved": false, "reason": "d"}),
    ];
    assert_eq!(results, expect.iter().collect::<Vec<_>>());
}

fn panics() -> ApprovalDecision {
    panic!("on purpose")
}

#[test]
fn handlers_that_fail_or_panic_are_answered_with_an_error() {
    let hook = Hook::new()
        .before_tool(|_| async { Err::<ToolDecision, _>("no rules found") })
        .approve_tool(|_| async { panics() })
        .after_tool(|_| async { Ok::<_, String>(ResultDecision::Continue) })
        .before_llm(|_| -> std::future::Ready<RequestDecision> { panic!("before there is a future") });
    let replies = replies(hook);
    let error = |message| format!(r#""error":{{"code":-32000,"message":"{message}"}}}}"#);
    assert!(replies[0].ends_with(&error("handler panicked: before there is a future")), "{}", replies[0]);
    assert!(replies[2].ends_with(&error("no rules found")), "{}", replies[2]);
    assert!(replies[3].ends_with(r#""result":{"action":"continue"}}"#), "{}", replies[3]);
    assert!(replies[4].ends_with(&error("handler panicked: on purpose")), "{}", replies[4]);
}

#[test]
fn invalid_lines_with_an_id_are_answered() {
    let lines = r#"garbage
{"jsonrpc":"2.0","id":1,"method":"hook.after_dinner","params":{}}
{"jsonrpc":"2.0","id":2,"params":{}}
{"jsonrpc":"2.0","id":3,"method":"hook.before_tool","params":{"tool":5}}
{"jsonrpc":"2.0","id":4,"method":"hook.before_tool","params":{"tool":"a","tool":"b"}}
{"jsonrpc":"2.0","method":"hook.before_tool","params":{"tool":"a"}}
{"jsonrpc":"2.0","method":"hook.event","params":{"Kind":77}}
[]

{"jsonrpc":"2.0","id":5,"method":"hook.hello","params":{"name":"mine","version":1,"modes":"tool"}}
{"jsonrpc":"2.0","id":6,"method":"hook.hello","params":{"modes":["sing","tool"]}}
"#;
    let errors: Vec<(u64, i64)> = said(Hook::new(), lines)
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|reply| (reply["id"].as_u64().unwrap(), reply["error"]["code"].as_i64().unwrap_or_default()))
        .collect();
    assert_eq!(errors, [(1, -32601), (2, -32600), (3, -32602), (4, -32600), (5, -32602), (6, 0)]);
}

/// Adds a tool `weather` and answers its calls.
fn weather() -> Hook {
    #[derive(serde::Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    struct City {
        city: String,
    }
    Hook::new()
        .tool("weather", "The weather.", |args: City| async move {
            match args.city.as_str() {
                "" => panic!("nowhere"),
                city => HookToolResult::text(format!("{city}: sunny")),
            }
        })
        .before_tool(|call| async move { ToolDecision::deny(call.tool) })
}

#[tokio::test]
async fn own_tool_is_added_and_answered() {
    let harness = HookHarness::start(weather()).await;
    let LlmDecision::Modify(LlmEdit { model: None, messages: None, add_tools, options: None }) =
        harness.before_llm("hi", &["bash"]).await
    else {
        panic!("no tool\n{}", harness.transcript());
    };
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    assert_eq!(add_tools, [ToolDefinition::new("weather", "The weather.", RawJson::parse(schema).unwrap())]);
    assert_eq!(harness.before_llm("hi", &["weather"]).await, LlmDecision::Continue, "somebody else's");

    let result = |tool, args| harness.before_tool(tool, args);
    let sunny = ToolDecision::respond(HookToolResult::text("Bonn: sunny"));
    assert_eq!(result("weather", json!({"city": "Bonn"})).await, sunny);
    let wrong = "argument \"city\" does not fit: invalid type: integer `5`, expected a string";
    assert_eq!(
        result("weather", json!({"city": 5})).await,
        ToolDecision::respond(HookToolResult::error(wrong))
    );
    let panicked = ToolDecision::respond(HookToolResult::error("handler panicked: nowhere"));
    assert_eq!(result("weather", json!({"city": ""})).await, panicked);
    assert_eq!(result("bash", json!({})).await, ToolDecision::deny("bash"));
    harness.hang_up().await;
}

#[tokio::test]
async fn own_tool_is_not_added_to_a_final_request() {
    let harness = HookHarness::start(weather()).await;
    let last = BeforeLlm { graceful_terminal: true, ..BeforeLlm::default() };
    assert_eq!(harness.ask(last).await, Ok(LlmDecision::Continue));
}

#[tokio::test]
async fn handler_can_change_messages_model_and_options() {
    let hook = Hook::new().before_llm(|mut call| async move {
        call.model = "small".into();
        call.options.max_tokens = Some(100);
        call.messages.push(HookMessage::user("be brief"));
        RequestDecision::modify(call)
    });
    let harness = HookHarness::start(hook).await;
    let LlmDecision::Modify(edit) = harness.before_llm("hi", &[]).await else { panic!("unchanged") };
    assert_eq!(edit.model.as_deref(), Some("small"));
    assert_eq!(edit.options.unwrap().max_tokens, Some(100));
    let added = MessageEdit::New(Box::new(HookMessage::user("be brief")));
    assert_eq!(edit.messages.unwrap(), [MessageEdit::Unchanged(0), added]);
}

#[tokio::test]
async fn long_conversation_is_omitted_from_the_reply() {
    let harness = HookHarness::start(weather()).await;
    let long = "x".repeat(2 * 1024 * 1024);
    assert!(matches!(harness.before_llm(&long, &[]).await, LlmDecision::Modify(_)));
    let replies = harness.transcript();
    assert!(replies.lines().last().unwrap().len() < 2048, "the messages stay where they are");
}

#[tokio::test]
async fn oversized_reply_becomes_an_error() {
    let hook = Hook::new()
        .before_tool(|_| async { ToolDecision::respond(HookToolResult::text("x".repeat(9 * 1024 * 1024))) });
    let harness = HookHarness::start(hook).await;
    let question = haft_adapter_picoclaw::author::BeforeTool { tool: "t".into(), ..Default::default() };
    let error = harness.ask(question).await.unwrap_err();
    assert!(error.message.contains("longer than the host's limit of 8388608"), "{error}");
}

/// A hook that stores its events.
fn listening() -> (Hook, Arc<Mutex<Vec<HookEvent>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&told);
    let hook = Hook::new().on_event(move |event| {
        let keep = Arc::clone(&keep);
        async move { keep.lock().unwrap().push(event) }
    });
    (hook, told)
}

#[tokio::test]
async fn events_of_all_dialects_are_equal() {
    let (hook, told) = listening();
    let harness = HookHarness::start(hook).await;
    let payload = json!({"Status": "completed", "Iterations": 2});
    let legacy = |kind: Value| -> LegacyEvent {
        let params = json!({"Kind": kind, "Time": "t", "Meta": {"TurnID": "turn-1", "Iteration": 2, "Source": "runTurn"}, "Payload": payload});
        serde_json::from_value(params).unwrap()
    };
    let runtime = |kind: &str| -> RuntimeEvent {
        let params = json!({"id": "evt-1", "kind": kind, "time": "t", "source": {"component": "agent"}, "scope": {"turn_id": "turn-1"}, "correlation": {}, "payload": payload, "attrs": {"agent_source": "runTurn", "iteration": 2}});
        serde_json::from_value(params).unwrap()
    };
    harness.notify(legacy(json!("turn_end"))).await;
    harness.notify(legacy(json!(1))).await;
    harness.notify(runtime("agent.turn.end")).await;
    harness.notify(runtime("gateway.ready")).await;
    harness.event(ToolExecEnd { tool: "bash".into(), ..ToolExecEnd::default() }).await;

    harness.hang_up().await;
    let told = told.lock().unwrap();
    let names: Vec<&str> = told.iter().map(|event| event.name.as_str()).collect();
    let end = "agent.turn.end";
    assert_eq!(names, [end, end, end, "gateway.ready", "agent.tool.exec_end"]);
    for event in &told[..3] {
        assert_eq!((event.kind(), event.meta.turn_id.as_str()), (Some(HookEventKind::TurnEnd), "turn-1"));
        assert_eq!((event.meta.iteration, event.meta.source.as_str()), (2, "runTurn"));
        let end = TurnEnd { status: "completed".into(), iterations: 2, ..TurnEnd::default() };
        assert_eq!(event.payload, Some(HookEventPayload::TurnEnd(end)));
    }
    assert_eq!((told[3].kind(), &told[3].payload), (None, &None));
    assert!(told[3].params.as_str().contains("gateway.ready"));
}

#[tokio::test]
async fn events_arrive_in_order_despite_a_panic() {
    let (hook, told) = listening();
    let hook = hook.on_event(|event| async move { assert!(event.time != "2", "on purpose") });
    let harness = HookHarness::start(hook).await;
    for time in ["1", "2", "3"] {
        let params = RawJson::from_value(&json!({"Kind": "error", "Time": time})).unwrap();
        harness.notify(Call::read(Method::Event, &params).unwrap()).await;
    }
    let times: Vec<String> = told.lock().unwrap().iter().map(|event| event.time.clone()).collect();
    assert_eq!(times, ["1", "2", "3"]);
}

#[tokio::test]
async fn hello_handler_runs_first_and_can_reject() {
    let hook = Hook::new().on_hello(|hello| async move {
        match hello.modes.contains(&HookMode::Approve) {
            true => Ok(()),
            false => Err(format!("{} guards nothing: add approve_tool to its intercept", hello.name)),
        }
    });
    let harness = HookHarness::start(hook).await;
    let greeted = r#"← {"jsonrpc":"2.0","id":1,"result":{"ok":true,"name":"hook"}}"#;
    assert!(harness.transcript().ends_with(greeted), "{}", harness.transcript());
    let error = harness.ask(HookHello::new("gate", vec![HookMode::Tool])).await.unwrap_err();
    assert_eq!(error.message, "gate guards nothing: add approve_tool to its intercept");
}

#[tokio::test(start_paused = true)]
async fn calls_are_answered_when_done_and_all_at_the_end() {
    let hook = Hook::new().before_tool(|call| async move {
        let seconds = call.tool.parse().unwrap();
        // sleep: virtual time
        tokio::time::sleep(std::time::Duration::from_millis(seconds)).await;
        ToolDecision::Continue
    });
    let harness = HookHarness::start(hook).await;
    for (id, tool) in [(2, "500"), (3, "100"), (4, "90000")] {
        let call =
            json!({"jsonrpc": "2.0", "id": id, "method": "hook.before_tool", "params": {"tool": tool}});
        harness.send_line(&call.to_string()).await;
    }
    let transcript = harness.hang_up().await;
    let said: Vec<&str> = transcript.lines().filter(|line| line.starts_with('←')).skip(1).collect();
    let expect = [
        r#"← {"jsonrpc":"2.0","id":3,"result":{"action":"continue"}}"#,
        r#"← {"jsonrpc":"2.0","id":2,"result":{"action":"continue"}}"#,
        r#"← {"jsonrpc":"2.0","id":4,"error":{"code":-32000,"message":"handler was stopped before it answered"}}"#,
    ];
    assert_eq!(said, expect);
}

#[track_caller]
fn refused(hook: Hook, expect: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(hook.serve_on(&b""[..], Vec::new())).unwrap_err();
    assert_eq!(error.to_string(), format!("registration is wrong: {expect}"));
}

#[test]
fn invalid_registrations_are_rejected_at_the_start() {
    let gate = |hook: Hook| hook.before_tool(|_| async { ToolDecision::Continue });
    refused(gate(gate(Hook::new())), "before_tool has two handlers");
    let tool = |hook: Hook, name: &str, schema| {
        hook.raw_tool(name, "", schema, |_| async { HookToolResult::text("") })
    };
    let object = json!({"type": "object"});
    refused(tool(tool(Hook::new(), "a", object.clone()), "a", object), "tool \"a\" is registered twice");
    refused(
        tool(Hook::new(), "a", json!({"type": "string"})),
        "schema of tool \"a\" must describe an object: make its arguments a struct",
    );
}
