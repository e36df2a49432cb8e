//! The open questions of one connection, and the recent ones, so that a late answer is told from an invented one.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use haft_protocol::ext::{HostFrame, QueryResponse};
use haft_protocol::ids::RequestId;

const REMEMBERED: usize = 512;

/// One question that waits for its answer. `T` is whom the answer goes to.
#[derive(Debug)]
pub(crate) struct OpenQuestion<T> {
    pub(crate) ticket: T,
    pub(crate) kind: QuestionKind,
    /// The subject of the question, for people: `tool_call intercept`, `tool weather`.
    pub(crate) what: Cow<'static, str>,
    pub(crate) until: Instant,
    pub(crate) after: Duration,
    /// The number of the line that asks, to see whether it ever left.
    pub(crate) line: u64,
}

/// Which frame answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuestionKind {
    Command,
    Completions,
    Tool,
    Intercept,
}

impl QuestionKind {
    /// Returns the kind of answer to this frame, if it is a question at all.
    pub(crate) fn from_question(frame: &HostFrame) -> Option<Self> {
        match frame {
            HostFrame::CommandInvoked(_) => Some(Self::Command),
            HostFrame::CommandCompletions(_) => Some(Self::Completions),
            HostFrame::ToolCall(_) => Some(Self::Tool),
            HostFrame::EventIntercept(_) => Some(Self::Intercept),
            HostFrame::HelloAck(_)
            | HostFrame::HostResult(_)
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

    /// Returns the kind of question that this frame answers.
    pub(crate) fn from_response(response: &QueryResponse) -> Self {
        match response {
            QueryResponse::Command(_) => Self::Command,
            QueryResponse::Completions(_) => Self::Completions,
            QueryResponse::Tool(_) => Self::Tool,
            QueryResponse::Intercept(_) => Self::Intercept,
        }
    }

    /// The `type` of the answer.
    pub(crate) fn response_type(self) -> &'static str {
        match self {
            Self::Command => "command_response",
            Self::Completions => "command_completions_response",
            Self::Tool => "tool_result",
            Self::Intercept => "event_intercept_response",
        }
    }
}

/// The fate of a question that is not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuestionFate {
    Answered,
    /// Its time was up, or whoever asked went away.
    Dropped(QuestionKind),
}

#[derive(Debug)]
pub(crate) struct PendingQuestions<T> {
    /// In the order they were asked: there are few at a time, and looking through few is quicker than a hash.
    open: VecDeque<(RequestId, OpenQuestion<T>)>,
    past: VecDeque<(RequestId, QuestionFate)>,
    /// The number of them that are tool calls that were dropped. Counted, because every line that comes asks for it.
    dropped_tools: usize,
}

impl<T> Default for PendingQuestions<T> {
    fn default() -> Self {
        Self { open: VecDeque::new(), past: VecDeque::new(), dropped_tools: 0 }
    }
}

impl<T> PendingQuestions<T> {
    /// Opens a question. Lines are asked in the order of their numbers.
    pub(crate) fn insert(&mut self, id: RequestId, open: OpenQuestion<T>) {
        self.open.push_back((id, open));
    }

    pub(crate) fn get(&self, id: &RequestId) -> Option<&OpenQuestion<T>> {
        self.open.iter().find(|(known, _)| known == id).map(|(_, open)| open)
    }

    pub(crate) fn close_answered(&mut self, id: &RequestId) -> Option<OpenQuestion<T>> {
        self.close(|known, _| known == id, |_| QuestionFate::Answered)
    }

    /// Closes a question that nobody waits for any more.
    pub(crate) fn close_dropped(&mut self, id: &RequestId) -> Option<OpenQuestion<T>> {
        self.close(|known, _| known == id, |open| QuestionFate::Dropped(open.kind))
    }

    /// Closes a question whose time is up, the first one that was asked first.
    pub(crate) fn close_overdue(&mut self, now: Instant) -> Option<OpenQuestion<T>> {
        self.close(|_, open| open.until <= now, |open| QuestionFate::Dropped(open.kind))
    }

    /// Closes the question that was asked in this line: it could not be.
    pub(crate) fn close_refused(&mut self, line: u64) -> Option<OpenQuestion<T>> {
        self.close(|_, open| open.line == line, |open| QuestionFate::Dropped(open.kind))
    }

    /// Returns the fate of a question that is not open. A dropped one counts as answered from here on.
    pub(crate) fn take_fate(&mut self, id: &RequestId) -> Option<QuestionFate> {
        let (_, past) = self.past.iter_mut().find(|(known, _)| known == id)?;
        let was = std::mem::replace(past, QuestionFate::Answered);
        self.dropped_tools -= usize::from(was == QuestionFate::Dropped(QuestionKind::Tool));
        Some(was)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.open.iter().map(|(_, open)| open.until).min()
    }

    /// True if a question is open whose line has not left: only the first `flushed` lines have.
    pub(crate) fn waits_beyond(&self, flushed: u64) -> bool {
        self.open.iter().any(|(_, open)| open.line > flushed)
    }

    /// True if a question is open that was asked in one of the first `lines` lines.
    pub(crate) fn has_within(&self, lines: u64) -> bool {
        self.open.iter().any(|(_, open)| open.line <= lines)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// True if a tool's result may still come, and with it a long line.
    pub(crate) fn expects_result(&self) -> bool {
        self.dropped_tools > 0 || self.open.iter().any(|(_, open)| open.kind == QuestionKind::Tool)
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
        if self.past.len() == REMEMBERED
            && let Some((_, forgotten)) = self.past.pop_front()
        {
            self.dropped_tools -= usize::from(forgotten == QuestionFate::Dropped(QuestionKind::Tool));
        }
        self.dropped_tools += usize::from(past == QuestionFate::Dropped(QuestionKind::Tool));
        self.past.push_back((id, past));
    }
}
