//! The inline mode: the printed rows and the rows drawn below them.

use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_tui::app::AppOptions;
use haft_tui::app::settings::Settings;
use haft_tui::terminal::UserInterface as _;
use insta::assert_snapshot;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::fake::{Fake, extension};
use crate::transcript::text;

/// A terminal of 60 columns and 20 rows.
struct Page {
    fake: Fake,
    printed: Vec<String>,
}

impl Page {
    fn new() -> Self {
        let mut settings = Settings::default();
        settings.set("tui.screen", "inline").unwrap();
        let fake = Fake::with(AppOptions { settings, size: (60, 20), ..AppOptions::default() });
        Self { fake, printed: Vec::new() }
    }

    /// True if the interface draws in inline mode. Collects the printed rows.
    fn is_below(&mut self) -> bool {
        let area = Rect::new(0, 0, 60, 20);
        let look = self.fake.state.look(self.fake.now);
        let below = self.fake.state.inline_output(area, &look);
        let rows = below.iter().flat_map(|below| &below.printed);
        self.printed.extend(rows.map(|row| row.to_string().trim_end().to_owned()));
        below.is_some()
    }

    /// Returns the rows printed since the last call and, below a line, the drawn rows.
    fn screen(&mut self) -> String {
        let area = Rect::new(0, 0, 60, 20);
        let look = self.fake.state.look(self.fake.now);
        let Some(below) = self.fake.state.inline_output(area, &look) else {
            return "whole screen".to_owned();
        };
        self.printed.extend(below.printed.iter().map(|row| row.to_string().trim_end().to_owned()));
        let mut buffer = Buffer::empty(Rect { height: below.height, ..area });
        haft_tui::app::draw(&mut self.fake.state, buffer.area, &mut buffer, &look);
        let printed = std::mem::take(&mut self.printed).join("\n");
        format!("{printed}\n=====\n{}", text(&buffer))
    }
}

#[test]
fn prints_messages_and_draws_activity_below() {
    let mut page = Page::new();
    assert_snapshot!(page.screen(), @"
     haft 0.1.0
     anthropic/claude-opus
     /projects/haft

     / for commands, @ for files, ! for the shell
     f1 for help, esc to stop the agent
     ctrl+c twice to quit

     the project contains nothing that needs trust

     Things to try:
       explain what this project does and how it is built
       /init to write AGENTS.md, the instructions for this pro…
       /review to review the uncommitted changes

    =====
    ────────────────────────────────────────────────────────────
    ›
    ────────────────────────────────────────────────────────────
    claude-opus · thinking high · 34k/200k (17 %) · $0.12 · main
    ");
    page.fake.enter("hello");
    let (level, message) = (NoteLevel::Info, "saved".to_owned());
    page.fake.event(AgentEvent::ExtNotify { extension: extension("todo"), level, message });
    page.fake.event(AgentEvent::TextDelta { delta: "Hel".into() });
    assert_snapshot!(page.screen(), @r"
    › hello
    =====

    Hel
    [todo] saved
    ⠋ Working… 0s · esc to stop
    ────────────────────────────────────────────────────────────
    › enter steer · alt+enter follow up
    ────────────────────────────────────────────────────────────
    claude-opus · thinking high · 34k/200k (17 %) · $0.12 · main
    ");
    page.fake.answer("Hello.");
    page.fake.done();
    assert_snapshot!(page.screen(), @r"

    Hel

    Hello.
    =====
    [todo] saved
    ────────────────────────────────────────────────────────────
    ›
    ────────────────────────────────────────────────────────────
    claude-opus · thinking high · 34k/200k (17 %) · $0.12 · main
    ");
    page.fake.type_text("/th");
    assert_snapshot!(page.screen(), @r"

    =====
    [todo] saved
    ────────────────────────────────────────────────────────────
    › /th
    ────────────────────────────────────────────────────────────
    ▸ /thinking [level]  Set the thinking level             haft
      /theme [theme]     Select a color theme               haft






    claude-opus · thinking high · 34k/200k (17 %) · $0.12 · main
    ");
}

#[test]
fn transcript_lists_and_pages_use_the_whole_screen() {
    let mut page = Page::new();
    page.fake.enter("hello");
    page.fake.answer("Hello.");
    page.fake.done();
    for (keys, back) in [
        ("ctrl+o", "esc"),
        ("ctrl+t", "esc"),
        ("alt+s", "esc"),
        ("pageup", "esc"),
        ("ctrl+s", "esc"),
        ("f1", "esc"),
        ("ctrl+s h enter", "esc"),
    ] {
        assert!(page.is_below(), "before {keys}");
        page.fake.keys(keys);
        assert!(!page.is_below(), "{keys}");
        page.fake.keys(back);
        assert!(page.is_below(), "after {keys}");
    }
    // Later output is folded as before, and a scroll without effect does not open the transcript.
    assert_eq!(page.fake.state.transcript().unfolded_kinds(), (false, false));
    page.fake.keys("pagedown shift+end");
    assert!(page.is_below());
}

#[test]
fn new_conversation_starts_below_a_rule_and_keeps_earlier_rows() {
    let mut page = Page::new();
    page.fake.enter("hello");
    page.fake.event(AgentEvent::TextDelta { delta: "So f".into() });
    page.screen();
    page.fake.enter("/clear");
    assert_snapshot!(page.screen(), @r"

    So f

    ── hello ───────────────────────────────────────────────────

    =====
    ⠋ Working… 0s · esc to stop
    ────────────────────────────────────────────────────────────
    › enter steer · alt+enter follow up
    ────────────────────────────────────────────────────────────
    claude-opus · thinking high · 34k/200k (17 %) · $0.12 · main
    ");
}
