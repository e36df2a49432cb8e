//! Renders a tool call: header row, then details and result.

use std::time::{Duration, Instant};

use ratatui_core::text::{Line, Span};

use super::super::row::{INDENT, LayoutConstraints, TranscriptRow, owner_label};
use super::{CallItem, CallOrigin, CallPhase};
use crate::clean::{CleanLine, span, span_columns};
use crate::diff::Diff;
use crate::humanize::format_elapsed;
use crate::theme::{Role, Theme};
use crate::wrap::{RowPrefixes, WrapMode, wrap};

/// The number of output rows of a running call, folded.
const RUNNING: usize = 5;

/// The number of output rows of a finished call, folded.
const OVER: usize = 4;

/// The number of rows of a diff, folded.
const DIFF: usize = 12;

/// The number of output lines of a running call, unfolded. More would be laid out again with every piece.
const LIVE: usize = 500;

impl CallItem {
    pub(in crate::transcript) fn header_row(
        &self,
        width: u16,
        theme: &Theme,
        now: Option<Instant>,
    ) -> Line<'static> {
        let quiet = matches!(self.origin, CallOrigin::Extension(_));
        let role = |role| if quiet { Role::Muted } else { role };
        let mut before = vec![self.status_dot(theme, now)];
        if let CallOrigin::Extension(extension) = &self.origin {
            before.push(owner_label(extension, theme));
            before.push(span(" ", theme.style(Role::Text)));
        }
        before.push(span(self.name.clone().truncate_to_width(40), theme.style(role(Role::ToolTitle))));
        let room = |after: &[Span<'_>]| {
            let used = span_columns(&before) + span_columns(after);
            usize::from(width).saturating_sub(used + 2)
        };
        let mut after = self.header_suffix(theme, now);
        let told = self.model_visibility_note().map(|told| span(told, theme.style(Role::Muted)));
        // The command takes precedence over the remark about the model.
        let both: Vec<_> = after.iter().cloned().chain(told).collect();
        if room(&both) >= self.sum.line.columns() {
            after = both;
        }
        let left = room(&after);
        if left > 3 && self.sum.line.columns() > 0 {
            before.push(span("  ", theme.style(Role::Text)));
            before.push(span(self.sum.line.clone().truncate_to_width(left), theme.style(role(Role::Text))));
        }
        before.extend(after);
        let rows = wrap(&before, width, &RowPrefixes::default(), WrapMode::Columns);
        rows.into_iter().next().unwrap_or_default()
    }

    fn elapsed(&self, now: Option<Instant>) -> Duration {
        let both = self.began.zip(now);
        both.map(|(began, now)| now.saturating_duration_since(began)).unwrap_or_default()
    }

    fn status_dot(&self, theme: &Theme, now: Option<Instant>) -> Span<'static> {
        let (dot, role) = match self.phase {
            CallPhase::Running => {
                let frame = theme.spinner().frame_at(self.elapsed(now));
                let text = CleanLine::new(&format!("{frame} "));
                return span(text, theme.style(Role::Spinner));
            }
            CallPhase::Writing | CallPhase::Waiting | CallPhase::Gone => ("○ ", Role::Muted),
            CallPhase::Done if matches!(self.origin, CallOrigin::Extension(_)) => ("● ", Role::Muted),
            CallPhase::Done => ("● ", Role::Ok),
            CallPhase::Failed => ("✗ ", Role::Error),
        };
        span(dot, theme.style(role))
    }

    fn header_suffix(&self, theme: &Theme, now: Option<Instant>) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        let mut put = |text: String, role| {
            spans.push(span(CleanLine::new(&format!("  {text}")), theme.style(role)));
        };
        if let Some((added, removed)) = self.counts {
            put(format!("+{added}"), Role::DiffAdded);
            put(format!("−{removed}"), Role::DiffRemoved);
        }
        let time = if self.phase == CallPhase::Running {
            // Whole seconds, so that the row does not flicker.
            format_elapsed(Duration::from_secs(self.elapsed(now).as_secs()))
        } else {
            self.took.and_then(format_elapsed)
        };
        if let Some(time) = time {
            put(time, Role::Muted);
        }
        if let Some(code) = self.exit {
            put(format!("exit {code}"), Role::Error);
        }
        if let Some(extension) = &self.owner {
            put(format!("[{extension}]"), Role::Extension);
        }
        spans
    }

    /// Returns the remark whether the output of the person's command is sent to the model.
    fn model_visibility_note(&self) -> Option<&'static str> {
        match self.origin {
            CallOrigin::Shell { kept: true } => Some("  sent to the model"),
            CallOrigin::Shell { kept: false } => Some("  not sent to the model"),
            CallOrigin::Model | CallOrigin::Extension(_) => None,
        }
    }

    pub(in crate::transcript) fn detail_rows(&self, room: LayoutConstraints<'_>) -> Vec<TranscriptRow> {
        let mut rows = Vec::new();
        if room.open {
            rows.extend(self.full_argument_rows(room));
        }
        for remark in &self.remarks {
            rows.extend(room.wrapped_rows(remark.mark, remark.text.lines(), remark.role, WrapMode::Words));
        }
        match self.details.as_ref().and_then(Diff::from_details) {
            Some(diff) => rows.extend(diff_rows(&diff, room)),
            None if self.result_in_remarks && !room.open => {}
            None => rows.extend(self.output_rows(room)),
        }
        for picture in &self.images {
            let words = vec![TranscriptRow::indented(picture.facts.label_line(room.theme), INDENT)];
            rows.extend(picture.rows(words, &TranscriptRow::indented(Line::default(), INDENT), room));
        }
        rows
    }

    /// Returns the arguments, if the header row does not show all of them.
    fn full_argument_rows(&self, room: LayoutConstraints<'_>) -> Vec<TranscriptRow> {
        let line = &self.sum.line;
        let head = self.header_row(room.width, room.theme, None);
        let fits = line.columns() == 0 || head.spans.iter().any(|span| span.content.contains(line.as_str()));
        match &self.sum.whole {
            Some(whole) => room.wrapped_rows("", whole.lines(), Role::Text, WrapMode::Columns),
            None if fits => Vec::new(),
            None => room.wrapped_rows("", [line.clone()], Role::Text, WrapMode::Columns),
        }
    }

    fn output_rows(&self, room: LayoutConstraints<'_>) -> Vec<TranscriptRow> {
        let running = self.phase == CallPhase::Running;
        let quiet = matches!(self.origin, CallOrigin::Extension(_)) && self.phase != CallPhase::Failed;
        let most = match (room.open, running) {
            (true, true) => LIVE,
            (true, false) => usize::MAX,
            (false, true) => RUNNING,
            (false, false) if quiet => 0,
            (false, false) => OVER,
        };
        let role = if self.phase == CallPhase::Failed { Role::Error } else { Role::ToolOutput };
        let role =
            if self.exit.is_some() || self.origin != CallOrigin::Model { Role::ToolOutput } else { role };
        let count = self.output.line_count();
        // A row about one hidden line is as high as that line.
        let most = if count == most.saturating_add(1) && !quiet { count } else { most };
        let hidden = count.saturating_sub(most);
        let end = running || self.name.as_str() == "bash" || matches!(self.origin, CallOrigin::Shell { .. });
        let lines = if end { self.output.last_lines(most) } else { self.output.first_lines(most) };
        let mut rows: Vec<TranscriptRow> = match room.open {
            true => room.wrapped_rows("", lines, role, WrapMode::Columns),
            false => lines.into_iter().map(|line| room.truncated_row(line, role)).collect(),
        };
        if hidden > 0 && !quiet {
            let at = if end { 0 } else { rows.len() };
            rows.insert(at, hidden_rows_note(hidden, "lines", room));
        }
        if self.output.cut && room.open {
            rows.insert(0, room.truncated_row("… earlier output was discarded".into(), Role::Muted));
        }
        rows
    }
}

fn diff_rows(diff: &Diff, room: LayoutConstraints<'_>) -> Vec<TranscriptRow> {
    let mut lines = diff.lines(room.inner_width(), room.theme);
    let hidden = if room.open || lines.len() == DIFF + 1 { 0 } else { lines.len().saturating_sub(DIFF) };
    lines.truncate(lines.len() - hidden);
    let mut rows: Vec<TranscriptRow> =
        lines.into_iter().map(|line| TranscriptRow::indented(line, INDENT)).collect();
    if hidden > 0 {
        rows.push(hidden_rows_note(hidden, "rows", room));
    }
    rows
}

fn hidden_rows_note(hidden: usize, what: &str, room: LayoutConstraints<'_>) -> TranscriptRow {
    let key = if room.open { "" } else { " (ctrl+o)" };
    room.truncated_row(CleanLine::new(&format!("… +{hidden} {what}{key}")), Role::Muted)
}
