//! Searching for a text.
//!
//! Everything that is written is searched, also what is folded: an item that hides a match is unfolded for as long as
//! the match is the one that is looked at. Small letters find large ones, too; large letters find themselves alone. What
//! is marked is what stands on rows; where a sentence goes over several rows, the end of a row counts as a blank. Which
//! items are looked at is decided by what is written, without laying anything out, so what stands on a row and nowhere
//! in the text (a number of a line, a word with emphasis in its middle) is missed.
//!
//! Invariant: what is done at once is bounded (`budget.rs`), however long the conversation is; the rest is done between
//! the next frames. What does not match a text does not match a longer one, and is not read for that.

mod budget;
mod hunt;
mod needle;

use std::collections::HashMap;
use std::sync::Arc;

use super::document::{Document, Position};
use super::select::Point;
use super::view::View;
use hunt::Hunt;
use needle::{Needle, Place};

/// The most items whose matches are kept.
const KEPT: usize = 512;

/// What came of a search so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// There is a match, and one is there.
    Match,
    /// There is none, or no other.
    Nothing,
    /// That is not known yet: so many hundredths were looked at.
    Searching(u8),
    /// That was not known yet when one moved by oneself.
    Stopped,
}

/// The search in a conversation, if there is one.
#[derive(Debug, Default)]
pub(super) struct Finder {
    search: Option<Search>,
    /// How many bytes searches have read.
    scanned: usize,
    /// The match that was gone to last, for the cursor.
    landing: Option<Point>,
}

/// What is searched for.
#[derive(Debug)]
struct Search {
    needle: Arc<Needle>,
    /// Where one was when it began.
    origin: (Position, bool),
    /// From where on is searched.
    start: Position,
    /// The match that is looked at: the item, and which of its matches.
    at: Option<(usize, usize)>,
    /// What came of what was looked for last.
    found: Found,
    /// What is being looked for.
    hunt: Option<Hunt>,
    /// The item that was unfolded for it, and how it was.
    unfolded: Option<(usize, Option<bool>)>,
    /// In which form an item is known not to match.
    misses: Vec<Option<u32>>,
    /// Where the matches of items stand, as those are laid out.
    places: HashMap<usize, (usize, Arc<[Place]>)>,
}

/// A part of a row that is marked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) at: Position,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) current: bool,
}

impl Finder {
    /// Searches for a text, and goes to the match that is nearest above, or else to the nearest below; to none for an
    /// empty text.
    pub(super) fn search(&mut self, doc: &mut Document, view: &mut View, text: &str) -> Found {
        if text.trim().is_empty() {
            self.end();
            return Found::Nothing;
        }
        let start = view.last_seen().unwrap_or_else(|| doc.last());
        let needle = Arc::new(Needle::new(text));
        let new = Search {
            needle,
            origin: (view.top, view.follow),
            start,
            at: None,
            found: Found::Nothing,
            hunt: None,
            unfolded: None,
            misses: Vec::new(),
            places: HashMap::new(),
        };
        let mut search = match self.search.take() {
            Some(before) => {
                fold_again(doc, before.unfolded);
                let narrows = new.needle.narrows(&before.needle);
                let misses = if narrows { before.misses } else { Vec::new() };
                Search { origin: before.origin, start: before.start, misses, ..new }
            }
            None => new,
        };
        search.hunt = Some(Hunt::around(search.start, doc.items.len()));
        self.search = Some(search);
        self.hunt(doc, view)
    }

    /// Goes to the match before (`true`), or to the one after.
    pub(super) fn next_match(&mut self, doc: &mut Document, view: &mut View, older: bool) -> Found {
        let items = doc.items.len();
        let Some(Search { at, start, hunt, .. }) = &self.search else { return Found::Nothing };
        let (at, start) = (*at, *start);
        if hunt.as_ref().is_some_and(|hunt| at.is_none() || hunt.older == older) {
            return self.hunt(doc, view);
        }
        let next = match at {
            None if older => Hunt::above(start.item, None),
            None => Hunt::below(start.item, items),
            Some((item, nth)) => {
                let count = self.places(doc, item).len();
                let next =
                    if older { nth.checked_sub(1) } else { Some(nth + 1).filter(|next| *next < count) };
                if let Some(next) = next {
                    self.go_to(doc, view, item, next);
                    return self.hunted(Found::Match);
                }
                match (older, item.checked_sub(1)) {
                    (true, Some(above)) => Hunt::above(above, None),
                    (true, None) => Hunt::below(items, items),
                    (false, _) => Hunt::below(item + 1, items),
                }
            }
        };
        if let Some(search) = &mut self.search {
            search.hunt = Some(next);
        }
        self.hunt(doc, view)
    }

    /// What came of it so far.
    pub(super) fn found(&self) -> Found {
        match &self.search {
            Some(Search { hunt: Some(hunt), .. }) => Found::Searching(hunt.done()),
            Some(search) => search.found,
            None => Found::Nothing,
        }
    }

    /// One moves by oneself: what was not found yet is not gone to.
    pub(super) fn stop(&mut self) {
        if self.search.as_ref().is_some_and(|search| search.hunt.is_some()) {
            self.hunted(Found::Stopped);
        }
    }

    /// Nothing is looked for any more.
    fn hunted(&mut self, found: Found) -> Found {
        if let Some(search) = &mut self.search {
            (search.hunt, search.found) = (None, found);
        }
        found
    }

    /// Nothing that is known of the items from one on holds: others stand there.
    pub(super) fn forget_from(&mut self, from: usize) {
        if let Some(search) = &mut self.search {
            search.misses.truncate(from);
        }
    }

    /// Back to where one was before it was searched.
    pub(super) fn leave(&mut self, doc: &mut Document, view: &mut View) {
        let Some(search) = self.search.take() else { return };
        fold_again(doc, search.unfolded);
        (view.top, view.follow) = search.origin;
        view.look(doc, view.height);
    }

    /// Ends the search where it led.
    pub(super) fn end(&mut self) {
        self.search = None;
    }

    /// Returns how many bytes searches have read.
    pub(super) fn scanned(&self) -> usize {
        self.scanned
    }

    /// Takes the match that was gone to last.
    pub(super) fn take_landing(&mut self) -> Option<Point> {
        self.landing.take()
    }

    /// Where it stands on the rows of an item.
    fn places(&mut self, doc: &mut Document, item: usize) -> Arc<[Place]> {
        let Some(needle) = self.search.as_ref().map(|search| Arc::clone(&search.needle)) else {
            return Arc::default();
        };
        // Laid out first, if it has to be.
        doc.rows(item);
        let layout = doc.layouts.number(item);
        let kept = self.search.as_ref().and_then(|search| search.places.get(&item));
        if let Some((_, places)) = kept.filter(|(of, _)| Some(*of) == layout) {
            return Arc::clone(places);
        }
        let places: Arc<[Place]> = needle.places(doc.rows(item)).into();
        if let (Some(search), Some(layout)) = (&mut self.search, layout) {
            if search.places.len() >= KEPT {
                search.places.clear();
            }
            search.places.insert(item, (layout, Arc::clone(&places)));
        }
        places
    }

    /// Unfolds what may hide a match.
    fn unfold(&mut self, doc: &mut Document, at: usize) -> bool {
        let folds = doc.folds;
        let Some(item) = doc.items.get_mut(at).filter(|item| item.folds() && !item.is_open(folds)) else {
            return false;
        };
        let before = item.unfolded.replace(true);
        if let Some(search) = &mut self.search {
            let old = search.unfolded.replace((at, before));
            fold_again(doc, old);
        }
        true
    }

    /// Looks at a match.
    fn go_to(&mut self, doc: &mut Document, view: &mut View, item: usize, nth: usize) -> bool {
        let places = self.places(doc, item);
        let Some((row, column, _)) = places.get(nth).and_then(|place| place.first()).copied() else {
            return false;
        };
        if let Some(search) = &mut self.search {
            search.at = Some((item, nth));
            if search.unfolded.is_some_and(|(unfolded, _)| unfolded != item) {
                let unfolded = search.unfolded.take();
                fold_again(doc, unfolded);
            }
        }
        let at = Position { item, row };
        view.look(doc, view.height);
        let page = view.page();
        if !view.shown.iter().take(page).any(|shown| *shown == at) {
            let before = i64::try_from(view.height / 3).unwrap_or_default();
            let top = doc.walk(at, -before);
            view.look_from(doc, top);
        }
        self.landing = Some(Point { at, column });
        true
    }

    /// The parts of the rows that are seen which were searched for.
    pub(super) fn marks(&mut self, doc: &mut Document, shown: &[Position]) -> Vec<Mark> {
        let Some(search) = &self.search else { return Vec::new() };
        let looked_at = search.at;
        let mut items: Vec<usize> = shown.iter().map(|at| at.item).collect();
        items.dedup();
        let mut marks = Vec::new();
        for item in items {
            // What is seen of an item is one piece of its rows, and its matches are in their order.
            let rows = || shown.iter().filter(|at| at.item == item).map(|at| at.row);
            let (Some(first), Some(last)) = (rows().next(), rows().next_back()) else { continue };
            let places = self.places(doc, item);
            let from = places.partition_point(|place| place.last().is_none_or(|(row, _, _)| *row < first));
            let seen = places.iter().enumerate().skip(from);
            let seen = seen.take_while(|(_, place)| place.first().is_some_and(|(row, _, _)| *row <= last));
            for (nth, place) in seen {
                let current = looked_at == Some((item, nth));
                marks.extend(place.iter().map(|&(row, from, to)| {
                    let at = Position { item, row };
                    Mark { at, from, to, current }
                }));
            }
        }
        marks
    }
}

fn fold_again(doc: &mut Document, unfolded: Option<(usize, Option<bool>)>) {
    if let Some((at, before)) = unfolded
        && let Some(item) = doc.items.get_mut(at)
    {
        item.unfolded = before;
    }
}
