//! The line of every event.

use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image, ToolCall};
use haft_protocol::event::{AgentEvent, ExtensionFault, NoteLevel};
use haft_protocol::ids::{ExtensionName, ToolCallId};
use haft_protocol::message::{AssistantBlock, Rfc3339Time, StopCause, TokenUsage};
use haft_rpc::line;

fn id() -> ToolCallId {
    ToolCallId::new("t1")
}

fn time() -> Rfc3339Time {
    Rfc3339Time("2026-01-02T03:04:05Z".into())
}

fn args() -> RawJson {
    RawJson::parse(r#"{"n":9007199254740993,"f":1e2}"#).unwrap()
}

fn guard() -> ExtensionName {
    ExtensionName::new("guard")
}

fn content() -> Vec<ContentBlock> {
    let image = Image { mime_type: "image/png".into(), data: "YWJjZA==".into() };
    vec![ContentBlock::text("hi"), ContentBlock::Image(image)]
}

fn message() -> Vec<AssistantBlock> {
    vec![
        AssistantBlock::Thinking { text: "hm".into() },
        AssistantBlock::Text { text: "hi".into() },
        AssistantBlock::ToolCall(ToolCall { id: id(), name: "read".into(), args: args() }),
    ]
}

/// Events for observers of the loop that people do not see.
fn measures() -> Vec<AgentEvent> {
    vec![
        AgentEvent::ModelRequest {
            step: 1,
            provider: "p".into(),
            model: "m".into(),
            messages: 3,
            tools: 7,
            max_tokens: Some(100),
            temperature: Some(0.5),
        },
        AgentEvent::ModelResponse { text_bytes: 5, tool_calls: 1, thinking: true },
        AgentEvent::ToolSkipped { id: id(), name: "read".into(), reason: "later".into() },
        AgentEvent::ToolStart {
            id: id(),
            name: "read".into(),
            args: RawJson::parse(r#"{"path":"a"}"#).unwrap(),
            label: None,
        },
        AgentEvent::ToolEnd { id: id(), name: "read".into(), duration_ms: 12 },
        AgentEvent::SteeringInjected { count: 1, bytes: 9 },
        AgentEvent::Interrupted { hint_bytes: 4 },
        AgentEvent::TurnDiscarded { by: "guard".into(), reason: "leak".into() },
    ]
}

fn retry() -> AgentEvent {
    let message = "429".into();
    AgentEvent::Retry { attempt: 2, delay_ms: 1500, message, max_attempts: None, reason: None }
}

/// Every kind of event once; the snapshot guards completeness.
fn custom_message() -> AgentEvent {
    let (owner, kind) = ("clock".to_owned(), "reminder".to_owned());
    AgentEvent::CustomMessage { owner, kind, content: content(), display: true, details: None, time: time() }
}

fn usage() -> TokenUsage {
    let usage = TokenUsage::default().with_input(1).with_output(2).with_cost_usd(0.5);
    usage.with_cache_read(3).with_cache_write(4)
}

fn events() -> Vec<AgentEvent> {
    let fault = ExtensionFault::new(guard(), "hello_timeout", "silent");
    vec![
        AgentEvent::UserMessage { content: content(), time: time(), entry: None },
        custom_message(),
        AgentEvent::Session { id: "1f".into(), path: Some("/s/1f.jsonl".into()) },
        AgentEvent::QueueUpdate {
            steering: vec!["not there".into()],
            follow_up: Vec::new(),
            next_turn: Vec::new(),
        },
        AgentEvent::TurnStart { step: 1 },
        AgentEvent::AssistantStart,
        AgentEvent::TextDelta { delta: "h\u{e9}\n".into() },
        AgentEvent::ThinkingDelta { delta: "hm".into() },
        AgentEvent::ToolUseStart { id: id(), name: "read".into() },
        AgentEvent::ToolUseArgs { id: id(), delta: "{\"pa".into() },
        AgentEvent::ToolUseEnd { id: id() },
        AgentEvent::Usage { usage: usage(), cumulative: usage() },
        AgentEvent::AssistantMessage { content: message(), time: time(), entry: None },
        AgentEvent::ToolCall { id: id(), name: "read".into(), args: args() },
        AgentEvent::ToolRewritten {
            id: id(),
            by: "guard".into(),
            tool: Some("read".into()),
            args: args(),
            changed: vec!["/p".into()],
        },
        AgentEvent::ToolRewriteConflict { id: id(), path: "/p".into(), by: ["a".into(), "b".into()] },
        AgentEvent::ToolBlocked { id: id(), by: "guard".into(), reason: "no".into() },
        AgentEvent::ToolProgress { id: id(), text: "10 %".into(), replaces: false, details: None },
        AgentEvent::ToolResult {
            id: id(),
            name: "read".into(),
            is_error: false,
            content: content(),
            extension: None,
            synthetic_by: Some("cache".into()),
            details: RawJson::parse(r#"{"diff":{"added":1}}"#).ok(),
            entry: None,
        },
        AgentEvent::TurnEnd { stop: StopCause::ToolUse, error: None },
        AgentEvent::TurnEnd { stop: StopCause::Error, error: Some("cut".into()) },
        AgentEvent::SessionRepaired { id: "3f2a".into(), message: "torn".into() },
        AgentEvent::TrustRequired {
            project: "/w".into(),
            skipped: vec![".haft/config.toml".into(), "extension e".into()],
            message: "look".into(),
        },
        retry(),
        AgentEvent::ModelFallback { from: "a/b".into(), to: "c/d".into(), message: "503".into() },
        AgentEvent::Done,
        AgentEvent::Error { message: "no model".into(), stage: None, advice: None },
        AgentEvent::ExtNotify { extension: guard(), level: NoteLevel::Warn, message: "m".into() },
        AgentEvent::ExtDisplay { extension: guard(), text: "t".into() },
        AgentEvent::ExtClearNotes { extension: guard() },
        AgentEvent::EventGap { lost: 3 },
        AgentEvent::GateOff { extension: guard(), reason: "late".into() },
        AgentEvent::ExtensionError(fault),
    ]
}

fn host_calls() -> Vec<AgentEvent> {
    vec![
        AgentEvent::HostCallStart {
            id: ToolCallId::new("host-1"),
            extension: guard(),
            name: "write".into(),
            args: RawJson::empty_object(),
        },
        AgentEvent::HostCallEnd {
            id: ToolCallId::new("host-1"),
            extension: guard(),
            name: "write".into(),
            is_error: true,
            code: Some(haft_protocol::ext::HostCallError::Stale),
            content: vec![ContentBlock::text("changed")],
            details: None,
        },
    ]
}

#[test]
fn every_event_has_a_line() {
    let lines: Vec<String> =
        events().iter().chain(&host_calls()).chain(&measures()).map(|event| line(event).unwrap()).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"type":"user_message","content":[{"type":"text","text":"hi"},{"type":"image","mime_type":"image/png","bytes":4}],"time":"2026-01-02T03:04:05Z"}
    {"type":"custom_message","owner":"clock","kind":"reminder","content":[{"type":"text","text":"hi"},{"type":"image","mime_type":"image/png","bytes":4}],"display":true,"time":"2026-01-02T03:04:05Z"}
    {"type":"session","id":"1f","path":"/s/1f.jsonl"}
    {"type":"queue_update","steering":["not there"],"follow_up":[],"next_turn":[]}
    {"type":"turn_start","step":1}
    {"type":"assistant_start"}
    {"type":"text_delta","delta":"hé\n"}
    {"type":"thinking_delta","delta":"hm"}
    {"type":"tool_use_start","id":"t1","name":"read"}
    {"type":"tool_use_args","id":"t1","delta":"{\"pa"}
    {"type":"tool_use_end","id":"t1"}
    {"type":"usage","input":1,"output":2,"cache_read":3,"cache_write":4,"cost_usd":0.5,"cumulative":{"input":1,"output":2,"cache_read":3,"cache_write":4,"cost_usd":0.5}}
    {"type":"assistant_message","content":[{"type":"thinking","text":"hm"},{"type":"text","text":"hi"},{"type":"tool_call","id":"t1","name":"read","args":{"n":9007199254740993,"f":1e2}}],"time":"2026-01-02T03:04:05Z"}
    {"type":"tool_call","id":"t1","name":"read","args":{"n":9007199254740993,"f":1e2}}
    {"type":"tool_rewritten","id":"t1","by":"guard","tool":"read","args":{"n":9007199254740993,"f":1e2},"changed":["/p"]}
    {"type":"tool_rewrite_conflict","id":"t1","path":"/p","by":["a","b"]}
    {"type":"tool_blocked","id":"t1","by":"guard","reason":"no"}
    {"type":"tool_progress","id":"t1","text":"10 %"}
    {"type":"tool_result","id":"t1","name":"read","is_error":false,"content":[{"type":"text","text":"hi"},{"type":"image","mime_type":"image/png","bytes":4}],"synthetic_by":"cache","details":{"diff":{"added":1}}}
    {"type":"turn_end","stop":"tool_use"}
    {"type":"turn_end","stop":"error","error":"cut"}
    {"type":"session_repaired","id":"3f2a","message":"torn"}
    {"type":"trust_required","project":"/w","skipped":[".haft/config.toml","extension e"],"message":"look"}
    {"type":"retry","attempt":2,"delay_ms":1500,"message":"429"}
    {"type":"model_fallback","from":"a/b","to":"c/d","message":"503"}
    {"type":"done"}
    {"type":"error","message":"no model"}
    {"type":"ext_notify","extension":"guard","level":"warn","message":"m"}
    {"type":"ext_display","extension":"guard","text":"t"}
    {"type":"ext_clear_notes","extension":"guard"}
    {"type":"event_gap","lost":3}
    {"type":"gate_off","extension":"guard","reason":"late"}
    {"type":"extension_error","extension":"guard","code":"hello_timeout","message":"silent"}
    {"type":"host_call_start","id":"host-1","extension":"guard","name":"write","args":{}}
    {"type":"host_call_end","id":"host-1","extension":"guard","name":"write","is_error":true,"code":"stale","content":[{"type":"text","text":"changed"}]}
    {"type":"model_request","step":1,"provider":"p","model":"m","messages":3,"tools":7,"max_tokens":100,"temperature":0.5}
    {"type":"model_response","text_bytes":5,"tool_calls":1,"thinking":true}
    {"type":"tool_skipped","id":"t1","name":"read","reason":"later"}
    {"type":"tool_start","id":"t1","name":"read","args":{"path":"a"}}
    {"type":"tool_end","id":"t1","name":"read","duration_ms":12}
    {"type":"steering_injected","count":1,"bytes":9}
    {"type":"interrupted","hint_bytes":4}
    {"type":"turn_discarded","by":"guard","reason":"leak"}
    "#);
}
