//! The lines of a stream that is read without blocking.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::cutter::Cutter;
use crate::error::ServeError;

/// The lines of a stream.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    cutter: Cutter,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// `longest` in bytes, without the newline.
    pub(crate) fn new(reader: R, longest: usize) -> Self {
        Self { reader, cutter: Cutter::new(longest) }
    }

    /// The next line without its newline; `None` at the end of input.
    pub(crate) async fn next(&mut self) -> Result<Option<&[u8]>, ServeError> {
        loop {
            if let Some(line) = self.cutter.cut()? {
                return Ok(Some(self.cutter.get(line)));
            }
            match end_of_reset(self.reader.read(self.cutter.room()).await)? {
                0 => return Ok(None),
                read => self.cutter.filled(read),
            }
        }
    }
}

/// A host that was killed resets some kinds of connection instead of closing them.
pub(crate) fn end_of_reset(read: io::Result<usize>) -> io::Result<usize> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
        read => read,
    }
}
