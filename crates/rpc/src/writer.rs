//! The writer of event lines.

use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::line;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// Writes events, one per line. Use one writer per output: the lines of two writers could mix.
#[derive(Debug)]
pub struct EventWriter<W> {
    output: W,
}

/// An event was not written; the output may end with an incomplete line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The event has no JSON form.
    #[error("cannot write the event as JSON")]
    Encode(#[from] serde_json::Error),
    /// The output cannot be written, probably because its reader is gone.
    #[error("cannot write the event to the output")]
    Output(#[from] std::io::Error),
}

impl<W: AsyncWrite + Unpin> EventWriter<W> {
    /// Creates a writer to `output`.
    pub fn new(output: W) -> Self {
        Self { output }
    }

    /// Writes one event and flushes, so that a reader sees it at once.
    ///
    /// # Errors
    /// [`WriteError`] if the line cannot be written.
    pub async fn write(&mut self, event: &AgentEvent) -> Result<(), WriteError> {
        let mut line = line(event)?;
        line.push('\n');
        self.output.write_all(line.as_bytes()).await?;
        self.output.flush().await?;
        Ok(())
    }

    /// Returns the output.
    pub fn into_inner(self) -> W {
        self.output
    }
}
