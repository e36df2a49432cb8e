//! Parts of a long line that are kept without a copy: the line lives as long as they do.
//!
//! serde passes a string as text and not as part of its line. This module therefore stores the line
//! that a thread reads, for the duration of the read.

use std::cell::RefCell;

use bytestring::ByteString;

/// The minimum length of a part that keeps its line; shorter parts are copied.
pub(crate) const LEAST: usize = 64 * 1024;

thread_local! {
    /// The line that this thread is reading.
    static LINE: RefCell<ByteString> = RefCell::default();
}

pub(crate) fn while_reading<T>(line: &ByteString, read: impl FnOnce() -> T) -> T {
    /// The previous line, restored even after a panic, so that no line stays stored.
    struct PreviousLine(ByteString);

    impl Drop for PreviousLine {
        fn drop(&mut self) {
            LINE.replace(std::mem::take(&mut self.0));
        }
    }

    let _before = PreviousLine(LINE.replace(line.clone()));
    read()
}

/// Returns an owned text: a part of the current line if it is most of the line, otherwise a copy. A
/// small part would keep a whole line in memory.
pub(crate) fn share_or_copy(text: &str) -> ByteString {
    LINE.with_borrow(|line| {
        let (whole, part) = (line.as_bytes().as_ptr_range(), text.as_bytes().as_ptr_range());
        let inside = whole.start <= part.start && part.end <= whole.end;
        let most = text.len() >= LEAST && text.len() >= line.len() / 2;
        if inside && most { line.slice_ref(text) } else { ByteString::from(text) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_only_large_parts_of_a_line() {
        let line = ByteString::from("x".repeat(2 * LEAST));
        let shares = |text: &str| share_or_copy(text).as_ptr() == text.as_ptr();
        while_reading(&line, || {
            assert!(shares(&line));
            assert!(shares(&line[LEAST..]));
            assert!(!shares(&line[LEAST + 1..]));
            assert!(!shares(&"x".repeat(2 * LEAST)));
        });
        assert!(!shares(&line), "it is not read any more");
        let short = ByteString::from("x".repeat(LEAST - 1));
        while_reading(&short, || assert!(!shares(&short)));
    }
}
