//! The exact bytes of every agent event, as `haft --json` prints it and RPC clients read it.

use std::collections::BTreeSet;

use haft_protocol::content::{ContentBlock, Image, ToolCall};
use haft_protocol::event::{
    Advice, AgentEvent, AgentEventKind, CompactReason, ErrorStage, ExtensionFault, NoteLevel, RetryReason,
};
use haft_protocol::ext::HostCallError;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use haft_protocol::message::{AssistantBlock, Rfc3339Time, StopCause, TokenUsage};
use haft_protocol::thinking::ThinkingLevel;
use insta::assert_snapshot;

use crate::samples::json;

pub(crate) fn events() -> Vec<AgentEvent> {
    let mut events = message_events();
    events.extend(tool_events());
    events.extend(run_events());
    events.extend(extension_events());
    events.extend(measures());
    events
}

fn retry(max_attempts: Option<u32>, reason: Option<RetryReason>) -> AgentEvent {
    AgentEvent::Retry { attempt: 2, delay_ms: 500, message: "overloaded".into(), max_attempts, reason }
}

fn summed_up(messages_summed_up: Option<u64>, messages_kept: Option<u64>) -> AgentEvent {
    AgentEvent::CompactionEnd {
        summary: Some("half is done".into()),
        tokens_before: 9000,
        tokens_after: Some(1200),
        messages_summed_up,
        messages_kept,
        by: Some("notes".into()),
        error: None,
    }
}

fn time() -> Rfc3339Time {
    Rfc3339Time("2026-11-21T12:00:00Z".into())
}

fn call() -> ToolCallId {
    ToolCallId::new("toolu_1")
}

fn start_of_read(label: Option<String>) -> AgentEvent {
    AgentEvent::ToolStart { id: call(), name: "read".into(), args: json(r#"{"path":"a"}"#), label }
}

fn message_events() -> Vec<AgentEvent> {
    let image = Image { mime_type: "image/png".into(), data: "iVBORw0KGgo=".into() };
    let read = ToolCall { id: call(), name: "read".into(), args: json(r#"{"path": "a"}"#) };
    vec![
        AgentEvent::UserMessage {
            content: vec![ContentBlock::text("hi"), ContentBlock::Image(image)],
            time: time(),
            entry: Some("0f3a5c7e9b1d2f4061728394a5b6c7d8".into()),
        },
        AgentEvent::CustomMessage {
            owner: "clock".into(),
            kind: "reminder".into(),
            content: vec![ContentBlock::text("it is noon")],
            display: true,
            details: Some(json(r#"{"hour":12}"#)),
            time: time(),
        },
        AgentEvent::AssistantStart,
        AgentEvent::TextDelta { delta: "he".into() },
        AgentEvent::ThinkingDelta { delta: "hm".into() },
        AgentEvent::AssistantMessage {
            content: vec![
                AssistantBlock::Thinking { text: "hm".into() },
                AssistantBlock::Text { text: "hello".into() },
                AssistantBlock::ToolCall(read),
            ],
            time: time(),
            entry: Some("0f3a5c7e9b1d2f4061728394a5b6c7d8".into()),
        },
    ]
}

fn tool_events() -> Vec<AgentEvent> {
    let args = || json(r#"{"path": "a"}"#);
    let image = Image { mime_type: "image/png".into(), data: "iVBORw0KGgo=".into() };
    vec![
        AgentEvent::ToolUseStart { id: call(), name: "read".into() },
        AgentEvent::ToolUseArgs { id: call(), delta: "{\"pa".into() },
        AgentEvent::ToolUseEnd { id: call() },
        AgentEvent::ToolCall { id: call(), name: "read".into(), args: args() },
        AgentEvent::ToolRewritten {
            id: call(),
            by: "guard".into(),
            tool: None,
            args: args(),
            changed: vec!["/path".into()],
        },
        AgentEvent::ToolRewritten {
            id: call(),
            by: "names".into(),
            tool: Some("read".into()),
            args: args(),
            changed: Vec::new(),
        },
        AgentEvent::ToolRewriteConflict { id: call(), path: "/path".into(), by: ["a".into(), "b".into()] },
        AgentEvent::ToolBlocked { id: call(), by: "guard".into(), reason: "no".into() },
        AgentEvent::ToolSkipped { id: call(), name: "read".into(), reason: "later".into() },
        start_of_read(None),
        start_of_read(Some("Read".into())),
        AgentEvent::ToolEnd { id: call(), name: "read".into(), duration_ms: 12 },
        AgentEvent::ToolProgress { id: call(), text: "…".into(), replaces: false, details: None },
        AgentEvent::ToolProgress {
            id: call(),
            text: "50 %".into(),
            replaces: true,
            details: Some(json(r#"{"done":5}"#)),
        },
        AgentEvent::ToolResult {
            id: call(),
            name: "read".into(),
            is_error: false,
            content: vec![ContentBlock::text("a"), ContentBlock::Image(image)],
            extension: Some(ExtensionName::new("files")),
            synthetic_by: None,
            details: None,
            entry: Some("0f3a5c7e9b1d2f4061728394a5b6c7d8".into()),
        },
        AgentEvent::ToolResult {
            id: call(),
            name: "read".into(),
            is_error: false,
            content: vec![],
            extension: None,
            synthetic_by: Some("cache".into()),
            details: None,
            entry: None,
        },
    ]
}

fn run_events() -> Vec<AgentEvent> {
    let usage = TokenUsage::default().with_input(10).with_output(2).with_cache_read(4).with_cost_usd(0.25);
    vec![
        AgentEvent::Session { id: "1f".into(), path: Some("/s/1f.jsonl".into()) },
        AgentEvent::Session { id: "1f".into(), path: None },
        AgentEvent::QueueUpdate {
            steering: vec!["not there".into()],
            follow_up: Vec::new(),
            next_turn: Vec::new(),
        },
        AgentEvent::AgentStart,
        AgentEvent::TurnStart { step: 1 },
        AgentEvent::Usage { usage, cumulative: usage },
        AgentEvent::TurnEnd { stop: StopCause::ToolUse, error: None },
        AgentEvent::TurnEnd { stop: StopCause::Error, error: Some("blocked".into()) },
        AgentEvent::SessionRepaired { id: "3f2a".into(), message: "the last line was torn".into() },
        AgentEvent::TrustRequired {
            project: "/w".into(),
            skipped: vec![".haft/config.toml".into(), "extension e".into()],
            message: "look".into(),
        },
        retry(None, None),
        retry(Some(4), Some(RetryReason::RateLimited)),
        AgentEvent::ModelFallback { from: "a/b".into(), to: "c/d".into(), message: "503".into() },
        AgentEvent::ModelChanged { model: "a/b".into() },
        AgentEvent::ThinkingChanged { level: ThinkingLevel::High },
        AgentEvent::CompactionStart { reason: CompactReason::Threshold },
        summed_up(None, None),
        summed_up(Some(12), Some(3)),
        AgentEvent::CompactionEnd {
            summary: None,
            tokens_before: 9000,
            tokens_after: None,
            messages_summed_up: None,
            messages_kept: None,
            by: None,
            error: Some("aborted".into()),
        },
        AgentEvent::Settled,
        AgentEvent::Done,
        AgentEvent::Error { message: "no key".into(), stage: None, advice: None },
        AgentEvent::Error {
            message: "no key".into(),
            stage: Some(ErrorStage::Model),
            advice: Some(Advice::ApiKey),
        },
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
            max_tokens: None,
            temperature: None,
        },
        AgentEvent::ModelRequest {
            step: 2,
            provider: "p".into(),
            model: "m".into(),
            messages: 4,
            tools: 0,
            max_tokens: Some(100),
            temperature: Some(0.5),
        },
        AgentEvent::ModelResponse { text_bytes: 5, tool_calls: 1, thinking: true },
        AgentEvent::SteeringInjected { count: 1, bytes: 9 },
        AgentEvent::Interrupted { hint_bytes: 4 },
        AgentEvent::TurnDiscarded { by: "guard".into(), reason: "leak".into() },
    ]
}

fn extension_events() -> Vec<AgentEvent> {
    let extension = || ExtensionName::new("todo");
    vec![
        AgentEvent::ExtNotify { extension: extension(), level: NoteLevel::Success, message: "saved".into() },
        AgentEvent::ExtDisplay { extension: extension(), text: "3 todos".into() },
        AgentEvent::ExtClearNotes { extension: extension() },
        AgentEvent::HostCallStart {
            id: ToolCallId::new("host-1"),
            extension: extension(),
            name: "write".into(),
            args: json(r#"{"path":"a","content":"b"}"#),
        },
        AgentEvent::HostCallEnd {
            id: ToolCallId::new("host-1"),
            extension: extension(),
            name: "write".into(),
            is_error: false,
            code: None,
            content: vec![ContentBlock::text("created a")],
            details: None,
        },
        AgentEvent::HostCallEnd {
            id: ToolCallId::new("host-2"),
            extension: extension(),
            name: "bash".into(),
            is_error: true,
            code: Some(HostCallError::Blocked),
            content: vec![ContentBlock::text("no")],
            details: None,
        },
        AgentEvent::EventGap { lost: 3 },
        AgentEvent::GateOff { extension: extension(), reason: "did not answer within 5 s".into() },
        AgentEvent::ExtensionError(ExtensionFault::new(
            extension(),
            "call_timeout",
            "tool todo was not answered within 60 s",
        )),
    ]
}

/// Returns each event as a line.
fn lines(events: &[AgentEvent]) -> String {
    events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect()
}

#[test]
fn messages_and_tools_serialize_as_documented_lines() {
    let events = [message_events(), tool_events()].concat();
    assert_snapshot!(lines(&events), @r#"
    {"type":"user_message","content":[{"type":"text","text":"hi"},{"type":"image","mime_type":"image/png","bytes":8}],"time":"2026-11-21T12:00:00Z","entry":"0f3a5c7e9b1d2f4061728394a5b6c7d8"}
    {"type":"custom_message","owner":"clock","kind":"reminder","content":[{"type":"text","text":"it is noon"}],"display":true,"details":{"hour":12},"time":"2026-11-21T12:00:00Z"}
    {"type":"assistant_start"}
    {"type":"text_delta","delta":"he"}
    {"type":"thinking_delta","delta":"hm"}
    {"type":"assistant_message","content":[{"type":"thinking","text":"hm"},{"type":"text","text":"hello"},{"type":"tool_call","id":"toolu_1","name":"read","args":{"path":"a"}}],"time":"2026-11-21T12:00:00Z","entry":"0f3a5c7e9b1d2f4061728394a5b6c7d8"}
    {"type":"tool_use_start","id":"toolu_1","name":"read"}
    {"type":"tool_use_args","id":"toolu_1","delta":"{\"pa"}
    {"type":"tool_use_end","id":"toolu_1"}
    {"type":"tool_call","id":"toolu_1","name":"read","args":{"path":"a"}}
    {"type":"tool_rewritten","id":"toolu_1","by":"guard","args":{"path":"a"},"changed":["/path"]}
    {"type":"tool_rewritten","id":"toolu_1","by":"names","tool":"read","args":{"path":"a"},"changed":[]}
    {"type":"tool_rewrite_conflict","id":"toolu_1","path":"/path","by":["a","b"]}
    {"type":"tool_blocked","id":"toolu_1","by":"guard","reason":"no"}
    {"type":"tool_skipped","id":"toolu_1","name":"read","reason":"later"}
    {"type":"tool_start","id":"toolu_1","name":"read","args":{"path":"a"}}
    {"type":"tool_start","id":"toolu_1","name":"read","args":{"path":"a"},"label":"Read"}
    {"type":"tool_end","id":"toolu_1","name":"read","duration_ms":12}
    {"type":"tool_progress","id":"toolu_1","text":"…"}
    {"type":"tool_progress","id":"toolu_1","text":"50 %","replaces":true,"details":{"done":5}}
    {"type":"tool_result","id":"toolu_1","name":"read","is_error":false,"content":[{"type":"text","text":"a"},{"type":"image","mime_type":"image/png","bytes":8}],"extension":"files","entry":"0f3a5c7e9b1d2f4061728394a5b6c7d8"}
    {"type":"tool_result","id":"toolu_1","name":"read","is_error":false,"content":[],"synthetic_by":"cache"}
    "#);
}

#[test]
fn other_events_serialize_as_documented_lines() {
    let events = [run_events(), extension_events(), measures()].concat();
    assert_snapshot!(lines(&events), @r#"
    {"type":"session","id":"1f","path":"/s/1f.jsonl"}
    {"type":"session","id":"1f"}
    {"type":"queue_update","steering":["not there"],"follow_up":[],"next_turn":[]}
    {"type":"agent_start"}
    {"type":"turn_start","step":1}
    {"type":"usage","input":10,"output":2,"cache_read":4,"cache_write":0,"cost_usd":0.25,"cumulative":{"input":10,"output":2,"cache_read":4,"cache_write":0,"cost_usd":0.25}}
    {"type":"turn_end","stop":"tool_use"}
    {"type":"turn_end","stop":"error","error":"blocked"}
    {"type":"session_repaired","id":"3f2a","message":"the last line was torn"}
    {"type":"trust_required","project":"/w","skipped":[".haft/config.toml","extension e"],"message":"look"}
    {"type":"retry","attempt":2,"delay_ms":500,"message":"overloaded"}
    {"type":"retry","attempt":2,"delay_ms":500,"message":"overloaded","max_attempts":4,"reason":"rate_limited"}
    {"type":"model_fallback","from":"a/b","to":"c/d","message":"503"}
    {"type":"model_changed","model":"a/b"}
    {"type":"thinking_changed","level":"high"}
    {"type":"compaction_start","reason":"threshold"}
    {"type":"compaction_end","summary":"half is done","tokens_before":9000,"tokens_after":1200,"by":"notes"}
    {"type":"compaction_end","summary":"half is done","tokens_before":9000,"tokens_after":1200,"messages_summed_up":12,"messages_kept":3,"by":"notes"}
    {"type":"compaction_end","tokens_before":9000,"error":"aborted"}
    {"type":"settled"}
    {"type":"done"}
    {"type":"error","message":"no key"}
    {"type":"error","message":"no key","stage":"model","advice":"api_key"}
    {"type":"ext_notify","extension":"todo","level":"success","message":"saved"}
    {"type":"ext_display","extension":"todo","text":"3 todos"}
    {"type":"ext_clear_notes","extension":"todo"}
    {"type":"host_call_start","id":"host-1","extension":"todo","name":"write","args":{"path":"a","content":"b"}}
    {"type":"host_call_end","id":"host-1","extension":"todo","name":"write","is_error":false,"content":[{"type":"text","text":"created a"}]}
    {"type":"host_call_end","id":"host-2","extension":"todo","name":"bash","is_error":true,"code":"blocked","content":[{"type":"text","text":"no"}]}
    {"type":"event_gap","lost":3}
    {"type":"gate_off","extension":"todo","reason":"did not answer within 5 s"}
    {"type":"extension_error","extension":"todo","code":"call_timeout","message":"tool todo was not answered within 60 s"}
    {"type":"model_request","step":1,"provider":"p","model":"m","messages":3,"tools":7}
    {"type":"model_request","step":2,"provider":"p","model":"m","messages":4,"tools":0,"max_tokens":100,"temperature":0.5}
    {"type":"model_response","text_bytes":5,"tool_calls":1,"thinking":true}
    {"type":"steering_injected","count":1,"bytes":9}
    {"type":"interrupted","hint_bytes":4}
    {"type":"turn_discarded","by":"guard","reason":"leak"}
    "#);
}

#[test]
fn every_event_has_a_line_that_fits_the_schema() {
    let schema = schemars::schema_for!(AgentEvent).to_value();
    let valid = jsonschema::validator_for(&schema).unwrap();
    let mut kinds = BTreeSet::new();
    for event in events() {
        let value = serde_json::to_value(&event).unwrap();
        assert!(valid.is_valid(&value), "{value}");
        kinds.insert(value["type"].as_str().unwrap().to_owned());
    }
    let branches = schema["oneOf"].as_array().unwrap().iter();
    let consts: BTreeSet<String> = branches
        .filter_map(|branch| branch["properties"]["type"]["const"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(kinds, consts);
}

#[test]
fn kind_of_every_event_is_its_type() {
    let mut kinds = BTreeSet::new();
    for event in events() {
        let json: serde_json::Value = serde_json::to_value(&event).unwrap();
        assert_eq!(json["type"], event.kind().name());
        kinds.insert(event.kind());
    }
    assert_eq!(kinds, AgentEventKind::ALL.iter().copied().collect());
}
