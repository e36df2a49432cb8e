//! The way out: frames become lines, and lines leave one by one, in order.

use std::io;
use std::sync::{Arc, OnceLock};

use haft_protocol::codec::{self, FrameSet};
use haft_protocol::ext::{ExtensionFrame, Limits};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::logging::log;

/// Takes frames from every handler. Cheap to clone; sending never waits and never fails: once the connection is
/// over, frames go nowhere.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    queue: mpsc::UnboundedSender<Outgoing>,
    limits: Arc<OnceLock<Limits>>,
}

/// The other end of an [`Outbox`]; see [`write_all`].
pub(crate) type Queue = mpsc::UnboundedReceiver<Outgoing>;

/// One thing for the writer to do.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// Write this line, newline included.
    Line(String),
    /// Nothing follows.
    Close,
}

/// A frame that the host would not take. The text is for the user and the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsendable {
    #[error("{kind} of {bytes} bytes is longer than the host's limit of {limit}")]
    TooLong { kind: &'static str, bytes: usize, limit: usize },
    #[error("frame has no JSON form")]
    NoJson(#[from] serde_json::Error),
}

impl Outbox {
    pub(crate) fn new() -> (Self, Queue) {
        let (queue, receiver) = mpsc::unbounded_channel();
        (Self { queue, limits: Arc::default() }, receiver)
    }

    /// Keeps to the limits the host named. Before that the protocol's own hold.
    pub(crate) fn set_limits(&self, limits: Limits) {
        // A second `hello_ack` changes nothing.
        let _ = self.limits.set(limits);
    }

    /// Sends a frame, unless the host would refuse its line and end the extension for it.
    pub(crate) fn send(&self, frame: impl Into<ExtensionFrame>) -> Result<(), Unsendable> {
        let frame = frame.into();
        let line = codec::encode(&frame)?;
        let limits = self.limits.get().copied().unwrap_or_default();
        let is_result = matches!(frame, ExtensionFrame::ToolResult(_));
        let limit = if is_result { limits.max_result_line } else { limits.max_line };
        let bytes = line.trim_end().len();
        if bytes > limit {
            return Err(Unsendable::TooLong { kind: frame.kind(), bytes, limit });
        }
        self.line(line);
        Ok(())
    }

    /// Sends a frame that nobody waits for; one that the host would refuse goes to the log instead.
    pub(crate) fn push(&self, frame: impl Into<ExtensionFrame>) {
        if let Err(error) = self.send(frame) {
            log(format_args!("frame dropped: {error}"));
        }
    }

    /// Sends a line as it is.
    pub(crate) fn line(&self, line: String) {
        let _ = self.queue.send(Outgoing::Line(line));
    }

    /// Says that nothing follows; the writer ends after what was sent before.
    pub(crate) fn close(&self) {
        let _ = self.queue.send(Outgoing::Close);
    }
}

/// Writes what is sent, one write a frame, until the outbox is closed.
pub(crate) async fn write_all<W: AsyncWrite + Unpin>(mut queue: Queue, mut writer: W) -> io::Result<()> {
    while let Some(Outgoing::Line(line)) = queue.recv().await {
        writer.write_all(line.as_bytes()).await?;
        writer.flush().await?;
    }
    writer.shutdown().await
}
