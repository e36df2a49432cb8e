//! The open and recent queries of one connection. The recent ones distinguish a late answer from an invented
//! one.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use haft_core::hooks::{GateClock, GateClockPause};
use haft_protocol::ext::{HostFrame, QueryResponse, ToolCallProgress};
use haft_protocol::ids::RequestId;
use tokio::sync::watch;

const MAX_REMEMBERED: usize = 512;

/// The receiver of a call's progress, which keeps the newest one.
pub(crate) type ProgressSender = watch::Sender<Option<ToolCallProgress>>;

/// Delivers progress. What a newer one does not contain stays.
pub(crate) fn deliver_progress(sender: &ProgressSender, progress: ToolCallProgress) {
    sender.send_modify(|newest| {
        let earlier = newest.take();
        let (content, details) =
            earlier.map(|earlier| (earlier.content, earlier.details)).unwrap_or_default();
        let (content, details) = (progress.content.or(content), progress.details.or(details));
        *newest = Some(ToolCallProgress { id: progress.id, content, details });
    });
}

/// One query that waits for its answer. `T` is the receiver of the answer.
#[derive(Debug)]
pub(crate) struct OpenQuestion<T> {
    pub(crate) ticket: T,
    pub(crate) progress: Option<ProgressSender>,
    pub(crate) kind: QuestionKind,
    /// The subject of the query, for people: `tool_call intercept`, `tool weather`.
    pub(crate) what: Cow<'static, str>,
    pub(crate) until: Instant,
    pub(crate) after: Duration,
    /// The number of the query's line, which shows whether it was written.
    pub(crate) line: u64,
    /// The common time of several queries, which stands still together with the time of this one.
    pub(crate) clock: Option<GateClock>,
    pub(crate) standstill: Option<DeadlinePause>,
}

/// A time in which the deadline of a query does not come closer.
#[derive(Debug)]
pub(crate) struct DeadlinePause {
    since: Instant,
    /// Ends when it is dropped.
    _pause: Option<GateClockPause>,
}

impl<T> OpenQuestion<T> {
    /// Returns the deadline; `None` while the time stands still.
    fn deadline(&self) -> Option<Instant> {
        self.standstill.is_none().then_some(self.until)
    }
}

/// The kind of frame that answers a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuestionKind {
    Command,
    Completions,
    Tool,
    /// A call of another registration, `ext_call`.
    Call,
    Intercept,
    /// A hook whose answer may contain whole results or messages.
    ContentIntercept,
    /// An event that the host waits for.
    Wait,
}

impl QuestionKind {
    /// Returns the kind of answer to this frame if it is a query.
    pub(crate) fn from_question(frame: &HostFrame) -> Option<Self> {
        match frame {
            HostFrame::CommandInvoked(_) => Some(Self::Command),
            HostFrame::CommandCompletions(_) => Some(Self::Completions),
            HostFrame::ToolCall(_) => Some(Self::Tool),
            HostFrame::ExtCall(_) => Some(Self::Call),
            HostFrame::EventIntercept(question) if question.intercept.has_long_answer() => {
                Some(Self::ContentIntercept)
            }
            HostFrame::EventIntercept(question) if question.intercept.kind().is_wait() => Some(Self::Wait),
            HostFrame::EventIntercept(_) => Some(Self::Intercept),
            HostFrame::HelloAck(_)
            | HostFrame::Cancel(_)
            | HostFrame::ToolCancel(_)
            | HostFrame::ToolResult(_)
            | HostFrame::HostResult(_)
            | HostFrame::Progress(_)
            | HostFrame::State(_)
            | HostFrame::Entries(_)
            | HostFrame::Event(_)
            | HostFrame::PanelKey(_)
            | HostFrame::PanelResize(_)
            | HostFrame::PanelClose(_)
            | HostFrame::EventGap(_)
            | HostFrame::Ping(_)
            | HostFrame::RegisterRejected(_)
            | HostFrame::Shutdown(_) => None,
        }
    }

    /// Returns the kind of query that this frame answers.
    pub(crate) fn from_response(response: &QueryResponse) -> Self {
        match response {
            QueryResponse::Command(_) => Self::Command,
            QueryResponse::Completions(_) => Self::Completions,
            QueryResponse::Tool(_) => Self::Tool,
            QueryResponse::Intercept(_) => Self::Intercept,
            QueryResponse::Call(_) => Self::Call,
        }
    }

    /// True if an extension can learn that the query was cancelled.
    pub(crate) fn is_cancellable(self) -> bool {
        match self {
            Self::Command
            | Self::Tool
            | Self::Call
            | Self::Intercept
            | Self::ContentIntercept
            | Self::Wait => true,
            // A completion must arrive at once, or is useless.
            Self::Completions => false,
        }
    }

    /// True if a hook is asked.
    pub(crate) fn is_hook(self) -> bool {
        matches!(self, Self::Intercept | Self::ContentIntercept | Self::Wait)
    }

    /// True if the answer may be a long line.
    fn has_long_answer(self) -> bool {
        match self {
            Self::Tool | Self::ContentIntercept => true,
            Self::Command | Self::Completions | Self::Call | Self::Intercept | Self::Wait => false,
        }
    }

    /// True if this frame of the extension answers such a query.
    pub(crate) fn is_answered_by(self, response: &QueryResponse) -> bool {
        self.response_type() == Self::from_response(response).response_type()
    }

    /// Returns the `type` of the answer.
    pub(crate) fn response_type(self) -> &'static str {
        match self {
            Self::Command => "command_response",
            Self::Completions => "command_completions_response",
            Self::Tool => "tool_result",
            Self::Call => "ext_result",
            Self::Intercept | Self::ContentIntercept | Self::Wait => "event_intercept_response",
        }
    }
}

/// The fate of a query that is not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuestionFate {
    Answered,
    /// The query timed out, or its caller went away.
    Dropped(QuestionKind),
}

impl QuestionFate {
    /// True if a long answer may still arrive.
    fn awaits_long_answer(self) -> bool {
        matches!(self, Self::Dropped(kind) if kind.has_long_answer())
    }
}

#[derive(Debug)]
pub(crate) struct PendingQuestions<T> {
    /// The open queries in order. There are few at a time, and a linear search is faster than a hash.
    open: VecDeque<(RequestId, OpenQuestion<T>)>,
    past: VecDeque<(RequestId, QuestionFate)>,
    /// The number of dropped queries with long answers among the recent ones, because every line needs it.
    dropped_long: usize,
}

impl<T> Default for PendingQuestions<T> {
    fn default() -> Self {
        Self { open: VecDeque::new(), past: VecDeque::new(), dropped_long: 0 }
    }
}

impl<T> PendingQuestions<T> {
    /// Opens a query. Line numbers increase.
    pub(crate) fn insert(&mut self, id: RequestId, open: OpenQuestion<T>) {
        self.open.push_back((id, open));
    }

    pub(crate) fn get(&self, id: &RequestId) -> Option<&OpenQuestion<T>> {
        self.open.iter().find(|(known, _)| known == id).map(|(_, open)| open)
    }

    pub(crate) fn close_answered(&mut self, id: &RequestId) -> Option<OpenQuestion<T>> {
        self.close(|known, _| known == id, |_| QuestionFate::Answered)
    }

    /// Closes a query whose caller went away.
    pub(crate) fn close_dropped(&mut self, id: &RequestId) -> Option<OpenQuestion<T>> {
        self.close(|known, _| known == id, |open| QuestionFate::Dropped(open.kind))
    }

    /// Closes an overdue query, the oldest first.
    pub(crate) fn close_overdue(&mut self, now: Instant) -> Option<(RequestId, OpenQuestion<T>)> {
        let is_overdue = |open: &OpenQuestion<T>| open.deadline().is_some_and(|until| until <= now);
        let id = self.open.iter().find(|(_, open)| is_overdue(open))?.0.clone();
        self.close_dropped(&id).map(|open| (id, open))
    }

    /// Returns the only open query, with the number of its line.
    pub(crate) fn only_open(&self) -> Option<(&RequestId, u64)> {
        let (id, open) = self.open.front().filter(|_| self.open.len() == 1)?;
        Some((id, open.line))
    }

    /// Stops the time of a query, unless it stands still already. Events that the host waits for decide nothing, so
    /// that their time always runs: no dialog holds up the end of a session or a run.
    pub(crate) fn stop_time(&mut self, id: &RequestId, now: Instant) {
        if let Some((_, open)) = self.open.iter_mut().find(|(known, _)| known == id)
            && open.standstill.is_none()
            && open.kind != QuestionKind::Wait
        {
            let pause = open.clock.as_ref().map(GateClock::pause_clock);
            open.standstill = Some(DeadlinePause { since: now, _pause: pause });
        }
    }

    /// Lets the time of a query run again.
    pub(crate) fn resume_time(&mut self, id: &RequestId, now: Instant) {
        if let Some((_, open)) = self.open.iter_mut().find(|(known, _)| known == id)
            && let Some(DeadlinePause { since, .. }) = open.standstill.take()
        {
            open.until += now.saturating_duration_since(since);
        }
    }

    /// Restarts the time limit of an open query, and returns the query.
    pub(crate) fn renew_deadline(&mut self, id: &RequestId, now: Instant) -> Option<&OpenQuestion<T>> {
        let (_, open) = self.open.iter_mut().find(|(known, _)| known == id)?;
        open.until = now + open.after;
        if let Some(pause) = &mut open.standstill {
            pause.since = now;
        }
        Some(open)
    }

    /// True if the query was dropped and its answer may still arrive.
    pub(crate) fn is_dropped(&self, id: &RequestId) -> bool {
        self.past.iter().any(|(known, fate)| known == id && matches!(fate, QuestionFate::Dropped(_)))
    }

    /// Closes the query of this line, which could not be sent.
    pub(crate) fn close_refused(&mut self, line: u64) -> Option<(RequestId, OpenQuestion<T>)> {
        let id = self.open.iter().find(|(_, open)| open.line == line)?.0.clone();
        self.close_dropped(&id).map(|open| (id, open))
    }

    /// Returns the fate of a query that is not open. A dropped query counts as answered from now on.
    pub(crate) fn take_fate(&mut self, id: &RequestId) -> Option<QuestionFate> {
        let (_, past) = self.past.iter_mut().find(|(known, _)| known == id)?;
        let was = std::mem::replace(past, QuestionFate::Answered);
        self.dropped_long -= usize::from(was.awaits_long_answer());
        Some(was)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.open.iter().filter_map(|(_, open)| open.deadline()).min()
    }

    /// True if an open query was not written yet: only the first `flushed` lines were.
    pub(crate) fn waits_beyond(&self, flushed: u64) -> bool {
        self.open.iter().any(|(_, open)| open.line > flushed)
    }

    /// True if one of the first `lines` lines has an open query.
    pub(crate) fn has_within(&self, lines: u64) -> bool {
        self.open.iter().any(|(_, open)| open.line <= lines)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// True if an answer may still arrive that may be a long line.
    pub(crate) fn expects_long_answer(&self) -> bool {
        self.dropped_long > 0 || self.open.iter().any(|(_, open)| open.kind.has_long_answer())
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = OpenQuestion<T>> {
        std::mem::take(&mut self.open).into_iter().map(|(_, open)| open)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    fn close(
        &mut self,
        which: impl Fn(&RequestId, &OpenQuestion<T>) -> bool,
        past: impl FnOnce(&OpenQuestion<T>) -> QuestionFate,
    ) -> Option<OpenQuestion<T>> {
        let place = self.open.iter().position(|(id, open)| which(id, open))?;
        let (id, open) = self.open.remove(place)?;
        self.remember(id, past(&open));
        Some(open)
    }

    fn remember(&mut self, id: RequestId, past: QuestionFate) {
        if self.past.len() == MAX_REMEMBERED
            && let Some((_, forgotten)) = self.past.pop_front()
        {
            self.dropped_long -= usize::from(forgotten.awaits_long_answer());
        }
        self.dropped_long += usize::from(past.awaits_long_answer());
        self.past.push_back((id, past));
    }
}
