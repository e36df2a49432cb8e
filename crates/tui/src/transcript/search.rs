//! Search in the transcript.
//!
//! All text is searched, including folded text: an item that hides a match is unfolded while that match is the
//! current one. Lower case letters match both cases; upper case letters match themselves only. Marks are placed on
//! rows; in a sentence over several rows, the end of a row counts as a blank. The source text decides which items are
//! searched, without laying them out. So text that only appears on rows (a line number, a word with emphasis inside)
//! is not found.
//!
//! Invariant: the work per call is bounded (`SearchBudget`) except for the current item, however long the
//! conversation is. The rest continues between the next frames. An item that does not match a text cannot match a
//! longer one and is not read again.

mod needle;
mod scan;

use std::collections::HashMap;
use std::sync::Arc;

use super::document::{CellPosition, RowPosition, TranscriptDocument};
use super::item::TranscriptItem;
use super::view::TranscriptView;
use needle::{MatchPlace, SearchNeedle};
use scan::{PASSED, READ, ScanRange, SearchBudget};

/// The maximum number of items with cached matches.
const KEPT: usize = 512;

/// The outcome of a search so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchOutcome {
    /// The cursor is at a match.
    Match,
    /// There is no match, or no other match.
    Nothing,
    /// The search continues; the value is its progress in percent.
    Searching(u8),
    /// The person moved the cursor before the outcome was known.
    Stopped,
}

#[derive(Debug, Default)]
pub(super) struct TranscriptFinder {
    search: Option<ActiveSearch>,
    /// The number of bytes that searches have read.
    pub(super) scanned: usize,
}

#[derive(Debug)]
struct ActiveSearch {
    needle: SearchNeedle,
    /// The position before the search.
    origin: Option<RowPosition>,
    start: RowPosition,
    /// The current match: the item, and the index of the match in it.
    at: Option<(usize, usize)>,
    /// The outcome of the last search.
    found: SearchOutcome,
    scan: Option<ScanRange>,
    unfolded: Option<(usize, Option<bool>)>,
    /// The version in which an item is known not to match.
    misses: Vec<Option<u32>>,
    /// The positions of matches in items, for their current layout.
    places: HashMap<usize, (usize, Arc<[MatchPlace]>)>,
    /// The match reached last, for the cursor.
    landing: Option<CellPosition>,
}

/// A marked part of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct MatchMark {
    pub(super) at: RowPosition,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) current: bool,
}

impl TranscriptFinder {
    pub(super) fn search(
        &mut self,
        doc: &mut TranscriptDocument,
        view: &mut TranscriptView,
        text: &str,
    ) -> SearchOutcome {
        if text.trim().is_empty() {
            self.end();
            return SearchOutcome::Nothing;
        }
        let needle = SearchNeedle::new(text);
        let (origin, start, misses) = match self.search.take() {
            Some(before) => {
                fold_again(doc, before.unfolded);
                let narrows = needle.is_narrower_than(&before.needle);
                (before.origin, before.start, if narrows { before.misses } else { Vec::new() })
            }
            None => {
                let start = view.last_seen().unwrap_or_else(|| doc.last_position());
                (view.top, start, Vec::new())
            }
        };
        self.search = Some(ActiveSearch {
            needle,
            origin,
            start,
            at: None,
            found: SearchOutcome::Nothing,
            scan: Some(ScanRange::around(start, doc.items.len())),
            unfolded: None,
            misses,
            places: HashMap::new(),
            landing: None,
        });
        self.continue_scan(doc, view)
    }

    pub(super) fn next_match(
        &mut self,
        doc: &mut TranscriptDocument,
        view: &mut TranscriptView,
        older: bool,
    ) -> SearchOutcome {
        if let Some(search) = &mut self.search {
            search.start_scan(doc, view, older);
        }
        self.continue_scan(doc, view)
    }

    pub(super) fn continue_scan(
        &mut self,
        doc: &mut TranscriptDocument,
        view: &mut TranscriptView,
    ) -> SearchOutcome {
        let Some(search) = &mut self.search else { return SearchOutcome::Nothing };
        let mut budget = SearchBudget::default();
        while search.scan_item(doc, view, &mut budget) && !budget.is_spent() {}
        self.scanned = self.scanned.saturating_add(budget.scanned);
        self.outcome()
    }

    pub(super) fn outcome(&self) -> SearchOutcome {
        match &self.search {
            Some(ActiveSearch { scan: Some(hunt), .. }) => SearchOutcome::Searching(hunt.percent_done()),
            Some(search) => search.found,
            None => SearchOutcome::Nothing,
        }
    }

    /// Stops a running search because the person moves the cursor.
    pub(super) fn stop(&mut self) {
        if let Some(search) = self.search.as_mut().filter(|search| search.scan.is_some()) {
            search.finish_scan(SearchOutcome::Stopped);
        }
    }

    /// Forgets all results about the items from an index on, because they were replaced.
    pub(super) fn forget_from(&mut self, from: usize) {
        if let Some(search) = &mut self.search {
            search.misses.truncate(from);
        }
    }

    pub(super) fn cancel(&mut self, doc: &mut TranscriptDocument, view: &mut TranscriptView) {
        let Some(search) = self.search.take() else { return };
        fold_again(doc, search.unfolded);
        view.top = search.origin;
        view.update_visible(doc, view.height);
    }

    pub(super) fn end(&mut self) {
        self.search = None;
    }

    pub(super) fn take_landing(&mut self) -> Option<CellPosition> {
        self.search.as_mut()?.landing.take()
    }

    /// Returns the matching parts of the visible rows.
    pub(super) fn visible_marks(
        &mut self,
        doc: &mut TranscriptDocument,
        shown: &[RowPosition],
    ) -> Vec<MatchMark> {
        let Some(search) = &mut self.search else { return Vec::new() };
        let mut items: Vec<usize> = shown.iter().map(|at| at.item).collect();
        items.dedup();
        let mut marks = Vec::new();
        for item in items {
            for (nth, place) in search.item_matches(doc, item).iter().enumerate() {
                let current = search.at == Some((item, nth));
                let parts = place.iter().map(|&(row, from, to)| (RowPosition { item, row }, from, to));
                // The visible rows are in order.
                let seen = parts.filter(|(at, _, _)| shown.binary_search(at).is_ok());
                marks.extend(seen.map(|(at, from, to)| MatchMark { at, from, to, current }));
            }
        }
        marks
    }
}

impl ActiveSearch {
    /// Starts to search for the previous match (`true`) or the next one.
    fn start_scan(&mut self, doc: &mut TranscriptDocument, view: &mut TranscriptView, older: bool) {
        if self.scan.as_ref().is_some_and(|hunt| self.at.is_none() || hunt.is_older() == older) {
            return;
        }
        let items = doc.items.len();
        let hunt = match self.at {
            None if older => ScanRange::upward_from(self.start.item + 1),
            None => ScanRange::downward_from(self.start.item, items),
            Some((item, nth)) => {
                let count = self.item_matches(doc, item).len();
                let next =
                    if older { nth.checked_sub(1) } else { Some(nth + 1).filter(|next| *next < count) };
                if let Some(next) = next {
                    self.go_to(doc, view, item, next);
                    self.finish_scan(SearchOutcome::Match);
                    return;
                }
                if older { ScanRange::upward_from(item) } else { ScanRange::downward_from(item + 1, items) }
            }
        };
        self.scan = Some(hunt);
    }

    fn finish_scan(&mut self, found: SearchOutcome) {
        (self.scan, self.found) = (None, found);
    }

    /// Searches one item. Returns false if the search is finished.
    fn scan_item(
        &mut self,
        doc: &mut TranscriptDocument,
        view: &mut TranscriptView,
        budget: &mut SearchBudget,
    ) -> bool {
        let Some(hunt) = &mut self.scan else { return false };
        let older = hunt.is_older();
        let Some((item, upto)) = hunt.next() else {
            self.finish_scan(SearchOutcome::Nothing);
            return false;
        };
        let Some(nth) = self.match_in_item(doc, item, upto, older, budget) else { return true };
        self.finish_scan(SearchOutcome::Match);
        self.go_to(doc, view, item, nth);
        false
    }

    fn match_in_item(
        &mut self,
        doc: &mut TranscriptDocument,
        at: usize,
        upto: Option<RowPosition>,
        older: bool,
        budget: &mut SearchBudget,
    ) -> Option<usize> {
        let item = doc.items.get(at)?;
        let version = item.version;
        if !self.may_match(item, at, budget) {
            return None;
        }
        budget.spend_layout(item);
        let mut places = self.item_matches(doc, at);
        let hides = places.is_empty() && self.unfold_item(doc, at);
        if hides {
            places = self.item_matches(doc, at);
        }
        if places.is_empty() {
            self.note_miss(at, version);
        }
        let counts = upto.filter(|_| !hides).map_or(places.len(), |upto| {
            places.partition_point(|place| place.first().is_some_and(|(row, _, _)| *row <= upto.row))
        });
        if counts == 0 && hides {
            fold_again(doc, self.unfolded.take());
        }
        let last = counts.checked_sub(1)?;
        Some(if older { last } else { 0 })
    }

    /// True if an item may match, according to its source text.
    fn may_match(&mut self, item: &TranscriptItem, at: usize, budget: &mut SearchBudget) -> bool {
        if self.misses.get(at) == Some(&Some(item.version)) {
            budget.spend(PASSED);
            return false;
        }
        let mut may_match = false;
        budget.spend(READ);
        item.visit_texts(&mut |text| may_match = may_match || self.needle.may_be_in(text, budget));
        if !may_match {
            self.note_miss(at, item.version);
        }
        may_match
    }

    fn note_miss(&mut self, at: usize, version: u32) {
        if self.misses.len() <= at {
            self.misses.resize(at + 1, None);
        }
        if let Some(known) = self.misses.get_mut(at) {
            *known = Some(version);
        }
    }

    fn item_matches(&mut self, doc: &mut TranscriptDocument, item: usize) -> Arc<[MatchPlace]> {
        // Lay the item out first, if necessary.
        doc.rows(item);
        let layout = doc.layouts.kept.get(&item).map(|layout| layout.number);
        if let Some((of, places)) = self.places.get(&item)
            && Some(*of) == layout
        {
            return Arc::clone(places);
        }
        let places: Arc<[MatchPlace]> = self.needle.find_in_rows(doc.rows(item)).into();
        if let Some(layout) = layout {
            if self.places.len() >= KEPT {
                self.places.clear();
            }
            self.places.insert(item, (layout, Arc::clone(&places)));
        }
        places
    }

    fn unfold_item(&mut self, doc: &mut TranscriptDocument, at: usize) -> bool {
        let folds = doc.folds;
        let Some(item) = doc.items.get_mut(at).filter(|item| item.is_foldable() && !item.is_open(folds))
        else {
            return false;
        };
        let before = item.unfolded.replace(true);
        let old = self.unfolded.replace((at, before));
        fold_again(doc, old);
        true
    }

    fn go_to(&mut self, doc: &mut TranscriptDocument, view: &mut TranscriptView, item: usize, nth: usize) {
        let places = self.item_matches(doc, item);
        let Some((row, column, _)) = places.get(nth).and_then(|place| place.first()).copied() else { return };
        self.at = Some((item, nth));
        if self.unfolded.is_some_and(|(unfolded, _)| unfolded != item) {
            fold_again(doc, self.unfolded.take());
        }
        let at = RowPosition { item, row };
        view.update_visible(doc, view.height);
        let page = view.page_rows();
        if !view.shown.iter().take(page).any(|shown| *shown == at) {
            let before = i64::try_from(view.height / 3).unwrap_or_default();
            let top = doc.move_by_rows(at, -before);
            view.scroll_to(doc, top);
        }
        self.landing = Some(CellPosition { at, column });
    }
}

fn fold_again(doc: &mut TranscriptDocument, unfolded: Option<(usize, Option<bool>)>) {
    if let Some((at, before)) = unfolded
        && let Some(item) = doc.items.get_mut(at)
    {
        item.unfolded = before;
    }
}
