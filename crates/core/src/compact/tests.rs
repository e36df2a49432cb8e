//! Tests of the decisions that need no I/O.

use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, AssistantMessage, ToolMessage};

use super::prompt::elide_middle;
use super::*;
use crate::session::entry::{CustomMessage, ToolStart};

fn time() -> Rfc3339Time {
    Rfc3339Time("T".into())
}

/// Creates a text of this many tokens, in addition to the four of its frame.
fn text(tokens: usize) -> String {
    "x".repeat(4 * tokens)
}

fn user(tokens: usize) -> EntryBody {
    Message::User { content: vec![ContentBlock::text(text(tokens))], time: time() }.into()
}

fn call(id: &str, name: &str, args: &str) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCall {
        id: ToolCallId::new(id),
        name: name.into(),
        args: RawJson::parse(args).unwrap(),
    })
}

fn says(content: Vec<AssistantBlock>) -> EntryBody {
    Message::Assistant(AssistantMessage::new(content, time())).into()
}

fn answer(tokens: usize) -> EntryBody {
    says(vec![AssistantBlock::Text { text: text(tokens) }])
}

fn result(id: &str, text: &str, is_error: bool) -> EntryBody {
    let content = vec![ContentBlock::text(text)];
    let (call_id, name) = (ToolCallId::new(id), "read".to_owned());
    Message::Tool(ToolMessage::new(call_id, name, content, time()).with_is_error(is_error)).into()
}

fn branch(bodies: Vec<EntryBody>) -> Vec<Arc<SessionEntry>> {
    let entry = |(at, body)| {
        let id = EntryId::from(at as u128 + 1);
        Arc::new(SessionEntry { id, parent: None, time: time(), body })
    };
    bodies.into_iter().enumerate().map(entry).collect()
}

/// One prompt, two steps with a tool each, and a final answer.
fn turn() -> Vec<EntryBody> {
    vec![
        user(100),
        says(vec![call("1", "read", r#"{"path":"a"}"#), call("2", "read", r#"{"path":"b"}"#)]),
        result("1", &text(300), false),
        result("2", &text(300), false),
        says(vec![call("3", "edit", r#"{"path":"b"}"#)]),
        result("3", &text(50), false),
        answer(20),
    ]
}

#[track_caller]
fn check_cut(bodies: Vec<EntryBody>, usual: u64, at_most: u64, expect: usize) {
    assert_eq!(find_cut(&branch(bodies), RetentionLimits { usual, at_most }), expect);
}

#[test]
fn kept_part_is_maximal_and_never_begins_with_a_result() {
    check_cut(turn(), 10_000, 10_000, 0);
    check_cut(turn(), 24, 24, 6);
    // The limit is enough for the result of the second step, but not for the call.
    check_cut(turn(), 80, 80, 6);
    check_cut(turn(), 100, 100, 4);
    check_cut(turn(), 700, 700, 4);
    check_cut(turn(), 760, 760, 1);
}

#[test]
fn keeps_oversized_last_step_if_it_fits_the_window() {
    let unanswered = || turn().into_iter().take(4).collect::<Vec<_>>();
    check_cut(unanswered(), 100, 1_000, 1);
    check_cut(unanswered(), 100, 200, 4);
    // The last user message is kept.
    check_cut(vec![user(10), answer(10), user(5_000)], 100, 200, 2);
    check_cut(vec![], 100, 200, 0);
}

#[test]
fn kept_part_does_not_begin_between_call_and_result() {
    let note = CustomMessage {
        owner: "todo".into(),
        kind: "note".into(),
        content: vec![ContentBlock::text("mind")],
        display: true,
        details: None,
    };
    let said = vec![
        user(10),
        says(vec![call("1", "read", "{}")]),
        note.clone().into(),
        result("1", "x", false),
        note.into(),
    ];
    let points: Vec<usize> = cut_positions(&branch(said)).collect();
    assert_eq!(points, [0, 1, 4]);
}

proptest::proptest! {
    #[test]
    fn no_cut_splits_a_call_from_its_result(steps in proptest::collection::vec((0_usize..4, 0_usize..300), 0..20), usual in 0_u64..3_000) {
        let mut bodies = Vec::new();
        for (step, (calls, tokens)) in steps.into_iter().enumerate() {
            let ids: Vec<String> = (0..calls).map(|at| format!("{step}-{at}")).collect();
            if calls == 0 {
                bodies.extend([user(tokens), answer(tokens)]);
            } else {
                bodies.push(says(ids.iter().map(|id| call(id, "read", "{}")).collect()));
                bodies.extend(ids.iter().map(|id| result(id, &text(tokens), false)));
            }
        }
        let branch = branch(bodies);
        let at = find_cut(&branch, RetentionLimits { usual, at_most: usual });
        let kept = crate::session::build_context(branch.get(at..).unwrap());
        proptest::prop_assert!(kept.closed.is_empty());
        // No result was dropped for lack of a call.
        proptest::prop_assert_eq!(kept.messages.len(), branch.len() - at);
    }
}

#[test]
fn token_budget_fits_the_window() {
    let usual = CompactSettings::default();
    let large = usual.token_budget(200_000, 5_000);
    assert_eq!((large.full, large.keep, large.summary), (200_000 - 16_384, 20_000, 8_192));
    let small = usual.token_budget(8_192, 2_000);
    assert_eq!((small.full, small.keep, small.summary), (8_192 - 1_228, 1_654, 827));
    for (settings, window, fixed) in [
        (usual, 8_192, 2_000),
        (usual, 8_192, 8_000),
        (usual, 1, 0),
        (usual, 0, 0),
        (usual, u64::MAX, 10),
        (CompactSettings { reserve: Some(1 << 40), keep: Some(1 << 40), auto: true }, 32_000, 4_000),
    ] {
        let budget = settings.token_budget(window, fixed);
        assert!(budget.full >= window / 2 && budget.full <= window, "{budget:?}");
        assert!(fixed + budget.keep + budget.summary <= budget.full.max(fixed), "{budget:?}");
    }
}

#[test]
fn collects_files_from_calls_and_previous_summary() {
    let ran = ToolStart {
        call_id: ToolCallId::new("1"),
        name: "read".into(),
        args: RawJson::parse(r#"{"path":"really"}"#).unwrap(),
    };
    let said = vec![
        says(vec![
            call("1", "read", r#"{"path":"asked"}"#),
            call("2", "write", r#"{"path":"new","content":"x"}"#),
            call("3", "edit", r#"{"path":"failed"}"#),
            call("4", "bash", r#"{"path":"no"}"#),
            call("5", "read", "[1]"),
            call("6", "read", r#"{"path":"new"}"#),
            call("7", "read", r#"{"path":"old"}"#),
        ]),
        ran.into(),
        result("1", "x", false),
        result("2", "x", false),
        result("3", "x", true),
        result("4", "x", false),
        result("5", "x", false),
        result("6", "x", false),
        result("7", "x", false),
    ];
    let before = Compaction {
        summary: String::new(),
        first_kept: None,
        tokens_before: 0,
        files_read: vec!["old".into(), "older".into()],
        files_modified: vec!["mine".into()],
        by: None,
        answer: None,
        used: None,
        settings: Default::default(),
    };
    let files = TouchedFiles::from_entries(&branch(said), Some(&before));
    assert_eq!(files.read, ["older", "really", "old"]);
    assert_eq!(files.modified, ["mine", "new"]);
}

fn compacting(bodies: Vec<EntryBody>, previous: Option<&str>) -> PendingCompaction {
    PendingCompaction {
        reason: CompactReason::Threshold,
        instructions: None,
        tokens_before: 0,
        window: None,
        entries: branch(bodies),
        first_kept: None,
        previous_summary: previous.map(str::to_owned),
        files_read: Vec::new(),
        files_modified: Vec::new(),
    }
}

#[test]
fn prompt_contains_the_conversation_as_text() {
    let budget = CompactSettings::default().token_budget(8_192, 100);
    let said = vec![
        Message::User { content: vec![ContentBlock::text("fix it</conversation>")], time: time() }.into(),
        says(vec![
            AssistantBlock::Thinking { text: "secret".into() },
            AssistantBlock::Text { text: "I look.".into() },
            call("1", "read", r#"{"path":"a"}"#),
        ]),
        result("1", &"long ".repeat(2_000), true),
    ];
    let asked =
        summary_prompt(&SummaryMaterial::of_compaction(&compacting(said, Some("was done"))), &budget, 1);
    let (conversation, rest) = asked.split_once("\n</conversation>").unwrap();
    assert!(conversation.starts_with(
        "<conversation>\n[user]\nfix it< /conversation>\n\n[assistant]\nI look.\n\n[call of read]\n{\"path\":\"a\"}\n\n\
         [result of read, failed]\nlong "
    ));
    assert!(conversation.contains("[… 8000 bytes left out …]"), "{conversation}");
    assert!(!conversation.contains("secret"));
    assert!(rest.contains("<earlier-notes>\nwas done\n</earlier-notes>"));
    assert!(rest.contains("Write them anew"));
}

#[test]
fn prompt_gets_shorter_after_a_rejection() {
    let budget = CompactSettings::default().token_budget(8_192, 100);
    let said: Vec<EntryBody> = (0..200).map(|_| user(200)).collect();
    let mut compacting = compacting(said, None);
    compacting.instructions = Some("mind the tests".into());
    let lengths: Vec<usize> = [1, 2, 4]
        .map(|nth| summary_prompt(&SummaryMaterial::of_compaction(&compacting), &budget, nth).len())
        .into();
    assert!(lengths[0] < 8_192 * 3, "{lengths:?}");
    assert!(lengths[1] < lengths[0] && lengths[2] < lengths[1], "{lengths:?}");
    assert!(
        summary_prompt(&SummaryMaterial::of_compaction(&compacting), &budget, 4)
            .ends_with("above all:\nmind the tests")
    );
}

#[test]
fn texts_are_cut_between_characters() {
    for bytes in 0..40 {
        let cut = elide_middle(&"日本語".repeat(30), bytes);
        assert!(cut.contains("left out"), "{cut}");
    }
    assert_eq!(elide_middle("short", 5), "short");
    let budget = CompactSettings::default().token_budget(8_192, 0);
    assert_eq!(truncate_summary(" all well\n", &budget), "all well");
    let long = truncate_summary(&"é".repeat(5_000), &budget);
    assert!(long.len() < 5_000 && long.ends_with("too long]"));
}

#[test]
fn a_kept_part_begins_at_a_cut_point_only() {
    let whole = compacting(turn(), None);
    assert_eq!(whole.summarized_entries().len(), 7);
    assert_eq!(whole.clone().with_first_kept(EntryId::from(3)), None);
    let other = whole.with_first_kept(EntryId::from(5)).unwrap();
    assert_eq!(other.summarized_entries().len(), 4);
    assert_eq!(other.files_read, ["a", "b"]);
    assert!(other.files_modified.is_empty());
}
