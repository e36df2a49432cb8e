//! The oracle of the replies of process hooks. An input is one line of a hook.

use std::collections::BTreeSet;

use haft_adapter_picoclaw::wire::{
    AfterLlm, AfterTool, ApprovalDecision, ApproveTool, BOUNDS, BeforeLlm, BeforeTool, CallLine, HookHello,
    HookMessage, HookMode, HookQuestion, HookReply, HookToolCall, LlmDecision, LlmEdit, MessageEdit,
    ParsedDecision, ResponseDecision, ToolDecision, ToolDefinition, UnreadableLine, read_reply,
};
use haft_protocol::RawJson;
use haft_protocol::codec::PlainSpan;
use serde_json::Value;

use crate::{memory, strict};

/// The bytes that may be allocated for each byte of a line, including decisions and errors. The reader parses some
/// objects more than once, field by field.
const BYTES_A_BYTE: usize = 1024;

/// The bytes that may be allocated for any line, in addition.
const BYTES_A_LINE: usize = 128 * 1024;

/// The maximum length of a message about a line.
const LONGEST_TEXT: usize = 8 * 1024;

/// Checks the reading of one line.
///
/// * A line is a reply, or is rejected with a named fault. A plain parser agrees.
/// * The decision about each question stays within the limits of the question.
/// * The length of the line bounds the memory.
///
/// # Panics
/// If haft's reader breaks one of these promises.
pub fn check(line: &[u8]) {
    let limit = BYTES_A_LINE + BYTES_A_BYTE * line.len();
    let read = memory::run_limited(limit, || read_reply(line, BOUNDS, PlainSpan::default()));
    assert_agreement(line, &read);
    check_call(line);
    let Ok(HookReply { outcome: Ok(result), .. }) = read else { return };
    memory::run_limited(8 * limit, || check_decisions(&result));
}

/// Checks haft's reading of a line against a plain parser that rejects duplicate keys.
fn assert_agreement(line: &[u8], read: &Result<HookReply, UnreadableLine>) {
    let text = std::str::from_utf8(line).ok();
    // haft replaces halves of surrogate pairs in some fields and rejects them in others; the plain parser rejects all.
    let plain = text.filter(|text| !text.to_ascii_lowercase().contains("\\ud")).map(strict::read);
    match (read, plain) {
        (Ok(_), Some(Err(error))) => {
            panic!("haft reads a reply, but a strict parser rejects the line: {error}")
        }
        (Ok(reply), plain) => {
            if let Some(Ok(value)) = plain {
                assert_eq!(field_ignoring_case(&value, "id").and_then(Value::as_u64), Some(reply.id), "id");
            }
            assert!(reply.id > 0, "the id is 0");
            let again = reply.encode().expect("every reply can be encoded");
            let body = again.strip_suffix('\n').expect("a line ends with a newline");
            assert!(
                !body.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']),
                "more than one line: {again}"
            );
            let same = read_reply(body.as_bytes(), BOUNDS, PlainSpan::default());
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
                    "id of an unreadable line"
                );
            }
        }
    }
}

/// Returns the field of that name, ignoring case.
fn field_ignoring_case<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let mut found = value.as_object()?.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value)
}

/// Reads the bytes as a call of the host. If they are a call, checks that encoding again keeps its value.
fn check_call(line: &[u8]) {
    let Ok(call) = CallLine::read(line, BOUNDS) else { return };
    let again = call.encode().expect("every call can be encoded");
    assert_eq!(CallLine::read(again.trim_end().as_bytes(), BOUNDS), Ok(call), "{again}");
}

/// Checks the decision about each kind of question against the question and the reply.
fn check_decisions(result: &RawJson) {
    let reply: Value = result.read().expect("a result is JSON");
    let action = field_ignoring_case(&reply, "action").and_then(Value::as_str).unwrap_or_default();
    let hello = decide_question(&HookHello::new("gate", vec![HookMode::Tool]), result);
    assert_eq!(hello.is_some(), reply.is_object() || reply.is_null(), "the reply to `hello`");
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
            assert!(tool.is_some() || arguments.is_some(), "an empty change");
            assert!(tool.is_none_or(|tool| !tool.is_empty() && tool != "bash"), "not another tool");
            assert!(
                arguments.is_none_or(|arguments| arguments.is_object()),
                "arguments that are not an object"
            );
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
    let says_approved = field_ignoring_case(&reply, "approved").and_then(Value::as_bool) == Some(true);
    assert!(!approved || says_approved, "approved without `approved: true`");
}

/// Returns the decision about a question; `None` if the result is malformed. Limits the length of all messages.
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

/// Checks a change of a request: it keeps the system prompt, keeps no message twice, and changes no existing tool.
fn check_edit(edit: &LlmEdit) {
    assert!(*edit != LlmEdit::default(), "an empty change");
    let question = before_llm();
    let mut kept = BTreeSet::new();
    for message in edit.messages.iter().flatten() {
        match message {
            MessageEdit::Unchanged(index) => {
                assert!(question.messages.get(*index).is_some_and(|message| !message.is_system()), "{index}");
                assert!(kept.insert(*index), "message {index} is kept twice");
            }
            MessageEdit::New(message) => assert!(!message.is_system(), "{message:?}"),
        }
    }
    let mut names: BTreeSet<_> = question.tools.iter().map(|tool| tool.function.name.as_str()).collect();
    assert!(
        edit.add_tools.iter().all(|tool| names.insert(&tool.function.name)),
        "two tools have the same name"
    );
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
