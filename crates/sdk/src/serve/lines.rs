//! Lines from a byte stream, cut at `\n` alone and never longer than a host may send.

use std::io;

use haft_protocol::error::DecodeError;
use haft_protocol::limits::MAX_RESULT_LINE;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use crate::error::ServeError;

/// What the buffer keeps between lines: one large frame must not hold its memory for ever.
const KEPT: usize = 64 * 1024;

/// The lines of a stream.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(KEPT, reader), line: Vec::new() }
    }

    /// The next line without its newline; `None` at the end of input. What follows the last newline is no line: the
    /// peer died while writing it.
    pub(crate) async fn next(&mut self) -> Result<Option<&[u8]>, ServeError> {
        self.line.clear();
        self.line.shrink_to(KEPT);
        // Room for the newline and for a carriage return before it.
        let most = MAX_RESULT_LINE as u64 + 2;
        let read = match (&mut self.reader).take(most).read_until(b'\n', &mut self.line).await {
            // A host that was killed resets some kinds of connection instead of closing them.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            read => read?,
        };
        match self.line.last() {
            Some(b'\n') => {
                self.line.pop();
                Ok(Some(&self.line))
            }
            _ if read as u64 == most => Err(DecodeError::TooLong { limit: MAX_RESULT_LINE }.into()),
            _ => Ok(None),
        }
    }
}
