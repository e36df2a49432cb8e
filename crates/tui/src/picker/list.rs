//! The rows of a list, the matching rows, and the chosen row.

use super::PickerRow;
use crate::clean::CleanLine;
use crate::fuzzy::{FuzzyMatcher, FuzzyQuery, FuzzyTextKind};

/// The rows of a list, and the matching ones.
#[derive(Debug, Default)]
pub(super) struct PickerList {
    rows: Vec<PickerRow>,
    shown: Vec<RowTexts>,
    /// For each row, the levels of the tree that continue below.
    branches: Vec<u64>,
    is_tree: bool,
    fuzzy: FuzzyMatcher,
    needle: Option<FuzzyQuery>,
    query: String,
    /// Indexes in `rows`, in display order.
    fitting: Vec<usize>,
    lines: Vec<PickerLine>,
    /// An index in `fitting`.
    chosen: usize,
}

/// The sanitized texts of a row.
#[derive(Debug, Default)]
pub(super) struct RowTexts {
    pub(super) text: CleanLine,
    pub(super) detail: CleanLine,
    pub(super) group: CleanLine,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PickerLine {
    /// The heading of the group of this row.
    Heading(usize),
    /// A matching row, by index.
    Row(usize),
}

impl PickerList {
    pub(super) fn new(rows: Vec<PickerRow>) -> Self {
        let mut list = Self::default();
        list.replace_rows(rows);
        list.update_matches(None);
        let current = list.rows.iter().position(|row| row.current);
        list.chosen = current.unwrap_or(0);
        list
    }

    /// Replaces the rows. The row with the same key stays chosen, otherwise the row in its place.
    pub(super) fn set_rows(&mut self, rows: Vec<PickerRow>) {
        let (key, place) = (self.chosen_row().map(|row| row.key.clone()), self.chosen);
        self.replace_rows(rows);
        self.update_matches(None);
        self.chosen = place.min(self.fitting.len().saturating_sub(1));
        self.choose_key(key.as_deref());
    }

    fn replace_rows(&mut self, rows: Vec<PickerRow>) {
        let shown = rows.iter().map(|row| RowTexts {
            text: CleanLine::new(&row.text),
            detail: CleanLine::new(&row.detail),
            group: CleanLine::new(&row.group),
        });
        self.shown = shown.collect();
        self.branches = tree_branches(&rows);
        self.is_tree = rows.iter().any(|row| row.depth > 0);
        self.rows = rows;
    }

    /// Sets the filter. The best row is chosen; with an empty filter and in a tree, the choice stays.
    pub(super) fn set_query(&mut self, query: &str) {
        if self.query == query {
            return;
        }
        let key = self.chosen_row().map(|row| row.key.clone());
        // A longer filter matches no additional rows.
        let among = (!self.query.is_empty() && query.starts_with(&self.query)).then(|| self.fitting.clone());
        query.clone_into(&mut self.query);
        self.needle = Some(FuzzyQuery::from_words(query)).filter(|needle| !needle.is_empty());
        self.update_matches(among);
        self.chosen = 0;
        if self.needle.is_none() || self.is_tree {
            self.choose_key(key.as_deref());
        }
    }

    fn update_matches(&mut self, among: Option<Vec<usize>>) {
        let mut fitting = among.unwrap_or_else(|| (0..self.rows.len()).collect());
        if let Some(needle) = &self.needle {
            let texts = fitting.iter().filter_map(|at| Some((*at, self.shown.get(*at)?.text.as_str())));
            let ranked = self.fuzzy.rank(needle, texts, FuzzyTextKind::Words);
            fitting = ranked.iter().map(|ranked| ranked.at).collect();
        } else {
            fitting.sort_unstable();
        }
        if self.is_tree {
            fitting.sort_unstable();
        } else {
            self.group_matches(&mut fitting);
        }
        self.fitting = fitting;
        self.lines = self.build_lines();
    }

    /// Groups the matches, in the order of the first match of each group. Without a filter, the original order is
    /// kept.
    fn group_matches(&self, fitting: &mut [usize]) {
        if self.needle.is_none() || self.rows.iter().all(|row| row.group.is_empty()) {
            return;
        }
        let mut firsts = std::collections::HashMap::new();
        for at in fitting.iter() {
            let next = firsts.len();
            firsts.entry(self.group_of(*at)).or_insert(next);
        }
        // The sort is stable: within a group the best match stays first.
        fitting.sort_by_key(|at| firsts.get(self.group_of(*at)).copied());
    }

    fn group_of(&self, at: usize) -> &str {
        self.rows.get(at).map_or("", |row| row.group.as_str())
    }

    fn build_lines(&self) -> Vec<PickerLine> {
        let mut lines = Vec::with_capacity(self.fitting.len());
        let mut group = "";
        for (place, at) in self.fitting.iter().enumerate() {
            let next = self.group_of(*at);
            if next != group && !next.is_empty() {
                lines.push(PickerLine::Heading(*at));
            }
            group = next;
            lines.push(PickerLine::Row(place));
        }
        lines
    }

    pub(super) fn choose_key(&mut self, key: Option<&str>) {
        let has_key = |at: &usize| self.rows.get(*at).map(|row| row.key.as_str()) == key;
        if let Some(place) = key.and_then(|_| self.fitting.iter().position(has_key)) {
            self.chosen = place;
        }
    }

    /// Moves the choice by a number of rows, limited to the ends.
    pub(super) fn move_by(&mut self, by: isize) {
        let last = self.fitting.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(by).min(last);
    }

    /// Chooses the next row. After the last comes the first.
    pub(super) fn next(&mut self) {
        self.chosen = (self.chosen + 1).checked_rem(self.fitting.len()).unwrap_or(0);
    }

    /// Chooses the previous row.
    pub(super) fn previous(&mut self) {
        self.chosen = self.chosen.checked_sub(1).unwrap_or(self.fitting.len().saturating_sub(1));
    }

    pub(super) fn chosen_row(&self) -> Option<&PickerRow> {
        self.rows.get(*self.fitting.get(self.chosen)?)
    }

    /// Returns the number of matching rows and of all rows.
    pub(super) fn match_counts(&self) -> (usize, usize) {
        (self.fitting.len(), self.rows.len())
    }

    /// Returns the number of lines, including headings.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn line(&self, at: usize) -> Option<PickerLine> {
        self.lines.get(at).copied()
    }

    /// Returns the line of the chosen row, and the line from which it should be visible: its heading.
    pub(super) fn chosen_lines(&self) -> (usize, usize) {
        let line = self.lines.iter().position(|line| *line == PickerLine::Row(self.chosen)).unwrap_or(0);
        let has_heading = line.checked_sub(1).and_then(|before| self.line(before));
        let first = if matches!(has_heading, Some(PickerLine::Heading(_))) { line - 1 } else { line };
        (line, first)
    }

    pub(super) fn row(&self, place: usize) -> Option<(&PickerRow, &RowTexts, u64)> {
        let at = *self.fitting.get(place)?;
        let branches = self.branches.get(at).copied().unwrap_or_default();
        Some((self.rows.get(at)?, self.shown.get(at)?, branches))
    }

    pub(super) fn heading(&self, at: usize) -> CleanLine {
        self.shown.get(at).map(|shown| shown.group.clone()).unwrap_or_default()
    }

    pub(super) fn is_chosen(&self, place: usize) -> bool {
        place == self.chosen
    }

    /// True if all rows are shown, so the tree is complete.
    pub(super) fn is_unfiltered(&self) -> bool {
        self.needle.is_none()
    }

    pub(super) fn matched_graphemes(&mut self, text: &str) -> Vec<u32> {
        self.needle.as_ref().map(|needle| self.fuzzy.matched_graphemes(needle, text)).unwrap_or_default()
    }
}

/// The deepest level with lines.
const DEEPEST: usize = 62;

/// The width of a level, in columns.
const LEVEL: usize = 3;

/// Returns, for each row, a bit mask of the levels with another row below it. Deeper levels count as the deepest.
pub(super) fn tree_branches(rows: &[PickerRow]) -> Vec<u64> {
    let mut below = 0_u64;
    let mut branches: Vec<u64> = Vec::with_capacity(rows.len());
    for row in rows.iter().rev() {
        let bit = 1 << row.depth.min(DEEPEST);
        branches.push(below & (bit | (bit - 1)));
        below = (below & (bit - 1)) | bit;
    }
    branches.reverse();
    branches
}

/// Returns the tree lines before a row of a depth, in at most `most` columns: the lowest levels, and `…` for omitted
/// ones.
pub(super) fn tree_prefix(depth: usize, branches: u64, most: usize) -> String {
    let shown = depth.min(most / LEVEL);
    let mut lines = String::from(if shown < depth { "… " } else { "" });
    for level in depth - shown + 1..=depth {
        let continues = branches & (1 << level.min(DEEPEST)) != 0;
        lines.push_str(match (level == depth, continues) {
            (true, true) => "├─ ",
            (true, false) => "└─ ",
            (false, true) => "│  ",
            (false, false) => "   ",
        });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(depths: &[usize], most: usize, expect: &str) {
        let rows: Vec<PickerRow> =
            depths.iter().map(|depth| PickerRow { depth: *depth, ..PickerRow::default() }).collect();
        let drawn =
            rows.iter().zip(tree_branches(&rows)).map(|(row, bits)| tree_prefix(row.depth, bits, most));
        assert_eq!(drawn.collect::<Vec<_>>().join("/"), expect);
    }

    #[test]
    fn tree_lines_connect_rows_to_parents() {
        check(&[0, 1, 1], 9, "/├─ /└─ ");
        check(&[0, 1, 2, 2, 1, 2], 9, "/├─ /│  ├─ /│  └─ /└─ /   └─ ");
        check(&[0, 1, 0, 1], 9, "/└─ //└─ ");
        check(&[0, 2, 1], 9, "/│  └─ /└─ ");
        check(&[3, 2], 6, "… │  └─ /   └─ ");
        check(&[5, 1], 0, "… /… ");
        check(&[70, 70], 3, "… ├─ /… └─ ");
    }
}
