//! Sends frames as lines, complete and in order.

use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use haft_protocol::codec::{self, FrameSet};
use haft_protocol::ext::{ExtensionFrame, Limits, PanelClose, PanelRender};
use haft_protocol::limits::{MAX_LINE, MAX_RESULT_LINE};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::logging::log;

mod panels;
mod stdout;

use panels::PanelThrottle;
use stdout::StdoutWriter;

/// Sends the frames of all handlers. Cheap to clone. Sending never waits and never fails: after the
/// end of the connection, frames are discarded.
#[derive(Debug, Clone)]
pub struct FrameOutbox(Arc<OutboxShared>);

#[derive(Debug)]
struct OutboxShared {
    way: OutputTarget,
    limits: OnceLock<Limits>,
    /// Locked while the content of a panel is sent, so that it precedes a later close or response.
    panels: Mutex<PanelThrottle>,
}

#[derive(Debug)]
enum OutputTarget {
    /// A task writes the lines; see [`write_all`].
    Queue(mpsc::UnboundedSender<OutboxMessage>),
    Stdout(StdoutWriter),
}

/// The receiving end of a [`FrameOutbox`]; see [`write_all`].
pub(crate) type OutboxReceiver = mpsc::UnboundedReceiver<OutboxMessage>;

#[derive(Debug)]
pub(crate) enum OutboxMessage {
    /// Writes this line, newline included.
    Line(String),
    /// Checks when the next panel must be drawn.
    Alarm,
    Close,
}

/// A frame that the host would reject. The text is for the user and the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnsendableFrame {
    #[error("{kind} of {bytes} bytes is longer than the host's limit of {limit}")]
    TooLong { kind: &'static str, bytes: usize, limit: usize },
    #[error("frame has no JSON form")]
    NoJson(#[from] serde_json::Error),
}

impl FrameOutbox {
    /// Creates an outbox whose lines [`write_all`] writes.
    pub(crate) fn with_queue() -> (Self, OutboxReceiver) {
        let (lines, queue) = mpsc::unbounded_channel();
        (Self::new(OutputTarget::Queue(lines)), queue)
    }

    /// Creates an outbox that writes to stdout itself; see [`FrameOutbox::finish`] and
    /// [`FrameOutbox::check`].
    pub(crate) fn for_stdout() -> io::Result<Self> {
        Ok(Self::new(OutputTarget::Stdout(StdoutWriter::new()?)))
    }

    fn new(way: OutputTarget) -> Self {
        Self(Arc::new(OutboxShared { way, limits: OnceLock::new(), panels: Mutex::default() }))
    }

    /// Sets the limits of the host. Until then the protocol's defaults apply.
    pub(crate) fn set_limits(&self, limits: Limits) {
        // A second `hello_ack` changes nothing.
        let _ = self.0.limits.set(limits);
    }

    /// Sends a frame, unless the host would reject its line and end the extension.
    pub(crate) fn send(&self, frame: impl Into<ExtensionFrame>) -> Result<(), UnsendableFrame> {
        let frame = frame.into();
        let line = self.encode(&frame)?;
        // A handler's panel contents precede its response, which may open a panel; a test may
        // inspect them.
        let _panels = is_answer(&frame).then(|| self.flush_panels());
        self.send_line(line);
        Ok(())
    }

    /// Sends a notification. A frame that the host would reject goes to the log instead.
    pub(crate) fn push(&self, frame: impl Into<ExtensionFrame>) {
        drop_unsendable(self.send(frame));
    }

    /// Sends several frames like [`FrameOutbox::push`], in one write.
    pub(crate) fn push_all(&self, frames: &[ExtensionFrame]) {
        let lines = frames.iter().filter_map(|frame| drop_unsendable(self.encode(frame)));
        self.send_line(lines.collect());
    }

    /// Draws a panel: at once, or with the last of several contents after a short interval.
    pub(crate) fn render(&self, panel: PanelRender) {
        let mut panels = self.lock_panels();
        let waits = panels.deadline();
        match panels.render(panel, Instant::now()) {
            Some(panel) => self.push(panel),
            None if panels.deadline() == waits => {}
            None => match &self.0.way {
                OutputTarget::Queue(queue) => drop(queue.send(OutboxMessage::Alarm)),
                OutputTarget::Stdout(stdout) => stdout.set_alarm(self),
            },
        }
    }

    pub(crate) fn close_panel(&self, panel: PanelClose) {
        let mut panels = self.lock_panels();
        panels.forget(&panel.panel_id);
        self.push(panel);
    }

    /// Sends a raw line, newline included, after the waiting panel contents.
    pub fn send_marker(&self, line: &str) {
        let _panels = self.flush_panels();
        self.send_line(line.to_owned());
    }

    /// Ends the output; the writer stops after the lines that were sent before.
    pub(crate) fn close(&self) {
        drop(self.flush_panels());
        match &self.0.way {
            OutputTarget::Queue(queue) => drop(queue.send(OutboxMessage::Close)),
            OutputTarget::Stdout(stdout) => stdout.close(),
        }
    }

    /// Fails once, with the reason, if a line could not be written. Never fails if another task
    /// writes.
    pub(crate) fn check(&self) -> io::Result<()> {
        match &self.0.way {
            OutputTarget::Queue(_) => Ok(()),
            OutputTarget::Stdout(stdout) => stdout.check(),
        }
    }

    /// Waits after [`FrameOutbox::close`] until all lines are written, unless another task writes
    /// them.
    pub(crate) fn finish(&self) -> io::Result<()> {
        match &self.0.way {
            OutputTarget::Queue(_) => Ok(()),
            OutputTarget::Stdout(stdout) => stdout.finish(),
        }
    }

    fn encode(&self, frame: &ExtensionFrame) -> Result<String, UnsendableFrame> {
        let line = codec::encode(frame)?;
        let is_long = matches!(frame, ExtensionFrame::ToolResult(_))
            || matches!(frame, ExtensionFrame::EventInterceptResponse(response) if response.is_long_answer());
        let limit = match (self.0.limits.get(), is_long) {
            (Some(limits), true) => limits.max_result_line,
            (Some(limits), false) => limits.max_line,
            (None, true) => MAX_RESULT_LINE,
            (None, false) => MAX_LINE,
        };
        let bytes = line.trim_end().len();
        if bytes > limit {
            return Err(UnsendableFrame::TooLong { kind: frame.kind(), bytes, limit });
        }
        Ok(line)
    }

    /// Sends a raw line, newline included.
    pub fn send_line(&self, line: String) {
        match &self.0.way {
            OutputTarget::Queue(queue) => drop(queue.send(OutboxMessage::Line(line))),
            OutputTarget::Stdout(stdout) => stdout.send(line.as_bytes(), self),
        }
    }

    /// The writer thread that [`StdoutWriter`] starts.
    fn write_stdout(&self) {
        if let OutputTarget::Stdout(stdout) = &self.0.way {
            stdout.write_all(|| self.show_panels());
        }
    }

    fn lock_panels(&self) -> MutexGuard<'_, PanelThrottle> {
        self.0.panels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush_panels(&self) -> MutexGuard<'_, PanelThrottle> {
        let mut panels = self.lock_panels();
        if panels.deadline().is_some() {
            panels.flush(Instant::now()).into_iter().for_each(|panel| self.push(panel));
        }
        panels
    }

    fn show_panels(&self) -> Option<Instant> {
        let mut panels = self.lock_panels();
        if panels.deadline().is_some() {
            panels.take_due(Instant::now()).into_iter().for_each(|panel| self.push(panel));
        }
        panels.deadline()
    }
}

/// Writes the sent lines, one write each, until the outbox is closed.
pub(crate) async fn write_all<W: AsyncWrite + Unpin>(
    outbox: &FrameOutbox,
    mut queue: OutboxReceiver,
    mut writer: W,
) -> io::Result<()> {
    loop {
        let alarm = outbox.show_panels();
        let next = tokio::select! {
            () = sleep_until_alarm(alarm) => continue,
            next = queue.recv() => next,
        };
        match next {
            Some(OutboxMessage::Line(line)) => {
                writer.write_all(line.as_bytes()).await?;
                writer.flush().await?;
            }
            Some(OutboxMessage::Alarm) => {}
            Some(OutboxMessage::Close) | None => return writer.shutdown().await,
        }
    }
}

async fn sleep_until_alarm(alarm: Option<Instant>) {
    match alarm {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

fn is_answer(frame: &ExtensionFrame) -> bool {
    use ExtensionFrame::{
        CommandCompletionsResponse, CommandResponse, EventInterceptResponse, ExtResult, ToolResult,
    };
    matches!(
        frame,
        CommandCompletionsResponse(_)
            | CommandResponse(_)
            | EventInterceptResponse(_)
            | ExtResult(_)
            | ToolResult(_)
    )
}

fn drop_unsendable<T>(sent: Result<T, UnsendableFrame>) -> Option<T> {
    sent.inspect_err(|error| log(format_args!("frame dropped: {error}"))).ok()
}
