//! Lines of PicoClaw's hooks, and what they mean for what was asked.

use std::collections::BTreeSet;

use haft_protocol::RawJson;
use haft_protocol::codec::Plain;
use haft_protocol::hook::{
    self, AfterLlm, AfterTool, ApprovalDecision, ApproveTool, BOUNDS, BeforeLlm, BeforeTool, Decided, Hello,
    Line, LlmDecision, LlmEdit, Message, MessageEdit, Mode, Question, Reply, ResponseDecision, ToolCall,
    ToolDecision, ToolDefinition, Unread,
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
    let read = memory::within(limit, || hook::read_reply(line, BOUNDS, Plain::default()));
    agree(line, &read);
    check_call(line);
    let Ok(Reply { outcome: Ok(result), .. }) = read else { return };
    memory::within(8 * limit, || decide(&result));
}

/// Checks haft's reading of a line against a plain parser that rejects duplicate keys.
fn agree(line: &[u8], read: &Result<Reply, Unread>) {
    let text = std::str::from_utf8(line).ok();
    // Halves of surrogate pairs are mended in some places and refused in others; the plain parser refuses all.
    let plain = text.filter(|text| !text.to_ascii_lowercase().contains("\\ud")).map(strict::read);
    match (read, plain) {
        (Ok(_), Some(Err(error))) => panic!("a reply, and a strict parser refuses it: {error}"),
        (Ok(reply), plain) => {
            if let Some(Ok(value)) = plain {
                assert_eq!(folded(&value, "id").and_then(Value::as_u64), Some(reply.id), "id");
            }
            assert!(reply.id > 0, "0 is no id");
            let again = reply.encode().expect("a reply has a form in JSON");
            let body = again.strip_suffix('\n').expect("a line ends with a newline");
            assert!(!body.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']), "one line: {again}");
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
                    folded(&value, "id").and_then(Value::as_u64),
                    Some(id),
                    "id of a line that is no reply"
                );
            }
        }
    }
}

/// The only field of that name, in whatever case.
fn folded<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let mut found = value.as_object()?.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value)
}

/// The same bytes as a call: what is read says the same when it is written.
fn check_call(line: &[u8]) {
    let Ok(call) = Line::read(line, BOUNDS) else { return };
    let again = call.encode().expect("a call has a form in JSON");
    assert_eq!(Line::read(again.trim_end().as_bytes(), BOUNDS), Ok(call), "{again}");
}

/// Every decision keeps to what was asked and to what was said.
fn decide(result: &RawJson) {
    let said: Value = result.read().expect("a result is JSON");
    let action = folded(&said, "action").and_then(Value::as_str).unwrap_or_default();
    let greeting = asked(&Hello::new("gate", vec![Mode::Tool]), result);
    assert_eq!(greeting.is_some(), said.is_object() || said.is_null(), "a greeting");
    match asked(&before_llm(), result) {
        Some(LlmDecision::Modify(edit)) => check_edit(&edit),
        Some(LlmDecision::AbortTurn { .. }) => assert_eq!(action, "abort_turn"),
        Some(LlmDecision::HardAbort { .. }) => assert_eq!(action, "hard_abort"),
        Some(LlmDecision::Continue) | None => {}
    }
    if let Some(ResponseDecision::Modify(response)) = asked(&after_llm(), result) {
        for call in &response.tool_calls {
            assert!(!call.id.is_empty() && !call.function.name.is_empty(), "{call:?}");
            assert!(call.function.read_arguments().is_ok_and(|arguments| arguments.is_object()), "{call:?}");
        }
    }
    match asked(&before_tool(), result) {
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
    asked(&AfterTool { tool: "bash".into(), ..AfterTool::default() }, result);
    let approved = asked(&ApproveTool::default(), result) == Some(ApprovalDecision::Approve);
    let said_so = folded(&said, "approved").and_then(Value::as_bool) == Some(true);
    assert!(!approved || said_so, "approved without a word");
}

/// The decision, unless the result makes no sense, of which little is said.
fn asked<Q: Question>(question: &Q, result: &RawJson) -> Option<Q::Decision> {
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

/// The system prompt stays, nothing is kept twice, no tool is changed.
fn check_edit(edit: &LlmEdit) {
    assert!(*edit != LlmEdit::default(), "a change");
    let question = before_llm();
    let mut kept = BTreeSet::new();
    for message in edit.messages.iter().flatten() {
        match message {
            MessageEdit::Kept(place) => {
                assert!(question.messages.get(*place).is_some_and(|message| !message.is_system()), "{place}");
                assert!(kept.insert(*place), "{place} twice");
            }
            MessageEdit::New(message) => assert!(!message.is_system(), "{message:?}"),
        }
    }
    let mut names: BTreeSet<_> = question.tools.iter().map(|tool| tool.function.name.as_str()).collect();
    assert!(edit.add_tools.iter().all(|tool| names.insert(&tool.function.name)), "a tool twice");
}

fn message(role: &str, content: &str) -> Message {
    Message { role: role.into(), content: content.into(), ..Message::default() }
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
    question.response.tool_calls = vec![ToolCall::new("tc-1", "echo", &RawJson::empty_object())];
    question
}

fn before_tool() -> BeforeTool {
    BeforeTool { tool: "bash".into(), ..BeforeTool::default() }
}
