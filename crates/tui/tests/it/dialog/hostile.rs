//! Tests of dialogs with hostile texts and random input.

use std::time::Duration;

use haft_protocol::RawJson;
use haft_protocol::content::{CallPreview, FileDiff, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_test_support::terminal::{ATTACKS, HostileTexts};
use haft_tui::dialog::{AnswerKind, DialogKeyOutcome, Question};
use haft_tui::keys::{ACTIONS, Chord, ChordKey, Keymap, Modifiers};
use proptest::prelude::*;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::Open;
use crate::shown::harmless;

fn diff(text: &str) -> CallPreview {
    CallPreview::Diff(FileDiff::new(
        text.to_owned(),
        format!("--- a/{text}\n+++ b/{text}\n@@ -1 +1,2 @@\n-{text}\n+{text}\n+ {text}\n"),
        2,
        1,
    ))
}

fn hostile_questions(text: &str) -> Vec<Question> {
    let call = ToolCall {
        id: ToolCallId::new("t"),
        name: text.to_owned(),
        args: RawJson::from_value(&serde_json::json!({"a": text, "b": [text, {}]})).unwrap(),
    };
    let texts = vec![text.to_owned(), text.repeat(3)];
    let wanted = [
        AnswerKind::Confirm,
        AnswerKind::Select(texts.clone()),
        AnswerKind::Gate(texts),
        AnswerKind::Input { secret: false },
        AnswerKind::Input { secret: true },
        AnswerKind::Editor(text.to_owned()),
    ];
    let question = |wanted| Question {
        owner: Some(text.to_owned()),
        wanted,
        title: text.to_owned(),
        message: format!("{text}\n{text}"),
        call: Some(call.clone()),
        preview: text.len().is_multiple_of(3).then(|| diff(text)),
        placeholder: Some(text.to_owned()),
        grants: text.len().is_multiple_of(2),
        within: Some(Duration::from_secs(5)),
        default: Some(text.to_owned()),
    };
    wanted.map(question).into()
}

#[test]
fn hostile_text_is_harmless() {
    let mut hostile = HostileTexts::new(4);
    let mut text = String::new();
    for round in 0..ATTACKS.len() + 40 {
        match ATTACKS.get(round) {
            Some((_, attack)) => (*attack).clone_into(&mut text),
            None => hostile.next_into(&mut text),
        }
        for question in hostile_questions(&text) {
            let mut open = Open::new(question);
            let look = open.look();
            open.dialog.paste(&text, open.now);
            harmless((61, 30), |area, buffer| open.dialog.draw(area, buffer, &look));
        }
    }
}

fn chord() -> impl Strategy<Value = Chord> {
    let named: Vec<&str> = ACTIONS.iter().flat_map(|entry| entry.keys).copied().collect();
    prop_oneof![
        proptest::sample::select(named).prop_map(|key| key.parse().unwrap()),
        any::<char>().prop_map(|c| Chord::new(ChordKey::Char(c), Modifiers::default())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: (ProptestConfig::default().cases / 4).max(1), ..ProptestConfig::default() })]

    #[test]
    fn random_keys_at_any_size_do_not_panic(
        text in "[a-z\\n日\u{1b}\u{202e}\u{301} ]{0,40}",
        which in 0..6_usize,
        steps in proptest::collection::vec((chord(), 0..90_u16, 0..30_u16, ".{0,5}", 0..500_u64), 0..20),
    ) {
        let mut open = Open::new(hostile_questions(&text).remove(which));
        for (chord, width, height, pasted, millis) in steps {
            open = open.later(millis);
            open.dialog.paste(&pasted, open.now);
            let reply = open.dialog.key(&Keymap::default().press(chord), open.now);
            if let DialogKeyOutcome::OpenEditor(text) = reply {
                open.dialog.apply_edited_text(&text);
            }
            let look = open.look();
            let rows = open.dialog.rows(width, height, height, &look);
            prop_assert!(rows <= height);
            harmless((width, height), |area, buffer| open.dialog.draw(area, buffer, &look));
            // Drawing outside of the screen is harmless, too.
            let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 4));
            open.dialog.draw(Rect::new(5, 2, width, height), &mut buffer, &look);
            open.dialog.mark_drawn(open.now);
        }
    }
}
