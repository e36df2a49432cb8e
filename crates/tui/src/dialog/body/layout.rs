//! The text of a dialog as rows of a width: the title, the message, and the granted call.

use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::super::call::{self, LineMark};
use super::super::{AnswerKind, Question, preview, split_quote};
use crate::clean::{CleanLine, CleanText, columns, grapheme_columns, span};
use crate::theme::{Role, Theme};
use crate::wrap::{RowPrefixes, WrapMode, wrap};

/// The meanings of the answers when a gate keeps failing.
pub(in crate::dialog) const GATE: &[&str] = &[
    "The pending action is blocked in every case.",
    "Continue without it: the extension is not asked again in this session.",
    "Stop: the run ends and haft exits.",
];

/// The mark before the continuation of a long row.
const CONTINUATION: &str = "┊";

/// Below this width, the lines of a diff have no numbers.
const NARROW: u16 = 32;

/// The rows of a width.
#[derive(Debug)]
pub(super) struct BodyLayout {
    width: u16,
    theme: Theme,
    rows: Vec<Line<'static>>,
    /// The number of characters up to the end of each row, without blanks and without marks that the layout adds.
    ends: Vec<usize>,
}

impl BodyLayout {
    pub(super) fn get_or_build<'k>(
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
        laid.push_text(&question.title, text.add_modifier(Modifier::BOLD));
        laid.push_text(&question.message, text);
        if matches!(question.wanted, AnswerKind::Gate(_)) {
            GATE.iter().for_each(|line| laid.push_text(line, text));
        }
        if let Some(note) = question.missing_diff_note() {
            laid.push_text(&note, theme.style(Role::Warning));
        }
        if let Some(granted) = &question.call {
            let name = call::name(granted);
            let (head, rows) = match question.whole_diff() {
                Some(diff) => (format!("{name} {}", preview::diff_title(diff)), preview::diff_rows(diff)),
                None => (name, call::argument_rows(granted)),
            };
            laid.push_chunked(Vec::new(), &head, theme.style(Role::ToolTitle), 0);
            rows.iter().for_each(|row| laid.push_argument(row));
        }
        laid
    }

    fn push_text(&mut self, text: &str, style: Style) {
        for line in CleanText::new(text).lines() {
            // Every row of a quotation has the mark.
            let (mark, line) = split_quote(line);
            let prefixes = RowPrefixes::repeated(vec![span(mark, style)]);
            for row in wrap(&[span(line, style)], self.width, &prefixes, WrapMode::Words) {
                let characters: usize = row.spans.iter().map(|span| visible_characters(&span.content)).sum();
                self.push(row, characters.saturating_sub(visible_characters(mark)));
            }
            self.count_line_end();
        }
    }

    fn push_argument(&mut self, row: &call::ArgumentRow) {
        // No indentation if it would leave no room for the text.
        let indent = if row.indent < usize::from(self.width) / 2 { row.indent } else { 0 };
        let (mark, role) = match row.mark {
            LineMark::No => ("", Role::Code),
            LineMark::Line => ("│", Role::Code),
            LineMark::Removed => ("-", Role::DiffRemoved),
            LineMark::Added => ("+", Role::DiffAdded),
            LineMark::Context => (" ", Role::DiffContext),
        };
        let style = self.theme.style(role);
        let muted = if row.mark == LineMark::Line { self.theme.style(Role::Muted) } else { style };
        let mut first = vec![span(CleanLine::from_repeated_char(' ', indent), style), span(mark, muted)];
        let gutter = CleanLine::new(if self.width < NARROW { "" } else { &row.gutter });
        let indent = indent + gutter.columns();
        if !row.gutter.is_empty() {
            first.insert(0, span(gutter, self.theme.style(Role::LineNumber)));
            first.push(span(" ", style));
        }
        self.push_chunked(first, &row.text, style, indent);
    }

    /// Adds a text after a prefix, in full rows. Only a mark before a continuation row is added, and nothing is
    /// omitted.
    fn push_chunked(&mut self, first: Vec<Span<'static>>, text: &str, style: Style, indent: usize) {
        let text = CleanLine::new(text);
        let width = usize::from(self.width).max(2);
        let before: usize = first.iter().map(|span| columns(&span.content)).sum();
        let muted = self.theme.style(Role::Muted);
        let (mut row, mut left, mut run) = (first, width.saturating_sub(before), String::new());
        for grapheme in text.as_str().graphemes(true) {
            let columns = grapheme_columns(grapheme);
            if columns > left && !(run.is_empty() && row.is_empty()) {
                row.push(span(CleanLine::from_clean_part(&run), style));
                self.push(Line::from(std::mem::take(&mut row)), visible_characters(&run));
                run.clear();
                left = width;
                if width > indent + 2 {
                    row = vec![
                        span(CleanLine::from_repeated_char(' ', indent), style),
                        span(CONTINUATION, muted),
                    ];
                    left = width - indent - 1;
                }
            }
            left = left.saturating_sub(columns);
            run.push_str(grapheme);
        }
        row.push(span(CleanLine::from_clean_part(&run), style));
        self.push(Line::from(row), visible_characters(&run));
        self.count_line_end();
    }

    /// Counts the end of a line as a character, even on an empty line.
    fn count_line_end(&mut self) {
        if let Some(end) = self.ends.last_mut() {
            *end += 1;
        }
    }

    fn push(&mut self, row: Line<'static>, characters: usize) {
        self.rows.push(row);
        self.ends.push(self.character_count() + characters);
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn character_count(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    pub(super) fn characters_before(&self, row: usize) -> usize {
        row.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or_default()
    }

    pub(super) fn rows_within(&self, characters: usize) -> usize {
        self.ends.partition_point(|end| *end <= characters)
    }

    pub(super) fn rows_from(&self, top: usize) -> impl Iterator<Item = &Line<'static>> {
        self.rows.iter().skip(top)
    }
}

/// Counts the characters of a text without blanks.
fn visible_characters(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).count()
}
