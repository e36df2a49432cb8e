//! Truncation of tool output: pure, by bytes and lines, at the head or at the tail.

/// Bytes of output that a tool result may hold: 50 KB.
pub const MAX_BYTES: usize = 50 * 1024;

/// Lines of output that a tool result may hold.
pub const MAX_LINES: usize = 2_000;

/// The limits of a text. Both limits hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
// Closed: the two measures of a text.
pub struct TruncationLimits {
    /// In bytes, line ends included.
    pub bytes: usize,
    /// In lines; text after the last line end is a line too.
    pub lines: usize,
}

impl Default for TruncationLimits {
    fn default() -> Self {
        Self { bytes: MAX_BYTES, lines: MAX_LINES }
    }
}

/// The part of a text that was kept, and the size of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TruncatedText<'a> {
    /// The text that was kept: whole lines, unless `cut_line`.
    pub text: &'a str,
    /// Lines that were kept, a cut one included.
    pub kept_lines: usize,
    /// Lines that were left out altogether.
    pub omitted_lines: usize,
    /// Bytes that were left out.
    pub omitted_bytes: usize,
    /// True if a single line was longer than the limit, so that only a part of it was kept.
    pub cut_line: bool,
}

impl TruncatedText<'_> {
    /// True if nothing was left out.
    pub fn is_whole(&self) -> bool {
        self.omitted_bytes == 0
    }
}

/// Keeps the beginning of a text.
pub fn head(text: &str, limits: TruncationLimits) -> TruncatedText<'_> {
    let fitting = fitting_lines(text.split_inclusive('\n'), limits);
    let (end, cut_line) = match fitting.must_cut_line(text, limits) {
        true => (text.floor_char_boundary(limits.bytes), true),
        false => (fitting.bytes, false),
    };
    let (kept, _) = text.split_at(end);
    report(text, kept, fitting.lines + usize::from(cut_line), cut_line)
}

/// Keeps the end of a text.
pub fn tail(text: &str, limits: TruncationLimits) -> TruncatedText<'_> {
    let fitting = fitting_lines(text.split_inclusive('\n').rev(), limits);
    let (start, cut_line) = match fitting.must_cut_line(text, limits) {
        true => (text.ceil_char_boundary(text.len().saturating_sub(limits.bytes)), true),
        false => (text.len() - fitting.bytes, false),
    };
    let (_, kept) = text.split_at(start);
    report(text, kept, fitting.lines + usize::from(cut_line), cut_line)
}

/// The number of whole lines that fit.
struct FittingLines {
    bytes: usize,
    lines: usize,
}

impl FittingLines {
    /// True if not even one line fits and at least one line is wanted, so that the first line must be cut.
    fn must_cut_line(&self, text: &str, limits: TruncationLimits) -> bool {
        self.lines == 0 && limits.lines > 0 && limits.bytes > 0 && !text.is_empty()
    }
}

fn fitting_lines<'a>(lines: impl Iterator<Item = &'a str>, limits: TruncationLimits) -> FittingLines {
    let mut fitting = FittingLines { bytes: 0, lines: 0 };
    for line in lines.take(limits.lines) {
        if fitting.bytes + line.len() > limits.bytes {
            break;
        }
        fitting.bytes += line.len();
        fitting.lines += 1;
    }
    fitting
}

fn report<'a>(text: &str, kept: &'a str, kept_lines: usize, cut_line: bool) -> TruncatedText<'a> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let all_lines = ends + usize::from(!text.is_empty() && !text.ends_with('\n'));
    TruncatedText {
        text: kept,
        kept_lines,
        omitted_lines: all_lines - kept_lines,
        omitted_bytes: text.len() - kept.len(),
        cut_line,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, bytes: usize, lines: usize, head_kept: &str, tail_kept: &str) {
        let limits = TruncationLimits { bytes, lines };
        assert_eq!(head(text, limits).text, head_kept, "head");
        assert_eq!(tail(text, limits).text, tail_kept, "tail");
    }

    #[test]
    fn whole_lines_are_kept() {
        check("", 10, 10, "", "");
        check("a\nb\n", 10, 10, "a\nb\n", "a\nb\n");
        check("a\nb\nc", 10, 2, "a\nb\n", "b\nc");
        check("aaa\nbbb\nccc\n", 8, 9, "aaa\nbbb\n", "bbb\nccc\n");
        check("aaa\nbbb\nccc\n", 7, 9, "aaa\n", "ccc\n");
        check("a\n\n\n", 10, 2, "a\n\n", "\n\n");
        check("abc", 0, 10, "", "");
        check("abc", 10, 0, "", "");
    }

    #[test]
    fn a_line_longer_than_the_limit_is_cut_between_characters() {
        check("aéé\nb", 4, 9, "aé", "b");
        check("ääää", 5, 9, "ää", "ää");
        let cut = head("ääää\nb\n", TruncationLimits { bytes: 5, lines: 9 });
        assert!(cut.cut_line);
        assert_eq!((cut.kept_lines, cut.omitted_lines, cut.omitted_bytes), (1, 1, 7));
    }

    #[test]
    fn accepts_text_at_the_exact_limits() {
        let lines = "x\n".repeat(MAX_LINES);
        assert!(head(&lines, TruncationLimits::default()).is_whole());
        let one_more = format!("{lines}x");
        assert_eq!(head(&one_more, TruncationLimits::default()).omitted_lines, 1);
        assert_eq!(tail(&one_more, TruncationLimits::default()).omitted_lines, 1);
        let bytes = "x".repeat(MAX_BYTES);
        assert!(head(&bytes, TruncationLimits::default()).is_whole());
        assert!(head(&format!("{bytes}x"), TruncationLimits::default()).cut_line);
    }

    proptest! {
        #[test]
        fn kept_and_omitted_parts_add_up(text in "[aä\n😀]{0,40}", bytes in 0usize..60, lines in 0usize..20) {
            let limits = TruncationLimits { bytes, lines };
            let all = text.split_inclusive('\n').count();
            for part in [head(&text, limits), tail(&text, limits)] {
                prop_assert!(part.text.len() <= bytes);
                prop_assert!(part.text.split_inclusive('\n').count() <= lines);
                prop_assert_eq!(part.text.len() + part.omitted_bytes, text.len());
                prop_assert_eq!(part.kept_lines + part.omitted_lines, all);
            }
            prop_assert!(text.starts_with(head(&text, limits).text));
            prop_assert!(text.ends_with(tail(&text, limits).text));
        }
    }
}
