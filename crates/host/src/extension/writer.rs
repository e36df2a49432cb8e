//! What is written to one extension, so that nobody ever waits for it.
//!
//! A short line leaves at once when nothing else waits and there is room in the pipe. All else waits in a queue for a
//! task that writes it, and that is started by the first one that has to wait: most extensions read faster than they are
//! written to. The queue is bounded twice: what may be lost (events) fits within a small budget, what may not
//! (questions) within a larger one. Whoever puts a line in never waits; the task notices when the extension stops
//! reading.
//!
//! One that only watches is written to on the thread for events, by a task that reads the log, too
//! ([`from_log`]). Lines queue here all the same, and carry the place in the log that they belong behind.

mod from_log;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use haft_protocol::ext::Limits;
use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::extension::fanout::Seat;
use crate::wire::outlet::Outlet;
use crate::wire::pipe::LONG_LINE;

/// Lines that may wait before a question is refused.
const QUESTIONS: usize = 4096;

/// A pipe takes so much whole or not at all. Longer lines are left to the task.
const AT_ONCE: usize = 4096;

#[derive(Debug, Clone, Copy)]
struct Budget {
    lines: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: AtomicUsize,
    bytes: AtomicUsize,
    /// Of these bytes, those of lines that may not be lost.
    kept: AtomicUsize,
    flushed: AtomicU64,
}

#[derive(Debug)]
struct Line {
    number: u64,
    text: String,
    /// What of it has left already.
    left: usize,
    droppable: bool,
}

/// The extension's input. Locked for as long as one attempt to write takes, which never waits.
#[derive(Debug)]
struct Shared(Mutex<Outlet>);

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

/// Boxed, because a channel has room for many from the start.
type Lines = mpsc::UnboundedReceiver<Box<Placed>>;

/// Where what cannot leave at once waits.
enum Queue {
    /// Everything has left at once so far.
    Unused,
    Open(mpsc::UnboundedSender<Box<Placed>>),
    Closed,
}

/// A writer between two tasks.
#[derive(Debug)]
pub(crate) struct Released {
    outlet: Outlet,
    lines: Lines,
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
pub(crate) struct Writer {
    /// None while another thread writes.
    input: Option<Arc<Shared>>,
    queue: Queue,
    waiting: Arc<Waiting>,
    stall: Duration,
    /// Lines and bytes that may wait before events are dropped.
    events: Budget,
    /// Lines and bytes that may wait before a question is refused.
    questions: Budget,
    /// Gone when it has ended; none before it is needed.
    task: Option<JoinHandle<WriterEnd>>,
    /// The task was started, and nobody has asked since.
    started: bool,
}

impl Writer {
    /// Has nothing to write yet.
    pub(crate) fn new(outlet: Outlet, stall: Duration, limits: &Limits) -> Self {
        let waiting = Arc::<Waiting>::default();
        let input = Some(Arc::new(Shared(Mutex::new(outlet))));
        let events = Budget { lines: limits.queue_frames, bytes: limits.queue_bytes };
        let questions = Budget { lines: QUESTIONS, bytes: limits.max_result_line };
        let (queue, task) = (Queue::Unused, None);
        Self { input, queue, waiting, stall, events, questions, task, started: false }
    }

    /// Lets somebody else go on, once what waits now is written: [`ended`](Self::ended) brings it.
    pub(crate) fn release(&mut self, to_log: bool, seat: Option<&Seat>) {
        self.open();
        // From here on the task is the only one that holds it.
        self.input = None;
        // One that is closed, or whose task is gone, stays where it is.
        _ = self.send(Placed { item: Item::Release { to_log }, after: seat.map_or(0, Seat::stamp) });
    }

    /// Goes on with what was released; with a seat, on the thread for events.
    pub(crate) fn resume(&mut self, released: Released, seat: Option<&Seat>) {
        let Released { outlet, lines, .. } = released;
        let (waiting, stall) = (Arc::clone(&self.waiting), self.stall);
        self.task = Some(match seat {
            Some(seat) => {
                seat.thread().spawn(from_log::write_log(outlet, lines, seat.cursor(), waiting, stall))
            }
            None => match outlet.moved() {
                Ok(outlet) => {
                    let input = self.input.insert(Arc::new(Shared(Mutex::new(outlet))));
                    tokio::spawn(write_all(Arc::clone(input), lines, waiting, stall))
                }
                Err(error) => tokio::spawn(async move { WriterEnd::Broken(error) }),
            },
        });
    }

    /// Puts a line in, behind what the log has for one with a seat; `false` when there is no room for it. Never waits.
    pub(crate) fn push(&mut self, number: u64, text: String, droppable: bool, seat: Option<&Seat>) -> bool {
        let budget = if droppable { self.events } else { self.questions };
        let lines = self.waiting.lines.load(Ordering::Acquire);
        // What may be lost never takes the room of what may not.
        let bytes = if droppable { &self.waiting.bytes } else { &self.waiting.kept }.load(Ordering::Relaxed);
        // One line of any size fits where none waits: the session refuses what is too long for a frame.
        let alone = if droppable { lines == 0 } else { bytes == 0 };
        if lines >= budget.lines || !alone && bytes + text.len() > budget.bytes {
            return false;
        }
        if matches!(self.queue, Queue::Closed) {
            return false;
        }
        let (left, done) = match &self.input {
            Some(input) if lines == 0 && text.len() <= AT_ONCE => input.at_once(text.as_bytes()),
            Some(_) | None => (0, false),
        };
        if done {
            self.waiting.flushed.store(number, Ordering::Relaxed);
            return true;
        }
        self.waiting.lines.fetch_add(1, Ordering::Relaxed);
        self.waiting.bytes.fetch_add(text.len(), Ordering::Relaxed);
        if !droppable {
            self.waiting.kept.fetch_add(text.len(), Ordering::Relaxed);
        }
        // A task that is gone has said why; `ended` tells the actor.
        let item = Item::Line(Line { number, text, left, droppable });
        self.send(Placed { item, after: seat.map_or(0, Seat::stamp) })
    }

    /// Whether the task was started since the last time this was asked: then its end has to be waited for anew.
    pub(crate) fn take_started(&mut self) -> bool {
        std::mem::take(&mut self.started)
    }

    /// Nothing more comes: once the queue is written, the extension's input is closed.
    pub(crate) fn close(&mut self) {
        // The task closes it, by letting go of it: nobody else may hold it then.
        self.open();
        self.input = None;
        self.queue = Queue::Closed;
    }

    /// The number of the last line that left.
    pub(crate) fn flushed(&self) -> u64 {
        self.waiting.flushed.load(Ordering::Relaxed)
    }

    /// Waits until writing has ended; never comes back a second time. Safe to drop and to call again.
    pub(crate) async fn ended(&mut self) -> WriterEnd {
        let Some(task) = &mut self.task else { return std::future::pending().await };
        let end = task.await;
        self.task = None;
        end.unwrap_or_else(|error| WriterEnd::Broken(io::Error::other(error)))
    }

    fn send(&mut self, item: Placed) -> bool {
        self.open();
        match &self.queue {
            Queue::Open(queue) => queue.send(Box::new(item)).is_ok(),
            Queue::Unused | Queue::Closed => false,
        }
    }

    /// Starts the task, unless that was done before.
    fn open(&mut self) {
        let (Queue::Unused, Some(input)) = (&self.queue, &self.input) else { return };
        let (queue, lines) = mpsc::unbounded_channel();
        let task = tokio::spawn(write_all(Arc::clone(input), lines, Arc::clone(&self.waiting), self.stall));
        (self.queue, self.task, self.started) = (Queue::Open(queue), Some(task), true);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.task.iter().for_each(JoinHandle::abort);
    }
}

impl Shared {
    /// Writes what there is room for at this moment; says how much that was, and whether all has left. A failure is the
    /// task's to see: it tries again.
    fn at_once(&self, text: &[u8]) -> (usize, bool) {
        let mut nobody = Context::from_waker(Waker::noop());
        let Poll::Ready(Ok(written)) = self.poll(|io| io.poll_write(&mut nobody, text)) else {
            return (0, false);
        };
        let whole = written == text.len();
        (written, whole && matches!(self.poll(|io| io.poll_flush(&mut nobody)), Poll::Ready(Ok(()))))
    }

    async fn write(&self, text: &[u8]) -> io::Result<usize> {
        poll_fn(|context| self.poll(|io| io.poll_write(context, text))).await
    }

    async fn flush(&self) -> io::Result<()> {
        poll_fn(|context| self.poll(|io| io.poll_flush(context))).await
    }

    async fn shutdown(&self) -> io::Result<()> {
        poll_fn(|context| self.poll(|io| io.poll_shutdown(context))).await
    }

    fn widen(&self) {
        self.lock().widen();
    }

    fn poll<T>(&self, attempt: impl FnOnce(Pin<&mut Outlet>) -> Poll<T>) -> Poll<T> {
        attempt(Pin::new(&mut self.lock()))
    }

    fn lock(&self) -> MutexGuard<'_, Outlet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// A line has left.
    fn left(&self, number: u64, bytes: usize, droppable: bool) {
        self.flushed.store(number, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        if !droppable {
            self.kept.fetch_sub(bytes, Ordering::Relaxed);
        }
        // Last: from here on a line may leave at once.
        self.lines.fetch_sub(1, Ordering::Release);
    }
}

async fn write_all(
    input: Arc<Shared>,
    mut lines: Lines,
    waiting: Arc<Waiting>,
    stall: Duration,
) -> WriterEnd {
    let mut wide = false;
    while let Some(placed) = lines.recv().await {
        match placed.item {
            Item::Line(line) => {
                if let Err(end) = write_line(&input, &line, &mut wide, stall).await {
                    return end;
                }
                waiting.left(line.number, line.text.len(), line.droppable);
            }
            Item::Release { to_log } => return released(input, lines, to_log),
        }
    }
    match input.shutdown().await {
        Ok(()) => WriterEnd::Done,
        Err(error) => WriterEnd::Broken(error),
    }
}

fn released(input: Arc<Shared>, lines: Lines, to_log: bool) -> WriterEnd {
    match Arc::into_inner(input) {
        Some(Shared(outlet)) => {
            let outlet = outlet.into_inner().unwrap_or_else(PoisonError::into_inner);
            WriterEnd::Released(Released { outlet, lines, to_log })
        }
        None => WriterEnd::Broken(io::Error::other("somebody else still writes to it")),
    }
}

/// Writes what is left of one line; any progress starts the stall's time again. Only a pipe that is being read is made
/// larger: what waits in a pipe that nobody reads would count as delivered.
async fn write_line(input: &Shared, line: &Line, wide: &mut bool, stall: Duration) -> Result<(), WriterEnd> {
    let mut rest = line.text.as_bytes().get(line.left..).unwrap_or_default();
    while !rest.is_empty() {
        let written = match tokio::time::timeout(stall, input.write(rest)).await {
            Err(_) => return Err(WriterEnd::Stalled),
            Ok(Err(error)) => return Err(WriterEnd::Broken(error)),
            Ok(Ok(0)) => return Err(WriterEnd::Broken(io::ErrorKind::WriteZero.into())),
            Ok(Ok(written)) => written,
        };
        let full_before = rest.len() < line.text.len();
        rest = rest.get(written..).unwrap_or_default();
        if full_before && rest.len() > LONG_LINE && !std::mem::replace(wide, true) {
            input.widen();
        }
    }
    input.flush().await.map_err(WriterEnd::Broken)
}
