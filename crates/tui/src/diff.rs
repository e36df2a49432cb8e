//! Changes of files as styled lines, from the details of a result or from any unified diff.

mod read;

use haft_core::sanitize::sanitize_line;
use haft_protocol::RawJson;
use ratatui_core::text::{Line, Span};
use serde::Deserialize;

use crate::clean::{Clean, CleanLine, span};
use crate::theme::{Role, Theme};
use crate::wrap::{Hang, Mode, wrap};

/// What a line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Names a file, or says something else about it.
    File,
    /// Begins another part of a file; its text is what the part is in.
    Part,
    /// Was added; its number is that in the new text.
    Added,
    /// Was removed; its number is that in the old text.
    Removed,
    /// Says something about the line before it.
    Note,
    /// Is around a change; its number is that in the new text.
    Context,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// What it is.
    pub kind: Kind,
    /// Counted from 1, where it is known.
    pub number: Option<usize>,
    /// Without the sign in front.
    pub text: Clean,
}

/// A diff that can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The file, where all of it is about one that is known.
    pub path: Option<CleanLine>,
    /// How many lines were added.
    pub added: usize,
    /// How many lines were removed.
    pub removed: usize,
    /// What is shown of it.
    pub lines: Vec<DiffLine>,
    /// Whether that is only the beginning.
    pub cut: bool,
}

/// As `edit` and `write` have it in the details of their results.
#[derive(Deserialize)]
struct Details {
    diff: Shown,
}

#[derive(Deserialize)]
struct Shown {
    path: String,
    unified: String,
    added: usize,
    removed: usize,
    #[serde(default)]
    cut: bool,
}

impl Diff {
    /// Out of the details of a result; `None` when there is no diff in them.
    pub fn from_details(details: &RawJson) -> Option<Self> {
        let Details { diff: Shown { path, unified, added, removed, cut } } = details.read().ok()?;
        let mut lines = read::lines(&unified);
        // The path says the same.
        lines.retain(|line| line.kind != Kind::File);
        Some(Self { path: Some(CleanLine::new(&path)), added, removed, lines, cut })
    }

    /// Out of a unified diff, of one file or of many. What is no diff is shown as lines around a change.
    pub fn from_unified(outside: &str) -> Self {
        let lines = read::lines(outside);
        let count = |kind| lines.iter().filter(|line| line.kind == kind).count();
        Self { path: None, added: count(Kind::Added), removed: count(Kind::Removed), lines, cut: false }
    }

    /// `src/lib.rs +3 −1`
    pub fn title(&self, theme: &Theme) -> Line<'static> {
        let mut spans: Vec<Span<'static>> = Vec::new();
        if let Some(path) = &self.path {
            spans.push(span(path.clone(), theme.style(Role::DiffHeader)));
            spans.push(span(" ", theme.style(Role::Text)));
        }
        let counts = [
            (format!("+{}", self.added), Role::DiffAdded),
            (format!(" −{}", self.removed), Role::DiffRemoved),
        ];
        spans.extend(counts.map(|(text, role)| span(CleanLine::new(&text), theme.style(role))));
        Line::from(spans)
    }

    /// The lines for a width: number, sign, text.
    pub fn lines(&self, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        let most = self.lines.iter().filter_map(|line| line.number).max();
        let digits = most.map_or(0, |most| most.to_string().len());
        let mut lines = Vec::new();
        let mut first = true;
        for line in &self.lines {
            if line.kind == Kind::Part && first && line.text.as_str().is_empty() {
                first = false;
                continue;
            }
            first &= line.kind == Kind::File;
            lines.extend(line.rows(digits, width, theme));
        }
        if self.cut {
            let note = span("… there is more than this", theme.style(Role::Muted));
            lines.extend(wrap(&[note], width, &Hang::default(), Mode::Words));
        }
        lines
    }
}

impl DiffLine {
    fn rows(&self, digits: usize, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        let (sign, role) = match self.kind {
            Kind::File => ("", Role::DiffHeader),
            Kind::Part => ("⋯ ", Role::DiffHeader),
            Kind::Added => ("+ ", Role::DiffAdded),
            Kind::Removed => ("- ", Role::DiffRemoved),
            Kind::Note => ("  ", Role::Muted),
            Kind::Context => ("  ", Role::DiffContext),
        };
        let style = theme.style(role);
        let mut hang = Hang::default();
        if digits > 0 && !matches!(self.kind, Kind::File | Kind::Part) {
            let number = self.number.map(|number| number.to_string()).unwrap_or_default();
            let gutter = |text: &str| {
                span(CleanLine::new(&format!("{text:>digits$} ")), theme.style(Role::LineNumber))
            };
            hang.first.push(gutter(&number));
            hang.rest.push(gutter(""));
        }
        hang.first.push(span(sign, style));
        hang.rest.push(span(if sign.is_empty() { "" } else { "  " }, style));
        let text: Vec<Span<'static>> = self.text.lines().map(|line| span(line, style)).collect();
        wrap(&text, width, &hang, Mode::Columns)
    }
}

/// Whether a text looks like a unified diff.
pub fn is_unified(outside: &str) -> bool {
    let mut lines = outside.lines().map(sanitize_line);
    lines.any(|line| read::Part::of(&line).is_some())
}
