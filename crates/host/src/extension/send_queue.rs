//! The send queue of one extension: all messages in one order, without a wait for the extension.
//!
//! A query is written immediately when the pipe has room. Events, and all messages that cannot be written
//! immediately, wait in a bounded queue for the writer task, which the first waiting line starts. An event is
//! encoded once for all extensions; each queue holds a reference to the same bytes, and one system call
//! writes many lines. The task notices when the extension stops reading.

pub(crate) mod event;
mod lines;
pub(crate) mod pump;
#[cfg(test)]
mod tests;

use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use futures::channel::mpsc;
use haft_protocol::ext::Limits;
use tokio::io::AsyncWrite as _;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::ActorCommand;
use super::mirror::{MirrorFollower, MirrorPlace, SessionMirror};
use crate::session::mirror_parts::MirrorParts;
use crate::wire::pipe::LONG_LINE;
use crate::wire::stdin_writer::StdinWriter;
use event::{EventBatch, EventFilter, EventRun};
use lines::WaitingLines;
use pump::EventPump;

/// The size up to which a pipe write is atomic. Longer lines are left to the task.
const MAX_ATOMIC_WRITE: usize = 4096;

/// The number of lines in one system call.
const MAX_WRITE_PARTS: usize = 64;

/// The send queue of one extension.
pub(crate) struct SendQueue {
    state: Mutex<SendQueueState>,
    stall: Duration,
    runtime: Handle,
    pump: Arc<EventPump>,
    mailbox: Weak<mpsc::UnboundedSender<ActorCommand>>,
    /// Mailbox commands that may become lines, which precede any new event.
    ahead: AtomicUsize,
    /// True if an event was sent since the extension's last sign of life.
    was_told: AtomicBool,
    lost: AtomicUsize,
    mirror: OnceLock<Arc<SessionMirror>>,
}

struct SendQueueState {
    /// `None` after the end.
    outlet: Option<StdinWriter>,
    lines: WaitingLines,
    mirror: Option<QueueMirror>,
    filter: EventFilter,
    /// The number of the last written line.
    written: u64,
    /// The number of the last flushed line.
    flushed: u64,
    is_flushed: bool,
    /// True if no line is accepted any more.
    is_closed: bool,
    /// True if the pipe was enlarged or could not be.
    is_wide: bool,
    /// True if the pipe is full and the task waits for room.
    is_full: bool,
    /// True if the pump writes the waiting lines at its next turn.
    is_pumped: bool,
    task: Option<AbortHandle>,
    idle: Option<Waker>,
}

/// The mirror of a queue's extension.
struct QueueMirror {
    source: Arc<SessionMirror>,
    place: MirrorPlace,
}

/// The part of the mirror that must be in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MirrorNeed {
    /// All of it, because a line follows that needs it.
    Whole,
    UntilFull,
}

#[derive(Debug)]
pub(crate) enum WriterEnd {
    /// Everything was written and the input was closed.
    Done,
    /// The extension read nothing for too long. Half a frame may have been written, so the connection is
    /// unusable.
    Stalled,
    Broken(io::Error),
}

/// The end of the queue that the extension's task holds. Dropping it closes the extension's input.
pub(crate) struct QueueOwner(pub(crate) Arc<SendQueue>);

impl SendQueue {
    /// Creates an empty queue. Must be called within a tokio runtime.
    pub(crate) fn new(
        outlet: StdinWriter,
        stall: Duration,
        limits: &Limits,
        pump: Arc<EventPump>,
        mailbox: Weak<mpsc::UnboundedSender<ActorCommand>>,
    ) -> Self {
        let state = SendQueueState {
            outlet: Some(outlet),
            lines: WaitingLines::new(limits),
            mirror: None,
            filter: EventFilter::default(),
            written: 0,
            flushed: 0,
            is_flushed: true,
            is_closed: false,
            is_wide: false,
            is_full: false,
            is_pumped: false,
            task: None,
            idle: None,
        };
        let runtime = Handle::current();
        pump.run_on(&runtime);
        Self {
            state: Mutex::new(state),
            stall,
            runtime,
            pump,
            mailbox,
            ahead: AtomicUsize::new(0),
            was_told: AtomicBool::new(false),
            lost: AtomicUsize::new(0),
            mirror: OnceLock::new(),
        }
    }

    /// Sends these parts of the session from now on. Only the first call has an effect: an extension chooses the
    /// parts once.
    pub(crate) fn mirror_parts(self: &Arc<Self>, mirror: &Arc<SessionMirror>, parts: MirrorParts) {
        if parts.is_empty() || self.mirror.set(Arc::clone(mirror)).is_err() {
            return;
        }
        mirror.add_follower(parts, Arc::downgrade(self) as _);
        mirror.refresh_content();
        let mut state = self.lock();
        state.mirror = Some(QueueMirror { source: Arc::clone(mirror), place: MirrorPlace::new(parts) });
        drop(state);
        Arc::clone(self).follow_up();
        mirror.schedule_update();
    }

    /// Adds a line that must arrive; returns false when there is no room. Never waits.
    pub(crate) fn push(self: &Arc<Self>, number: u64, text: String) -> bool {
        if let Some(mirror) = self.mirror.get() {
            mirror.refresh_content();
        }
        self.pump.distribute_events();
        let mut state = self.lock();
        if state.is_closed || !state.lines.has_room_for(text.len()) {
            return false;
        }
        state.fill_mirror(MirrorNeed::Whole);
        // Usually a query: queuing it first would cost 2 % more time.
        let left = if state.lines.is_empty() { state.write_at_once(text.as_bytes()) } else { 0 };
        if left == text.len() {
            state.note_written(Some(number));
        } else {
            state.lines.push_kept(number, text.into());
            if left > 0 {
                state.lines.mark_begun(left);
            } else {
                state.write_waiting();
            }
        }
        self.hand_rest_to_task(state);
        true
    }

    pub(crate) fn push_droppable(self: &Arc<Self>, text: String) {
        self.pump.distribute_events();
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        let dropped = state.lines.push_events(EventRun { text: text.into(), events: 1 });
        state.write_waiting();
        self.hand_rest_to_task(state);
        self.count_lost(dropped);
    }

    /// Adds the events that the extension watches. Never waits.
    pub(crate) fn push_events(self: &Arc<Self>, batch: &EventBatch) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        let is_ahead = self.ahead.load(Ordering::Acquire) > 0;
        let (mut is_new, mut lost) = (false, 0);
        // An event never tells of something that the mirror does not have yet, unless the extension reads slowly.
        state.fill_mirror(MirrorNeed::UntilFull);
        let SendQueueState { filter, lines, .. } = &mut *state;
        for run in batch.runs(filter) {
            if is_ahead {
                self.expect_command();
                self.notify(ActorCommand::Events(run));
            } else {
                is_new = true;
                lost += lines.push_events(run);
            }
        }
        if is_new {
            self.hand_to_pump(state);
            self.note_events_sent(lost);
        }
    }

    pub(crate) fn push_posted(self: &Arc<Self>, run: EventRun) {
        let mut state = self.lock();
        if !state.is_closed {
            let lost = state.lines.push_events(run);
            self.hand_to_pump(state);
            self.note_events_sent(lost);
        }
    }

    /// Passes new events to the pump. While the pipe is full, the task waits for room anyway.
    fn hand_to_pump(self: &Arc<Self>, mut state: MutexGuard<'_, SendQueueState>) {
        let is_due = !state.is_full && !std::mem::replace(&mut state.is_pumped, true);
        if is_due && !self.pump.add(self) {
            state.is_pumped = false;
            self.hand_rest_to_task(state);
        }
    }

    fn note_events_sent(&self, lost: usize) {
        self.count_lost(lost);
        if !self.was_told.swap(true, Ordering::Relaxed) {
            self.notify(ActorCommand::EventSent);
        }
    }

    /// Records that this number of events was lost before the queue.
    pub(crate) fn push_gap(self: &Arc<Self>, events: u64) {
        let mut state = self.lock();
        state.lines.push_gap(events);
        self.hand_rest_to_task(state);
    }

    /// Sets the subscribed events, and whether the extension receives the number of lost events.
    pub(crate) fn subscribe(&self, filter: EventFilter, reports_gaps: bool) {
        let mut state = self.lock();
        self.pump.add_watched(&filter);
        state.filter = filter;
        state.lines.reports_gaps = reports_gaps;
    }

    /// Closes the extension's input after all lines are written.
    pub(crate) fn close(self: &Arc<Self>) {
        self.pump.distribute_events();
        let mut state = self.lock();
        state.is_closed = true;
        self.hand_rest_to_task(state);
    }

    /// Records a sign of life.
    pub(crate) fn note_sign_of_life(&self) {
        self.was_told.store(false, Ordering::Relaxed);
    }

    /// Returns the number of the last flushed line.
    pub(crate) fn flushed_lines(&self) -> u64 {
        self.lock().flushed
    }

    /// Distributes all staged events to the queues.
    pub(crate) fn distribute_events(&self) {
        self.pump.distribute_events();
    }

    /// Announces a command that may become a line; later events wait for it.
    pub(crate) fn expect_command(&self) {
        self.ahead.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the number of mailbox commands that are not carried out yet.
    pub(crate) fn pending_commands(&self) -> usize {
        self.ahead.load(Ordering::Relaxed)
    }

    pub(crate) fn note_commands_done(&self, commands: usize) {
        self.ahead.fetch_sub(commands, Ordering::AcqRel);
    }

    pub(crate) fn lost_events(&self) -> usize {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn count_lost(&self, events: usize) {
        if events > 0 && self.lost.fetch_add(events, Ordering::Relaxed) == 0 {
            self.notify(ActorCommand::EventsLost);
        }
    }

    /// Sends the extension's task a command, unless the task has ended.
    fn notify(&self, command: ActorCommand) {
        if let Some(mailbox) = self.mailbox.upgrade() {
            _ = mailbox.unbounded_send(command);
        }
    }

    /// Writes waiting lines as far as the pipe has room: one turn of the pump.
    fn write_some(self: &Arc<Self>) {
        let mut state = self.lock();
        state.is_pumped = false;
        // Only the task may wait for room, or its waker would be lost.
        if !state.is_full && !state.lines.is_empty() {
            _ = state.poll_lines(&mut Context::from_waker(Waker::noop()));
            state.is_full = false;
        }
        self.hand_rest_to_task(state);
    }

    /// Leaves the unwritten lines to the task.
    fn hand_rest_to_task(self: &Arc<Self>, mut state: MutexGuard<'_, SendQueueState>) {
        if !state.is_due() {
            return;
        }
        if state.task.is_none() {
            state.task = Some(self.runtime.spawn(write_all(Arc::clone(self))).abort_handle());
        } else if let Some(task) = state.idle.take() {
            drop(state);
            task.wake();
        }
    }

    fn end(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.outlet = None;
        state.task.iter().for_each(AbortHandle::abort);
    }

    fn lock(&self) -> MutexGuard<'_, SendQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MirrorFollower for SendQueue {
    fn follow_up(self: Arc<Self>) {
        let mut state = self.lock();
        if !state.is_closed && state.fill_mirror(MirrorNeed::UntilFull) {
            self.hand_to_pump(state);
        }
    }
}

impl SendQueueState {
    /// Adds frames of the mirror. Returns true if there were any.
    fn fill_mirror(&mut self, need: MirrorNeed) -> bool {
        let Self { mirror: Some(QueueMirror { source, place }), lines, .. } = self else { return false };
        let mut is_new = false;
        while need == MirrorNeed::Whole || lines.has_room_for_mirror() {
            let Some(frame) = source.next_frame(place) else { break };
            lines.push_mirror(frame);
            is_new = true;
        }
        is_new
    }

    /// True if the task has work.
    fn is_due(&self) -> bool {
        !self.lines.is_empty() || !self.is_flushed || self.is_closed
    }

    /// Writes the beginning of a short line as far as the pipe has room. A failure is left to the task, which
    /// tries again.
    fn write_at_once(&mut self, text: &[u8]) -> usize {
        let mut nobody = Context::from_waker(Waker::noop());
        match &mut self.outlet {
            Some(outlet) if text.len() <= MAX_ATOMIC_WRITE && !self.is_full => {
                match Pin::new(outlet).poll_write(&mut nobody, text) {
                    Poll::Ready(Ok(written)) => written,
                    Poll::Ready(Err(_)) | Poll::Pending => 0,
                }
            }
            Some(_) | None => 0,
        }
    }

    /// Writes all lines as far as the pipe has room, if the lines are short.
    fn write_waiting(&mut self) {
        // Only the task may wait for room, or its waker would be lost.
        if self.lines.bytes() <= MAX_ATOMIC_WRITE && !self.is_full {
            _ = self.poll_lines(&mut Context::from_waker(Waker::noop()));
            self.is_full = false;
        }
    }

    /// Records that lines up to this number were written, and flushes them if that does not block.
    fn note_written(&mut self, number: Option<u64>) {
        self.written = number.unwrap_or(self.written);
        self.is_flushed = false;
        // Unflushed lines are left to the task.
        _ = self.poll_flush(&mut Context::from_waker(Waker::noop()));
    }

    /// Waits until the task has work.
    fn poll_due(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.is_due() {
            return Poll::Ready(());
        }
        self.idle = Some(context.waker().clone());
        Poll::Pending
    }

    fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if !self.lines.is_empty() {
            return self.poll_lines(context).map_ok(|()| true);
        }
        if !self.is_flushed {
            return self.poll_flush(context).map_ok(|()| true);
        }
        match &mut self.outlet {
            Some(outlet) if self.is_closed => Pin::new(outlet).poll_shutdown(context).map_ok(|()| false),
            Some(_) | None => Poll::Ready(Ok(!self.is_closed)),
        }
    }

    /// Writes as many lines as the pipe has room for. Only a pipe that is being read is enlarged: lines in an
    /// unread pipe would count as delivered.
    fn poll_lines(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(outlet) = &mut self.outlet else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        let (_, was_begun) = self.lines.first_line_progress();
        let mut slices = [IoSlice::new(&[]); MAX_WRITE_PARTS];
        let used = self.lines.fill_slices(&mut slices);
        let parts = slices.get(..used).unwrap_or_default();
        let polled = Pin::new(&mut *outlet).poll_write_vectored(context, parts);
        self.is_full = polled.is_pending();
        let number = match ready!(polled)? {
            0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            written => self.lines.advance(written),
        };
        let (rest, is_begun) = self.lines.first_line_progress();
        if was_begun && is_begun && rest > LONG_LINE && !std::mem::replace(&mut self.is_wide, true) {
            outlet.enlarge_pipe();
        }
        self.note_written(number);
        self.fill_mirror(MirrorNeed::UntilFull);
        Poll::Ready(Ok(()))
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(outlet) = &mut self.outlet {
            ready!(Pin::new(outlet).poll_flush(context))?;
        }
        self.is_flushed = true;
        self.flushed = self.written;
        Poll::Ready(Ok(()))
    }
}

/// The writer task. Any progress restarts the stall timeout.
async fn write_all(queue: Arc<SendQueue>) {
    let end = loop {
        poll_fn(|context| queue.lock().poll_due(context)).await;
        match timeout(queue.stall, poll_fn(|context| queue.lock().poll_step(context))).await {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => break WriterEnd::Done,
            Ok(Err(error)) => break WriterEnd::Broken(error),
            Err(_) => break WriterEnd::Stalled,
        }
    };
    let mut state = queue.lock();
    state.is_closed = true;
    state.outlet = None;
    drop(state);
    // A task that ended needs no notification.
    queue.notify(ActorCommand::WriterEnd(end));
}

impl Drop for QueueOwner {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl fmt::Debug for SendQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendQueue").finish_non_exhaustive()
    }
}
