//! Splits bytes into lines at `\n`, without a copy and up to the maximum length of the host.

use std::io;
use std::ops::Range;

use haft_protocol::error::DecodeError;
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::error::ServeError;

/// The minimum buffer for a read. The standard library's stdin reads at least this size without an
/// extra copy.
const ROOM: usize = 8 * 1024;

/// The capacity that the buffer keeps between lines, so that one large frame does not hold its
/// memory forever.
const KEPT: usize = 64 * 1024;

/// The length of a carriage return and a newline, which do not count.
const LINE_END: usize = 2;

/// The bytes that were read and not yet used. This type reads nothing itself.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    buffer: Vec<u8>,
    start: usize,
    /// The bytes before this index contain no newline.
    searched: usize,
    end: usize,
    longest: usize,
}

impl LineSplitter {
    pub(crate) fn new(longest: usize) -> Self {
        Self { buffer: vec![0; 2 * ROOM], start: 0, searched: 0, end: 0, longest }
    }

    /// Returns the range of the next complete line, without its newline, for [`LineSplitter::get`].
    /// Returns `None` if more input is needed. Text after the last newline is not a line: the peer
    /// ended while writing it.
    pub(crate) fn next_line(&mut self) -> Result<Option<Range<usize>>, DecodeError> {
        let unsearched = self.buffer.get(self.searched..self.end).unwrap_or_default();
        let Some(at) = memchr(b'\n', unsearched) else {
            self.searched = self.end;
            let too_long = self.end - self.start >= self.longest + LINE_END;
            return if too_long { Err(DecodeError::TooLong { limit: self.longest }) } else { Ok(None) };
        };
        let line = self.start..self.searched + at;
        self.start = line.end + 1;
        self.searched = self.start;
        Ok(Some(line))
    }

    /// Returns the bytes of a line, valid until the next call of [`LineSplitter::read_buffer`].
    pub(crate) fn get(&self, line: Range<usize>) -> &[u8] {
        self.buffer.get(line).unwrap_or_default()
    }

    /// Returns the buffer to read into; report the length with [`LineSplitter::advance`].
    pub(crate) fn read_buffer(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.move_to_front();
            self.buffer.truncate(KEPT);
            self.buffer.shrink_to(KEPT);
        }
        if self.buffer.len() - self.end < ROOM {
            self.move_to_front();
        }
        if self.buffer.len() - self.end < ROOM {
            self.buffer.resize((2 * self.buffer.len()).min(self.longest + LINE_END + ROOM), 0);
        }
        self.buffer.get_mut(self.end..).unwrap_or_default()
    }

    pub(crate) fn advance(&mut self, bytes: usize) {
        self.end += bytes;
    }

    fn move_to_front(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.searched -= self.start;
        self.end -= self.start;
        self.start = 0;
    }
}

/// Reads lines from a stream.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    cutter: LineSplitter,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Creates a reader. `longest` is in bytes, without the newline.
    pub fn new(reader: R, longest: usize) -> Self {
        Self { reader, cutter: LineSplitter::new(longest) }
    }

    /// Returns the next line without its newline; `None` at the end of input.
    ///
    /// # Errors
    /// If the line is too long or the stream breaks.
    pub async fn next(&mut self) -> Result<Option<&[u8]>, ServeError> {
        loop {
            if let Some(line) = self.cutter.next_line()? {
                return Ok(Some(self.cutter.get(line)));
            }
            match end_of_reset(self.reader.read(self.cutter.read_buffer()).await)? {
                0 => return Ok(None),
                read => self.cutter.advance(read),
            }
        }
    }
}

/// Treats a reset as the end of input: a killed host resets some kinds of connection instead of
/// closing them.
pub(crate) fn end_of_reset(read: io::Result<usize>) -> io::Result<usize> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::limits::MAX_RESULT_LINE;

    use super::*;

    const LONGEST: usize = MAX_RESULT_LINE + LINE_END;

    /// Feeds the pieces, one read each if they fit. Returns the lines, and true if an error ended
    /// them.
    fn lines(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, bool) {
        let (mut cutter, mut lines) = (LineSplitter::new(MAX_RESULT_LINE), Vec::new());
        for piece in pieces {
            let mut rest = *piece;
            while !rest.is_empty() {
                let room = cutter.read_buffer();
                assert!(room.len() >= ROOM);
                let (now, later) = rest.split_at(rest.len().min(room.len()));
                room[..now.len()].copy_from_slice(now);
                cutter.advance(now.len());
                rest = later;
                loop {
                    match cutter.next_line() {
                        Ok(Some(line)) => lines.push(cutter.get(line).to_vec()),
                        Ok(None) => break,
                        Err(_) => return (lines, true),
                    }
                }
            }
        }
        (lines, false)
    }

    #[track_caller]
    fn check(pieces: &[&str], expect: &[&str]) {
        let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
        let expect = expect.iter().map(|line| line.as_bytes().to_vec()).collect();
        assert_eq!(lines(&pieces), (expect, false));
    }

    #[test]
    fn splits_lines_at_any_read_boundary() {
        check(&[], &[]);
        check(&["a\nb\n"], &["a", "b"]);
        check(&["a", "\n", "b\nc"], &["a", "b"]);
        check(&["\n\n", "a\r\n"], &["", "", "a\r"]);
        let long = "x".repeat(3 * ROOM);
        check(&["a\n", &long, "\nb\n"], &["a", &long, "b"]);
        check(&["ab\n".repeat(ROOM).as_str()], &vec!["ab"; ROOM]);
    }

    #[test]
    fn line_length_limit_is_exact() {
        let longest = vec![b'x'; LONGEST - 1];
        assert_eq!(lines(&[&longest, b"\n", b"a\n"]), (vec![longest.clone(), b"a".to_vec()], false));
        assert_eq!(lines(&[b"a\n", &longest, b"xx"]), (vec![b"a".to_vec()], true));
    }

    #[test]
    fn buffer_shrinks_after_a_large_line() {
        let mut cutter = LineSplitter::new(MAX_RESULT_LINE);
        for _ in 0..1024 {
            let room = cutter.read_buffer().len();
            cutter.advance(room.min(ROOM));
            assert_eq!(cutter.next_line().ok(), Some(None));
        }
        cutter.read_buffer()[0] = b'\n';
        cutter.advance(1);
        assert_eq!(cutter.next_line().ok().flatten().map(|line| line.len()), Some(1024 * ROOM));
        cutter.read_buffer();
        assert!(cutter.buffer.capacity() <= KEPT);
    }
}
