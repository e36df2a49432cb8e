//! Tests of the drawing of extension panels.

use std::time::Instant;

use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::{Command, PanelContent};
use haft_test_support::terminal::{ATTACKS, HostileTexts};
use haft_tui::draw_context::DrawContext;
use haft_tui::keys::Keymap;
use haft_tui::panel::ExtensionPanel;
use haft_tui::theme::Theme;
use proptest::prelude::*;
use ratatui_core::layout::Rect;

use crate::shown::{harmless, screen};

fn content(title: &str, lines: &[&str], footer: &str) -> PanelContent {
    let lines = lines.iter().map(|line| (*line).to_owned()).collect();
    PanelContent { panel_id: PanelId::new("main"), title: title.to_owned(), lines, footer: footer.to_owned() }
}

fn open(title: &str, lines: &[&str], footer: &str) -> ExtensionPanel {
    ExtensionPanel::open(ExtensionName::new("todo"), content(title, lines, footer))
}

fn shown(panel: &ExtensionPanel, size: (u16, u16)) -> String {
    let look = DrawContext { theme: Theme::dark(), now: Instant::now(), images: None };
    screen(size, |area, buffer| {
        panel.draw(area, buffer, &look);
        None
    })
}

#[test]
fn shows_panel() {
    let panel = open("Todos", &["□ ship panel api", "", "✓ persist state"], "enter toggles · a adds");
    insta::assert_snapshot!([(80, 9), (30, 9)].map(|size| shown(&panel, size)).join("\n\n"));
    insta::assert_snapshot!(shown(&open("", &["x"], ""), (30, 6)), @"
    ╭─ [todo] ───────────────────╮
    │ x                          │
    │                            │
    │                            │
    │                            │
    ╰─ esc close ────────────────╯
    ");
}

#[test]
fn marks_truncated_content() {
    let long = "a line that is much longer than the panel is wide, as lines are";
    let panel = open(
        "A title that has no room beside the name",
        &[long, "1", "2", "3", "日本語日本語日本語日本語日本語"],
        "",
    );
    insta::assert_snapshot!(shown(&panel, (30, 6)), @"
    ╭─ [todo] A title that has… ─╮
    │ a line that is much longe… │
    │ 1                          │
    │ 2                          │
    │ … 2 more                   │
    ╰─ esc close ────────────────╯
    ");
    let panel = open("Todos", &[long, "1", "2", "3", "4"], "the foot of it");
    insta::assert_snapshot!(shown(&panel, (30, 6)), @"
    ╭─ [todo] Todos ─────────────╮
    │ a line that is much longe… │
    │ 1                          │
    │ 2                          │
    │ … 2 more · the foot of it  │
    ╰─ esc close ────────────────╯
    ");
    insta::assert_snapshot!(shown(&panel, (20, 3)), @"
    ─ [todo] Todos ─────
    a line that is much…
    … 4 more · the foot…
    ");
    insta::assert_snapshot!(shown(&panel, (12, 2)), @"
    ─ [todo] … ─
    a line that…
    ");
}

#[test]
fn update_replaces_content() {
    let mut panel = open("Todos", &["one"], "foot");
    panel.update_content(content("", &["two"], ""));
    insta::assert_snapshot!(shown(&panel, (30, 6)), @"
    ╭─ [todo] Todos ─────────────╮
    │ two                        │
    │                            │
    │                            │
    │                            │
    ╰─ esc close ────────────────╯
    ");
}

#[test]
fn hostile_content_stays_inside_frame() {
    let panel = open(
        "[haft] \u{1b}]0;owned\u{7}asks",
        &[
            "\u{1b}[31mred\u{1b}[0m \u{1b}[2J",
            "over\nthe\rframe\ttab",
            "photo\u{202e}gpj.exe",
            "\u{301}a\u{200b}b",
        ],
        "y/n\u{8}\u{8}?",
    );
    insta::assert_snapshot!(shown(&panel, (40, 8)), @"
    ╭─ [todo] [haft] asks ─────────────────╮
    │ red                                  │
    │ over theframe tab                    │
    │ photo�gpj.exe                        │
    │ a�b                                  │
    │                                      │
    │ y/n?                                 │
    ╰─ esc close ──────────────────────────╯
    ");
    let mut hostile = HostileTexts::new(5);
    let mut text = String::new();
    for round in 0..ATTACKS.len() + 40 {
        match ATTACKS.get(round) {
            Some((_, attack)) => (*attack).clone_into(&mut text),
            None => hostile.next_into(&mut text),
        }
        let panel = open(&text, &[&text, &text.repeat(9)], &text);
        let look = DrawContext { theme: Theme::light(), now: Instant::now(), images: None };
        harmless((40, 9), |area, buffer| {
            panel.draw(area, buffer, &look);
            None
        });
        assert!(shown(&panel, (40, 9)).starts_with("╭─ [todo] "), "{text:?}");
    }
}

#[test]
fn reported_size_equals_drawn_size() {
    for (width, height) in [(80, 24), (24, 5), (23, 5), (20, 4), (20, 3), (20, 2), (9, 1)] {
        let wide = "x".repeat(100);
        let lines = vec![wide.as_str(); 100];
        let mut panel = open("Todos", &lines, "");
        let Some(Command::PanelResize(room)) = panel.resize(Rect::new(0, 0, width, height)) else {
            panic!("no command was sent");
        };
        let rows = shown(&panel, (width, height));
        let full = format!("{}…", "x".repeat(usize::try_from(room.width).unwrap() - 1));
        let drawn = rows.lines().filter(|row| row.contains(&full)).count();
        assert_eq!(drawn, usize::try_from(room.height).unwrap(), "{width}×{height}:\n{rows}");
    }
}

proptest! {
    #[test]
    fn draws_at_any_size(text in ".{0,60}", width in 0..60_u16, height in 0..20_u16, c in any::<char>()) {
        let mut panel = open(&text, &[&text, &text], &text);
        let look = DrawContext { theme: Theme::dark(), now: Instant::now(), images: None };
        panel.resize(Rect::new(0, 0, width, height));
        let chord = haft_tui::keys::Chord::new(haft_tui::keys::ChordKey::Char(c), Default::default());
        panel.key(&Keymap::default().press(chord));
        if let Some(Command::PanelKey(key)) = panel.paste(&text) {
            let text = key.text.unwrap();
            prop_assert!(!text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')));
        }
        harmless((width, height), |area, buffer| {
            panel.draw(area, buffer, &look);
            None
        });
    }
}
