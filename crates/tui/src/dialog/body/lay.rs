//! The text of a dialog, as rows of a width: the title, what is said beside it, what would be granted.

use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::super::call::{self, Mark};
use super::super::{Question, Wanted};
use crate::clean::{Clean, CleanLine, columns, columns_of, span};
use crate::theme::{Role, Theme};
use crate::wrap::{Hang, Mode, wrap};

/// The meanings of the answers when a gate keeps failing.
pub(in crate::dialog) const GATE: &[&str] = &[
    "What it was asked about last does not happen in any case.",
    "Going on without it: it is not asked about anything more in this session.",
    "Stopping: the run ends, and haft with it.",
];

/// The mark before the rest of a row that is too long.
const GOES_ON: &str = "┊";

/// The rows of a width.
#[derive(Debug)]
pub(super) struct Laid {
    width: u16,
    theme: Theme,
    rows: Vec<Line<'static>>,
    /// The number of characters there are up to the end of each row. Blanks do not count, nor what a width adds.
    ends: Vec<usize>,
}

impl Laid {
    pub(super) fn at<'k>(
        kept: &'k mut Option<Self>,
        question: &Question,
        width: u16,
        theme: &Theme,
    ) -> &'k Self {
        let is_same = |laid: &Self| laid.width == width && laid.theme.is_same(theme);
        if !kept.as_ref().is_some_and(is_same) {
            *kept = None;
        }
        kept.get_or_insert_with(|| Self::new(question, width, theme))
    }

    fn new(question: &Question, width: u16, theme: &Theme) -> Self {
        let mut laid = Self { width, theme: theme.clone(), rows: Vec::new(), ends: Vec::new() };
        let text = theme.style(Role::Text);
        laid.words(&question.title, text.add_modifier(Modifier::BOLD));
        laid.words(&question.message, text);
        if matches!(question.wanted, Wanted::Gate(_)) {
            GATE.iter().for_each(|line| laid.words(line, text));
        }
        if let Some(granted) = &question.call {
            laid.chunks(Vec::new(), &call::name(granted), theme.style(Role::ToolTitle), 0);
            for row in call::arguments(granted) {
                laid.argument(&row);
            }
        }
        laid
    }

    fn words(&mut self, text: &str, style: Style) {
        for line in Clean::new(text).lines() {
            for row in wrap(&[span(line, style)], self.width, &Hang::default(), Mode::Words) {
                let characters = row.spans.iter().map(|span| seen(&span.content)).sum();
                self.push(row, characters);
            }
            self.line_ends();
        }
    }

    fn argument(&mut self, row: &call::Row) {
        // Where nothing of the text would have room beside it, there is no indentation.
        let indent = if row.indent < usize::from(self.width) / 2 { row.indent } else { 0 };
        let (mark, role) = match row.mark {
            Mark::No => ("", Role::Code),
            Mark::Line => ("│", Role::Code),
            Mark::Removed => ("-", Role::DiffRemoved),
            Mark::Added => ("+", Role::DiffAdded),
        };
        let style = self.theme.style(role);
        let muted = if row.mark == Mark::Line { self.theme.style(Role::Muted) } else { style };
        let first = vec![span(CleanLine::repeated(' ', indent), style), span(mark, muted)];
        self.chunks(first, &row.text, style, indent);
    }

    /// A text behind something, in rows that are full: nothing is added where a row ends but a mark before the next one,
    /// and nothing left out.
    fn chunks(&mut self, first: Vec<Span<'static>>, text: &str, style: Style, indent: usize) {
        let text = CleanLine::new(text);
        let width = usize::from(self.width).max(2);
        let before: usize = first.iter().map(|span| columns(&span.content)).sum();
        let goes_on = self.theme.style(Role::Muted);
        let (mut row, mut left, mut run) = (first, width.saturating_sub(before), String::new());
        for grapheme in text.as_str().graphemes(true) {
            let columns = columns_of(grapheme);
            if columns > left && !(run.is_empty() && row.is_empty()) {
                row.push(span(CleanLine::part(&run), style));
                self.push(Line::from(std::mem::take(&mut row)), seen(&run));
                run.clear();
                left = width;
                if width > indent + 2 {
                    row = vec![span(CleanLine::repeated(' ', indent), style), span(GOES_ON, goes_on)];
                    left = width - indent - 1;
                }
            }
            left = left.saturating_sub(columns);
            run.push_str(grapheme);
        }
        row.push(span(CleanLine::part(&run), style));
        self.push(Line::from(row), seen(&run));
        self.line_ends();
    }

    /// Counts the end of a line as a character, also of an empty line.
    fn line_ends(&mut self) {
        if let Some(end) = self.ends.last_mut() {
            *end += 1;
        }
    }

    fn push(&mut self, row: Line<'static>, characters: usize) {
        self.rows.push(row);
        self.ends.push(self.characters() + characters);
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn characters(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    pub(super) fn before(&self, row: usize) -> usize {
        row.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or_default()
    }

    pub(super) fn rows_within(&self, characters: usize) -> usize {
        self.ends.partition_point(|end| *end <= characters)
    }

    pub(super) fn from(&self, top: usize) -> impl Iterator<Item = &Line<'static>> {
        self.rows.iter().skip(top)
    }
}

/// The number of characters of a text that are more than a blank.
fn seen(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).count()
}
