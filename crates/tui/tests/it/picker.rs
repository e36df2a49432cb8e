//! Tests of lists: drawing and keys.

use std::time::Instant;

use haft_test_support::terminal::{ATTACKS, HostileTexts};
use haft_tui::draw_context::DrawContext;
use haft_tui::keys::{ACTIONS, Chord, Keymap};
use haft_tui::picker::{Picker, PickerAbilities, PickerOutcome, PickerRow};
use haft_tui::theme::Theme;
use proptest::prelude::*;

use crate::shown::{harmless, screen};

const ALL: PickerAbilities = PickerAbilities { rename: true, delete: true };

fn row(text: &str, detail: &str) -> PickerRow {
    PickerRow {
        key: text.to_owned(),
        text: text.to_owned(),
        detail: detail.to_owned(),
        ..PickerRow::default()
    }
}

fn sessions() -> Vec<PickerRow> {
    let mut rows: Vec<PickerRow> =
        (1..=12).map(|at| row(&format!("session {at}"), &format!("{at} days ago"))).collect();
    rows[4].current = true;
    rows
}

fn models() -> Vec<PickerRow> {
    let groups = [
        ("anthropic", ["claude-opus-4-7", "claude-sonnet-4-6"]),
        ("openai", ["gpt-6", "o9-mini"]),
        ("local", ["sonnet-of-ours", "qwen"]),
    ];
    let rows = groups.iter().flat_map(|(group, names)| {
        names.iter().map(|name| PickerRow { group: (*group).to_owned(), ..row(name, "200k") })
    });
    rows.collect()
}

fn tree() -> Vec<PickerRow> {
    let rows = [
        (0, "fix the test"),
        (1, "it fails still"),
        (2, "try again"),
        (2, "look at the log"),
        (1, "another way"),
        (2, "good"),
    ];
    rows.iter().map(|(depth, text)| PickerRow { depth: *depth, ..row(text, "") }).collect()
}

fn look() -> DrawContext {
    DrawContext { theme: Theme::dark(), now: Instant::now(), images: None }
}

fn shown(picker: &mut Picker, size: (u16, u16)) -> String {
    screen(size, |area, buffer| picker.draw(area, buffer, &look()))
}

fn keys(picker: &mut Picker, keys: &str) -> PickerOutcome {
    let mut picked = PickerOutcome::Open;
    for key in keys.split_whitespace() {
        picked = picker.key(&Keymap::default().press(key.parse().unwrap()));
    }
    picked
}

#[test]
fn shows_list() {
    let mut picker = Picker::new("Sessions", sessions(), ALL);
    insta::assert_snapshot!([(80, 12), (30, 8), (20, 3)].map(|size| shown(&mut picker, size)).join("\n\n"));
}

#[test]
fn shows_empty_list() {
    insta::assert_snapshot!(shown(&mut Picker::new("Sessions", vec![], ALL), (40, 5)), @"
    ╭─ Sessions ───────────────────── 0/0 ─╮
    │ › ▏type to search                     │
    │ no entries                           │
    │                                      │
    ╰─ enter select · esc cancel · alt+r… ─╯
    ");
    let mut picker = Picker::new("Sessions", sessions(), ALL);
    keys(&mut picker, "z z");
    insta::assert_snapshot!(shown(&mut picker, (40, 5)), @"
    ╭─ Sessions ──────────────────── 0/12 ─╮
    │ › zz▏                                 │
    │ no matches                           │
    │                                      │
    ╰─ enter select · esc cancel · alt+r… ─╯
    ");
    assert_eq!(keys(&mut picker, "enter"), PickerOutcome::Open);
    assert_eq!(keys(&mut picker, "down up pagedown alt+r alt+d y ctrl+end"), PickerOutcome::Open);
}

#[test]
fn typing_filters_list() {
    let mut picker = Picker::new("Models", models(), PickerAbilities::default());
    insta::assert_snapshot!(shown(&mut picker, (40, 13)), @"
    ╭─ Models ─────────────────────── 6/6 ─╮
    │ › ▏type to search                     │
    │ anthropic                            │
    │ ›   claude-opus-4-7  200k            │
    │     claude-sonnet-4-6  200k          │
    │ openai                               │
    │     gpt-6  200k                      │
    │     o9-mini  200k                    │
    │ local                                │
    │     sonnet-of-ours  200k             │
    │     qwen  200k                       │
    │                                      │
    ╰─ enter select · esc cancel ──────────╯
    ");
    assert_eq!(keys(&mut picker, "s"), PickerOutcome::Moved("sonnet-of-ours".to_owned()));
    assert_eq!(keys(&mut picker, "o n"), PickerOutcome::Open);
    insta::assert_snapshot!(shown(&mut picker, (40, 13)), @"
    ╭─ Models ─────────────────────── 2/6 ─╮
    │ › son▏                                │
    │ local                                │
    │ ›   sonnet-of-ours  200k             │
    │ anthropic                            │
    │     claude-sonnet-4-6  200k          │
    │                                      │
    │                                      │
    │                                      │
    │                                      │
    │                                      │
    │                                      │
    ╰─ enter select · esc cancel ──────────╯
    ");
    keys(&mut picker, "space 4");
    insta::assert_snapshot!(shown(&mut picker, (40, 13)), @"
    ╭─ Models ─────────────────────── 1/6 ─╮
    │ › son 4▏                              │
    │ anthropic                            │
    │ ›   claude-sonnet-4-6  200k          │
    │                                      │
    │                                      │
    │                                      │
    │                                      │
    │                                      │
    │                                      │
    │                                      │
    │                                      │
    ╰─ enter select · esc cancel ──────────╯
    ");
    assert_eq!(keys(&mut picker, "enter"), PickerOutcome::Taken("claude-sonnet-4-6".to_owned()));
    // The filter is empty again: all rows are shown, with the same choice.
    keys(&mut picker, "ctrl+u");
    assert_eq!(picker.chosen_row().unwrap().key, "claude-sonnet-4-6");
    picker.paste("gpt\n");
    assert_eq!(keys(&mut picker, "enter"), PickerOutcome::Taken("gpt-6".to_owned()));
}

#[test]
fn shows_tree() {
    let mut picker = Picker::new("Tree", tree(), PickerAbilities::default());
    insta::assert_snapshot!(shown(&mut picker, (40, 10)), @"
    ╭─ Tree ───────────────────────── 6/6 ─╮
    │ › ▏type to search                     │
    │ ›   fix the test                     │
    │     ├─ it fails still                │
    │     │  ├─ try again                  │
    │     │  └─ look at the log            │
    │     └─ another way                   │
    │        └─ good                       │
    │                                      │
    ╰─ enter select · esc cancel ──────────╯
    ");
    keys(&mut picker, "o");
    insta::assert_snapshot!(shown(&mut picker, (40, 10)), @"
    ╭─ Tree ───────────────────────── 3/6 ─╮
    │ › o▏                                  │
    │ ›   look at the log                  │
    │     another way                      │
    │     good                             │
    │                                      │
    │                                      │
    │                                      │
    │                                      │
    ╰─ enter select · esc cancel ──────────╯
    ");
    insta::assert_snapshot!(shown(&mut Picker::new("Tree", tree(), PickerAbilities::default()), (20, 7)), @"
    ─ Tree ─────── 6/6 ─
    › ▏type to search
    ›   fix the test
        ├─ it fails sti…
        │  ├─ try again
        │  └─ look at t…
    ─ enter select · … ─
    ");
}

#[test]
fn renames_row() {
    let mut picker = Picker::new("Sessions", sessions(), ALL);
    assert_eq!(keys(&mut picker, "alt+r backspace X"), PickerOutcome::Open);
    insta::assert_snapshot!(shown(&mut picker, (50, 9)), @"
    ╭─ Sessions ───────────────────────────── 12/12 ─╮
    │ › type to search                               │
    │     session 1  1 days ago                      │
    │     session 2  2 days ago                      │
    │     session 3  3 days ago                      │
    │     session 4  4 days ago                      │
    │ › ● name: session X▏                            │
    │     session 6  6 days ago                      │
    ╰─ enter rename · esc cancel ────────────────────╯
    ");
    assert_eq!(
        keys(&mut picker, "enter"),
        PickerOutcome::Rename("session 5".to_owned(), "session X".to_owned())
    );
    assert_eq!(keys(&mut picker, "alt+r a esc enter"), PickerOutcome::Taken("session 5".to_owned()));
    let mut picker = Picker::new("Sessions", sessions(), PickerAbilities::default());
    assert_eq!(keys(&mut picker, "alt+r enter"), PickerOutcome::Taken("session 5".to_owned()));
}

#[test]
fn deletes_row_after_confirmation() {
    let mut picker = Picker::new("Sessions", sessions(), ALL);
    assert_eq!(keys(&mut picker, "alt+d"), PickerOutcome::Open);
    insta::assert_snapshot!(shown(&mut picker, (50, 9)), @"
    ╭─ Sessions ───────────────────────────── 12/12 ─╮
    │ › type to search                               │
    │     session 1  1 days ago                      │
    │     session 2  2 days ago                      │
    │     session 3  3 days ago                      │
    │     session 4  4 days ago                      │
    │ › ● session 5 delete? y/n                      │
    │     session 6  6 days ago                      │
    ╰─ y delete · any other key cancel ──────────────╯
    ");
    assert_eq!(keys(&mut picker, "y"), PickerOutcome::Delete("session 5".to_owned()));
    for other in ["n", "esc", "enter", "x", "down"] {
        assert_eq!(keys(&mut picker, &format!("alt+d {other}")), PickerOutcome::Open, "{other}");
    }
    assert_eq!(picker.chosen_row().unwrap().key, "session 5");
    let mut rows = sessions();
    rows.remove(4);
    picker.set_rows(rows);
    assert_eq!(picker.chosen_row().unwrap().key, "session 6");
    let mut picker = Picker::new("Sessions", sessions(), PickerAbilities::default());
    assert_eq!(keys(&mut picker, "alt+d y"), PickerOutcome::Open);
    assert_eq!(keys(&mut picker, "esc"), PickerOutcome::Closed);
}

#[test]
fn keys_move_choice() {
    let mut picker = Picker::new("Sessions", sessions(), ALL);
    let moved = |at: usize| PickerOutcome::Moved(format!("session {at}"));
    shown(&mut picker, (40, 8));
    assert_eq!(keys(&mut picker, "down"), moved(6));
    assert_eq!(keys(&mut picker, "up up"), moved(4));
    assert_eq!(keys(&mut picker, "pagedown"), moved(8));
    assert_eq!(keys(&mut picker, "ctrl+end"), moved(12));
    assert_eq!(keys(&mut picker, "pagedown"), PickerOutcome::Open);
    assert_eq!(keys(&mut picker, "down"), moved(1));
    assert_eq!(keys(&mut picker, "up"), moved(12));
    assert_eq!(keys(&mut picker, "ctrl+home"), moved(1));
    assert_eq!(keys(&mut picker, "tab left"), PickerOutcome::Open);
    assert_eq!(keys(&mut picker, "ctrl+c"), PickerOutcome::Closed);
}

#[test]
fn replaced_rows_keep_filter_and_choice() {
    let mut picker = Picker::new("Sessions", sessions(), ALL);
    keys(&mut picker, "1 down");
    let chosen = picker.chosen_row().unwrap().key.clone();
    keys(&mut picker, "alt+r x");
    let mut rows = sessions();
    rows.reverse();
    picker.set_rows(rows);
    assert_eq!(picker.chosen_row().unwrap().key, chosen);
    assert_eq!(keys(&mut picker, "enter"), PickerOutcome::Rename(chosen.clone(), format!("{chosen}x")));
    // A removed row cannot be renamed.
    keys(&mut picker, "alt+r");
    picker.set_rows(vec![row("11", "")]);
    assert_eq!(keys(&mut picker, "enter"), PickerOutcome::Taken("11".to_owned()));
    picker.set_rows(vec![]);
    assert_eq!(picker.chosen_row(), None);
}

#[test]
fn chosen_row_is_always_visible() {
    let rows = (0..10_000)
        .map(|at| PickerRow { group: format!("group {}", at / 7), ..row(&format!("row {at}"), "") });
    let mut picker = Picker::new("Many", rows.collect(), ALL);
    for step in [
        "down",
        "pagedown",
        "pagedown",
        "up",
        "ctrl+end",
        "pageup",
        "up",
        "9",
        "down",
        "ctrl+home",
        "backspace",
    ] {
        keys(&mut picker, step);
        for size in [(40, 12), (40, 3), (40, 5), (20, 20)] {
            let drawn = shown(&mut picker, size);
            let chosen = drawn.lines().skip(2).find(|line| line.contains("›")).unwrap_or_default();
            assert!(chosen.contains(&picker.chosen_row().unwrap().text), "{step} {size:?}:\n{drawn}");
        }
    }
}

#[test]
fn hostile_text_is_harmless() {
    let mut hostile = HostileTexts::new(6);
    let mut text = String::new();
    for round in 0..ATTACKS.len() + 40 {
        match ATTACKS.get(round) {
            Some((_, attack)) => (*attack).clone_into(&mut text),
            None => hostile.next_into(&mut text),
        }
        let rows = (0..3).map(|depth| PickerRow { depth, group: text.clone(), ..row(&text, &text) });
        for mode in ["a", "alt+r", "alt+d"] {
            let mut picker = Picker::new(&text, rows.clone().collect(), ALL);
            keys(&mut picker, mode);
            picker.paste(&text);
            harmless((50, 12), |area, buffer| picker.draw(area, buffer, &look()));
        }
    }
}

fn chord() -> impl Strategy<Value = Chord> {
    let named: Vec<&str> = ACTIONS.iter().flat_map(|entry| entry.keys).copied().collect();
    prop_oneof![
        3 => proptest::sample::select(named).prop_map(|key| key.parse().unwrap()),
        1 => any::<char>().prop_map(|c| Chord::new(haft_tui::keys::ChordKey::Char(c), Default::default())),
        2 => proptest::char::range('a', 'e').prop_map(|c| Chord::new(haft_tui::keys::ChordKey::Char(c), Default::default())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: (ProptestConfig::default().cases / 4).max(1), ..ProptestConfig::default() })]

    #[test]
    fn random_keys_at_any_size_do_not_panic(
        rows in proptest::collection::vec(("[a-e日\u{301}]{0,6}", 0..70_usize, "[xy]{0,1}"), 0..30),
        steps in proptest::collection::vec((chord(), 0..60_u16, 0..20_u16, ".{0,2}"), 0..20),
    ) {
        let rows = rows.into_iter().map(|(text, depth, group)| PickerRow { depth, group, ..row(&text, "d") });
        let mut picker = Picker::new("List", rows.clone().collect(), ALL);
        for (at, (chord, width, height, pasted)) in steps.into_iter().enumerate() {
            picker.key(&Keymap::default().press(chord));
            if at % 5 == 4 {
                picker.paste(&pasted);
                picker.set_rows(rows.clone().skip(at).collect());
            }
            harmless((width, height), |area, buffer| picker.draw(area, buffer, &look()));
        }
    }
}
