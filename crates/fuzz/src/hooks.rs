//! Lines of PicoClaw's hook protocol, and the decisions that they yield.

use std::collections::BTreeSet;

use haft_protocol::RawJson;
use haft_protocol::codec::PlainSpan;
use haft_protocol::hook::{
    self, AfterLlm, AfterTool, ApprovalDecision, ApproveTool, BOUNDS, BeforeLlm, BeforeTool, CallLine,
    HookHello, HookMessage, HookMode, HookQuestion, HookReply, HookToolCall, LlmDecision, LlmEdit,
    MessageEdit, ParsedDecision, ResponseDecision, ToolDecision, ToolDefinition, UnreadableLine,
};
use serde_json::Value;

use crate::{memory, strict};

/// Limit on the memory allocated for each byte of a line, including the decision and errors. Objects are parsed more
/// than once, field by field.
const BYTES_A_BYTE: usize = 1024;

/// Limit on the memory allocated for a line of any length.
const BYTES_A_LINE: usize = 128 * 1024;

/// Limit on the length of a diagnostic about a line, in bytes.
const LONGEST_TEXT: usize = 8 * 1024;

/// Checks one line.
///
/// A line is a reply or is rejected with a named error, in agreement with a strict parser. The decisions it yields stay
/// within the question's rules. The size of the input bounds the memory.
pub fn check(line: &[u8]) {
    let limit = BYTES_A_LINE + BYTES_A_BYTE * line.len();
    let read = memory::with_limit(limit, || hook::read_reply(line, BOUNDS, Plain::default()));
    check_agreement(line, &read);
    check_call(line);
    let Ok(Reply { outcome: Ok(result), .. }) = read else { return };
    memory::with_limit(8 * limit, || check_decisions(&result));
}

/// Compares haft's reading of a line with a strict parser that rejects duplicate keys.
fn check_agreement(line: &[u8], read: &Result<Reply, Unread>) {
    let text = std::str::from_utf8(line).ok();
    // Some parsers repair unpaired surrogates, others reject them; the strict parser rejects them all.
    let plain = text.filter(|text| !text.to_ascii_lowercase().contains("\\ud")).map(strict::read);
    match (read, plain) {
        (Ok(_), Some(Err(error))) => {
            panic!("read as a reply, but the strict parser rejects the line: {error}")
        }
        (Ok(reply), plain) => {
            if let Some(Ok(value)) = plain {
                assert_eq!(find_field(&value, "id").and_then(Value::as_u64), Some(reply.id), "id");
            }
            assert!(reply.id > 0, "0 is not a valid id");
            let again = reply.encode().expect("a reply encodes as JSON");
            let body = again.strip_suffix('\n').expect("a line ends with a newline");
            assert!(
                !body.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']),
                "more than one line: {again}"
            );
            let same = hook::read_reply(body.as_bytes(), BOUNDS, Plain::default());
            assert_eq!(
                same.map(|same| (same.id, same.outcome)),
                Ok((reply.id, reply.outcome.clone())),
                "{again}"
            );
        }
        (Err(unread), plain) => {
            assert!(unread.id != Some(0) && unread.to_string().len() < LONGEST_TEXT + line.len(), "{unread}");
            if let (Some(id), Some(Ok(value))) = (unread.id, plain) {
                assert_eq!(
                    find_field(&value, "id").and_then(Value::as_u64),
                    Some(id),
                    "id of a line that is not a reply"
                );
            }
        }
    }
}

/// Returns the field of that name in any case, if exactly one exists.
fn find_field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let mut found = value.as_object()?.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value)
}

/// Reads the same bytes as a call. A call must survive encoding.
fn check_call(line: &[u8]) {
    let Ok(call) = Line::read(line, BOUNDS) else { return };
    let again = call.encode().expect("a call encodes as JSON");
    assert_eq!(Line::read(again.trim_end().as_bytes(), BOUNDS), Ok(call), "{again}");
}

/// Checks that every decision follows from the result and stays within the question's rules.
fn check_decisions(result: &RawJson) {
    let said: Value = result.read().expect("a result is JSON");
    let action = find_field(&said, "action").and_then(Value::as_str).unwrap_or_default();
    let greeting = parse_decision(&Hello::new("gate", vec![Mode::Tool]), result);
    assert_eq!(
        greeting.is_some(),
        said.is_object() || said.is_null(),
        "a `hook.hello` result must be an object or null"
    );
    match parse_decision(&before_llm(), result) {
        Some(LlmDecision::Modify(edit)) => check_edit(&edit),
        Some(LlmDecision::AbortTurn { .. }) => assert_eq!(action, "abort_turn"),
        Some(LlmDecision::HardAbort { .. }) => assert_eq!(action, "hard_abort"),
        Some(LlmDecision::Continue) | None => {}
    }
    if let Some(ResponseDecision::Modify(response)) = parse_decision(&after_llm(), result) {
        for call in &response.tool_calls {
            assert!(!call.id.is_empty() && !call.function.name.is_empty(), "{call:?}");
            assert!(call.function.read_arguments().is_ok_and(|arguments| arguments.is_object()), "{call:?}");
        }
    }
    match parse_decision(&before_tool(), result) {
        Some(ToolDecision::Modify { tool, arguments }) => {
            assert!(tool.is_some() || arguments.is_some(), "a change must change something");
            assert!(
                tool.is_none_or(|tool| !tool.is_empty() && tool != "bash"),
                "the new tool must differ and have a name"
            );
            assert!(arguments.is_none_or(|arguments| arguments.is_object()), "arguments must be an object");
        }
        Some(ToolDecision::Respond(_)) => assert_eq!(action, "respond"),
        Some(ToolDecision::Deny { .. }) => assert_eq!(action, "deny_tool"),
        Some(ToolDecision::AbortTurn { .. }) => assert_eq!(action, "abort_turn"),
        Some(ToolDecision::HardAbort { .. }) => assert_eq!(action, "hard_abort"),
        Some(ToolDecision::Continue) => assert!(["", "continue", "modify"].contains(&action), "{action}"),
        None => {}
    }
    parse_decision(&AfterTool { tool: "bash".into(), ..AfterTool::default() }, result);
    let approved = parse_decision(&ApproveTool::default(), result) == Some(ApprovalDecision::Approve);
    let said_so = find_field(&said, "approved").and_then(Value::as_bool) == Some(true);
    assert!(!approved || said_so, "approved without `approved: true`");
}

/// Returns the decision, or none for an invalid result. Diagnostics must stay short.
fn parse_decision<Q: Question>(question: &Q, result: &RawJson) -> Option<Q::Decision> {
    match question.decide(result) {
        Ok(Decided { decision, reports, notes }) => {
            let longest = reports.iter().chain(&notes).map(String::len).max().unwrap_or(0);
            assert!(longest < LONGEST_TEXT && reports.len() + notes.len() <= 16, "{reports:?} {notes:?}");
            Some(decision)
        }
        Err(malformed) => {
            let text = malformed.to_string();
            assert!(text.len() < LONGEST_TEXT && text.contains(Q::SHAPE), "{text}");
            None
        }
    }
}

/// Checks that an edit keeps the system prompt, keeps no message twice and adds no tool twice.
fn check_edit(edit: &LlmEdit) {
    assert!(*edit != LlmEdit::default(), "an edit must change something");
    let question = before_llm();
    let mut kept = BTreeSet::new();
    for message in edit.messages.iter().flatten() {
        match message {
            MessageEdit::Unchanged(place) => {
                assert!(question.messages.get(*place).is_some_and(|message| !message.is_system()), "{place}");
                assert!(kept.insert(*place), "message {place} is kept twice");
            }
            MessageEdit::New(message) => assert!(!message.is_system(), "{message:?}"),
        }
    }
    let mut names: BTreeSet<_> = question.tools.iter().map(|tool| tool.function.name.as_str()).collect();
    assert!(edit.add_tools.iter().all(|tool| names.insert(&tool.function.name)), "a tool was added twice");
}

fn message(role: &str, content: &str) -> HookMessage {
    HookMessage { role: role.into(), content: content.into(), ..HookMessage::default() }
}

fn before_llm() -> BeforeLlm {
    let mut tool = ToolDefinition::default();
    tool.function.name = "echo".into();
    BeforeLlm {
        model: "claude-sonnet".into(),
        messages: vec![message("system", "s"), message("user", "hello"), message("user", "hello")],
        tools: vec![tool],
        ..BeforeLlm::default()
    }
}

fn after_llm() -> AfterLlm {
    let mut question = AfterLlm::default();
    question.response.content = "Hi!".into();
    question.response.tool_calls = vec![HookToolCall::new("tc-1", "echo", &RawJson::empty_object())];
    question
}

fn before_tool() -> BeforeTool {
    BeforeTool { tool: "bash".into(), ..BeforeTool::default() }
}
