//! What is written to one extension, so that nobody ever waits for it.
//!
//! A short line leaves at once when nothing else waits and there is room in the pipe. All else waits in a queue for a
//! task that writes it. The queue is bounded twice: what may be lost (events) fits within a small budget, what may not
//! (questions) within a larger one. Whoever puts a line in never waits; the task notices when the extension stops
//! reading.

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

use super::connection::{Input, LONG_LINE};

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
    flushed: AtomicU64,
}

#[derive(Debug)]
struct Line {
    number: u64,
    text: String,
    /// What of it has left already.
    left: usize,
}

/// The extension's input. Locked for as long as one attempt to write takes, which never waits.
struct Shared(Mutex<Input>);

/// How writing ended.
#[derive(Debug)]
pub(crate) enum WriterEnd {
    /// Everything was written and the input closed.
    Done,
    /// The extension took nothing for too long. Half a frame may have left, so the connection is of no more use.
    Stalled,
    /// The extension closed its end.
    Broken(io::Error),
}

/// The sending end.
pub(crate) struct Writer {
    input: Arc<Shared>,
    queue: Option<mpsc::UnboundedSender<Line>>,
    waiting: Arc<Waiting>,
    /// Lines and bytes that may wait before events are dropped.
    events: Budget,
    /// Lines and bytes that may wait before a question is refused.
    questions: Budget,
    task: JoinHandle<WriterEnd>,
    ended: bool,
}

impl Writer {
    /// Starts the task.
    pub(crate) fn start(io: Input, stall: Duration, limits: &Limits) -> Self {
        let (queue, lines) = mpsc::unbounded_channel();
        let waiting = Arc::<Waiting>::default();
        let input = Arc::new(Shared(Mutex::new(io)));
        let task = tokio::spawn(write_all(Arc::clone(&input), lines, Arc::clone(&waiting), stall));
        let events = Budget { lines: limits.queue_frames, bytes: limits.queue_bytes };
        let questions = Budget { lines: QUESTIONS, bytes: limits.max_result_line };
        Self { input, queue: Some(queue), waiting, events, questions, task, ended: false }
    }

    /// Puts a line in; `false` when there is no room for it. Never waits.
    pub(crate) fn push(&self, number: u64, text: String, droppable: bool) -> bool {
        let budget = if droppable { self.events } else { self.questions };
        let (lines, bytes) =
            (self.waiting.lines.load(Ordering::Acquire), self.waiting.bytes.load(Ordering::Relaxed));
        // One line of any size fits into an empty queue: the session refuses what is too long for a frame.
        if lines > 0 && (lines >= budget.lines || bytes + text.len() > budget.bytes) {
            return false;
        }
        let Some(queue) = &self.queue else { return false };
        let (left, done) = match lines == 0 && text.len() <= AT_ONCE {
            true => self.input.at_once(text.as_bytes()),
            false => (0, false),
        };
        if done {
            self.waiting.flushed.store(number, Ordering::Relaxed);
            return true;
        }
        self.waiting.lines.fetch_add(1, Ordering::Relaxed);
        self.waiting.bytes.fetch_add(text.len(), Ordering::Relaxed);
        // A task that is gone has said why; `ended` tells the actor.
        queue.send(Line { number, text, left }).is_ok()
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

    fn poll<T>(&self, attempt: impl FnOnce(Pin<&mut Input>) -> Poll<T>) -> Poll<T> {
        attempt(Pin::new(&mut self.lock()))
    }

    fn lock(&self) -> MutexGuard<'_, Input> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write_all(
    input: Arc<Shared>,
    mut lines: mpsc::UnboundedReceiver<Line>,
    waiting: Arc<Waiting>,
    stall: Duration,
) -> WriterEnd {
    let mut wide = false;
    while let Some(line) = lines.recv().await {
        if let Err(end) = write_line(&input, &line, &mut wide, stall).await {
            return end;
        }
        waiting.flushed.store(line.number, Ordering::Relaxed);
        waiting.bytes.fetch_sub(line.text.len(), Ordering::Relaxed);
        // Last: from here on a line may leave at once.
        waiting.lines.fetch_sub(1, Ordering::Release);
    }
    match input.shutdown().await {
        Ok(()) => WriterEnd::Done,
        Err(error) => WriterEnd::Broken(error),
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    fn started(pipe: usize) -> (Writer, tokio::io::DuplexStream) {
        let (near, far) = tokio::io::duplex(pipe);
        (Writer::start(Input::Stream(Box::new(near)), Duration::from_secs(10), &Limits::default()), far)
    }

    #[tokio::test(start_paused = true)]
    async fn events_give_way_and_questions_do_not() {
        let (writer, _far) = started(16);
        assert!(writer.push(1, "more than there is room for\n".into(), false));
        for number in 2..=256 {
            assert!(writer.push(number, "event\n".into(), true));
        }
        assert!(!writer.push(257, "event\n".into(), true));
        assert!(writer.push(258, "question\n".into(), false));
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_count_too_and_one_long_line_fits_alone() {
        let (writer, _far) = started(16);
        assert!(writer.push(1, "x".repeat(8 * 1024 * 1024), false));
        assert!(!writer.push(2, "x".into(), true));
        assert!(!writer.push(3, "x".into(), false));
    }

    #[tokio::test(start_paused = true)]
    async fn no_progress_for_the_stall_ends_it_and_slow_progress_does_not() {
        let (mut writer, mut far) = started(16);
        assert!(writer.push(1, "x".repeat(64), false));
        for _ in 0..3 {
            tokio::time::advance(Duration::from_secs(9)).await;
            far.read_exact(&mut [0; 8]).await.unwrap();
        }
        assert_eq!(writer.flushed(), 0);
        assert!(matches!(writer.ended().await, WriterEnd::Stalled));
    }

    #[tokio::test]
    async fn a_short_line_leaves_at_once_and_half_of_one_is_finished_in_its_turn() {
        let (mut writer, mut far) = started(10);
        assert!(writer.push(1, "first\n".into(), false));
        assert_eq!(writer.flushed(), 1, "nothing was awaited yet");
        for number in [2, 3] {
            assert!(writer.push(number, "second\n".into(), true));
            assert_eq!(writer.flushed(), 1);
        }
        writer.close();
        let mut all = String::new();
        far.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "first\nsecond\nsecond\n");
        assert!(matches!(writer.ended().await, WriterEnd::Done));
        assert_eq!(writer.flushed(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn closing_writes_what_waits_first() {
        let (mut writer, mut far) = started(4);
        assert!(writer.push(1, "one\n".into(), true));
        assert!(writer.push(2, "two\n".into(), false));
        writer.close();
        let mut all = String::new();
        far.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "one\ntwo\n");
        assert!(matches!(writer.ended().await, WriterEnd::Done));
        assert_eq!(writer.flushed(), 2);
    }
}
