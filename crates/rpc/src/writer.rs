//! The one writer of event lines.

use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::line;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// Writes events, a line each. One writer for one output: lines of two writers could be mixed.
#[derive(Debug)]
pub struct EventWriter<W> {
    output: W,
}

/// An event was not written; the output may end in the middle of a line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The event has no JSON form.
    #[error("cannot write the event as JSON")]
    Encode(#[from] serde_json::Error),
    /// The output does not take it; the reader is probably gone.
    #[error("cannot write the event to the output")]
    Output(#[from] std::io::Error),
}

impl<W: AsyncWrite + Unpin> EventWriter<W> {
    /// A writer to `output`.
    pub fn new(output: W) -> Self {
        Self { output }
    }

    /// Writes one event and flushes, so that a reader sees it at once.
    ///
    /// # Errors
    /// [`WriteError`] when the output does not take the line.
    pub async fn write(&mut self, event: &AgentEvent) -> Result<(), WriteError> {
        let mut line = line(event)?;
        line.push('\n');
        self.output.write_all(line.as_bytes()).await?;
        self.output.flush().await?;
        Ok(())
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.output
    }
}
