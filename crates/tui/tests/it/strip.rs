//! Tests of printed rows and the viewport below them, on terminals that wrap or truncate rows when they become
//! narrower.

use haft_test_support::pty::vt100;
use haft_test_support::terminal::{HostileTexts, is_deceptive, terminal_actions};
use haft_tui::clean::{CleanLine, span};
use haft_tui::terminal::output::InlineViewport;
use haft_tui::theme::ColorDepth;
use proptest::prelude::*;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Style};
use ratatui_core::text::Line;

/// A terminal, and its expected content.
struct Page {
    terminal: vt100::Parser,
    strip: InlineViewport,
    columns: u16,
    rows: u16,
    wraps: bool,
    printed: Vec<String>,
    live: Vec<String>,
}

impl Page {
    fn new(columns: u16, rows: u16, wraps: bool) -> Self {
        let mut terminal = vt100::Parser::new(cells(rows), cells(columns), 10_000);
        terminal.process(b"$ haft\r\n");
        let (printed, live) = (vec!["$ haft".to_owned()], Vec::new());
        Self { terminal, strip: InlineViewport::new(!wraps), columns, rows, wraps, printed, live }
    }

    fn frame(&mut self, printed: &[&str], live: &[&str]) -> String {
        let line = |text: &str| Line::from(span(CleanLine::new(text), Style::new().fg(Color::Red)));
        let lines: Vec<_> = printed.iter().map(|text| line(text)).collect();
        let height = u16::try_from(live.len().max(1)).unwrap();
        let draw = |area: Rect, buffer: &mut Buffer| {
            for (row, text) in (0..).zip(live) {
                buffer.set_line(0, row, &line(text), area.width);
            }
            Some((1, area.height - 1))
        };
        let text = self.strip.render_frame((self.columns, height), &lines, ColorDepth::True, draw);
        self.terminal.process(text.as_bytes());
        let cut = |text: &&str| text.chars().take(usize::from(self.columns)).collect::<String>();
        self.printed.extend(printed.iter().map(cut));
        self.live = live.iter().map(cut).collect();
        text
    }

    /// Changes the width. The terminal wraps its content if it supports that.
    fn resize(&mut self, columns: u16) {
        self.columns = columns;
        self.strip.force_redraw();
        if !self.wraps {
            self.terminal.screen_mut().set_size(cells(self.rows), cells(columns));
            return;
        }
        let width = usize::from(columns);
        let (row, column) = self.terminal.screen().cursor_position();
        let before = self.all();
        let above = before.len() - usize::from(self.rows) + usize::from(row);
        let wrapped = |row: &String| -> Vec<String> {
            let chars: Vec<char> = row.chars().collect();
            let parts: Vec<String> = chars.chunks(width).map(|part| part.iter().collect()).collect();
            if parts.is_empty() { vec![String::new()] } else { parts }
        };
        let up = before.iter().take(above).map(|row| wrapped(row).len()).sum::<usize>();
        let last = before.iter().rposition(|row| !row.is_empty()).unwrap_or(0).max(above);
        let rows: Vec<String> = before.iter().take(last + 1).flat_map(wrapped).collect();
        let down = up + usize::from(column) / width;
        let mut terminal = vt100::Parser::new(cells(self.rows), cells(columns), 10_000);
        terminal.process(rows.join("\r\n").as_bytes());
        let back = rows.len() - 1 - down;
        if back > 0 {
            terminal.process(format!("\x1b[{back}A").as_bytes());
        }
        terminal.process(format!("\x1b[{}G", usize::from(column) % width + 1).as_bytes());
        self.terminal = terminal;
        // Printed rows no longer belong to haft.
        self.printed = self.printed.iter().flat_map(wrapped).collect();
    }

    /// Returns all rows, including the scrollback.
    fn all(&mut self) -> Vec<String> {
        let columns = self.columns.max(1);
        let screen = self.terminal.screen_mut();
        let width = screen.size().1.get().max(columns);
        let row = |screen: &vt100::Screen| screen.rows(0, width).next().unwrap_or_default();
        screen.set_scrollback(usize::MAX);
        let mut all = Vec::new();
        for back in (1..=screen.scrollback()).rev() {
            screen.set_scrollback(back);
            all.push(row(screen).trim_end().to_owned());
        }
        screen.set_scrollback(0);
        all.extend(screen.rows(0, width).map(|row| row.trim_end().to_owned()));
        all
    }

    #[track_caller]
    fn is_right(&mut self) {
        let mut all = self.all();
        while all.last().is_some_and(String::is_empty) {
            all.pop();
        }
        let mut wanted: Vec<String> =
            self.printed.iter().chain(&self.live).map(|row| row.trim_end().to_owned()).collect();
        while wanted.last().is_some_and(String::is_empty) {
            wanted.pop();
        }
        assert_eq!(all, wanted);
    }
}

fn cells(count: u16) -> std::num::NonZeroU16 {
    count.max(1).try_into().unwrap()
}

#[test]
fn prints_rows_above_redrawn_viewport() {
    let mut page = Page::new(20, 6, true);
    page.frame(&["one", "two"], &["────────────────────", "›", "status"]);
    page.is_right();
    page.frame(&[], &["────────────────────", "› a", "status"]);
    page.is_right();
    page.frame(&["three", "", "four"], &["live", "────────────────────", "› a", "status"]);
    page.is_right();
    page.frame(&[], &["›", "status"]);
    page.is_right();
    assert_eq!(page.frame(&[], &["›", "status"]), "");
    let bye = page.strip.clear_viewport();
    page.terminal.process(bye.as_bytes());
    page.live.clear();
    page.is_right();
}

#[test]
fn writes_only_differences() {
    let mut page = Page::new(20, 6, true);
    page.frame(&[], &["top", "› a", "status"]);
    let text = page.frame(&[], &["top", "› ab", "status"]);
    assert_eq!(
        text,
        "\x1b[?2026h\x1b[?25l\x1b[1A\x1b[4G\x1b[0;31mb\x1b[0m\r\x1b[1B\x1b[2G\x1b[?25h\x1b[?2026l"
    );
}

#[test]
fn narrower_terminal_wraps_drawn_rows() {
    for wraps in [true, false] {
        let mut page = Page::new(20, 12, wraps);
        page.frame(&["one", "two"], &["a row that is long", "────────────────────", "›", "status"]);
        page.resize(7);
        page.frame(&["thr"], &["───────", "›", "status"]);
        page.is_right();
        page.resize(30);
        page.frame(&[], &["──────────────────────────────", "›", "status"]);
        page.is_right();
    }
}

#[test]
fn output_contains_only_viewport_sequences() {
    let (mut hostile, mut texts) = (HostileTexts::new(12), 0);
    let own = ["h", "l", "m", "A", "B", "G", "J", "K"].map(|action| format!("control sequence {action}"));
    let own = |deed: &String| own.contains(deed) || deed == "execute 0x0d";
    for round in 0..500 {
        let mut page = Page::new(20 + round % 30, 8, false);
        for _ in 0..10 {
            let [printed, live] = [(); 2].map(|()| [(); 3].map(|()| hostile.next_lossy()));
            texts += 6;
            let text =
                page.frame(&printed.each_ref().map(String::as_str), &live.each_ref().map(String::as_str));
            let deeds: Vec<String> =
                terminal_actions(text.as_bytes()).into_iter().filter(|deed| !own(deed)).collect();
            assert_eq!(deeds, [""; 0], "{printed:?} {live:?}");
            let shown = text.split('\x1b').map(|part| part.trim_start_matches(|c: char| c.is_ascii()));
            assert!(!shown.into_iter().any(is_deceptive), "{printed:?} {live:?}");
        }
    }
    assert_eq!(texts, 30_000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: (ProptestConfig::default().cases / 4).max(1), ..ProptestConfig::default() })]

    #[test]
    fn loses_no_printed_row_and_leaves_no_drawn_row(
        steps in prop::collection::vec(
            (prop::collection::vec("[a-c ]{0,12}", 0..4), prop::collection::vec("[d-f]{1,12}", 1..6), 12_u16..30),
            1..12,
        ),
        rows in 6_u16..20,
        wraps in any::<bool>(),
    ) {
        let mut page = Page::new(20, rows, wraps);
        for (printed, live, columns) in &steps {
            if *columns < 24 && wraps {
                page.resize(*columns);
            }
            let printed: Vec<&str> = printed.iter().map(String::as_str).collect();
            let live: Vec<&str> = live.iter().map(String::as_str).collect();
            page.frame(&printed, &live);
            page.is_right();
        }
    }
}
