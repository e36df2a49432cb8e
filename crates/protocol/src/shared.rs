//! Parts of a long line that are kept without being copied: the line lives as long as they do.
//!
//! serde hands on a string as text and cannot say whose text it is, so the line that is read on a thread is noted here
//! for the time of the reading.

use std::cell::RefCell;

use bytestring::ByteString;

/// Bytes of a part that is worth a line: less is copied in no time.
pub(crate) const LEAST: usize = 64 * 1024;

thread_local! {
    /// The line that this thread reads.
    static LINE: RefCell<ByteString> = RefCell::default();
}

pub(crate) fn while_reading<T>(line: &ByteString, read: impl FnOnce() -> T) -> T {
    /// The previous line, put back even after a panic: a line must not live on here.
    struct PreviousLine(ByteString);

    impl Drop for PreviousLine {
        fn drop(&mut self) {
            LINE.replace(std::mem::take(&mut self.0));
        }
    }

    let _before = PreviousLine(LINE.replace(line.clone()));
    read()
}

/// A text as something that can be kept: a part of the line that is read when it is most of that, otherwise a copy.
/// What is small would keep a whole line.
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
    fn only_most_of_a_long_line_is_shared() {
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
