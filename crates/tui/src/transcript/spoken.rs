//! The conversation as lines that are printed once and stay: for screen readers, and for terminals that cannot go back.
//!
//! What is seen elsewhere by a mark, a colour or a place is said in words here. A text is printed line by line as its
//! lines are finished, as the model wrote it; a call when it begins and when it is over. What was printed is never taken
//! back: where something changes afterwards, that is printed, too.
//!
//! What begins in the first column is said by haft, or says who says it: each line of an extension names it, and further
//! lines and rows of the model and the person are indented. So nobody can write what looks like haft's own question.

mod item;

use std::collections::BTreeMap;

use ratatui_core::style::Style;

use super::answer::Answer;
use super::document::{Document, Moved};
use crate::clean::{CleanLine, span};
use crate::wrap::{Hang, Mode, wrap};

/// Items of a conversation that goes on, of which the last are printed.
const MOST_AT_ONCE: usize = 50;

/// How far what does not begin in the first column is indented.
const INDENT: usize = 2;

/// What has been printed.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The items before this one have been seen.
    seen: usize,
    /// Those of them that may have more to say, and what was printed of each.
    open: BTreeMap<usize, Part>,
    /// What the person typed stands on the terminal already.
    typed: Vec<String>,
}

/// What was printed of an item.
#[derive(Debug, Default)]
struct Part {
    /// The version of the item.
    version: Option<u32>,
    /// Its text, as far as it was printed.
    text: String,
    /// Whether the row of a call stands there.
    began: bool,
    /// How many remarks about a call do.
    remarks: usize,
    /// Nothing more is printed, unless the item changes.
    over: bool,
}

impl Told {
    /// Items stand elsewhere, from one on; those without a place are gone.
    pub(super) fn moved(&mut self, Moved { from, places }: &Moved) {
        let from = *from;
        let old = std::mem::take(&mut self.open);
        let mut seen = self.seen.min(from);
        let was_seen = self.seen.saturating_sub(from);
        for place in places.iter().take(was_seen).flatten() {
            seen = seen.max(place + 1);
        }
        for (at, part) in old {
            let place = at.checked_sub(from).map_or(Some(at), |index| places.get(index).copied().flatten());
            if let Some(place) = place {
                self.open.insert(place, part);
            }
        }
        // What came between is new, and stands before what was printed.
        let kept = |at: &usize| places.iter().take(was_seen).flatten().any(|place| place == at);
        for at in (from..seen).filter(|at| !kept(at)) {
            self.open.insert(at, Part::default());
        }
        self.seen = seen;
    }

    /// The person typed this: it stands on the terminal, so that it is not printed once more.
    pub(super) fn typed(&mut self, text: &str) {
        self.typed.push(text.trim_end().to_owned());
    }

    /// What is to be printed since it was asked last, as rows of a width; each comes once.
    pub(super) fn spoken(&mut self, doc: &Document, answer: &Answer, width: u16) -> Vec<CleanLine> {
        let mut rows = Vec::new();
        let skipped = doc.items.len().saturating_sub(MOST_AT_ONCE);
        if self.seen == 0 && skipped > 0 {
            self.seen = skipped;
            rows.push(CleanLine::new(&format!("what was said before, {skipped} entries, is not printed")));
        }
        for at in self.seen..doc.items.len() {
            self.open.insert(at, Part::default());
        }
        self.seen = doc.items.len();
        for (at, mut part) in std::mem::take(&mut self.open) {
            let Some(item) = doc.items.get(at) else { continue };
            if part.version != Some(item.version) {
                part.version = Some(item.version);
                let words = part.say(item, doc.folds, &mut self.typed);
                rows.extend(words.into_iter().flat_map(|line| line.rows(width)));
            }
            // What the answer is in the end is told last.
            if !part.over || answer.has(at) {
                self.open.insert(at, part);
            }
        }
        rows
    }
}

/// All that the last call printed, or was printed for it, as rows of a width. None when nothing was called.
pub(super) fn last_output(doc: &Document, width: u16) -> Option<Vec<CleanLine>> {
    let words = doc.items.iter().rev().find_map(item::whole_output)?;
    Some(words.into_iter().flat_map(|line| line.rows(width)).collect())
}

/// A line before it is cut to a width.
#[derive(Debug, Clone)]
struct Words {
    text: CleanLine,
    /// How far it is indented.
    indent: usize,
}

impl Words {
    fn new(text: CleanLine) -> Self {
        Self { text, indent: 0 }
    }

    fn indented(text: CleanLine) -> Self {
        Self { text, indent: INDENT }
    }

    /// With something before it.
    fn after(before: &str, text: &CleanLine) -> Self {
        Self::new(CleanLine::new(&format!("{before}{text}")))
    }

    fn rows(self, width: u16) -> Vec<CleanLine> {
        rows_of(&self.text, self.indent, width)
    }
}

/// A line as rows of a width. Only the first row of it begins in the first column.
pub(crate) fn rows_of(text: &CleanLine, indent: usize, width: u16) -> Vec<CleanLine> {
    let blanks = |count| vec![span(CleanLine::repeated(' ', count), Style::new())];
    let rest = if indent == 0 && !text.as_str().starts_with(' ') { INDENT } else { indent };
    let before = Hang { first: blanks(indent), rest: blanks(rest) };
    let rows = wrap(&[span(text.clone(), Style::new())], width, &before, Mode::Words);
    let whole = |line: ratatui_core::text::Line<'_>| {
        let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
        CleanLine::part(text.trim_end())
    };
    rows.into_iter().map(whole).collect()
}
