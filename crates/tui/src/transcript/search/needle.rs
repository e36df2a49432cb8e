//! What is searched for, and where it is in a text and on rows.

use memchr::memmem::Finder;

use super::super::row::Rows;
use super::budget::Budget;

/// What a candidate costs beside its bytes: what follows it is compared.
const CANDIDATE: usize = 64;

/// How many bytes are folded at once: as many as are near.
const CHUNK: usize = 64 << 10;

/// How much more a byte costs where letters beyond ASCII are folded, one by one.
const FOLDED: usize = 8;

/// Where a match stands: row by row the columns, both included.
pub(super) type Place = Vec<(usize, usize, usize)>;

/// A text, and how it is compared.
#[derive(Debug)]
pub(super) struct Needle {
    text: String,
    fold: Fold,
    /// Its words, as they are compared.
    words: Vec<String>,
    first: Finder<'static>,
}

/// Which letters are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    /// A letter is itself.
    Exact,
    /// Large ones are small ones; there are none beyond ASCII.
    Ascii,
    /// Large ones are small ones.
    Letters,
}

/// What has been seen of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scanned {
    /// It may be there.
    Maybe,
    /// It is not.
    No,
    /// It begins nowhere before this byte.
    Upto(usize),
}

impl Needle {
    pub(super) fn new(text: &str) -> Self {
        let fold = match () {
            () if text.chars().any(char::is_uppercase) => Fold::Exact,
            () if text.is_ascii() => Fold::Ascii,
            () => Fold::Letters,
        };
        let text = if fold == Fold::Exact { text.to_owned() } else { text.to_lowercase() };
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let first = Finder::new(words.first().map_or("", String::as_str)).into_owned();
        Self { text, fold, words, first }
    }

    /// Whether it is nowhere where another one is not.
    pub(super) fn narrows(&self, other: &Self) -> bool {
        self.text.starts_with(&other.text) && (self.fold == other.fold || self.fold == Fold::Exact)
    }

    /// Looks for it in a text as that is written, from a byte on, as far as the budget goes: for its words, with blanks
    /// and emphasis between them, as they may be.
    pub(super) fn scan(&self, text: &str, from: usize, budget: &mut Budget) -> Scanned {
        match self.fold {
            Fold::Exact | Fold::Ascii => {
                let mut from = from;
                loop {
                    match self.scan_bytes(text, from, budget) {
                        Scanned::Upto(at) if !budget.is_spent() => from = at,
                        scanned @ (Scanned::Maybe | Scanned::No | Scanned::Upto(_)) => return scanned,
                    }
                }
            }
            Fold::Letters => self.scan_letters(text, from, budget),
        }
    }

    fn scan_bytes(&self, text: &str, from: usize, budget: &mut Budget) -> Scanned {
        let Some(first) = self.words.first() else { return Scanned::No };
        let end = from.saturating_add(budget.left().clamp(1, CHUNK)).min(text.len());
        // What begins before the end may end behind it.
        let upto = end.saturating_add(first.len() - 1).min(text.len());
        let bytes = text.as_bytes().get(from..upto).unwrap_or_default();
        budget.scan(end.saturating_sub(from), 1);
        let lower;
        let bytes = match self.fold {
            Fold::Exact => bytes,
            Fold::Ascii | Fold::Letters => {
                lower = bytes.to_ascii_lowercase();
                &lower
            }
        };
        let mut at = 0;
        while let Some(found) = bytes.get(at..).and_then(|bytes| self.first.find(bytes)) {
            at += found + 1;
            if self.rest_follows(text, from + at - 1 + first.len()) {
                return Scanned::Maybe;
            }
            budget.take(CANDIDATE);
            if budget.is_spent() {
                return Scanned::Upto(from + at);
            }
        }
        if end < text.len() { Scanned::Upto(end) } else { Scanned::No }
    }

    fn scan_letters(&self, text: &str, from: usize, budget: &mut Budget) -> Scanned {
        let Some(first) = self.words.first() else { return Scanned::No };
        if from == 0 && text.len() <= budget.left() && text.is_ascii() {
            budget.scan(text.len(), 1);
            return Scanned::No;
        }
        let most = (budget.left() / FOLDED).max(1);
        let letter = first.chars().next();
        let rest = text.get(from..).unwrap_or_default();
        let mut seen = rest.len();
        for (at, c) in rest.char_indices() {
            if at >= most {
                seen = at;
                break;
            }
            let begins = c.to_lowercase().next() == letter;
            let end = begins.then(|| self.begins(text, from + at, first)).flatten();
            if end.is_some_and(|end| self.rest_follows(text, end)) {
                budget.scan(at, FOLDED);
                return Scanned::Maybe;
            }
        }
        budget.scan(seen, FOLDED);
        if seen < rest.len() { Scanned::Upto(from + seen) } else { Scanned::No }
    }

    /// Where a word ends that begins at a byte.
    fn begins(&self, text: &str, at: usize, word: &str) -> Option<usize> {
        let rest = text.get(at..)?;
        let is = match self.fold {
            Fold::Exact => rest.starts_with(word),
            Fold::Ascii => rest.as_bytes().get(..word.len())?.eq_ignore_ascii_case(word.as_bytes()),
            Fold::Letters => return begins_folded(rest, word).map(|end| at + end),
        };
        is.then_some(at + word.len())
    }

    /// Whether the words behind the first follow.
    fn rest_follows(&self, text: &str, mut at: usize) -> bool {
        self.words.iter().skip(1).all(|word| {
            let rest = text.get(at..).unwrap_or_default();
            let next = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || "*_~`>".contains(c));
            let between = rest.get(..rest.len() - next.len()).unwrap_or_default();
            let end = self.begins(text, at + between.len(), word);
            at = end.unwrap_or(at);
            end.is_some() && between.contains(|c: char| c.is_ascii_whitespace())
        })
    }

    /// Where it is on rows. Where one ends is a blank between words, or nothing at all within one.
    pub(super) fn places(&self, rows: Rows<'_>) -> Vec<Place> {
        let places = self.places_with(rows, " ");
        if places.is_empty() { self.places_with(rows, "") } else { places }
    }

    fn places_with(&self, rows: Rows<'_>, between: &str) -> Vec<Place> {
        // The text of all rows, and for each grapheme of it where it begins there and on the screen.
        let mut text = String::new();
        let mut cells = Vec::new();
        for (row, shown) in (0..rows.len()).filter_map(|row| Some((row, rows.get(row)?))) {
            if row > 0 && !text.ends_with(' ') && !between.is_empty() {
                cells.push((text.len(), None));
                text.push_str(between);
            }
            for cell in shown.cells() {
                let last = cell.from + cell.columns.max(1) - 1;
                cells.push((text.len(), Some((row, cell.from, last))));
                match self.fold {
                    Fold::Exact => text.push_str(cell.text),
                    Fold::Ascii | Fold::Letters => {
                        text.extend(cell.text.chars().flat_map(char::to_lowercase));
                    }
                }
            }
        }
        let found = text.match_indices(self.text.as_str()).map(|(at, found)| {
            let first = cells.partition_point(|(begin, _)| *begin <= at).saturating_sub(1);
            let mut place = Place::new();
            let within = cells.iter().skip(first).take_while(|(begin, _)| *begin < at + found.len());
            for (row, from, to) in within.filter_map(|(_, cell)| *cell) {
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

/// Where a word ends with which a text begins, when large letters are small ones.
fn begins_folded(text: &str, word: &str) -> Option<usize> {
    let mut letters = word.chars().peekable();
    for (at, c) in text.char_indices() {
        for lower in c.to_lowercase() {
            match letters.peek() {
                Some(letter) if *letter == lower => drop(letters.next()),
                Some(_) => return None,
                None => break,
            }
        }
        if letters.peek().is_none() {
            return Some(at + c.len_utf8());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scans in steps of so many bytes.
    fn is_in(needle: &str, text: &str, step: usize) -> bool {
        let needle = Needle::new(needle);
        let mut from = 0;
        loop {
            match needle.scan(text, from, &mut Budget::of(step)) {
                Scanned::Maybe => return true,
                Scanned::No => return false,
                Scanned::Upto(at) => {
                    assert!(at > from && at <= text.len(), "{at} behind {from} of {}", text.len());
                    from = at;
                }
            }
        }
    }

    #[test]
    fn where_it_is_cut_makes_no_difference() {
        let text = "The **Apple**  lies\n> on the größte Tafel, aaa b, ΟΔΟΣ und İx";
        for step in [1, 2, 3, 7, 64, 4096] {
            for needle in
                ["apple lies", "Apple", "lies on", "aa b", "größte t", "GRÖSSTE", "the a", "οδοσ", "größ"]
            {
                assert_eq!(is_in(needle, text, step), needle != "GRÖSSTE", "{needle:?} by {step}");
            }
            for needle in ["apple  x", "APPLE", "applelies", "b ο", "größtet", "lies the", "zz"] {
                assert!(!is_in(needle, text, step), "{needle:?} by {step}");
            }
        }
    }

    #[test]
    fn a_longer_one_narrows_where_letters_are_compared_alike() {
        let narrows = |longer, shorter| Needle::new(longer).narrows(&Needle::new(shorter));
        assert!(narrows("apple l", "app"));
        assert!(narrows("appLe", "app"));
        assert!(narrows("größe", "grö"));
        // Of letters that are ASCII when they are small, some large ones are not.
        assert!(!narrows("kö", "k"));
        assert!(!narrows("app", "apple"));
        assert!(!narrows("an apple", "apple"));
    }
}
