//! A list where nothing is drawn: numbered rows, and lines as answers.

use super::Picker;
use crate::clean::CleanLine;

impl Picker {
    /// What is picked.
    pub fn title(&self) -> &CleanLine {
        &self.title
    }

    /// How many rows fit what they are narrowed to.
    pub fn fitting(&self) -> usize {
        self.list.counts().0
    }

    /// Narrows the rows to those that fit a text.
    pub fn narrow(&mut self, text: &str) {
        self.list.set_query(text);
    }

    /// Rows from a place on, counted from 0, each with its number.
    pub fn numbered(&self, from: usize, most: usize) -> Vec<CleanLine> {
        let places = (from..self.fitting()).take(most);
        let rows = places.filter_map(|place| {
            let (row, shown, _) = self.list.row(place)?;
            let indent = CleanLine::repeated(' ', 2 * row.depth);
            let said = match shown.text.as_str().strip_prefix("› ") {
                Some(said) => format!("you: {said}"),
                None => shown.text.to_string(),
            };
            let mut text = format!("{indent}{}: {said}", place + 1);
            for more in [&shown.detail, &shown.group] {
                if more.columns() > 0 {
                    text.push_str(", ");
                    text.push_str(&more.as_str().replace(" · ", ", "));
                }
            }
            if row.current {
                text.push_str(", current");
            }
            Some(CleanLine::new(&text))
        });
        rows.collect()
    }

    /// The key of the row of a number.
    pub fn key_of(&self, number: usize) -> Option<&str> {
        let (row, ..) = self.list.row(number.checked_sub(1)?)?;
        Some(&row.key)
    }
}
