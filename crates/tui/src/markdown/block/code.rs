//! Blocks of code and of HTML. HTML is shown as source and not interpreted.

use std::ops::Range;

use ratatui_core::text::Span;

use super::{ResumePoint, ResumeState, line_prefix};
use crate::clean::{CleanLine, CleanText, span};
use crate::highlight::highlight;
use crate::theme::{Role, Theme};

const INDENT: &str = "  ";

/// The longest label, in columns.
const MAX_LABEL: usize = 40;

#[derive(Debug, Default)]
pub(super) struct CodeBlock {
    label: String,
    text: String,
    html: bool,
    /// The opening fence, if any.
    fence: Option<String>,
    /// True if the rows above were already rendered.
    continues: bool,
    lines: usize,
    /// The beginnings of the last two lines. The last line may be incomplete.
    begins: [Option<(usize, usize)>; 2],
}

impl CodeBlock {
    pub(super) fn new_fenced(label: String, fence: String, continues: bool) -> Self {
        Self { label, fence: Some(fence), continues, ..Self::default() }
    }

    pub(super) fn new_html() -> Self {
        Self { html: true, ..Self::default() }
    }

    pub(super) fn push(&mut self, text: &str, source: &str, range: &Range<usize>) {
        if self.text.is_empty() || self.text.ends_with('\n') {
            self.note_line_start(line_prefix(source, range.start));
        }
        self.text.push_str(text);
        // Adds several lines at once if nothing is omitted from them.
        let whole = source.get(range.clone()) == Some(text);
        for (at, _) in text.match_indices('\n') {
            self.lines += 1;
            if whole && at + 1 < text.len() {
                self.note_line_start(range.start + at + 1);
            }
        }
    }

    fn note_line_start(&mut self, at: usize) {
        self.begins = [self.begins[1], Some((at, self.lines))];
    }

    /// Takes the last position from which the code can be shown without the rows above, and the number of lines
    /// before it.
    pub(super) fn take_resume_point(&mut self) -> Option<ResumePoint> {
        let fence = self.fence.take()?;
        let (at, line) = self.begins[0]?;
        Some(ResumePoint {
            at,
            lines: line + usize::from(self.has_label()),
            resume: ResumeState::Code(fence),
        })
    }

    fn label(&self) -> CleanLine {
        CleanLine::new(self.label.trim()).truncate_to_width(MAX_LABEL)
    }

    fn has_label(&self) -> bool {
        !self.continues && self.label().columns() > 0
    }

    pub(super) fn into_lines(self, theme: &Theme, finished: bool) -> Vec<Vec<Span<'static>>> {
        let text = CleanText::new(&self.text);
        let plain = |role| text.lines().map(|line| vec![span(line, theme.style(role))]).collect::<Vec<_>>();
        if self.html {
            return plain(Role::Muted);
        }
        let mut lines = Vec::new();
        if self.has_label() {
            let style = theme.style(Role::CodeLabel);
            lines.push(vec![span("── ", theme.style(Role::Rule)), span(self.label(), style)]);
        }
        let colored = if finished { highlight(&self.label, &text, theme) } else { None };
        for mut line in colored.unwrap_or_else(|| plain(Role::Code)) {
            line.insert(0, span(INDENT, theme.style(Role::Code)));
            lines.push(line);
        }
        if lines.is_empty() && !self.continues {
            lines.push(Vec::new());
        }
        lines
    }
}
