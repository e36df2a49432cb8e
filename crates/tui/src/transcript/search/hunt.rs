//! Going from item to item until one matches, as far as the budget goes.

use std::ops::Range;

use super::super::document::{Document, Position};
use super::super::view::View;
use super::budget::Budget;
use super::needle::Scanned;
use super::{Finder, Found, fold_again};

/// What it costs to pass an item of which is known that it does not match.
const PASSED: usize = 16;

/// What it costs to come to an item that is read, beside each byte of it: most are short.
const READ: usize = 256;

/// What it costs to lay an item out and to look at its rows.
const LAID_OUT: usize = 32 << 10;

/// What each byte of that costs.
const LAID_OUT_BYTE: usize = 16;

/// Where a match is looked for.
#[derive(Debug)]
pub(super) struct Hunt {
    pub(super) older: bool,
    /// The items that have not been looked at.
    left: Range<usize>,
    /// What is behind this place does not count.
    upto: Option<Position>,
    /// Where it goes on downwards when nothing is above.
    then_from: Option<usize>,
    /// How far the next item has been read: in this form of it, in this part, up to this byte.
    within: Within,
    looked_at: usize,
    all: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Within {
    version: u32,
    part: usize,
    byte: usize,
}

/// What came of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It has this match.
    Match(usize),
    /// It has none.
    None,
    /// There is more of it to read.
    Unread,
}

impl Hunt {
    /// Upwards from an item.
    pub(super) fn above(from: usize, upto: Option<Position>) -> Self {
        Self { older: true, upto, ..Self::over(0..from + 1) }
    }

    /// Downwards from an item.
    pub(super) fn below(from: usize, items: usize) -> Self {
        Self::over(from.min(items)..items)
    }

    /// Upwards from a place, and then downwards from there.
    pub(super) fn around(at: Position, items: usize) -> Self {
        Self { then_from: Some(at.item), all: items + 1, ..Self::above(at.item, Some(at)) }
    }

    fn over(left: Range<usize>) -> Self {
        let all = left.len();
        let (upto, within) = (None, Within::default());
        Self { older: false, left, upto, then_from: None, within, looked_at: 0, all }
    }

    /// The item that is looked at next.
    fn next(&mut self, items: usize) -> Option<usize> {
        if self.left.is_empty()
            && let Some(from) = self.then_from.take()
        {
            (self.older, self.left, self.upto) = (false, from..items, None);
        }
        let next = if self.older { self.left.end.checked_sub(1)? } else { self.left.start };
        self.left.contains(&next).then_some(next)
    }

    fn pass(&mut self) {
        match self.older {
            true => self.left.end -= 1,
            false => self.left.start += 1,
        }
        self.within = Within::default();
        self.looked_at += 1;
    }

    /// How much of it is done, in hundredths.
    pub(super) fn done(&self) -> u8 {
        let done = self.looked_at.saturating_mul(100) / self.all.max(1);
        u8::try_from(done.min(99)).unwrap_or(99)
    }
}

impl Finder {
    /// Goes on with what is looked for.
    pub(in crate::transcript) fn hunt(&mut self, doc: &mut Document, view: &mut View) -> Found {
        let mut budget = Budget::new();
        while self.hunt_one(doc, view, &mut budget) && !budget.is_spent() {}
        self.scanned = self.scanned.saturating_add(budget.scanned());
        self.found()
    }

    /// Looks at one item. Whether there may be another.
    fn hunt_one(&mut self, doc: &mut Document, view: &mut View, budget: &mut Budget) -> bool {
        let items = doc.items.len();
        let Some(search) = &mut self.search else { return false };
        let Some(hunt) = &mut search.hunt else { return false };
        let next = hunt.next(items);
        let (older, upto) = (hunt.older, hunt.upto);
        let Some(item) = next else {
            self.hunted(Found::Nothing);
            return false;
        };
        match self.look_at(doc, item, upto, older, budget) {
            Outcome::Match(nth) => {
                self.hunted(Found::Match);
                self.go_to(doc, view, item, nth);
                false
            }
            Outcome::None => {
                if let Some(hunt) = self.search.as_mut().and_then(|search| search.hunt.as_mut()) {
                    hunt.pass();
                }
                true
            }
            Outcome::Unread => false,
        }
    }

    fn look_at(
        &mut self,
        doc: &mut Document,
        item: usize,
        upto: Option<Position>,
        older: bool,
        budget: &mut Budget,
    ) -> Outcome {
        match self.read_item(doc, item, budget) {
            Scanned::No => return Outcome::None,
            Scanned::Upto(_) => return Outcome::Unread,
            Scanned::Maybe => {}
        }
        let mut bytes = 0;
        if let Some(item) = doc.items.get(item) {
            item.parts(&mut |part| bytes += part.len());
        }
        budget.take(LAID_OUT + bytes.saturating_mul(LAID_OUT_BYTE));
        let mut places = self.places(doc, item);
        let hides = places.is_empty() && self.unfold(doc, item);
        if hides {
            places = self.places(doc, item);
        }
        if places.is_empty() {
            self.misses(doc, item);
        }
        let before = upto.filter(|upto| upto.item == item && !hides);
        let counts = before.map_or(places.len(), |upto| {
            places.partition_point(|place| place.first().is_some_and(|(row, _, _)| *row <= upto.row))
        });
        if counts > 0 {
            return Outcome::Match(if older { counts - 1 } else { 0 });
        }
        if hides {
            let unfolded = self.search.as_mut().and_then(|search| search.unfolded.take());
            fold_again(doc, unfolded);
        }
        Outcome::None
    }

    /// Reads what is written in an item.
    fn read_item(&mut self, doc: &Document, at: usize, budget: &mut Budget) -> Scanned {
        let (Some(search), Some(item)) = (&mut self.search, doc.items.get(at)) else { return Scanned::No };
        let Some(hunt) = &mut search.hunt else { return Scanned::No };
        if search.misses.get(at).is_some_and(|known| *known == Some(item.version)) {
            budget.take(PASSED);
            return Scanned::No;
        }
        let mut within = match hunt.within {
            within if within.version == item.version => within,
            _ => Within { version: item.version, ..Within::default() },
        };
        let mut scanned = Scanned::No;
        let mut part = 0;
        item.parts(&mut |text| {
            if scanned == Scanned::No && part >= within.part {
                let from = if part == within.part { within.byte } else { 0 };
                scanned = search.needle.scan(text, from, budget);
                if let Scanned::Upto(byte) = scanned {
                    (within.part, within.byte) = (part, byte);
                }
            }
            part += 1;
        });
        hunt.within = within;
        budget.take(READ);
        if scanned == Scanned::No {
            self.misses(doc, at);
        }
        scanned
    }

    /// It is known of an item that it does not match.
    fn misses(&mut self, doc: &Document, at: usize) {
        let version = doc.items.get(at).map(|item| item.version);
        let Some(search) = &mut self.search else { return };
        if search.misses.len() <= at {
            search.misses.resize(at + 1, None);
        }
        if let Some(known) = search.misses.get_mut(at) {
            *known = version;
        }
    }
}
