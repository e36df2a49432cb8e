//! What there is to read in a dialog: its title, what is said beside it, what would be granted.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::{Question, Wanted, call};
use crate::clean::{Clean, CleanLine, columns_of, span};
use crate::frame::{put, row};
use crate::look::Look;
use crate::theme::{Role, Theme};
use crate::wrap::{Hang, Mode, wrap};

/// Columns that say how much more there is, where only one row is there to say anything.
const MARGIN: u16 = 7;

/// What the answers mean when a gate keeps failing.
pub(super) const GATE: &[&str] = &[
    "What it was asked about last does not happen in any case.",
    "Going on without it: it is not asked about anything more in this session.",
    "Stopping: the run ends, and haft with it.",
];

/// With fewer columns, that is said in fewer words.
const SHORT: u16 = 32;

/// Its rows, and which of them are shown.
#[derive(Debug, Default)]
pub(super) struct Body {
    laid: Option<Laid>,
    top: usize,
    /// How many rows were shown.
    shown: usize,
}

#[derive(Debug)]
struct Laid {
    width: u16,
    theme: Theme,
    rows: Vec<Line<'static>>,
}

impl Body {
    /// The rows at a width.
    pub(super) fn rows(&mut self, question: &Question, width: u16, theme: &Theme) -> &[Line<'static>] {
        let is_same = |laid: &Laid| laid.width == width && laid.theme.is_same(theme);
        if !self.laid.as_ref().is_some_and(is_same) {
            self.laid = None;
        }
        let lay = || Laid { width, theme: theme.clone(), rows: lay(question, width, theme) };
        &self.laid.get_or_insert_with(lay).rows
    }

    /// On by what was shown, or back.
    pub(super) fn turn(&mut self, on: bool) {
        let by = self.shown.max(1);
        self.top = if on { self.top.saturating_add(by) } else { self.top.saturating_sub(by) };
    }

    /// Draws as much as there is room for, and says how much is left out.
    pub(super) fn draw(&mut self, question: &Question, area: Rect, buffer: &mut Buffer, look: &Look) {
        if area.height == 0 {
            return;
        }
        let height = usize::from(area.height);
        let total = self.rows(question, area.width, &look.theme).len();
        if total <= height {
            self.top = 0;
            self.draw_rows(area, buffer);
            return;
        }
        let style = look.theme.style(if question.grants { Role::Warning } else { Role::Muted });
        if height == 1 {
            let text = Rect { width: area.width.saturating_sub(MARGIN), ..area };
            let total = self.rows(question, text.width, &look.theme).len();
            let below = self.draw_part(total, text, buffer);
            let words = if below > 0 { format!(" ↓{below}") } else { " ↑".to_owned() };
            let place = Rect { x: text.right(), width: area.width - text.width, ..area };
            put(&Line::from(span(CleanLine::new(&words), style)), place, buffer);
            return;
        }
        let below = self.draw_part(total, Rect { height: area.height - 1, ..area }, buffer);
        let words = match (below, area.width < SHORT) {
            (0, false) => "… that is all (pageup)".to_owned(),
            (0, true) => "… all (pageup)".to_owned(),
            (1, false) => "… 1 more row (pagedown)".to_owned(),
            (more, false) => format!("… {more} more rows (pagedown)"),
            (more, true) => format!("… {more} (pagedown)"),
        };
        put(&Line::from(span(CleanLine::new(&words), style)), row(area, area.height - 1), buffer);
    }

    /// Draws those from `top` on, and says how many are below.
    fn draw_part(&mut self, total: usize, area: Rect, buffer: &mut Buffer) -> usize {
        let height = usize::from(area.height);
        self.top = self.top.min(total.saturating_sub(height));
        self.draw_rows(area, buffer);
        total.saturating_sub(self.top + height)
    }

    fn draw_rows(&mut self, area: Rect, buffer: &mut Buffer) {
        self.shown = usize::from(area.height);
        let rows = self.laid.iter().flat_map(|laid| &laid.rows).skip(self.top);
        for (y, line) in (0..area.height).zip(rows) {
            put(line, row(area, y), buffer);
        }
    }
}

fn lay(question: &Question, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    let bold = theme.style(Role::Text).add_modifier(Modifier::BOLD);
    for (text, style) in [(&question.title, bold), (&question.message, theme.style(Role::Text))] {
        for line in Clean::new(text).lines() {
            rows.extend(wrap(&[span(line, style)], width, &Hang::default(), Mode::Words));
        }
    }
    if matches!(question.wanted, Wanted::Gate(_)) {
        for line in GATE {
            rows.extend(wrap(&[span(*line, theme.style(Role::Text))], width, &Hang::default(), Mode::Words));
        }
    }
    let Some(granted) = &question.call else { return rows };
    let name = vec![span(CleanLine::new(&call::name(granted)), theme.style(Role::ToolTitle))];
    rows.extend(chunks(name, Style::new(), "", width));
    let [code, mark] = [Role::Code, Role::Muted].map(|role| theme.style(role));
    for part in call::arguments(granted) {
        // Where nothing of the text would have room beside it, there is no indentation.
        let indent = if part.indent < usize::from(width) / 2 { part.indent } else { 0 };
        let before = CleanLine::repeated(' ', indent);
        let mut first = vec![span(before, code)];
        if part.goes_on {
            first.push(span("│", mark));
        }
        rows.extend(chunks(first, code, &part.text, width));
    }
    rows
}

/// A text behind something, in rows that are full: nothing is added where a row ends, and nothing left out.
fn chunks(first: Vec<Span<'static>>, style: Style, text: &str, width: u16) -> Vec<Line<'static>> {
    let text = CleanLine::new(text);
    let width = usize::from(width).max(2);
    let (mut rows, mut left) = (Vec::new(), width);
    let mut current: Vec<Span<'static>> = Vec::new();
    let mut run = String::new();
    let parts = first.iter().map(|part| (part.content.as_ref(), part.style));
    for (part, style) in parts.chain([(text.as_str(), style)]) {
        for grapheme in part.graphemes(true) {
            let columns = columns_of(grapheme);
            if columns > left {
                current.push(span(CleanLine::part(&run), style));
                run.clear();
                rows.push(std::mem::take(&mut current));
                left = width;
            }
            left = left.saturating_sub(columns);
            run.push_str(grapheme);
        }
        current.push(span(CleanLine::part(&run), style));
        run.clear();
    }
    rows.push(current);
    rows.into_iter().map(Line::from_iter).collect()
}
