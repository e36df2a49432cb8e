//! The lines of the user's document and of PicoClaw, unchanged.

use std::collections::BTreeMap;

use haft_adapter_picoclaw::wire::{
    BOUNDS, Call, CallLine, HookEventKind, HookEventPayload, HookQuestion, read_reply,
};
use haft_protocol::codec::PlainSpan;
use insta::assert_snapshot;

use super::lines::line;

const SEED: &str = include_str!("../../../fixtures/compat/seed.jsonl");
const FLOW: &str = include_str!("../../../fixtures/compat/flow.jsonl");
const PICOCLAW: &str = include_str!("../../../fixtures/compat/picoclaw.jsonl");

/// Describes every line in order: the method of a call, and the decision in a reply.
fn transcript(lines: &str) -> String {
    let mut calls: BTreeMap<u64, Call> = BTreeMap::new();
    let mut out = String::new();
    for text in lines.lines() {
        if text.contains("\"method\"") {
            let CallLine { id, call, .. } = line(text);
            out += &format!("{}\n", call.method().name());
            calls.extend(id.map(|id| (id, call)));
            continue;
        }
        let reply = read_reply(text.as_bytes(), BOUNDS, PlainSpan::default()).unwrap();
        let means = match (reply.outcome, calls.get(&reply.id)) {
            (Err(error), _) => format!("error {}: {error}", error.code),
            (Ok(result), Some(Call::Hello(asked))) => decision(asked, &result),
            (Ok(result), Some(Call::BeforeLlm(asked))) => decision(asked, &result),
            (Ok(result), Some(Call::AfterLlm(asked))) => decision(asked, &result),
            (Ok(result), Some(Call::BeforeTool(asked))) => decision(asked, &result),
            (Ok(result), Some(Call::AfterTool(asked))) => decision(asked, &result),
            (Ok(result), Some(Call::ApproveTool(asked))) => decision(asked, &result),
            (Ok(_), other) => panic!("an answer to {other:?}"),
        };
        out += &format!("  {means}\n");
    }
    out
}

fn decision<Q: HookQuestion>(asked: &Q, result: &haft_protocol::RawJson) -> String
where
    Q::Decision: std::fmt::Debug,
{
    let decided = asked.decide(result).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(decided.reports.is_empty(), "{:?}", decided.reports);
    let notes = decided.notes.iter().map(|note| format!("; {note}")).collect::<String>();
    format!("{:?}{notes}", decided.decision)
}

#[test]
fn every_block_of_the_document_is_read() {
    assert_snapshot!(transcript(SEED), @r#"
      error -32000: error message
    hook.hello
      ()
    hook.before_llm
      Modify(LlmEdit { model: None, messages: None, add_tools: [ToolDefinition { kind: "function", function: FunctionDefinition { name: "my_plugin_tool", description: "Plugin injected tool", parameters: {"type":"object","properties":{"query":{"type":"string"}}} } }], options: None }); the tool "echo" cannot be changed; the change was ignored
    hook.after_llm
      Continue
    hook.before_tool
      Modify { tool: None, arguments: Some({"text":"modified hello"}) }
      Deny { reason: "Invalid arguments" }
      Respond(HookToolResult { for_llm: "Plugin tool executed successfully", for_user: "", silent: false, is_error: false, is_async: false, media: [], artifact_tags: [], response_handled: false })
    hook.after_tool
      Continue
    hook.approve_tool
      Approve
      Deny { reason: "Dangerous command, execution denied" }
    hook.event
    "#);
}

#[test]
fn the_complete_flow_of_the_document_is_read() {
    assert_snapshot!(transcript(FLOW), @r#"
    hook.hello
      ()
    hook.before_llm
      Continue
    hook.before_tool
      Continue
    hook.approve_tool
      Approve
    hook.after_tool
      Continue
    hook.after_llm
      Continue
    "#);
}

#[test]
fn lines_of_picoclaw_round_trip() {
    let again = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        let own: serde_json::Value = serde_json::from_str(&line(text).encode().unwrap()).unwrap();
        contained(&value, &own);
    };
    PICOCLAW.lines().for_each(again);
    SEED.lines().chain(FLOW.lines()).filter(|text| text.contains("\"method\"")).for_each(again);
}

/// Checks that all of `sent` is present in `own`.
#[track_caller]
fn contained(sent: &serde_json::Value, own: &serde_json::Value) {
    match (sent, own) {
        (serde_json::Value::Object(sent), own) => {
            sent.iter().for_each(|(name, value)| contained(value, &own[name]));
        }
        (serde_json::Value::Array(sent), serde_json::Value::Array(own)) => {
            assert_eq!(sent.len(), own.len());
            sent.iter().zip(own).for_each(|(sent, own)| contained(sent, own));
        }
        (sent, own) => assert_eq!(sent, own),
    }
}

#[test]
fn reads_both_spellings_of_a_kind() {
    let kinds: Vec<HookEventKind> = [PICOCLAW, SEED]
        .iter()
        .flat_map(|lines| lines.lines())
        .filter(|text| text.contains("hook.event"))
        .map(|text| {
            let Call::Event(event) = line(text).call else { panic!("no event: {text}") };
            let payload = HookEventPayload::read(event.kind.kind(), &event.payload.unwrap()).unwrap();
            assert_eq!(payload.kind(), event.kind.kind());
            event.kind.kind()
        })
        .collect();
    assert_eq!(kinds, [HookEventKind::ToolExecStart, HookEventKind::ToolExecStart]);
}
