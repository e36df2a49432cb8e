//! `LinePager`: a window of lines out of a stream of chunks. Pure.

use haft_core::truncate::{self, MAX_BYTES, TruncationLimits};

/// The size of a window that is kept: one byte more than fits is enough to know that it does not fit, and a byte order
/// mark takes no room in the result.
const KEPT: usize = '\u{feff}'.len_utf8() + MAX_BYTES + 1;

/// Collects the lines of one window and stops as soon as it knows whether there is more behind it.
pub(super) struct LinePager {
    /// Lines before the window that are still to come.
    to_skip: u64,
    skipped: u64,
    /// True if the line that came last has begun and not ended.
    in_line: bool,
    lines: usize,
    window: Vec<u8>,
    more: bool,
}

/// A window of lines.
pub(super) struct TextPage {
    pub(super) text: String,
    /// Lines in `text`, a cut one included.
    pub(super) lines: u64,
    /// Lines before the window: all there are when the window is empty.
    pub(super) skipped: u64,
    pub(super) more: bool,
    /// True if the last line is cut because it alone is longer than a result.
    pub(super) cut_line: bool,
    /// True if bytes were replaced.
    pub(super) lossy: bool,
}

impl LinePager {
    /// A window of at most `lines` lines from line `offset` on, which is counted from 1.
    pub(super) fn new(offset: u64, lines: usize) -> Self {
        Self { to_skip: offset - 1, skipped: 0, in_line: false, lines, window: Vec::new(), more: false }
    }

    /// Takes the next chunk; true when no further one is needed.
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

    /// True if what comes next lies behind the window. The rest of a line that alone fills it does not: only behind the
    /// end of that line it is clear whether more lines follow.
    fn is_full(&self) -> bool {
        let in_only_line = || self.in_line && !self.window.contains(&b'\n');
        self.lines == 0 || (self.window.len() == KEPT && !in_only_line())
    }

    pub(super) fn finish(self) -> TextPage {
        // The last character of a window that was cut is not at fault.
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
        // However the text is cut into chunks, the page is the same.
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
    fn windows() {
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
    fn the_lines_before_an_empty_window_are_counted() {
        for (text, count) in [("a\nb", 2), ("a\nb\n", 2), ("", 0)] {
            let mut pager = LinePager::new(9, 5);
            pager.feed(text.as_bytes());
            assert_eq!(pager.finish().skipped, count, "{text:?}");
        }
    }

    #[test]
    fn behind_a_line_that_is_too_long_there_is_more_only_if_there_is() {
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
    fn a_line_of_exactly_the_limit_is_whole_and_one_more_byte_is_not() {
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
