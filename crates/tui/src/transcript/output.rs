//! What a tool or a command prints, as far as it is kept.

use crate::clean::{Clean, CleanLine, Cleaner};

/// How much of what is printed is kept while it comes, in bytes. Up to twice as much is for a moment.
const KEPT: usize = 256 * 1024;

/// What was printed so far, or its end.
#[derive(Debug, Default)]
pub(super) struct Output {
    cleaner: Cleaner,
    text: Clean,
    /// Whether the beginning is not kept any more.
    cut: bool,
}

impl Output {
    pub(super) fn whole(outside: &str) -> Self {
        Self { text: Clean::new(outside), ..Self::default() }
    }

    pub(super) fn push(&mut self, piece: &str) {
        let clean = self.cleaner.push(piece);
        self.text.push(&clean);
        let text = self.text.as_str();
        if text.len() <= 2 * KEPT {
            return;
        }
        let end = text.as_bytes().get(text.len() - KEPT..).unwrap_or_default();
        let newline = end.iter().position(|byte| *byte == b'\n');
        let from = text.len() - KEPT + newline.map_or(0, |at| at + 1);
        let from = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        self.text = Clean::new(text.get(from..).unwrap_or_default());
        self.cut = true;
    }

    pub(super) fn as_str(&self) -> &str {
        self.text.as_str()
    }

    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// How many lines there are.
    pub(super) fn count(&self) -> usize {
        self.body().lines().count()
    }

    /// The first lines.
    pub(super) fn first(&self, most: usize) -> Vec<CleanLine> {
        self.body().lines().take(most).map(CleanLine::part).collect()
    }

    /// The last lines, in their order.
    pub(super) fn last(&self, most: usize) -> Vec<CleanLine> {
        let mut lines: Vec<CleanLine> = self.body().lines().rev().take(most).map(CleanLine::part).collect();
        lines.reverse();
        lines
    }

    /// Without empty lines around it.
    fn body(&self) -> &str {
        self.as_str().trim_start_matches('\n').trim_end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_much_is_kept() {
        let mut output = Output::default();
        let line = format!("{}\n", "é".repeat(500));
        for _ in 0..1_000 {
            output.push(&line);
        }
        assert!(output.is_cut());
        assert!(output.as_str().len() <= 2 * KEPT);
        assert!(output.as_str().starts_with('é'));
        assert_eq!(output.last(2), [CleanLine::new(line.trim()), CleanLine::new(line.trim())]);
        output.push("no newline");
        assert_eq!(output.last(1), [CleanLine::new("no newline")]);
    }

    #[test]
    fn empty_lines_around_do_not_count() {
        let output = Output::whole("\n\n a\nb\n\n\n");
        assert_eq!(output.count(), 2);
        assert_eq!(output.first(1), [CleanLine::new(" a")]);
        assert_eq!(Output::whole("\n \n").count(), 0);
    }
}
