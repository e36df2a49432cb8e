//! The search text, and its matches in a text and on rows.

use std::borrow::Cow;

use memchr::memmem::Finder;

use super::super::row::ItemRows;
use super::scan::SearchBudget;

/// The cost of a candidate in addition to its bytes, for the comparison.
const CANDIDATE: usize = 64;

/// The cost of a byte if letters beyond ASCII are folded one by one.
const FOLDED: usize = 8;

/// The position of a match: row, first column and last column, per row.
pub(super) type MatchPlace = Vec<(usize, usize, usize)>;

#[derive(Debug)]
pub(super) struct SearchNeedle {
    text: String,
    fold: CaseFolding,
    words: Vec<String>,
    first: Finder<'static>,
}

/// The case folding of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaseFolding {
    Exact,
    /// ASCII only: upper case letters match lower case ones.
    Ascii,
    Letters,
}

impl SearchNeedle {
    pub(super) fn new(text: &str) -> Self {
        let fold = match () {
            () if text.chars().any(char::is_uppercase) => CaseFolding::Exact,
            () if text.is_ascii() => CaseFolding::Ascii,
            () => CaseFolding::Letters,
        };
        let text = if fold == CaseFolding::Exact { text.to_owned() } else { text.to_lowercase() };
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let first = Finder::new(words.first().map_or("", String::as_str)).into_owned();
        Self { text, fold, words, first }
    }

    /// True if every match of this text contains a match of the other one.
    pub(super) fn is_narrower_than(&self, other: &Self) -> bool {
        self.text.starts_with(&other.text) && (self.fold == other.fold || self.fold == CaseFolding::Exact)
    }

    /// True if a source text may match: the words in order, with blanks and emphasis between them.
    pub(super) fn may_be_in(&self, text: &str, budget: &mut SearchBudget) -> bool {
        let Some(first) = self.words.first() else { return false };
        if self.fold == CaseFolding::Letters && text.is_ascii() {
            budget.spend_reading(text.len(), 1);
            return false;
        }
        budget.spend_reading(text.len(), if self.fold == CaseFolding::Letters { FOLDED } else { 1 });
        let text = self.fold_case(text);
        let mut from = 0;
        while let Some(found) = text.as_bytes().get(from..).and_then(|rest| self.first.find(rest)) {
            let rest = text.get(from + found + first.len()..).unwrap_or_default();
            if self.rest_follows(rest) {
                return true;
            }
            budget.spend(CANDIDATE);
            from += found + 1;
        }
        false
    }

    fn fold_case<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.fold {
            CaseFolding::Exact => Cow::Borrowed(text),
            CaseFolding::Ascii => Cow::Owned(text.to_ascii_lowercase()),
            CaseFolding::Letters => text.chars().flat_map(char::to_lowercase).collect(),
        }
    }

    /// True if the remaining words follow.
    fn rest_follows(&self, mut text: &str) -> bool {
        self.words.iter().skip(1).all(|word| {
            let next = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || "*_~`>".contains(c));
            let between = text.get(..text.len() - next.len()).unwrap_or_default();
            let behind = next.strip_prefix(word.as_str());
            text = behind.unwrap_or_default();
            behind.is_some() && between.contains(|c: char| c.is_ascii_whitespace())
        })
    }

    pub(super) fn find_in_rows(&self, rows: ItemRows<'_>) -> Vec<MatchPlace> {
        let places = self.find_in_rows_with(rows, " ");
        if places.is_empty() { self.find_in_rows_with(rows, "") } else { places }
    }

    fn find_in_rows_with(&self, rows: ItemRows<'_>, between: &str) -> Vec<MatchPlace> {
        // The text of all rows, and for each grapheme its position in the text and on the screen.
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
                text.push_str(&self.fold_case(cell.text));
            }
        }
        let found = text.match_indices(self.text.as_str()).map(|(at, found)| {
            let first = cells.partition_point(|(begin, _)| *begin <= at).saturating_sub(1);
            let mut place = MatchPlace::new();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_across_blanks_and_case() {
        let text = "The **Apple**  lies\n> on the größte Tafel, aaa b, ΟΔΟΣ und İx";
        let is_in = |needle: &str| SearchNeedle::new(needle).may_be_in(text, &mut SearchBudget::default());
        for needle in ["apple lies", "Apple", "lies on", "aa b", "größte t", "the a", "οδοσ", "größ"]
        {
            assert!(is_in(needle), "{needle:?}");
        }
        for needle in ["GRÖSSTE", "apple  x", "APPLE", "applelies", "b ο", "größtet", "lies the", "zz"] {
            assert!(!is_in(needle), "{needle:?}");
        }
    }

    #[test]
    fn longer_text_narrows_with_same_case_folding() {
        let narrows =
            |longer, shorter| SearchNeedle::new(longer).is_narrower_than(&SearchNeedle::new(shorter));
        assert!(narrows("apple l", "app"));
        assert!(narrows("appLe", "app"));
        assert!(narrows("größe", "grö"));
        // Some non-ASCII upper case letters have ASCII lower case forms.
        assert!(!narrows("kö", "k"));
        assert!(!narrows("app", "apple"));
        assert!(!narrows("an apple", "apple"));
    }
}
