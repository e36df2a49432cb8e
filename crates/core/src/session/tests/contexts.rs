//! Tests of the context of a branch for the model.

use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, ToolCall, joined_text};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, Rfc3339Time, ToolMessage};
use proptest::prelude::*;

use super::lines::chain;
use crate::session::entry::*;
use crate::session::{EntryId, INTERRUPTED, NOT_RUN, SessionContext, build_context};

fn time() -> Rfc3339Time {
    Rfc3339Time("t".to_owned())
}

fn user(text: &str) -> EntryBody {
    Message::User { content: vec![ContentBlock::text(text)], time: time() }.into()
}

/// Creates an answer with `text` and calls with these ids.
fn asks(text: &str, calls: &[&str]) -> EntryBody {
    let call = |id: &&str| {
        let (name, args) = ("bash".to_owned(), RawJson::empty_object());
        AssistantBlock::ToolCall(ToolCall { id: ToolCallId::new(*id), name, args })
    };
    let text = AssistantBlock::Text { text: text.to_owned() };
    let content = std::iter::once(text).chain(calls.iter().map(call)).collect();
    Message::Assistant(AssistantMessage::new(content, time())).into()
}

fn started(id: &str) -> EntryBody {
    ToolStart { call_id: ToolCallId::new(id), name: "bash".to_owned(), args: RawJson::empty_object() }.into()
}

fn result(id: &str, text: &str) -> EntryBody {
    let content = vec![ContentBlock::text(text)];
    let (call_id, name) = (ToolCallId::new(id), "bash".to_owned());
    Message::Tool(ToolMessage::new(call_id, name, content, time())).into()
}

fn note(text: &str) -> EntryBody {
    let (owner, kind) = ("guard".to_owned(), "note".to_owned());
    let details = RawJson::parse(r#"{"rule":7}"#).ok();
    CustomMessage { owner, kind, content: vec![ContentBlock::text(text)], display: false, details }.into()
}

fn compaction(summary: &str, first_kept: Option<u128>) -> EntryBody {
    Compaction {
        summary: summary.to_owned(),
        first_kept: first_kept.map(EntryId::from),
        tokens_before: 0,
        files_read: Vec::new(),
        files_modified: Vec::new(),
        by: None,
        answer: None,
        used: None,
        settings: SessionSettings::default(),
    }
    .into()
}

fn of(bodies: Vec<EntryBody>) -> SessionContext {
    let branch: Vec<Arc<SessionEntry>> = chain(bodies).into_iter().map(Arc::new).collect();
    build_context(&branch)
}

/// Returns each message in short form: `u:text`, `a:text`, `t:call=text`.
fn words(context: &SessionContext) -> Vec<String> {
    let word = |message: &Message| match message {
        Message::User { content, .. } => format!("u:{}", joined_text(content)),
        Message::Assistant(said) => format!("a:{}", said.text()),
        Message::Tool(result) => format!("t:{}={}", result.call_id, joined_text(&result.content)),
    };
    context.messages.iter().map(word).collect()
}

#[track_caller]
fn check(bodies: Vec<EntryBody>, expect: &[&str]) {
    let expect: Vec<String> = expect
        .iter()
        .map(|word| word.replace("INTERRUPTED", INTERRUPTED).replace("NOT_RUN", NOT_RUN))
        .collect();
    assert_eq!(words(&of(bodies)), expect);
}

#[test]
fn context_contains_all_messages() {
    check(
        vec![user("1"), asks("2", &["c"]), started("c"), result("c", "3"), asks("4", &[])],
        &["u:1", "a:2", "t:c=3", "a:4"],
    );
}

#[test]
fn adds_result_for_call_without_one() {
    let bodies =
        || vec![user("1"), asks("2", &["a", "b", "c"]), started("a"), started("b"), result("b", "3")];
    check(bodies(), &["u:1", "a:2", "t:a=INTERRUPTED", "t:b=3", "t:c=NOT_RUN"]);
    assert_eq!(of(bodies()).closed, [ToolCallId::new("a"), ToolCallId::new("c")]);
    // The same holds in the middle of a transcript.
    let more = [bodies(), vec![user("4"), asks("5", &[])]].concat();
    check(more, &["u:1", "a:2", "t:a=INTERRUPTED", "t:b=3", "t:c=NOT_RUN", "u:4", "a:5"]);
}

#[test]
fn results_follow_their_message_in_call_order() {
    check(
        vec![
            asks("1", &["a", "b"]),
            result("b", "3"),
            note("n"),
            result("a", "2"),
            result("a", "again"),
            asks("4", &[]),
        ],
        &["a:1", "t:a=2", "t:b=3", "u:n", "a:4"],
    );
    check(vec![result("x", "of nobody"), user("1")], &["u:1"]);
}

#[test]
fn reused_call_id_belongs_to_the_newest_message() {
    check(
        vec![asks("1", &["a"]), started("a"), result("a", "2"), asks("3", &["a"])],
        &["a:1", "t:a=2", "a:3", "t:a=NOT_RUN"],
    );
}

#[test]
fn summary_precedes_the_kept_part() {
    let summed = "u:The conversation so far was summed up as follows:\n\n<summary>\nsum\n</summary>";
    check(vec![user("kept"), compaction("sum", Some(1)), user("new")], &[summed, "u:kept", "u:new"]);
    check(vec![compaction("sum", None), user("new")], &[summed, "u:new"]);
    // A second compaction builds on the summary of the first.
    let bodies =
        vec![user("kept"), compaction("old", None), user("b"), compaction("sum", Some(1)), user("new")];
    check(bodies, &[summed, "u:kept", "u:b", "u:new"]);
}

#[test]
fn context_contains_extension_messages_but_not_their_state() {
    let custom =
        Custom { owner: "x".to_owned(), kind: "k".to_owned(), data: RawJson::empty_object(), answer: None };
    let summary = BranchSummary { summary: "s".to_owned(), from: EntryId::from(1), by: None, answer: None };
    let told = "u:Another attempt, which was left, was summed up as follows:\n\n<summary>\ns\n</summary>";
    check(vec![custom.into(), note("n"), summary.into()], &["u:n", told]);
}

#[test]
fn latest_settings_are_in_effect() {
    let model = |model: &str| ModelChange { provider: "p".to_owned(), model: model.to_owned() };
    let thinking = ThinkingChange { level: "high".to_owned() };
    let tools = ToolsChange { active: Some(vec!["read".to_owned()]) };
    let found = of(vec![model("a").into(), thinking.into(), tools.clone().into(), model("b").into()]);
    let expect = SessionSettings {
        model: Some(model("b")),
        thinking: Some("high".to_owned()),
        tools: Some(vec!["read".to_owned()]),
    };
    assert_eq!(found.settings, expect);
    let all = ToolsChange { active: None };
    assert_eq!(of(vec![tools.into(), all.into()]).settings, SessionSettings::default());
}

proptest! {
    /// After a crash, an abort or damage, each call has one result directly after the message with the call.
    #[test]
    fn every_call_has_one_result(steps in proptest::collection::vec((0..5_usize, 0..3_usize), 0..40)) {
        let id = |at: usize| ["a", "b", "c"][at];
        let body = |(what, at): (usize, usize)| match what {
            0 => user("u"),
            1 => asks("m", &["a", "b", "c"][..at]),
            2 => started(id(at)),
            3 => result(id(at), "r"),
            _ => note("n"),
        };
        let found = of(steps.into_iter().map(body).collect());
        let mut messages = found.messages.iter().peekable();
        while let Some(message) = messages.next() {
            prop_assert!(!matches!(message, Message::Tool(_)));
            let Message::Assistant(said) = message else { continue };
            for call in said.tool_calls() {
                let next = messages.next();
                prop_assert!(matches!(next, Some(Message::Tool(result)) if result.call_id == call.id));
            }
        }
    }
}
