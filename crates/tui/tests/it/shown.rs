//! Lines as they are drawn, for snapshots and for properties.

use haft_tui::theme::Theme;
use ratatui_core::backend::TestBackend;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Terminal;
use ratatui_core::text::Line;

/// The screen after the lines were drawn, without blanks at the ends of rows.
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
    let rows = (0..height).map(|y| {
        let mut row = String::new();
        let mut x = 0;
        while x < width {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            x += 1.max(u16::try_from(Line::raw(symbol).width()).unwrap());
        }
        row.trim_end().to_owned()
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// The lines with the style of each span in front of it, where it changes.
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

/// Every style of a theme, a line each.
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
