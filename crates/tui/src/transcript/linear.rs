//! Linear mode of the transcript: lines that are printed once, for screen readers and for terminals without cursor
//! control.
//!
//! Marks, colors and positions are replaced by words. A text is printed line by line as its lines are finished, in
//! the model's notation. A call is printed when it begins and when it ends. Printed lines never change: a later
//! change is printed as well.
//!
//! A line that begins in the first column comes from haft or names its author. Each line of an extension names it,
//! and further lines of the model and the person are indented. So no text can imitate haft's own question.

use std::collections::BTreeMap;
use std::time::Duration;

use ratatui_core::style::Style;
use ratatui_core::text::Line;

use super::answer::AnswerInProgress;
use super::call::{CallItem, CallOrigin, CallPhase};
use super::document::{ItemMoves, MOST_AT_ONCE, TranscriptDocument};
use super::item::{FoldDefaults, ItemKind, PageItem, ThinkingItem, TranscriptItem};
use super::note::{NoteItem, NoteTag};
use super::row::AttachedImage;
use crate::clean::{CleanLine, CleanText, span};
use crate::diff::{Diff, DiffLineKind as Change};
use crate::theme::Role;
use crate::wrap::{RowPrefixes, WrapMode, wrap};

/// The indentation of continuation lines.
const INDENT: usize = 2;

/// The number of output lines of a finished call.
const OUTPUT: usize = 4;

/// The number of lines of a diff.
const DIFF: usize = 12;

#[derive(Debug, Default)]
pub(super) struct LinearTranscript {
    /// The number of items that were visited.
    seen: usize,
    /// The visited items that may still change, with their printed part.
    open: BTreeMap<usize, PrintedItem>,
    typed: Vec<String>,
}

/// The printed part of an item.
#[derive(Debug, Default)]
struct PrintedItem {
    version: Option<u32>,
    text: String,
    /// True if the row of the call was printed.
    began: bool,
    remarks: usize,
    /// True if nothing more is printed unless the item changes.
    over: bool,
}

impl LinearTranscript {
    /// Applies moved and removed items.
    pub(super) fn apply_moves(&mut self, moved: &ItemMoves) {
        let places: Vec<usize> = (moved.from..self.seen).filter_map(|at| moved.new_place(at)).collect();
        let seen = places.iter().map(|place| place + 1).max().unwrap_or_default();
        self.seen = seen.max(self.seen.min(moved.from));
        let open = std::mem::take(&mut self.open).into_iter();
        self.open = open.filter_map(|(at, part)| Some((moved.new_place(at)?, part))).collect();
        // Items in between are new, and come before printed ones.
        for at in (moved.from..self.seen).filter(|at| !places.contains(at)) {
            self.open.insert(at, PrintedItem::default());
        }
    }

    pub(super) fn record_typed(&mut self, text: &str) {
        self.typed.push(text.trim_end().to_owned());
    }

    pub(super) fn take_rows(
        &mut self,
        doc: &TranscriptDocument,
        answer: &AnswerInProgress,
        width: u16,
    ) -> Vec<CleanLine> {
        let mut rows = Vec::new();
        let skipped = doc.items.len().saturating_sub(MOST_AT_ONCE);
        if self.seen == 0 && skipped > 0 {
            self.seen = skipped;
            rows.push(CleanLine::new(&format!("{skipped} earlier entries are not printed")));
        }
        for at in self.seen..doc.items.len() {
            self.open.insert(at, PrintedItem::default());
        }
        self.seen = doc.items.len();
        for (at, mut part) in std::mem::take(&mut self.open) {
            let Some(item) = doc.items.get(at) else { continue };
            if part.version != Some(item.version) {
                part.version = Some(item.version);
                let words = part.new_lines(item, doc.folds, &mut self.typed);
                rows.extend(words.into_iter().flat_map(|line| line.rows(width)));
            }
            // The final form of the answer is printed last.
            if !part.over || answer.contains(at) {
                self.open.insert(at, part);
            }
        }
        rows
    }
}

pub(super) fn last_output(doc: &TranscriptDocument, width: u16) -> Option<Vec<CleanLine>> {
    let words = doc.items.iter().rev().find_map(full_output)?;
    Some(words.into_iter().flat_map(|line| line.rows(width)).collect())
}

/// A line before wrapping.
#[derive(Debug, Clone)]
struct LinearLine {
    text: CleanLine,
    indent: usize,
}

impl LinearLine {
    fn new(text: CleanLine) -> Self {
        Self { text, indent: 0 }
    }

    fn indented(text: CleanLine) -> Self {
        Self { text, indent: INDENT }
    }

    fn with_prefix(before: &str, text: &CleanLine) -> Self {
        Self::new(CleanLine::new(&format!("{before}{text}")))
    }

    fn rows(self, width: u16) -> Vec<CleanLine> {
        wrap_rows(&self.text, self.indent, width)
    }
}

pub(crate) fn wrap_rows(text: &CleanLine, indent: usize, width: u16) -> Vec<CleanLine> {
    let blanks = |count| vec![span(CleanLine::from_repeated_char(' ', count), Style::new())];
    let rest = if indent == 0 && !text.as_str().starts_with(' ') { INDENT } else { indent };
    let before = RowPrefixes { first: blanks(indent), rest: blanks(rest) };
    let rows = wrap(&[span(text.clone(), Style::new())], width, &before, WrapMode::Words);
    let whole = |line: Line<'_>| {
        let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
        CleanLine::from_clean_part(text.trim_end())
    };
    rows.into_iter().map(whole).collect()
}

impl PrintedItem {
    /// Returns the new lines of the item.
    fn new_lines(
        &mut self,
        item: &TranscriptItem,
        folds: FoldDefaults,
        typed: &mut Vec<String>,
    ) -> Vec<LinearLine> {
        match &item.kind {
            ItemKind::User(user) => {
                self.over = true;
                let known = typed.iter().position(|typed| typed.as_str() == user.text.as_str());
                let mut words =
                    if known.is_none() { prefixed_lines("you: ", &user.text) } else { Vec::new() };
                typed.drain(..known.map_or(0, |at| at + 1));
                words.extend(user.attached.iter().cloned().map(LinearLine::indented));
                words.extend(user.images.iter().map(image_line));
                words
            }
            ItemKind::Text(text) => self.text_lines("assistant: ", text.as_str(), text.is_finished()),
            ItemKind::Thinking(thinking) if item.is_open(folds) => {
                self.text_lines("thinking: ", thinking.text.as_str(), thinking.over)
            }
            ItemKind::Thinking(thinking) => self.thinking_lines(thinking),
            ItemKind::Call(call) => self.call_lines(call),
            ItemKind::Note(note) => {
                self.over = matches!(note.tag, NoteTag::Plain);
                linear_note(note)
            }
            ItemKind::Page(page) => {
                self.over = true;
                linear_page(page)
            }
        }
    }

    /// Returns the finished lines of a text that are not printed.
    fn text_lines(&mut self, before: &'static str, text: &str, finished: bool) -> Vec<LinearLine> {
        self.over = finished;
        let text = text.trim_start();
        let text = if finished { text.trim_end() } else { text };
        let mut words = Vec::new();
        let same = if finished { self.text.trim_end() } else { self.text.as_str() };
        if text.strip_prefix(same).is_none() {
            self.text.clear();
            if !text.is_empty() {
                words.push(LinearLine::new("the assistant's answer was changed to:".into()));
            }
        }
        let kept = self.text.len().min(text.len());
        let rest = text.get(kept..).unwrap_or_default();
        let whole = if finished { rest.len() } else { rest.rfind('\n').map_or(0, |at| at + 1) };
        let new = CleanText::new(rest.get(..whole).unwrap_or_default());
        match kept {
            0 => words.extend(prefixed_lines(before, &new)),
            _ => words.extend(new.lines().map(LinearLine::indented)),
        }
        text.get(..kept + whole).unwrap_or_default().clone_into(&mut self.text);
        words
    }

    fn thinking_lines(&mut self, thinking: &ThinkingItem) -> Vec<LinearLine> {
        let was_over = std::mem::replace(&mut self.over, thinking.over);
        if was_over || !thinking.over || thinking.text.is_blank() {
            return Vec::new();
        }
        let time =
            thinking.took.and_then(format_duration).map(|time| format!(" for {time}")).unwrap_or_default();
        vec![LinearLine::new(CleanLine::new(&format!("the assistant thought{time}")))]
    }

    fn call_lines(&mut self, call: &CallItem) -> Vec<LinearLine> {
        let mut words = Vec::new();
        let is_over = call.is_over();
        if !self.began && (is_over || call.phase == CallPhase::Running) {
            self.began = true;
            words.push(call_start_line(call));
        }
        if !self.began {
            return words;
        }
        for remark in call.remarks.iter().skip(self.remarks) {
            words.extend(remark.text.lines().map(LinearLine::indented));
        }
        self.remarks = call.remarks.len();
        // The result may come after the end.
        if is_over && !self.over {
            self.over = true;
            words.extend(call_end_lines(call));
        }
        words
    }
}

/// Returns the lines of a text: the first with a prefix, the others indented.
fn prefixed_lines(before: &str, text: &CleanText) -> Vec<LinearLine> {
    let lines = text.lines().enumerate();
    lines
        .map(
            |(at, line)| {
                if at == 0 { LinearLine::with_prefix(before, &line) } else { LinearLine::indented(line) }
            },
        )
        .collect()
}

fn image_line(picture: &AttachedImage) -> LinearLine {
    LinearLine::indented(CleanLine::new(&format!("image {}", picture.facts.description())))
}

fn linear_note(note: &NoteItem) -> Vec<LinearLine> {
    let kind = if note.role == Role::Error {
        "error: "
    } else if note.role == Role::Warning {
        "warning: "
    } else {
        ""
    };
    let Some(owner) = &note.owner else { return prefixed_lines(kind, &note.text) };
    let lines = note.text.lines().enumerate();
    let words = lines.map(|(at, line)| {
        let kind = if at == 0 { kind } else { "" };
        LinearLine::with_prefix(&format!("[{owner}] {kind}"), &line)
    });
    words.collect()
}

fn linear_page(page: &PageItem) -> Vec<LinearLine> {
    let mut words = Vec::new();
    let owner = page.owner.as_ref().map(|owner| format!("[{owner}] ")).unwrap_or_default();
    if page.heading.columns() > 0 {
        words.push(LinearLine::with_prefix(&owner, &page.heading));
    }
    let mut is_blank = false;
    for line in page.body.lines() {
        let line = if page.markdown { table_row(&line) } else { Some(line) };
        let Some(line) = line else { continue };
        let blank = line.as_str().trim().is_empty();
        if !(blank && is_blank) {
            words.push(LinearLine::with_prefix(&owner, &line));
        }
        is_blank = blank;
    }
    words
}

/// Formats a table row as words, because a screen reader would read the lines aloud. `None` for a separator row.
fn table_row(line: &CleanLine) -> Option<CleanLine> {
    let text = line.as_str().trim();
    let text = text.strip_prefix('|').and_then(|text| text.strip_suffix('|'));
    let Some(row) = text else {
        return Some(CleanLine::new(line.as_str().trim_start_matches("## ").replace('`', "").as_str()));
    };
    if row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')) {
        return None;
    }
    let row = row.replace("\\|", "\u{1}");
    let cells = row.split('|').map(|cell| cell.replace('\u{1}', "|").replace('`', "").trim().to_owned());
    let cells: Vec<String> = cells.filter(|cell| !cell.is_empty()).collect();
    Some(CleanLine::new(&cells.join(": ")))
}

fn call_start_line(call: &CallItem) -> LinearLine {
    let what = match &call.origin {
        CallOrigin::Model => format!("tool {}", call.name),
        CallOrigin::Extension(extension) => format!("[{extension}] calls tool {}", call.name),
        CallOrigin::Shell { .. } => "command".to_owned(),
    };
    let sum = call.sum.line.as_str();
    let sum = if sum.is_empty() { String::new() } else { format!(": {sum}") };
    LinearLine::new(CleanLine::new(&format!("{what}{sum}")))
}

fn call_end_lines(call: &CallItem) -> Vec<LinearLine> {
    let name = match &call.origin {
        CallOrigin::Model | CallOrigin::Extension(_) => call.name.to_string(),
        CallOrigin::Shell { .. } => "command".to_owned(),
    };
    let how = match (call.phase, call.exit) {
        (_, Some(code)) => format!("ended with status {code}"),
        (CallPhase::Failed, None) => "failed".to_owned(),
        (CallPhase::Gone, None) => "did not finish".to_owned(),
        (CallPhase::Writing | CallPhase::Waiting | CallPhase::Running | CallPhase::Done, None) => {
            "done".to_owned()
        }
    };
    let time = call.took.and_then(format_duration).map(|time| format!(" in {time}")).unwrap_or_default();
    let counts = call.counts.map(|(added, removed)| format!(", {added} added, {removed} removed"));
    let counts = counts.unwrap_or_default();
    let owner = call.owner.as_ref().map(|owner| format!(" [{owner}]")).unwrap_or_default();
    let mut words = vec![LinearLine::new(CleanLine::new(&format!("{name}{owner} {how}{time}{counts}")))];
    words.extend(output_lines(call, false));
    words
}

fn output_lines(call: &CallItem, all: bool) -> Vec<LinearLine> {
    let mut words = Vec::new();
    let mut hidden = 0;
    // A row about one hidden line takes as long as that line.
    let most = |folded, count: usize| if all || count == folded + 1 { usize::MAX } else { folded };
    if let Some(diff) = call.details.as_ref().and_then(Diff::from_details) {
        let most = most(DIFF, diff.lines.len());
        hidden = diff.lines.len().saturating_sub(most);
        for line in diff.lines.iter().take(most) {
            let kind = match line.kind {
                Change::Added => "added ",
                Change::Removed => "removed ",
                Change::Part | Change::Note | Change::Context => "",
            };
            let number = line.number.map(|number| format!("{number}: ")).unwrap_or_default();
            let text = line.text.as_str();
            words.push(LinearLine::indented(CleanLine::new(&format!("{kind}{number}{text}"))));
        }
    } else if !call.result_in_remarks || all {
        let quiet = matches!(call.origin, CallOrigin::Extension(_)) && call.phase != CallPhase::Failed;
        let most = if quiet && !all { 0 } else { most(OUTPUT, call.output.line_count()) };
        let end = call.name.as_str() == "bash" || matches!(call.origin, CallOrigin::Shell { .. });
        hidden = if quiet { 0 } else { call.output.line_count().saturating_sub(most) };
        let lines = if end { call.output.last_lines(most) } else { call.output.first_lines(most) };
        words.extend(lines.into_iter().map(LinearLine::indented));
    }
    words.extend(call.images.iter().map(image_line));
    if hidden > 0 {
        let more = format!("{hidden} more lines; type :output to print them");
        words.push(LinearLine::indented(CleanLine::new(&more)));
    }
    words
}

fn full_output(item: &TranscriptItem) -> Option<Vec<LinearLine>> {
    let ItemKind::Call(call) = &item.kind else { return None };
    let mut words = vec![call_start_line(call)];
    words.extend(output_lines(call, true));
    Some(words)
}

/// Formats a duration in words; `None` if it is negligible.
fn format_duration(time: Duration) -> Option<String> {
    let (seconds, tenths) = (time.as_secs(), time.subsec_millis() / 100);
    match (seconds, tenths) {
        (0, 0) => None,
        (0..10, 1..) => Some(format!("{seconds}.{tenths} s")),
        (0..60, _) => Some(format!("{seconds} s")),
        (60.., _) => Some(format!("{} min {} s", seconds / 60, seconds % 60)),
    }
}
