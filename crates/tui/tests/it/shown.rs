//! Formatting of drawn lines, for snapshots and properties.

use haft_test_support::terminal::terminal_actions;
use haft_tui::theme::Theme;
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Terminal;
use ratatui_core::text::Line;

/// Returns the screen after drawing lines, without trailing blanks.
pub(crate) fn drawn(lines: &[Line<'static>], width: u16) -> String {
    let height = u16::try_from(lines.len().max(1)).unwrap();
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| {
            for (y, line) in (0..).zip(lines) {
                frame.buffer_mut().set_line(0, y, line, width);
            }
        })
        .unwrap();
    let buffer = terminal.backend().buffer();
    let rows = (0..height).map(|y| row(buffer, y, None));
    rows.collect::<Vec<_>>().join("\n")
}

/// Returns the lines with the style of each span in front of it, where it changes.
pub(crate) fn styled(lines: &[Line<'static>]) -> String {
    let mut text = String::new();
    for line in lines {
        let mut before = String::new();
        for span in &line.spans {
            let style = named(span.style);
            if style != before {
                text.push_str(&format!("{{{style}}}"));
                before = style;
            }
            text.push_str(&span.content);
        }
        text.push('\n');
    }
    text
}

/// Returns a row of the screen with the style of the cells in front of them, where it changes.
pub(crate) fn styled_row(buffer: &Buffer, y: u16) -> String {
    let mut text = String::new();
    let mut before = String::new();
    for x in 0..buffer.area.width {
        let cell = &buffer[(x, y)];
        let style = named(cell.style());
        if style != before {
            text.push_str(&format!("{{{style}}}"));
            before = style;
        }
        text.push_str(cell.symbol());
    }
    text
}

/// Returns every style of a theme, one per line.
pub(crate) fn table(theme: &Theme) -> String {
    let roles = haft_tui::theme::Role::ALL.iter();
    let lines = roles.map(|role| format!("{}: {}", role.name(), named(theme.style(*role))));
    lines.collect::<Vec<_>>().join("\n")
}

fn named(style: Style) -> String {
    let color = |color: Color| color.to_string().to_lowercase();
    let fg = style.fg.map(color);
    let bg = style.bg.map(|bg| format!("on {}", color(bg)));
    let modifiers = (!style.add_modifier.is_empty()).then(|| modifiers(style.add_modifier));
    [fg, bg, modifiers].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn modifiers(modifier: Modifier) -> String {
    modifier.iter_names().map(|(name, _)| name.to_lowercase()).collect::<Vec<_>>().join(" ")
}

/// Draws on a screen of a size. Returns its rows without trailing blanks, with `▏` before the cursor.
pub(crate) fn screen(
    (width, height): (u16, u16),
    draw: impl FnOnce(Rect, &mut Buffer) -> Option<(u16, u16)>,
) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut cursor = None;
    terminal.draw(|frame| cursor = draw(frame.area(), frame.buffer_mut())).unwrap();
    let rows = (0..height).map(|y| row(terminal.backend().buffer(), y, cursor));
    rows.collect::<Vec<_>>().join("\n")
}

fn row(buffer: &Buffer, y: u16, cursor: Option<(u16, u16)>) -> String {
    let mut row = String::new();
    let mut x = 0;
    while x < buffer.area.width {
        if cursor == Some((x, y)) {
            row.push('▏');
        }
        let symbol = buffer[(x, y)].symbol();
        row.push_str(symbol);
        x += 1.max(u16::try_from(Line::raw(symbol).width()).unwrap());
    }
    row.trim_end().to_owned()
}

/// Draws into a buffer of a size, and fails if a cell contains a control sequence.
pub(crate) fn harmless(
    (width, height): (u16, u16),
    draw: impl FnOnce(Rect, &mut Buffer) -> Option<(u16, u16)>,
) {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    let cursor = draw(buffer.area, &mut buffer);
    assert!(cursor.is_none_or(|at| buffer.area.contains(at.into())), "the cursor is at {cursor:?}");
    for cell in &buffer.content {
        assert!(!cell.symbol().contains(char::is_control), "{:?} is drawn", cell.symbol());
        assert!(terminal_actions(cell.symbol().as_bytes()).is_empty(), "{:?} is drawn", cell.symbol());
    }
}
