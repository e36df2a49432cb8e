//! Searching for a text.
//!
//! Everything that is written is searched, also what is folded: an item that hides a match is unfolded for as long as
//! the match is the one that is looked at. Small letters find large ones, too; large letters find themselves alone. What
//! is marked is what stands on rows; where a sentence goes over several rows, the end of a row counts as a blank. Which
//! items are looked at is decided by what is written, without laying anything out, so what stands on a row and nowhere
//! in the text (a number of a line, a word with emphasis in its middle) is missed.

use super::Transcript;
use super::row::Rows;
use super::view::Position;

/// What is searched for.
#[derive(Debug)]
pub(super) struct Search {
    needle: Needle,
    /// Where one was when it began.
    origin: (Position, bool),
    /// From where on is searched.
    start: Position,
    /// The match that is looked at: the item, and which of its matches.
    at: Option<(usize, usize)>,
    /// The item that was unfolded for it, and how it was.
    unfolded: Option<(usize, Option<bool>)>,
}

/// A text, and how it is compared.
#[derive(Debug, Clone)]
pub(super) struct Needle {
    text: String,
    exact: bool,
}

/// A part of a row that is marked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) at: Position,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) current: bool,
}

/// Where a match stands: row by row the columns, both included.
type Place = Vec<(usize, usize, usize)>;

impl Needle {
    fn new(text: &str) -> Self {
        let exact = text.chars().any(char::is_uppercase);
        Self { text: text.to_owned(), exact }
    }

    /// Whether it is in a text as it is written: its words, with blanks and emphasis between them, as they may be.
    fn may_be_in(&self, text: &str) -> bool {
        if self.exact || self.text.is_ascii() {
            return self.is_in(&self.text, text.as_bytes());
        }
        self.is_in(&self.text.to_lowercase(), text.to_lowercase().as_bytes())
    }

    fn is_in(&self, needle: &str, text: &[u8]) -> bool {
        let begins = |text: &[u8], word: &[u8]| {
            let start = text.get(..word.len());
            start.is_some_and(
                |start| if self.exact { start == word } else { start.eq_ignore_ascii_case(word) },
            )
        };
        let mut words = needle.split_whitespace().map(str::as_bytes);
        let Some(first) = words.next() else { return false };
        let words: Vec<&[u8]> = words.collect();
        let after = |at: usize| text.get(at + first.len()..).unwrap_or_default();
        let follows = |mut text: &[u8]| {
            words.iter().all(|word| {
                let blank = |byte: &&u8| byte.is_ascii_whitespace() || b"*_~`>".contains(*byte);
                let (between, rest) = text.split_at(text.iter().take_while(blank).count());
                text = rest;
                let apart = between.iter().any(u8::is_ascii_whitespace);
                let here = begins(text, word);
                text = text.get(word.len()..).unwrap_or_default();
                apart && here
            })
        };
        let Some(letter) = first.first() else { return false };
        let letters = text.iter().enumerate().filter(|(_, byte)| byte.eq_ignore_ascii_case(letter));
        let mut starts =
            letters.map(|(at, _)| at).filter(|at| begins(text.get(*at..).unwrap_or_default(), first));
        starts.any(|at| follows(after(at)))
    }

    /// Where it is on rows. Where one ends is a blank between words, or nothing at all within one.
    fn places(&self, rows: Rows<'_>) -> Vec<Place> {
        let places = self.places_with(rows, " ");
        if places.is_empty() { self.places_with(rows, "") } else { places }
    }

    fn places_with(&self, rows: Rows<'_>, between: &str) -> Vec<Place> {
        // The text of all rows, and for each byte of it the row and the columns.
        let mut text = String::new();
        let mut cells = Vec::new();
        for (row, shown) in (0..rows.len()).filter_map(|row| Some((row, rows.get(row)?))) {
            if row > 0 && !text.ends_with(' ') {
                text.push_str(between);
                cells.extend(std::iter::repeat_n(None, between.len()));
            }
            for cell in shown.cells() {
                let lower = if self.exact { cell.text.to_owned() } else { cell.text.to_lowercase() };
                text.push_str(&lower);
                let last = cell.from + cell.columns.max(1) - 1;
                cells.extend(std::iter::repeat_n(Some((row, cell.from, last)), lower.len()));
            }
        }
        let needle = if self.exact { self.text.clone() } else { self.text.to_lowercase() };
        let found = text.match_indices(&needle).map(|(at, found)| {
            let mut place = Place::new();
            for (row, from, to) in cells.iter().skip(at).take(found.len()).copied().flatten() {
                match place.last_mut().filter(|(last, _, _)| *last == row) {
                    Some((_, _, end)) => *end = to,
                    None => place.push((row, from, to)),
                }
            }
            place
        });
        found.filter(|place| !place.is_empty()).collect()
    }
}

impl Transcript {
    pub(super) fn searched(&mut self, text: &str) -> bool {
        if text.trim().is_empty() {
            self.end_search();
            return false;
        }
        let last = self.view.shown.get(self.page() - 1).or(self.view.shown.last()).copied();
        let start = last.unwrap_or_else(|| self.last());
        let origin = (self.view.top, self.view.follow);
        let before = self.search.take();
        let (origin, start) = before.as_ref().map_or((origin, start), |before| (before.origin, before.start));
        if let Some(before) = before {
            self.fold_again(before.unfolded);
        }
        let needle = Needle::new(text);
        self.search = Some(Search { needle, origin, start, at: None, unfolded: None });
        let above = self.find((0..start.item + 1).rev(), Some(start), true);
        above || self.find(start.item..self.items.len(), None, false)
    }

    pub(super) fn other_match(&mut self, older: bool) -> bool {
        let Some(Search { at, start, .. }) = &self.search else { return false };
        let (at, start) = (*at, *start);
        let Some((item, nth)) = at else {
            return if older {
                self.find((0..start.item + 1).rev(), None, true)
            } else {
                self.find(start.item..self.items.len(), None, false)
            };
        };
        let count = self.places(item).len();
        let next = if older { nth.checked_sub(1) } else { Some(nth + 1).filter(|next| *next < count) };
        if let Some(next) = next {
            return self.go_to(item, next);
        }
        match older {
            true => self.find((0..item).rev(), None, true),
            false => self.find(item + 1..self.items.len(), None, false),
        }
    }

    /// Back to where one was before it was searched.
    pub(super) fn search_left(&mut self) {
        let Some(search) = self.search.take() else { return };
        self.fold_again(search.unfolded);
        (self.view.top, self.view.follow) = search.origin;
        self.look(self.view.height);
    }

    /// The first match in some items, from their end or from their beginning; not behind a place, if there is one.
    fn find(&mut self, items: impl Iterator<Item = usize>, upto: Option<Position>, last: bool) -> bool {
        for item in items {
            if !self.may_match(item) {
                continue;
            }
            let mut places = self.places(item);
            let hides = places.is_empty() && self.unfold(item);
            if hides {
                places = self.places(item);
            } else if let Some(upto) = upto.filter(|upto| upto.item == item) {
                places.retain(|place| place.first().is_some_and(|(row, _, _)| *row <= upto.row));
            }
            if !places.is_empty() {
                return self.go_to(item, if last { places.len() - 1 } else { 0 });
            }
            if hides {
                let unfolded = self.search.as_mut().and_then(|search| search.unfolded.take());
                self.fold_again(unfolded);
            }
        }
        false
    }

    fn may_match(&self, item: usize) -> bool {
        let (Some(search), Some(item)) = (&self.search, self.items.get(item)) else { return false };
        let mut found = false;
        item.parts(&mut |part| found = found || search.needle.may_be_in(part));
        found
    }

    fn places(&mut self, item: usize) -> Vec<Place> {
        let Some(search) = &self.search else { return Vec::new() };
        let needle = search.needle.clone();
        needle.places(self.rows(item))
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
            for (nth, place) in self.places(item).into_iter().enumerate() {
                let current = looked_at == Some((item, nth));
                marks.extend(place.into_iter().map(|(row, from, to)| {
                    let at = Position { item, row };
                    Mark { at, from, to, current }
                }));
            }
        }
        marks
    }
}
