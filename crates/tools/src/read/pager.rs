//! `LinePager`: extracts a window of lines from a stream of chunks, without I/O.

use haft_core::truncate::{self, MAX_BYTES, TruncationLimits};

/// The maximum size of the window: one byte above the limit shows that the text does not fit, and a byte order mark
/// is not part of the result.
const KEPT: usize = '\u{feff}'.len_utf8() + MAX_BYTES + 1;

/// Collects the lines of a window, and stops as soon as it is known if more lines follow.
pub(super) struct LinePager {
    /// The number of lines to skip before the window.
    to_skip: u64,
    skipped: u64,
    /// True if the last line has begun and not ended.
    in_line: bool,
    lines: usize,
    window: Vec<u8>,
    more: bool,
}

/// A window of lines.
pub(super) struct TextPage {
    pub(super) text: String,
    /// The number of lines in `text`, including a cut one.
    pub(super) lines: u64,
    /// The number of lines before the window; all lines if the window is empty.
    pub(super) skipped: u64,
    pub(super) more: bool,
    /// True if the last line alone exceeds the limit and was cut.
    pub(super) cut_line: bool,
    /// True if invalid bytes were replaced.
    pub(super) lossy: bool,
}

impl LinePager {
    /// Creates a window of at most `lines` lines from line `offset` on, counted from 1.
    pub(super) fn new(offset: u64, lines: usize) -> Self {
        Self { to_skip: offset - 1, skipped: 0, in_line: false, lines, window: Vec::new(), more: false }
    }

    /// Takes the next chunk. Returns true if no more chunks are needed.
    pub(super) fn feed(&mut self, chunk: &[u8]) -> bool {
        for line in chunk.split_inclusive(|&byte| byte == b'\n') {
            let ended = line.last() == Some(&b'\n');
            if self.to_skip > 0 {
                self.to_skip -= u64::from(ended);
                self.skipped += u64::from(ended);
            } else if self.is_full() {
                self.more = true;
                return true;
            } else {
                let room = KEPT - self.window.len();
                self.window.extend_from_slice(line.get(..room).unwrap_or(line));
                self.lines -= usize::from(ended);
            }
            self.in_line = !ended;
        }
        false
    }

    /// True if the next byte is after the window. The rest of a line that alone fills the window is not: only after
    /// the end of that line it is known if more lines follow.
    fn is_full(&self) -> bool {
        let in_only_line = || self.in_line && !self.window.contains(&b'\n');
        self.lines == 0 || (self.window.len() == KEPT && !in_only_line())
    }

    pub(super) fn finish(self) -> TextPage {
        // An incomplete character at the cut is not an invalid byte.
        let whole = self.window.len() < KEPT;
        let lossy =
            std::str::from_utf8(&self.window).is_err_and(|error| whole || error.error_len().is_some());
        let decoded = String::from_utf8_lossy(&self.window);
        let text = decoded.strip_prefix('\u{feff}').unwrap_or(&decoded);
        let kept = truncate::head(text, TruncationLimits::default());
        TextPage {
            text: kept.text.to_owned(),
            lines: kept.kept_lines as u64,
            skipped: self.skipped + u64::from(self.in_line && self.to_skip > 0),
            more: self.more || kept.omitted_lines > 0,
            cut_line: kept.cut_line,
            lossy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, offset: u64, lines: usize, expect: (&str, u64, bool)) {
        // The page is the same for all chunk sizes.
        for size in [1, 2, 3, 1000] {
            let mut pager = LinePager::new(offset, lines);
            for chunk in text.as_bytes().chunks(size) {
                if pager.feed(chunk) {
                    break;
                }
            }
            let page = pager.finish();
            assert_eq!((page.text.as_str(), page.lines, page.more), expect, "chunks of {size}");
        }
    }

    #[test]
    fn pages_are_windows_of_lines() {
        check("", 1, 5, ("", 0, false));
        check("a\nb\nc\n", 1, 5, ("a\nb\nc\n", 3, false));
        check("a\nb\nc\n", 1, 3, ("a\nb\nc\n", 3, false));
        check("a\nb\nc\n", 1, 2, ("a\nb\n", 2, true));
        check("a\nb\nc", 2, 2, ("b\nc", 2, false));
        check("a\nb\nc", 3, 9, ("c", 1, false));
        check("a\nb\nc", 4, 9, ("", 0, false));
        check("\u{feff}ä\n", 1, 9, ("ä\n", 1, false));
    }

    #[test]
    fn counts_lines_before_empty_window() {
        for (text, count) in [("a\nb", 2), ("a\nb\n", 2), ("", 0)] {
            let mut pager = LinePager::new(9, 5);
            pager.feed(text.as_bytes());
            assert_eq!(pager.finish().skipped, count, "{text:?}");
        }
    }

    #[test]
    fn reports_more_after_cut_line_only_if_lines_follow() {
        let long = "x".repeat(6 * MAX_BYTES);
        for (text, more) in [
            (long.clone(), false),
            (format!("{long}\n"), false),
            (format!("{long}\nnext"), true),
            (format!("first\n{long}"), true),
        ] {
            for size in [1_000, MAX_BYTES, 10 * MAX_BYTES] {
                let mut pager = LinePager::new(1, 10);
                let _ = text.as_bytes().chunks(size).any(|chunk| pager.feed(chunk));
                assert_eq!(pager.finish().more, more, "{} bytes in chunks of {size}", text.len());
            }
        }
    }

    #[test]
    fn cuts_lines_above_the_limit_only() {
        for mark in ["", "\u{feff}"] {
            for (len, cut) in [(MAX_BYTES, false), (MAX_BYTES + 1, true), (2 * MAX_BYTES, true)] {
                let mut pager = LinePager::new(1, 10);
                pager.feed(format!("{mark}{}", "x".repeat(len)).as_bytes());
                let page = pager.finish();
                assert_eq!((page.cut_line, page.text.len()), (cut, MAX_BYTES), "{mark:?} {len}");
            }
        }
    }
}
