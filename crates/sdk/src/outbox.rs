//! The way out: frames become lines, and lines leave one by one, in order.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haft_protocol::codec::{self, FrameSet};
use haft_protocol::ext::{ExtensionFrame, Limits};
use haft_protocol::limits::{MAX_LINE, MAX_RESULT_LINE};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::logging::log;

/// Takes frames from every handler. Cheap to clone; sending never waits and never fails: once the connection is
/// over, frames go nowhere.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    queue: mpsc::UnboundedSender<Outgoing>,
    limits: Arc<OnceLock<Limits>>,
    shortcut: Option<Arc<Shortcut>>,
}

/// The other end of an [`Outbox`]; see [`write_all`].
#[derive(Debug)]
pub(crate) struct Queue {
    lines: mpsc::UnboundedReceiver<Outgoing>,
    shortcut: Option<Arc<Shortcut>>,
}

/// What a pipe takes whole or not at all, on every system (POSIX asks for 512, Linux gives 4096).
const WHOLE: usize = 512;

/// The way past the queue: a pipe that does not block. A short line goes straight into it while the queue is empty,
/// which saves the writer's wake and a turn of its runtime.
#[derive(Debug)]
struct Shortcut {
    pipe: File,
    /// Lines that are queued or being written. Locked while the pipe is tried, so that no line gets into another.
    queued: Mutex<usize>,
}

impl Shortcut {
    /// Whether the line is out. If not, it counts as queued.
    fn take(&self, line: &str) -> bool {
        let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
        // A pipe that is full or broken is the writer's business.
        let out = *queued == 0
            && line.len() <= WHOLE
            && (&self.pipe).write(line.as_bytes()).is_ok_and(|written| written == line.len());
        *queued += usize::from(!out);
        out
    }

    /// Counts a line that is never written, so that nothing takes this way from here on.
    fn close(&self) {
        *self.queued.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn written(&self) {
        *self.queued.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}

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
    /// `pipe` is another handle on what the queue is written to, if that is a pipe that does not block.
    pub(crate) fn new(pipe: Option<File>) -> (Self, Queue) {
        let (queue, lines) = mpsc::unbounded_channel();
        let shortcut = pipe.map(|pipe| Arc::new(Shortcut { pipe, queued: Mutex::default() }));
        (Self { queue, limits: Arc::default(), shortcut: shortcut.clone() }, Queue { lines, shortcut })
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
        let is_result = matches!(frame, ExtensionFrame::ToolResult(_));
        let limit = match (self.limits.get(), is_result) {
            (Some(limits), true) => limits.max_result_line,
            (Some(limits), false) => limits.max_line,
            (None, true) => MAX_RESULT_LINE,
            (None, false) => MAX_LINE,
        };
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
        if self.shortcut.as_ref().is_some_and(|shortcut| shortcut.take(&line)) {
            return;
        }
        let _ = self.queue.send(Outgoing::Line(line));
    }

    /// Says that nothing follows; the writer ends after what was sent before.
    pub(crate) fn close(&self) {
        if let Some(shortcut) = &self.shortcut {
            shortcut.close();
        }
        let _ = self.queue.send(Outgoing::Close);
    }
}

/// Writes what is sent, one write a frame, until the outbox is closed.
pub(crate) async fn write_all<W: AsyncWrite + Unpin>(mut queue: Queue, mut writer: W) -> io::Result<()> {
    while let Some(Outgoing::Line(line)) = queue.lines.recv().await {
        writer.write_all(line.as_bytes()).await?;
        writer.flush().await?;
        if let Some(shortcut) = &queue.shortcut {
            shortcut.written();
        }
    }
    writer.shutdown().await
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::Read as _;
    use std::os::fd::OwnedFd;

    use super::*;

    /// What goes straight into the pipe.
    #[track_caller]
    fn check(send: impl FnOnce(&Outbox), expect: &str) {
        let (mut reader, writer) = io::pipe().unwrap();
        let (outbox, queue) = Outbox::new(Some(File::from(OwnedFd::from(writer))));
        send(&outbox);
        drop((outbox, queue));
        let mut out = String::new();
        reader.read_to_string(&mut out).unwrap();
        assert_eq!(out, expect);
    }

    #[test]
    fn a_short_line_goes_straight_out_unless_something_is_before_it() {
        check(|outbox| ["1\n", "2\n"].into_iter().for_each(|line| outbox.line(line.into())), "1\n2\n");
        let long = format!("{}\n", "x".repeat(WHOLE));
        check(|outbox| [&long, "2\n"].into_iter().for_each(|line| outbox.line(line.to_owned())), "");
    }

    #[test]
    fn nothing_goes_out_after_the_close() {
        let send = |outbox: &Outbox| {
            outbox.line("1\n".into());
            outbox.close();
            outbox.line("2\n".into());
        };
        check(send, "1\n");
    }
}
