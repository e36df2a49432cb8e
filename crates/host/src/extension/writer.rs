//! The task that writes to one extension, so that nobody else ever waits for it.
//!
//! The queue is bounded twice: what may be lost (events) fits within a small budget, what may not (questions)
//! within a larger one. Whoever puts a line in never waits; the task notices when the extension stops reading.
//!
//! One that only watches is written to on the thread for events, by a task that reads the log, too
//! ([`from_log`]). Lines queue here all the same, and carry the place in the log that they belong behind.

mod from_log;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use haft_protocol::ext::Limits;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::outlet::Outlet;
use crate::fanout::Seat;

/// Lines that may wait before a question is refused.
const QUESTIONS: usize = 4096;

#[derive(Debug, Clone, Copy)]
struct Budget {
    lines: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: AtomicUsize,
    bytes: AtomicUsize,
    flushed: AtomicU64,
}

#[derive(Debug)]
struct Line {
    number: u64,
    text: String,
}

/// What the task is told.
#[derive(Debug)]
enum Item {
    Line(Line),
    /// Hand everything back: somebody else goes on.
    Release {
        /// Whether that is the thread for events.
        to_log: bool,
    },
}

/// An item and its place in the log. A writer that knows no log does not look at it.
#[derive(Debug)]
struct Placed {
    item: Item,
    after: u64,
}

/// A writer between two tasks.
#[derive(Debug)]
pub(crate) struct Released {
    outlet: Outlet,
    lines: mpsc::UnboundedReceiver<Placed>,
    /// Who goes on: the thread for events, or this one.
    pub(crate) to_log: bool,
}

/// How writing ended.
#[derive(Debug)]
pub(crate) enum WriterEnd {
    /// Everything was written and the input closed.
    Done,
    /// Everything that came before it was told to stop is written.
    Released(Released),
    /// The extension took nothing for too long. Half a frame may have left, so the connection is of no more use.
    Stalled,
    /// The extension closed its end.
    Broken(io::Error),
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: Option<mpsc::UnboundedSender<Placed>>,
    waiting: Arc<Waiting>,
    stall: Duration,
    /// Lines and bytes that may wait before events are dropped.
    events: Budget,
    /// Lines and bytes that may wait before a question is refused.
    questions: Budget,
    task: JoinHandle<WriterEnd>,
    ended: bool,
}

impl Writer {
    /// Starts the task.
    pub(crate) fn start(outlet: Outlet, stall: Duration, limits: &Limits) -> Self {
        let (queue, lines) = mpsc::unbounded_channel();
        let waiting = Arc::<Waiting>::default();
        let task = tokio::spawn(write_all(outlet, lines, Arc::clone(&waiting), stall));
        let events = Budget { lines: limits.queue_frames, bytes: limits.queue_bytes };
        let questions = Budget { lines: QUESTIONS, bytes: limits.max_result_line };
        Self { queue: Some(queue), waiting, stall, events, questions, task, ended: false }
    }

    /// Lets somebody else go on, once what waits now is written: [`ended`](Self::ended) brings it.
    pub(crate) fn release(&self, to_log: bool, seat: Option<&Seat>) {
        let item = Placed { item: Item::Release { to_log }, after: seat.map_or(0, Seat::stamp) };
        // One that is closed, or whose task is gone, stays where it is.
        _ = self.queue.as_ref().map(|queue| queue.send(item));
    }

    /// Goes on with what was released; with a seat, on the thread for events.
    pub(crate) fn resume(&mut self, released: Released, seat: Option<&Seat>) {
        let Released { outlet, lines, .. } = released;
        let (waiting, stall) = (Arc::clone(&self.waiting), self.stall);
        self.task = match seat {
            Some(seat) => {
                seat.thread().spawn(from_log::write_log(outlet, lines, seat.cursor(), waiting, stall))
            }
            None => tokio::spawn(async move {
                match outlet.moved() {
                    Ok(outlet) => write_all(outlet, lines, waiting, stall).await,
                    Err(error) => WriterEnd::Broken(error),
                }
            }),
        };
        self.ended = false;
    }

    /// Puts a line in, behind what the log has for one with a seat; `false` when there is no room for it. Never waits.
    pub(crate) fn push(&self, number: u64, text: String, droppable: bool, seat: Option<&Seat>) -> bool {
        let budget = if droppable { self.events } else { self.questions };
        let (lines, bytes) =
            (self.waiting.lines.load(Ordering::Relaxed), self.waiting.bytes.load(Ordering::Relaxed));
        // One line of any size fits into an empty queue: the session refuses what is too long for a frame.
        if lines > 0 && (lines >= budget.lines || bytes + text.len() > budget.bytes) {
            return false;
        }
        self.waiting.lines.fetch_add(1, Ordering::Relaxed);
        self.waiting.bytes.fetch_add(text.len(), Ordering::Relaxed);
        // A task that is gone has said why; `ended` tells the actor.
        let item = Placed { item: Item::Line(Line { number, text }), after: seat.map_or(0, Seat::stamp) };
        self.queue.as_ref().is_some_and(|queue| queue.send(item).is_ok())
    }

    /// Nothing more comes: once the queue is written, the extension's input is closed.
    pub(crate) fn close(&mut self) {
        self.queue = None;
    }

    /// The number of the last line that left.
    pub(crate) fn flushed(&self) -> u64 {
        self.waiting.flushed.load(Ordering::Relaxed)
    }

    /// Waits until writing has ended; never comes back a second time. Safe to drop and to call again.
    pub(crate) async fn ended(&mut self) -> WriterEnd {
        if self.ended {
            return std::future::pending().await;
        }
        let end = (&mut self.task).await;
        self.ended = true;
        end.unwrap_or_else(|error| WriterEnd::Broken(io::Error::other(error)))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Waiting {
    fn left(&self, line: &Line) {
        self.lines.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(line.text.len(), Ordering::Relaxed);
        self.flushed.store(line.number, Ordering::Relaxed);
    }
}

async fn write_all(
    mut outlet: Outlet,
    mut lines: mpsc::UnboundedReceiver<Placed>,
    waiting: Arc<Waiting>,
    stall: Duration,
) -> WriterEnd {
    while let Some(Placed { item, .. }) = lines.recv().await {
        match item {
            Item::Line(line) => {
                if let Err(end) = write_line(&mut outlet, line.text.as_bytes(), stall).await {
                    return end;
                }
                waiting.left(&line);
            }
            Item::Release { to_log } => return WriterEnd::Released(Released { outlet, lines, to_log }),
        }
    }
    finish(outlet).await
}

/// Nothing more comes: its input ends.
async fn finish(mut outlet: Outlet) -> WriterEnd {
    match outlet.shutdown().await {
        Ok(()) => WriterEnd::Done,
        Err(error) => WriterEnd::Broken(error),
    }
}

/// Writes one line; any progress starts the stall's time again.
async fn write_line(
    io: &mut (impl AsyncWrite + Unpin),
    mut rest: &[u8],
    stall: Duration,
) -> Result<(), WriterEnd> {
    while !rest.is_empty() {
        let written = match tokio::time::timeout(stall, io.write(rest)).await {
            Err(_) => return Err(WriterEnd::Stalled),
            Ok(Err(error)) => return Err(WriterEnd::Broken(error)),
            Ok(Ok(0)) => return Err(WriterEnd::Broken(io::ErrorKind::WriteZero.into())),
            Ok(Ok(written)) => written,
        };
        rest = rest.get(written..).unwrap_or_default();
    }
    io.flush().await.map_err(WriterEnd::Broken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    fn started(pipe: usize) -> (Writer, tokio::io::DuplexStream) {
        let (near, far) = tokio::io::duplex(pipe);
        (Writer::start(Outlet::Stream(Box::new(near)), Duration::from_secs(10), &Limits::default()), far)
    }

    #[tokio::test(start_paused = true)]
    async fn events_give_way_and_questions_do_not() {
        let (writer, _far) = started(16);
        for number in 1..=256 {
            assert!(writer.push(number, "event\n".into(), true, None));
        }
        assert!(!writer.push(257, "event\n".into(), true, None));
        assert!(writer.push(258, "question\n".into(), false, None));
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_count_too_and_one_long_line_fits_alone() {
        let (writer, _far) = started(16);
        assert!(writer.push(1, "x".repeat(8 * 1024 * 1024), false, None));
        assert!(!writer.push(2, "x".into(), true, None));
        assert!(!writer.push(3, "x".into(), false, None));
    }

    #[tokio::test(start_paused = true)]
    async fn no_progress_for_the_stall_ends_it_and_slow_progress_does_not() {
        let (mut writer, mut far) = started(16);
        assert!(writer.push(1, "x".repeat(64), false, None));
        for _ in 0..3 {
            tokio::time::advance(Duration::from_secs(9)).await;
            far.read_exact(&mut [0; 8]).await.unwrap();
        }
        assert_eq!(writer.flushed(), 0);
        assert!(matches!(writer.ended().await, WriterEnd::Stalled));
    }

    #[tokio::test(start_paused = true)]
    async fn closing_writes_what_waits_first() {
        let (mut writer, mut far) = started(4);
        assert!(writer.push(1, "one\n".into(), true, None));
        assert!(writer.push(2, "two\n".into(), false, None));
        writer.close();
        let mut all = String::new();
        far.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "one\ntwo\n");
        assert!(matches!(writer.ended().await, WriterEnd::Done));
        assert_eq!(writer.flushed(), 2);
    }
}
