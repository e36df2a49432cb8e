//! Lines of PicoClaw's hooks, and what they mean for what was asked.

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

/// The memory that reading one byte of a line may allocate in all, the decision and errors included. Objects are opened
/// more than once, field by field.
const BYTES_A_BYTE: usize = 1024;

/// The memory that reading a line may allocate however short it is.
const BYTES_A_LINE: usize = 128 * 1024;

/// The longest thing that is said about a line.
const LONGEST_TEXT: usize = 8 * 1024;

/// A line is a reply or refused by name, as a plain parser sees it; what it means for every question keeps to what the
/// question allows, and memory is bounded by what was sent.
pub fn check(line: &[u8]) {
    let limit = BYTES_A_LINE + BYTES_A_BYTE * line.len();
    let read = memory::run_limited(limit, || hook::read_reply(line, BOUNDS, PlainSpan::default()));
    assert_agreement(line, &read);
    check_call(line);
    let Ok(HookReply { outcome: Ok(result), .. }) = read else { return };
    memory::run_limited(8 * limit, || check_decisions(&result));
}

/// Checks haft's reading of a line against a plain parser that rejects duplicate keys.
fn assert_agreement(line: &[u8], read: &Result<HookReply, UnreadableLine>) {
    let text = std::str::from_utf8(line).ok();
    // Halves of surrogate pairs are mended in some places and refused in others; the plain parser refuses all.
    let plain = text.filter(|text| !text.to_ascii_lowercase().contains("\\ud")).map(strict::read);
    match (read, plain) {
        (Ok(_), Some(Err(error))) => panic!("a reply, and a strict parser refuses it: {error}"),
        (Ok(reply), plain) => {
            if let Some(Ok(value)) = plain {
                assert_eq!(field_ignoring_case(&value, "id").and_then(Value::as_u64), Some(reply.id), "id");
            }
            assert!(reply.id > 0, "0 is no id");
            let again = reply.encode().expect("a reply has a form in JSON");
            let body = again.strip_suffix('\n').expect("a line ends with a newline");
            assert!(!body.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']), "one line: {again}");
            let same = hook::read_reply(body.as_bytes(), BOUNDS, PlainSpan::default());
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
                    field_ignoring_case(&value, "id").and_then(Value::as_u64),
                    Some(id),
                    "id of a line that is no reply"
                );
            }
        }
    }
}

/// The only field of that name, in whatever case.
fn field_ignoring_case<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let mut found = value.as_object()?.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value)
}

/// The same bytes as a call: what is read says the same when it is written.
fn check_call(line: &[u8]) {
    let Ok(call) = CallLine::read(line, BOUNDS) else { return };
    let again = call.encode().expect("a call has a form in JSON");
    assert_eq!(CallLine::read(again.trim_end().as_bytes(), BOUNDS), Ok(call), "{again}");
}

/// Every decision keeps to what was asked and to what was said.
fn check_decisions(result: &RawJson) {
    let said: Value = result.read().expect("a result is JSON");
    let action = field_ignoring_case(&said, "action").and_then(Value::as_str).unwrap_or_default();
    let greeting = decide_question(&HookHello::new("gate", vec![HookMode::Tool]), result);
    assert_eq!(greeting.is_some(), said.is_object() || said.is_null(), "a greeting");
    match decide_question(&before_llm(), result) {
        Some(LlmDecision::Modify(edit)) => check_edit(&edit),
        Some(LlmDecision::AbortTurn { .. }) => assert_eq!(action, "abort_turn"),
        Some(LlmDecision::HardAbort { .. }) => assert_eq!(action, "hard_abort"),
        Some(LlmDecision::Continue) | None => {}
    }
    if let Some(ResponseDecision::Modify(response)) = decide_question(&after_llm(), result) {
        for call in &response.tool_calls {
            assert!(!call.id.is_empty() && !call.function.name.is_empty(), "{call:?}");
            assert!(call.function.read_arguments().is_ok_and(|arguments| arguments.is_object()), "{call:?}");
        }
    }
    match decide_question(&before_tool(), result) {
        Some(ToolDecision::Modify { tool, arguments }) => {
            assert!(tool.is_some() || arguments.is_some(), "a change");
            assert!(tool.is_none_or(|tool| !tool.is_empty() && tool != "bash"), "another tool");
            assert!(arguments.is_none_or(|arguments| arguments.is_object()), "arguments");
        }
        Some(ToolDecision::Respond(_)) => assert_eq!(action, "respond"),
        Some(ToolDecision::Deny { .. }) => assert_eq!(action, "deny_tool"),
        Some(ToolDecision::AbortTurn { .. }) => assert_eq!(action, "abort_turn"),
        Some(ToolDecision::HardAbort { .. }) => assert_eq!(action, "hard_abort"),
        Some(ToolDecision::Continue) => assert!(["", "continue", "modify"].contains(&action), "{action}"),
        None => {}
    }
    decide_question(&AfterTool { tool: "bash".into(), ..AfterTool::default() }, result);
    let approved = decide_question(&ApproveTool::default(), result) == Some(ApprovalDecision::Approve);
    let said_so = field_ignoring_case(&said, "approved").and_then(Value::as_bool) == Some(true);
    assert!(!approved || said_so, "approved without a word");
}

/// The decision, unless the result makes no sense, of which little is said.
fn decide_question<Q: HookQuestion>(question: &Q, result: &RawJson) -> Option<Q::Decision> {
    match question.decide(result) {
        Ok(ParsedDecision { decision, reports, notes }) => {
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

/// The system prompt stays, nothing is kept twice, no tool is changed.
fn check_edit(edit: &LlmEdit) {
    assert!(*edit != LlmEdit::default(), "a change");
    let question = before_llm();
    let mut kept = BTreeSet::new();
    for message in edit.messages.iter().flatten() {
        match message {
            MessageEdit::Unchanged(place) => {
                assert!(question.messages.get(*place).is_some_and(|message| !message.is_system()), "{place}");
                assert!(kept.insert(*place), "{place} twice");
            }
            MessageEdit::New(message) => assert!(!message.is_system(), "{message:?}"),
        }
    }
    let mut names: BTreeSet<_> = question.tools.iter().map(|tool| tool.function.name.as_str()).collect();
    assert!(edit.add_tools.iter().all(|tool| names.insert(&tool.function.name)), "a tool twice");
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
