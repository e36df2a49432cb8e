//! What is said of one item.

use std::time::Duration;

use super::super::call::{Call, Origin, Phase};
use super::super::item::{Folds, Item, Kind, Page, Thinking, User};
use super::super::note::{Note, Tag};
use super::super::picture::Picture;
use super::{Part, Words};
use crate::clean::{Clean, CleanLine};
use crate::diff::{Diff, Kind as Change};
use crate::theme::Role;

/// Lines of output when a call is over.
const OUTPUT: usize = 4;

/// Lines of a diff.
const DIFF: usize = 12;

impl Part {
    /// What is new of it.
    pub(super) fn say(&mut self, item: &Item, folds: Folds, typed: &mut Vec<String>) -> Vec<Words> {
        match &item.kind {
            Kind::User(user) => {
                self.over = true;
                let known = typed.iter().position(|typed| typed.as_str() == user.text.as_str());
                match known {
                    Some(at) => {
                        typed.drain(..=at);
                        user.images.iter().map(picture).collect()
                    }
                    None => said(user),
                }
            }
            Kind::Text(text) => self.more("assistant: ", text.as_str(), text.is_finished()),
            Kind::Thinking(thinking) if item.is_open(folds) => {
                self.more("thinking: ", thinking.text.as_str(), thinking.over)
            }
            Kind::Thinking(thinking) => self.thought(thinking),
            Kind::Call(call) => self.called(call),
            Kind::Note(note) => {
                self.over = matches!(note.tag, Tag::Plain);
                noted(note)
            }
            Kind::Page(page) => {
                self.over = true;
                paged(page)
            }
        }
    }

    /// The lines of a text that are finished and not printed.
    fn more(&mut self, before: &'static str, text: &str, finished: bool) -> Vec<Words> {
        self.over = finished;
        let text = text.trim_start();
        let text = if finished { text.trim_end() } else { text };
        let mut words = Vec::new();
        let same = if finished { self.text.trim_end() } else { self.text.as_str() };
        if text.strip_prefix(same).is_none() {
            self.text.clear();
            if !text.is_empty() {
                words.push(Words::new("the assistant's answer was changed; it is:".into()));
            }
        }
        let kept = self.text.len().min(text.len());
        let rest = text.get(kept..).unwrap_or_default();
        let whole = if finished { rest.len() } else { rest.rfind('\n').map_or(0, |at| at + 1) };
        let new = rest.get(..whole).unwrap_or_default();
        let mut begins = kept == 0;
        for line in Clean::new(new).lines() {
            let begins = std::mem::replace(&mut begins, false);
            words.push(if begins { Words::after(before, &line) } else { Words::indented(line) });
        }
        text.get(..kept + whole).unwrap_or_default().clone_into(&mut self.text);
        words
    }

    fn thought(&mut self, thinking: &Thinking) -> Vec<Words> {
        let was_over = std::mem::replace(&mut self.over, thinking.over);
        if was_over || !thinking.over || thinking.text.is_blank() {
            return Vec::new();
        }
        let time = thinking.took.and_then(lasted).map(|time| format!(" for {time}")).unwrap_or_default();
        vec![Words::new(CleanLine::new(&format!("the assistant thought{time}")))]
    }

    fn called(&mut self, call: &Call) -> Vec<Words> {
        let mut words = Vec::new();
        let is_over = call.is_over();
        if !self.began && (is_over || call.phase == Phase::Running) {
            self.began = true;
            words.push(begins(call));
        }
        if !self.began {
            return words;
        }
        for remark in call.remarks.iter().skip(self.remarks) {
            words.extend(remark.text.lines().map(Words::indented));
        }
        self.remarks = call.remarks.len();
        // Its result may come after the end.
        if is_over && !self.over {
            self.over = true;
            words.extend(ends(call));
        }
        words
    }
}

fn said(user: &User) -> Vec<Words> {
    let mut words: Vec<Words> = Vec::new();
    for line in user.text.lines() {
        words.push(if words.is_empty() { Words::after("you: ", &line) } else { Words::indented(line) });
    }
    words.extend(user.images.iter().map(picture));
    words
}

fn picture(picture: &Picture) -> Words {
    Words::indented(CleanLine::new(&format!("image {}", picture.facts.words())))
}

fn noted(note: &Note) -> Vec<Words> {
    let kind = if note.role == Role::Error {
        "error: "
    } else if note.role == Role::Warning {
        "warning: "
    } else {
        ""
    };
    let owner = note.owner.as_ref().map(|owner| format!("[{owner}] "));
    let mut words: Vec<Words> = Vec::new();
    for line in note.text.lines() {
        words.push(match &owner {
            _ if words.is_empty() => {
                Words::after(&format!("{}{kind}", owner.as_deref().unwrap_or_default()), &line)
            }
            Some(owner) => Words::after(owner, &line),
            None => Words::indented(line),
        });
    }
    words
}

fn paged(page: &Page) -> Vec<Words> {
    let mut words = Vec::new();
    let owner = page.owner.as_ref().map(|owner| format!("[{owner}] ")).unwrap_or_default();
    if page.heading.columns() > 0 {
        words.push(Words::after(&owner, &page.heading));
    }
    let mut is_blank = false;
    for line in page.body.lines() {
        let line = if page.markdown { table_row(&line) } else { Some(line) };
        let Some(line) = line else { continue };
        let blank = line.as_str().trim().is_empty();
        if !(blank && is_blank) {
            words.push(Words::after(&owner, &line));
        }
        is_blank = blank;
    }
    words
}

/// A row of a table in words: a screen reader would read its lines aloud. None for the row that only divides.
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

fn begins(call: &Call) -> Words {
    let what = match &call.origin {
        Origin::Model => format!("tool {}", call.name),
        Origin::Extension(extension) => format!("[{extension}] calls tool {}", call.name),
        Origin::Shell { .. } => "command".to_owned(),
    };
    let sum = call.sum.line.as_str();
    let sum = if sum.is_empty() { String::new() } else { format!(": {sum}") };
    Words::new(CleanLine::new(&format!("{what}{sum}")))
}

fn ends(call: &Call) -> Vec<Words> {
    let name = match &call.origin {
        Origin::Model | Origin::Extension(_) => call.name.to_string(),
        Origin::Shell { .. } => "command".to_owned(),
    };
    let how = match (call.phase, call.exit) {
        (_, Some(code)) => format!("ended with status {code}"),
        (Phase::Failed, None) => "failed".to_owned(),
        (Phase::Gone, None) => "did not come to an end".to_owned(),
        (Phase::Writing | Phase::Waiting | Phase::Running | Phase::Done, None) => "done".to_owned(),
    };
    let time = call.took.and_then(lasted).map(|time| format!(" in {time}")).unwrap_or_default();
    let counts = call.counts.map(|(added, removed)| format!(", {added} added, {removed} removed"));
    let counts = counts.unwrap_or_default();
    let owner = call.owner.as_ref().map(|owner| format!(" [{owner}]")).unwrap_or_default();
    let mut words = vec![Words::new(CleanLine::new(&format!("{name}{owner} {how}{time}{counts}")))];
    words.extend(output(call, false));
    words
}

/// What a call printed or changed.
fn output(call: &Call, all: bool) -> Vec<Words> {
    let mut words = Vec::new();
    let mut hidden = 0;
    // One that is left out is read as fast as that it is.
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
            words.push(Words::indented(CleanLine::new(&format!("{kind}{number}{text}"))));
        }
    } else if !call.told || all {
        let quiet = matches!(call.origin, Origin::Extension(_)) && call.phase != Phase::Failed;
        let most = if quiet && !all { 0 } else { most(OUTPUT, call.output.count()) };
        let end = call.name.as_str() == "bash" || matches!(call.origin, Origin::Shell { .. });
        hidden = if quiet { 0 } else { call.output.count().saturating_sub(most) };
        let lines = if end { call.output.last(most) } else { call.output.first(most) };
        words.extend(lines.into_iter().map(Words::indented));
    }
    words.extend(call.images.iter().map(picture));
    if hidden > 0 {
        let more = format!("{hidden} more lines, :output prints them");
        words.push(Words::indented(CleanLine::new(&more)));
    }
    words
}

/// All that a call printed.
pub(super) fn whole_output(item: &Item) -> Option<Vec<Words>> {
    match &item.kind {
        Kind::Call(call) => {
            let mut words = vec![begins(call)];
            words.extend(output(call, true));
            Some(words)
        }
        Kind::User(_) | Kind::Text(_) | Kind::Thinking(_) | Kind::Note(_) | Kind::Page(_) => None,
    }
}

/// A duration, as it is said; nothing for what is over at once.
fn lasted(time: Duration) -> Option<String> {
    let (seconds, tenths) = (time.as_secs(), time.subsec_millis() / 100);
    match (seconds, tenths) {
        (0, 0) => None,
        (0..10, 1..) => Some(format!("{seconds}.{tenths} s")),
        (0..60, _) => Some(format!("{seconds} s")),
        (60.., _) => Some(format!("{} min {} s", seconds / 60, seconds % 60)),
    }
}
