//! The open questions of one connection, and the recent ones, so that a late answer is told from an invented one.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use haft_protocol::ext::{HostFrame, Response};
use haft_protocol::ids::RequestId;

/// How many finished questions are remembered.
const REMEMBERED: usize = 512;

/// One question that waits for its answer. `T` is whom the answer goes to.
#[derive(Debug)]
pub(crate) struct Open<T> {
    pub(crate) ticket: T,
    pub(crate) kind: Kind,
    /// What was asked, for people: `tool_call intercept`, `tool weather`.
    pub(crate) what: String,
    pub(crate) until: Instant,
    pub(crate) after: Duration,
    /// The number of the line that asks, to see whether it ever left.
    pub(crate) line: u64,
}

/// Which frame answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Command,
    Tool,
    Intercept,
}

impl Kind {
    /// What answers this frame, if it is a question at all.
    pub(crate) fn asked_by(frame: &HostFrame) -> Option<Self> {
        match frame {
            HostFrame::CommandInvoked(_) => Some(Self::Command),
            HostFrame::ToolCall(_) => Some(Self::Tool),
            HostFrame::EventIntercept(_) => Some(Self::Intercept),
            HostFrame::HelloAck(_)
            | HostFrame::Event(_)
            | HostFrame::PanelKey(_)
            | HostFrame::PanelResize(_)
            | HostFrame::PanelClose(_)
            | HostFrame::EventGap(_)
            | HostFrame::Ping(_)
            | HostFrame::Shutdown(_) => None,
        }
    }

    /// What this frame answers.
    pub(crate) fn of(response: &Response) -> Self {
        match response {
            Response::Command(_) => Self::Command,
            Response::Tool(_) => Self::Tool,
            Response::Intercept(_) => Self::Intercept,
        }
    }

    /// The `type` of the answer.
    pub(crate) fn response_type(self) -> &'static str {
        match self {
            Self::Command => "command_response",
            Self::Tool => "tool_result",
            Self::Intercept => "event_intercept_response",
        }
    }
}

/// What became of a question that is not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past {
    /// It was answered.
    Answered,
    /// Its time was up, or whoever asked went away.
    Dropped(Kind),
}

/// All questions of one connection.
#[derive(Debug)]
pub(crate) struct Pending<T> {
    open: HashMap<RequestId, Open<T>>,
    past: VecDeque<(RequestId, Past)>,
    /// How many of them are tool calls that were dropped. Counted, because every line that comes asks for it.
    dropped_tools: usize,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self { open: HashMap::new(), past: VecDeque::new(), dropped_tools: 0 }
    }
}

impl<T> Pending<T> {
    pub(crate) fn insert(&mut self, id: RequestId, open: Open<T>) {
        self.open.insert(id, open);
    }

    pub(crate) fn get(&self, id: &RequestId) -> Option<&Open<T>> {
        self.open.get(id)
    }

    /// Closes a question that got its answer.
    pub(crate) fn answered(&mut self, id: &RequestId) -> Option<Open<T>> {
        let open = self.open.remove(id)?;
        self.remember(id.clone(), Past::Answered);
        Some(open)
    }

    /// Closes a question that nobody waits for any more.
    pub(crate) fn dropped(&mut self, id: &RequestId) -> Option<Open<T>> {
        let open = self.open.remove(id)?;
        self.remember(id.clone(), Past::Dropped(open.kind));
        Some(open)
    }

    /// What became of a question that is not open. A dropped one counts as answered from here on.
    pub(crate) fn look_back(&mut self, id: &RequestId) -> Option<Past> {
        let (_, past) = self.past.iter_mut().find(|(known, _)| known == id)?;
        let was = std::mem::replace(past, Past::Answered);
        self.dropped_tools -= usize::from(was == Past::Dropped(Kind::Tool));
        Some(was)
    }

    /// The earliest deadline.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.open.values().map(|open| open.until).min()
    }

    /// A question whose time is up.
    pub(crate) fn overdue(&self, now: Instant) -> Option<RequestId> {
        let due = self.open.iter().filter(|(_, open)| open.until <= now);
        due.min_by_key(|(_, open)| open.line).map(|(id, _)| id.clone())
    }

    /// The question that was asked in this line.
    pub(crate) fn by_line(&self, line: u64) -> Option<RequestId> {
        self.open.iter().find(|(_, open)| open.line == line).map(|(id, _)| id.clone())
    }

    /// Whether a question is open whose line has not left: only the first `flushed` lines have.
    pub(crate) fn waits_beyond(&self, flushed: u64) -> bool {
        self.open.values().any(|open| open.line > flushed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether a tool's result may still come, and with it a long line.
    pub(crate) fn expects_result(&self) -> bool {
        self.dropped_tools > 0 || self.open.values().any(|open| open.kind == Kind::Tool)
    }

    /// Takes all open questions, in the order they were asked.
    pub(crate) fn drain(&mut self) -> Vec<Open<T>> {
        let mut all: Vec<_> = self.open.drain().map(|(_, open)| open).collect();
        all.sort_by_key(|open| open.line);
        all
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    fn remember(&mut self, id: RequestId, past: Past) {
        if self.past.len() == REMEMBERED
            && let Some((_, forgotten)) = self.past.pop_front()
        {
            self.dropped_tools -= usize::from(forgotten == Past::Dropped(Kind::Tool));
        }
        self.dropped_tools += usize::from(past == Past::Dropped(Kind::Tool));
        self.past.push_back((id, past));
    }
}
