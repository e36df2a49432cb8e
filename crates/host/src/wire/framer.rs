//! Splits bytes into lines, with memory bounded by the maximum line length.
//!
//! Lines end only at `
//! `: U+2028 and other separators are ordinary text. Blank lines and a trailing `\r` are removed here.
//!
//! ```
//! use haft_host::{LineFramer, FramedLine};
//!
//! let mut framer = LineFramer::default();
//! framer.space().extend_from_slice(b"{\"type\":\"ready\"}\r\n\n{\"type\":");
//! assert_eq!(framer.next(1024), Some(FramedLine::Line(r#"{"type":"ready"}"#.into())));
//! assert_eq!(framer.next(1024), None);
//! assert_eq!(framer.unfinished_len(), 8);
//! assert_eq!(framer.finish(1024), Some(FramedLine::Line(r#"{"type":"#.into())));
//! ```

use std::cell::Cell;

use bytes::{Bytes, BytesMut};
use haft_protocol::codec::PlainSpan;
use haft_protocol::defense::{Defense, is_up};

/// The room for a read: little for short frames, and the capacity of the largest pipe for a long line.
const READ_ROOM: std::ops::RangeInclusive<usize> = 4 * 1024..=1024 * 1024;

/// The length of an unfinished line from which its bytes are scanned only once, for its end and its form.
const LONG: usize = 4 * 1024;

/// The maximum size of a buffer that a stream keeps after a long line.
const MAX_KEPT_BUFFER: usize = 16 * 1024;

/// The maximum size of the buffer that is kept for the next long line.
const MAX_SPARE_BUFFER: usize = 4 * 1024 * 1024;

thread_local! {
    /// The buffer of the last long line and its size, for the next long line of any stream on this thread.
    /// Many streams have an occasional long line, and separate buffers would need more memory.
    static SPARE: Cell<Option<(BytesMut, usize)>> = const { Cell::new(None) };
}

/// A line of a byte stream, or a report about one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FramedLine {
    /// A line without its newline, never blank.
    Line(Bytes),
    /// A line longer than the limit. Returned once, as soon as it is known; the rest of the line is
    /// discarded.
    TooLong,
}

/// Splits a stream of bytes into lines: add bytes to [`space`](Self::space), then take the complete lines
/// with [`next`](Self::next) until there are no more.
///
/// Holds at most one line of the maximum length and the bytes of one read.
#[derive(Debug, Default)]
pub struct LineFramer {
    buffer: BytesMut,
    /// The number of bytes at the start of the buffer without a newline.
    scanned: usize,
    /// The known form of the unfinished line.
    growing: PlainSpan,
    known: PlainSpan,
    /// True while the rest of an overlong line is discarded.
    discarding: bool,
    /// The number of skipped blank lines since the last query.
    blank: usize,
}

impl LineFramer {
    /// Returns the buffer for the next bytes.
    pub fn space(&mut self) -> &mut BytesMut {
        let room = self.buffer.len().clamp(*READ_ROOM.start(), *READ_ROOM.end());
        if self.buffer.capacity() - self.buffer.len() < room
            && let Some(mut spare) = take_spare()
        {
            spare.extend_from_slice(&self.buffer);
            self.buffer = spare;
        }
        self.buffer.reserve(room);
        &mut self.buffer
    }

    /// Adds bytes that were read elsewhere.
    pub fn add(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the number of bytes of the unfinished line, once [`next`](Self::next) returns no more lines.
    pub fn unfinished_len(&self) -> usize {
        self.buffer.len()
    }

    /// Takes the number of skipped blank lines since the last call: they have no meaning but cost time.
    pub fn take_blank(&mut self) -> usize {
        std::mem::take(&mut self.blank)
    }

    /// Returns the known form of the last line: a part that needs no search for the end of a string.
    pub fn known_form(&self) -> PlainSpan {
        self.known
    }

    /// Returns the next line of at most `limit` bytes, if it is complete.
    pub fn next(&mut self, limit: usize) -> Option<FramedLine> {
        loop {
            let from = match self.scanned {
                ..LONG => self.scanned,
                LONG.. => self.growing.grow(&self.buffer, self.scanned),
            };
            let fresh = self.buffer.get(from..).unwrap_or_default();
            let Some(end) = memchr::memchr(b'\n', fresh).map(|at| from + at) else {
                return self.wait(limit);
            };
            self.known = std::mem::take(&mut self.growing);
            let capacity = self.buffer.capacity();
            let line = self.buffer.split_to(end + 1).freeze();
            self.scanned = 0;
            if self.buffer.is_empty() && capacity > MAX_KEPT_BUFFER {
                let buffer = std::mem::take(&mut self.buffer);
                SPARE.set((capacity <= MAX_SPARE_BUFFER).then_some((buffer, capacity)));
            }
            if std::mem::take(&mut self.discarding) {
                continue;
            }
            match classify_line(line, limit) {
                None => self.blank += 1,
                item => return item,
            }
        }
    }

    /// Returns the rest at the end of the stream: a last line without a newline counts as a line.
    pub fn finish(&mut self, limit: usize) -> Option<FramedLine> {
        let rest = std::mem::take(&mut self.buffer).freeze();
        self.scanned = 0;
        self.known = std::mem::take(&mut self.growing);
        if std::mem::take(&mut self.discarding) { None } else { classify_line(rest, limit) }
    }

    /// Handles a missing newline: frees the memory when the line can only be too long. Allows one extra byte,
    /// because a `\r` before the newline does not count.
    fn wait(&mut self, limit: usize) -> Option<FramedLine> {
        if !is_up(Defense::Reassembly) {
            return self.finish(limit);
        }
        self.scanned = self.buffer.len();
        if !self.discarding && self.scanned <= limit + 1 {
            return None;
        }
        self.buffer = BytesMut::new();
        self.scanned = 0;
        self.growing = PlainSpan::default();
        (!std::mem::replace(&mut self.discarding, true)).then_some(FramedLine::TooLong)
    }
}

/// Takes the spare buffer, empty, unless bytes of it are still in use.
fn take_spare() -> Option<BytesMut> {
    let (mut buffer, capacity) = SPARE.take()?;
    buffer.try_reclaim(capacity).then_some(buffer)
}

/// Returns the line without its newline and a preceding `\r`; `None` if only white space is left. The length
/// is checked first, because an incomplete line is known to be too long before it is known to be blank.
fn classify_line(line: Bytes, limit: usize) -> Option<FramedLine> {
    let text = line.strip_suffix(b"\n").unwrap_or(&line);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    match text.len() {
        length if length > limit => Some(FramedLine::TooLong),
        _ if text.trim_ascii().is_empty() && is_up(Defense::BlankLines) => None,
        length => Some(FramedLine::Line(line.slice(..length))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns all items of a stream with these pieces; lines as text, `!` for an overlong one.
    fn items<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Vec<String> {
        let mut framer = LineFramer::default();
        let mut found = Vec::new();
        for piece in pieces {
            framer.space().extend_from_slice(piece);
            found.extend(std::iter::from_fn(|| framer.next(limit)));
        }
        found.extend(framer.finish(limit));
        let text = |item| match item {
            FramedLine::Line(line) => String::from_utf8_lossy(&line).into_owned(),
            FramedLine::TooLong => "!".to_owned(),
        };
        found.into_iter().map(text).collect()
    }

    #[track_caller]
    fn check(stream: &str, expect: &[&str]) {
        assert_eq!(items([stream.as_bytes()], 8), expect, "whole");
        assert_eq!(items(stream.as_bytes().chunks(1), 8), expect, "byte by byte");
    }

    #[test]
    fn lines_end_only_at_newlines() {
        check("one\ntwo\r\n\n  \r\nthree", &["one", "two", "three"]);
        check("a\u{2028}b\n", &["a\u{2028}b"]);
        check("", &[]);
        check("\r", &[]);
    }

    #[test]
    fn accepts_line_of_exactly_the_limit() {
        check("12345678\n", &["12345678"]);
        check("12345678\r\n", &["12345678"]);
        check("123456789\nnext\n", &["!", "next"]);
        check("12345678", &["12345678"]);
        check("123456789", &["!"]);
        check("1234567890123456789\nnext", &["!", "next"]);
        check("        \r\nnext", &["next"]);
        check("          \nnext", &["!", "next"]);
        check("          ", &["!"]);
    }

    #[test]
    fn counts_blank_lines_and_unfinished_bytes() {
        let mut framer = LineFramer::default();
        framer.space().extend_from_slice(b"\n \r\n\none\n\ntw");
        assert!(framer.next(8).is_some());
        assert_eq!(framer.next(8), None);
        assert_eq!((framer.take_blank(), framer.take_blank(), framer.unfinished_len()), (4, 0, 2));
    }

    #[test]
    fn reports_endless_line_once_and_frees_memory() {
        let mut framer = LineFramer::default();
        let mut found = Vec::new();
        for _ in 0..1000 {
            framer.space().extend_from_slice(&[b'x'; 1024]);
            found.extend(framer.next(4096));
            assert!(framer.buffer.len() <= 4096 + 1024 + 1);
        }
        assert_eq!(found, [FramedLine::TooLong]);
    }

    /// Returns a long line that arrives in pieces, as from a stream.
    fn long_line(framer: &mut LineFramer, bytes: usize) -> Bytes {
        let mut left = bytes;
        while left > 0 {
            let piece = left.min(64 * 1024);
            framer.space().extend_from_slice(&vec![b'x'; piece]);
            assert_eq!(framer.next(bytes), None);
            left -= piece;
        }
        framer.space().extend_from_slice(b"\n");
        let Some(FramedLine::Line(line)) = framer.next(bytes) else { panic!("a line") };
        line
    }

    #[test]
    fn reuses_buffer_of_long_line() {
        let (mut one, mut other) = (LineFramer::default(), LineFramer::default());
        let first = long_line(&mut one, 1 << 20);
        assert_eq!(one.buffer.capacity(), 0, "it keeps nothing");
        let place = first.as_ptr();
        let second = long_line(&mut other, 1 << 20);
        assert_ne!(second.as_ptr(), place, "the first line is still needed");
        let place = second.as_ptr();
        drop(second);
        assert_eq!(long_line(&mut one, 1 << 20).as_ptr(), place);
        assert_eq!(long_line(&mut other, 100_000).as_ptr(), place);
        drop(long_line(&mut one, 2 * MAX_SPARE_BUFFER));
        assert!(SPARE.take().is_none(), "an oversized buffer is not kept");
    }

    #[test]
    fn known_form_belongs_to_its_line() {
        let mut framer = LineFramer::default();
        let (plain, line) = ("x".repeat(3 * LONG), "x".repeat(LONG));
        for piece in
            [format!("{{\"{line}"), plain.clone(), format!("\\n{line}"), format!("{plain}\"}}\n{{}}\n")]
        {
            framer.space().extend_from_slice(piece.as_bytes());
            while let Some(FramedLine::Line(line)) = framer.next(1 << 20) {
                let mut expect = PlainSpan::default();
                if line.len() > LONG {
                    // The first piece was searched only for its end.
                    expect.grow(&line, LONG + 2);
                }
                assert_eq!(framer.known_form(), expect, "of {} bytes", line.len());
            }
        }
        assert_eq!(framer.unfinished_len(), 0);
    }

    proptest! {
        #[test]
        fn any_rechunking_gives_the_same_lines(
            bytes in proptest::collection::vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\n'), 1 => Just(b'\r')], 0..200),
            cuts in proptest::collection::vec(1usize..20, 1..200),
        ) {
            let mut rest = bytes.as_slice();
            let mut pieces = Vec::new();
            for cut in cuts {
                let (piece, tail) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = tail;
            }
            pieces.push(rest);
            prop_assert_eq!(items(pieces, 16), items([bytes.as_slice()], 16));
        }
    }
}
