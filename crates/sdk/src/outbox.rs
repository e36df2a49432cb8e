//! The way out: frames become lines, and lines leave whole and in order.

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

/// Takes frames from every handler. Cheap to clone; sending never waits and never fails: once the connection is
/// over, frames go nowhere.
#[derive(Debug, Clone)]
pub(crate) struct FrameOutbox(Arc<OutboxShared>);

#[derive(Debug)]
struct OutboxShared {
    way: OutputTarget,
    limits: OnceLock<Limits>,
    /// Held while a panel's content is sent, so that none gets behind a close or an answer that came later.
    panels: Mutex<PanelThrottle>,
}

#[derive(Debug)]
enum OutputTarget {
    /// A task that writes them; see [`write_all`].
    Queue(mpsc::UnboundedSender<OutboxMessage>),
    Stdout(StdoutWriter),
}

/// The other end of an [`FrameOutbox`]; see [`write_all`].
pub(crate) type OutboxReceiver = mpsc::UnboundedReceiver<OutboxMessage>;

#[derive(Debug)]
pub(crate) enum OutboxMessage {
    /// Write this, newline included.
    Line(String),
    /// Look when the next panel is to be drawn.
    Alarm,
    Close,
}

/// A frame that the host would not take. The text is for the user and the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnsendableFrame {
    #[error("{kind} of {bytes} bytes is longer than the host's limit of {limit}")]
    TooLong { kind: &'static str, bytes: usize, limit: usize },
    #[error("frame has no JSON form")]
    NoJson(#[from] serde_json::Error),
}

impl FrameOutbox {
    /// One whose lines [`write_all`] writes.
    pub(crate) fn with_queue() -> (Self, OutboxReceiver) {
        let (lines, queue) = mpsc::unbounded_channel();
        (Self::new(OutputTarget::Queue(lines)), queue)
    }

    /// One that writes to stdout itself; see [`FrameOutbox::finish`] and [`FrameOutbox::check`].
    pub(crate) fn for_stdout() -> io::Result<Self> {
        Ok(Self::new(OutputTarget::Stdout(StdoutWriter::new()?)))
    }

    fn new(way: OutputTarget) -> Self {
        Self(Arc::new(OutboxShared { way, limits: OnceLock::new(), panels: Mutex::default() }))
    }

    /// Keeps to the limits the host named. Before that the protocol's own hold.
    pub(crate) fn set_limits(&self, limits: Limits) {
        // A second `hello_ack` changes nothing.
        let _ = self.0.limits.set(limits);
    }

    /// Sends a frame, unless the host would refuse its line and end the extension for it.
    pub(crate) fn send(&self, frame: impl Into<ExtensionFrame>) -> Result<(), UnsendableFrame> {
        let frame = frame.into();
        let line = self.encode(&frame)?;
        // A handler's drawings come before its answer: that may open a panel, and a test may look at what it drew.
        let _panels = is_answer(&frame).then(|| self.flush_panels());
        self.send_line(line);
        Ok(())
    }

    /// Sends a frame that nobody waits for; one that the host would refuse goes to the log instead.
    pub(crate) fn push(&self, frame: impl Into<ExtensionFrame>) {
        drop_unsendable(self.send(frame));
    }

    /// [`FrameOutbox::push`] for several frames that leave in one write.
    pub(crate) fn push_all(&self, frames: &[ExtensionFrame]) {
        let lines = frames.iter().filter_map(|frame| drop_unsendable(self.encode(frame)));
        self.send_line(lines.collect());
    }

    /// Draws a panel: at once, or, of many contents within a short time, the last one at its end.
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

    /// Sends a line, newline included, as it is; after what panels have to show.
    pub(crate) fn send_marker(&self, line: &str) {
        let _panels = self.flush_panels();
        self.send_line(line.to_owned());
    }

    /// Says that nothing follows; the writer ends after what was sent before.
    pub(crate) fn close(&self) {
        drop(self.flush_panels());
        match &self.0.way {
            OutputTarget::Queue(queue) => drop(queue.send(OutboxMessage::Close)),
            OutputTarget::Stdout(stdout) => stdout.close(),
        }
    }

    /// Fails when something could not be written, and says why once. Never fails where another task writes.
    pub(crate) fn check(&self) -> io::Result<()> {
        match &self.0.way {
            OutputTarget::Queue(_) => Ok(()),
            OutputTarget::Stdout(stdout) => stdout.check(),
        }
    }

    /// After [`FrameOutbox::close`]: waits until everything is written, unless another task does it.
    pub(crate) fn finish(&self) -> io::Result<()> {
        match &self.0.way {
            OutputTarget::Queue(_) => Ok(()),
            OutputTarget::Stdout(stdout) => stdout.finish(),
        }
    }

    fn encode(&self, frame: &ExtensionFrame) -> Result<String, UnsendableFrame> {
        let line = codec::encode(frame)?;
        let is_result = matches!(frame, ExtensionFrame::ToolResult(_));
        let limit = match (self.0.limits.get(), is_result) {
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

    /// Sends a line, newline included, as it is.
    pub(crate) fn send_line(&self, line: String) {
        match &self.0.way {
            OutputTarget::Queue(queue) => drop(queue.send(OutboxMessage::Line(line))),
            OutputTarget::Stdout(stdout) => stdout.send(line.as_bytes(), self),
        }
    }

    /// The thread that [`Stdout`] starts.
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

/// Writes what is sent, one write each, until the outbox is closed.
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
    use ExtensionFrame::{CommandCompletionsResponse, CommandResponse, EventInterceptResponse, ToolResult};
    let completes = matches!(frame, CommandCompletionsResponse(_));
    completes || matches!(frame, CommandResponse(_) | ToolResult(_) | EventInterceptResponse(_))
}

fn drop_unsendable<T>(sent: Result<T, UnsendableFrame>) -> Option<T> {
    sent.inspect_err(|error| log(format_args!("frame dropped: {error}"))).ok()
}
