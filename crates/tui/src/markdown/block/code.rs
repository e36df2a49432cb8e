//! Blocks of code, and of HTML, which is shown and not obeyed.

use ratatui_core::text::Span;

use super::Stage;
use crate::clean::{Clean, CleanLine, span};
use crate::highlight::highlight;
use crate::theme::{Role, Theme};

/// What code is indented by.
const INDENT: &str = "  ";

/// The longest label, in columns.
const MAX_LABEL: usize = 40;

/// One that is being read.
#[derive(Debug)]
pub(super) struct Code {
    label: String,
    text: String,
    html: bool,
}

impl Code {
    pub(super) fn new(label: String) -> Self {
        Self { label, text: String::new(), html: false }
    }

    pub(super) fn html() -> Self {
        Self { label: String::new(), text: String::new(), html: true }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn into_lines(self, theme: &Theme, stage: Stage) -> Vec<Vec<Span<'static>>> {
        let text = Clean::new(&self.text);
        if self.html {
            let style = theme.style(Role::Muted);
            return text.lines().map(|line| vec![span(line, style)]).collect();
        }
        let mut lines = Vec::new();
        let label = CleanLine::new(self.label.trim()).shortened(MAX_LABEL);
        if label.columns() > 0 {
            let style = theme.style(Role::CodeLabel);
            lines.push(vec![span("── ", theme.style(Role::Rule)), span(label, style)]);
        }
        let plain = || {
            let style = theme.style(Role::Code);
            text.lines().map(|line| vec![span(line, style)]).collect()
        };
        let coloured = if stage == Stage::Finished { highlight(&self.label, &text, theme) } else { None };
        for mut line in coloured.unwrap_or_else(plain) {
            line.insert(0, span(INDENT, theme.style(Role::Code)));
            lines.push(line);
        }
        if lines.is_empty() {
            lines.push(Vec::new());
        }
        lines
    }
}
