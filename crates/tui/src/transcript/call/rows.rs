//! A call as rows: one for itself, and below it what is to be known of it and what came of it.

use std::time::{Duration, Instant};

use ratatui_core::text::{Line, Span};

use super::super::row::{INDENT, Room, Row, owner};
use super::{Call, Origin, Phase};
use crate::clean::{CleanLine, columns_of_all, span};
use crate::diff::Diff;
use crate::figures::lasted;
use crate::theme::{Role, Theme};
use crate::wrap::{Hang, Mode, wrap};

/// Rows of output while it runs, folded.
const RUNNING: usize = 5;

/// Rows of output when it is over, folded.
const OVER: usize = 4;

/// Rows of a diff, folded.
const DIFF: usize = 12;

/// Lines of output while it runs, unfolded: all of it would be laid out anew with every piece.
const LIVE: usize = 500;

impl Call {
    pub(in crate::transcript) fn head(
        &self,
        width: u16,
        theme: &Theme,
        now: Option<Instant>,
    ) -> Line<'static> {
        let quiet = matches!(self.origin, Origin::Extension(_));
        let role = |role| if quiet { Role::Muted } else { role };
        let mut before = vec![self.dot(theme, now)];
        if let Origin::Extension(extension) = &self.origin {
            before.push(owner(extension, theme));
            before.push(span(" ", theme.style(Role::Text)));
        }
        before.push(span(self.name.clone().shortened(40), theme.style(role(Role::ToolTitle))));
        let room = |after: &[Span<'_>]| {
            let used = columns_of_all(&before) + columns_of_all(after);
            usize::from(width).saturating_sub(used + 2)
        };
        let mut after = self.after(theme, now);
        let told = self.told_to_model().map(|told| span(told, theme.style(Role::Muted)));
        // The command matters more than who is told of it.
        let both: Vec<_> = after.iter().cloned().chain(told).collect();
        if room(&both) >= self.sum.line.columns() {
            after = both;
        }
        let left = room(&after);
        if left > 3 && self.sum.line.columns() > 0 {
            before.push(span("  ", theme.style(Role::Text)));
            before.push(span(self.sum.line.clone().shortened(left), theme.style(role(Role::Text))));
        }
        before.extend(after);
        let rows = wrap(&before, width, &Hang::default(), Mode::Columns);
        rows.into_iter().next().unwrap_or_default()
    }

    fn elapsed(&self, now: Option<Instant>) -> Duration {
        let both = self.began.zip(now);
        both.map(|(began, now)| now.saturating_duration_since(began)).unwrap_or_default()
    }

    fn dot(&self, theme: &Theme, now: Option<Instant>) -> Span<'static> {
        let (dot, role) = match self.phase {
            Phase::Running => {
                let frame = theme.spinner().picture(self.elapsed(now));
                let text = CleanLine::new(&format!("{frame} "));
                return span(text, theme.style(Role::Spinner));
            }
            Phase::Writing | Phase::Waiting | Phase::Gone => ("○ ", Role::Muted),
            Phase::Done if matches!(self.origin, Origin::Extension(_)) => ("● ", Role::Muted),
            Phase::Done => ("● ", Role::Ok),
            Phase::Failed => ("✗ ", Role::Error),
        };
        span(dot, theme.style(role))
    }

    fn after(&self, theme: &Theme, now: Option<Instant>) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        let mut put = |text: String, role| {
            spans.push(span(CleanLine::new(&format!("  {text}")), theme.style(role)));
        };
        if let Some((added, removed)) = self.counts {
            put(format!("+{added}"), Role::DiffAdded);
            put(format!("−{removed}"), Role::DiffRemoved);
        }
        let time = if self.phase == Phase::Running {
            // Whole seconds, so that the row is quiet beside the spinner.
            lasted(Duration::from_secs(self.elapsed(now).as_secs()))
        } else {
            self.took.and_then(lasted)
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

    /// Of a command of the person's, whether the model is told of it.
    fn told_to_model(&self) -> Option<&'static str> {
        match self.origin {
            Origin::Shell { kept: true } => Some("  the model is told"),
            Origin::Shell { kept: false } => Some("  the model is not told"),
            Origin::Model | Origin::Extension(_) => None,
        }
    }

    pub(in crate::transcript) fn below(&self, room: Room<'_>) -> Vec<Row> {
        let mut rows = Vec::new();
        if room.open {
            rows.extend(self.whole_sum(room));
        }
        for remark in &self.remarks {
            rows.extend(room.wrapped(remark.mark, remark.text.lines(), remark.role, Mode::Words));
        }
        match self.details.as_ref().and_then(Diff::from_details) {
            Some(diff) => rows.extend(changes(&diff, room)),
            None if self.told && !room.open => {}
            None => rows.extend(self.printed(room)),
        }
        for picture in &self.images {
            let words = vec![Row::indented(picture.facts.line(room.theme), INDENT)];
            rows.extend(picture.rows(words, &Row::indented(Line::default(), INDENT), room));
        }
        rows
    }

    /// The arguments, where the row above has not all of them.
    fn whole_sum(&self, room: Room<'_>) -> Vec<Row> {
        let line = &self.sum.line;
        let head = self.head(room.width, room.theme, None);
        let fits = line.columns() == 0 || head.spans.iter().any(|span| span.content.contains(line.as_str()));
        match &self.sum.whole {
            Some(whole) => room.wrapped("", whole.lines(), Role::Text, Mode::Columns),
            None if fits => Vec::new(),
            None => room.wrapped("", [line.clone()], Role::Text, Mode::Columns),
        }
    }

    fn printed(&self, room: Room<'_>) -> Vec<Row> {
        let running = self.phase == Phase::Running;
        let quiet = matches!(self.origin, Origin::Extension(_)) && self.phase != Phase::Failed;
        let most = match (room.open, running) {
            (true, true) => LIVE,
            (true, false) => usize::MAX,
            (false, true) => RUNNING,
            (false, false) if quiet => 0,
            (false, false) => OVER,
        };
        let role = if self.phase == Phase::Failed { Role::Error } else { Role::ToolOutput };
        let role = if self.exit.is_some() || self.origin != Origin::Model { Role::ToolOutput } else { role };
        let count = self.output.count();
        // A row that says that one is left out is as high as that one.
        let most = if count == most.saturating_add(1) && !quiet { count } else { most };
        let hidden = count.saturating_sub(most);
        let end = running || self.name.as_str() == "bash" || matches!(self.origin, Origin::Shell { .. });
        let lines = if end { self.output.last(most) } else { self.output.first(most) };
        let mut rows: Vec<Row> = match room.open {
            true => room.wrapped("", lines, role, Mode::Columns),
            false => lines.into_iter().map(|line| room.short(line, role)).collect(),
        };
        if hidden > 0 && !quiet {
            let at = if end { 0 } else { rows.len() };
            rows.insert(at, more(hidden, "lines", room));
        }
        if self.output.cut && room.open {
            rows.insert(0, room.short("… what came before is not kept".into(), Role::Muted));
        }
        rows
    }
}

fn changes(diff: &Diff, room: Room<'_>) -> Vec<Row> {
    let mut lines = diff.lines(room.inner(), room.theme);
    let hidden = if room.open || lines.len() == DIFF + 1 { 0 } else { lines.len().saturating_sub(DIFF) };
    lines.truncate(lines.len() - hidden);
    let mut rows: Vec<Row> = lines.into_iter().map(|line| Row::indented(line, INDENT)).collect();
    if hidden > 0 {
        rows.push(more(hidden, "rows", room));
    }
    rows
}

fn more(hidden: usize, what: &str, room: Room<'_>) -> Row {
    let key = if room.open { "" } else { " (ctrl+o)" };
    room.short(CleanLine::new(&format!("… +{hidden} {what}{key}")), Role::Muted)
}
