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

use super::Transcript;
use super::view::Position;
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

impl Found {
    /// Whether there is a match.
    pub fn is_match(self) -> bool {
        self == Self::Match
    }
}

/// What is searched for.
#[derive(Debug)]
pub(super) struct Search {
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

impl Transcript {
    pub(super) fn searched(&mut self, text: &str) -> Found {
        if text.trim().is_empty() {
            self.end_search();
            return Found::Nothing;
        }
        let last = self.view.shown.get(self.page() - 1).or(self.view.shown.last()).copied();
        let start = last.unwrap_or_else(|| self.last());
        let needle = Arc::new(Needle::new(text));
        let new = Search {
            needle,
            origin: (self.view.top, self.view.follow),
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
                self.fold_again(before.unfolded);
                let narrows = new.needle.narrows(&before.needle);
                let misses = if narrows { before.misses } else { Vec::new() };
                Search { origin: before.origin, start: before.start, misses, ..new }
            }
            None => new,
        };
        search.hunt = Some(Hunt::around(search.start, self.items.len()));
        self.search = Some(search);
        self.hunt()
    }

    pub(super) fn other_match(&mut self, older: bool) -> Found {
        let items = self.items.len();
        let Some(Search { at, start, hunt, .. }) = &self.search else { return Found::Nothing };
        let (at, start) = (*at, *start);
        if hunt.as_ref().is_some_and(|hunt| at.is_none() || hunt.older == older) {
            return self.hunt();
        }
        let next = match at {
            None if older => Hunt::above(start.item, None),
            None => Hunt::below(start.item, items),
            Some((item, nth)) => {
                let count = self.places(item).len();
                let next =
                    if older { nth.checked_sub(1) } else { Some(nth + 1).filter(|next| *next < count) };
                if let Some(next) = next {
                    self.go_to(item, next);
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
        self.hunt()
    }

    /// What came of it so far.
    pub(super) fn search_result(&self) -> Found {
        match &self.search {
            Some(Search { hunt: Some(hunt), .. }) => Found::Searching(hunt.done()),
            Some(search) => search.found,
            None => Found::Nothing,
        }
    }

    /// One moves by oneself: what was not found yet is not gone to.
    pub(super) fn stop_hunt(&mut self) {
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
    pub(super) fn forget_searched(&mut self, from: usize) {
        if let Some(search) = &mut self.search {
            search.misses.truncate(from);
        }
    }

    /// Back to where one was before it was searched.
    pub(super) fn search_left(&mut self) {
        let Some(search) = self.search.take() else { return };
        self.fold_again(search.unfolded);
        (self.view.top, self.view.follow) = search.origin;
        self.look(self.view.height);
    }

    /// Where it stands on the rows of an item.
    fn places(&mut self, item: usize) -> Arc<[Place]> {
        let Some(needle) = self.search.as_ref().map(|search| Arc::clone(&search.needle)) else {
            return Arc::default();
        };
        // Laid out first, if it has to be.
        self.rows(item);
        let layout = self.layouts.number(item);
        let kept = self.search.as_ref().and_then(|search| search.places.get(&item));
        if let Some((_, places)) = kept.filter(|(of, _)| Some(*of) == layout) {
            return Arc::clone(places);
        }
        let places: Arc<[Place]> = needle.places(self.rows(item)).into();
        if let (Some(search), Some(layout)) = (&mut self.search, layout) {
            if search.places.len() >= KEPT {
                search.places.clear();
            }
            search.places.insert(item, (layout, Arc::clone(&places)));
        }
        places
    }

    /// Unfolds what may hide a match.
    fn unfold(&mut self, at: usize) -> bool {
        let folds = self.folds;
        let Some(item) = self.items.get_mut(at).filter(|item| item.folds() && !item.is_open(folds)) else {
            return false;
        };
        let before = item.unfolded.replace(true);
        if let Some(search) = &mut self.search {
            let old = search.unfolded.replace((at, before));
            self.fold_again(old);
        }
        true
    }

    fn fold_again(&mut self, unfolded: Option<(usize, Option<bool>)>) {
        if let Some((at, before)) = unfolded
            && let Some(item) = self.items.get_mut(at)
        {
            item.unfolded = before;
        }
    }

    /// Looks at a match.
    fn go_to(&mut self, item: usize, nth: usize) -> bool {
        let places = self.places(item);
        let Some((row, column, _)) = places.get(nth).and_then(|place| place.first()).copied() else {
            return false;
        };
        if let Some(search) = &mut self.search {
            search.at = Some((item, nth));
            if search.unfolded.is_some_and(|(unfolded, _)| unfolded != item) {
                let unfolded = search.unfolded.take();
                self.fold_again(unfolded);
            }
        }
        let at = Position { item, row };
        self.look(self.view.height);
        let page = self.page();
        if !self.view.shown.iter().take(page).any(|shown| *shown == at) {
            let before = i64::try_from(self.view.height / 3).unwrap_or_default();
            let top = self.walk(at, -before);
            self.look_from(top);
        }
        if let Some(browse) = &mut self.browse {
            browse.cursor = super::select::Point { at, column };
        }
        true
    }

    /// The parts of the rows that are seen which were searched for.
    pub(super) fn marks(&mut self, shown: &[Position]) -> Vec<Mark> {
        let Some(search) = &self.search else { return Vec::new() };
        let looked_at = search.at;
        let mut items: Vec<usize> = shown.iter().map(|at| at.item).collect();
        items.dedup();
        let mut marks = Vec::new();
        for item in items {
            // What is seen of an item is one piece of its rows, and its matches are in their order.
            let rows = || shown.iter().filter(|at| at.item == item).map(|at| at.row);
            let (Some(first), Some(last)) = (rows().next(), rows().next_back()) else { continue };
            let places = self.places(item);
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
