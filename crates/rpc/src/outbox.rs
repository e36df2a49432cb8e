//! `ClientOutbox`: the lines that wait for a client.
//!
//! The agent never waits for the client. The outbox keeps all replies, messages, results and ends,
//! however slowly the client reads. If too much waits, it drops events whose content arrives in
//! full later, and events that an extension can send without limit. It reports the number of
//! dropped events before the next line of their session. New content of a panel or status item
//! replaces the waiting content.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};

use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::{ClientEvent, EventLine, RpcEvent, RpcResponse, ServerLine};
use serde::Serialize as _;

/// The limits on waiting bytes above which events are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxLimits {
    /// The limit for pieces of text, thinking, arguments and tool output. Above it, panels are
    /// replaced.
    pub pieces: usize,
    /// The limit for events that extensions send freely: notes, panels, texts for the editor, and
    /// host calls.
    pub notes: usize,
}

impl Default for OutboxLimits {
    fn default() -> Self {
        Self { pieces: 1024 * 1024, notes: 8 * 1024 * 1024 }
    }
}

/// The waiting lines, oldest first.
#[derive(Debug, Default)]
pub(crate) struct ClientOutbox {
    room: OutboxLimits,
    form: LineEncoding,
    lines: VecDeque<WaitingLine>,
    /// The size of all lines, as far as it is known without encoding them.
    bytes: usize,
    /// The numbers of dropped events that are not yet reported, by session.
    gaps: BTreeMap<SessionKey, u64>,
}

/// The form of lines for a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LineEncoding {
    #[default]
    Text,
    /// Values without encoding, for a client in the same process.
    Typed,
}

#[derive(Debug)]
struct WaitingLine {
    content: LineContent,
    topic: Option<LineTopic>,
}

/// The form of a waiting line.
#[derive(Debug)]
enum LineContent {
    Text(String),
    /// A value and its size in bytes.
    Typed(Box<ServerLine>, usize),
}

impl WaitingLine {
    fn bytes(&self) -> usize {
        match &self.content {
            LineContent::Text(line) => line.len(),
            LineContent::Typed(_, bytes) => *bytes,
        }
    }
}

/// The session of an event, or `None` for events without a session.
type SessionKey = Option<String>;

/// The subject of a line that a later line of the same extension can replace.
#[derive(Debug, PartialEq, Eq)]
struct LineTopic {
    session: SessionKey,
    extension: ExtensionName,
    about: ScreenRegion,
}

/// The part of the screen that a line of an extension changes.
#[derive(Debug, PartialEq, Eq)]
enum ScreenRegion {
    /// The panel of the extension, which has at most one open panel.
    Panel(PanelPhase),
    Status(String),
    Title,
    /// The commands, tools and shortcuts of the extension.
    Registrations,
}

/// The state of a panel for a client.
#[derive(Debug, PartialEq, Eq)]
enum PanelPhase {
    Opens,
    Holds(PanelId),
    Closes,
}

impl LineTopic {
    /// True if both lines concern the same panel or the same status item.
    fn is_beside(&self, other: &Self) -> bool {
        let same_part = match (&self.about, &other.about) {
            (ScreenRegion::Panel(_), ScreenRegion::Panel(_)) => true,
            (one, other) => one == other,
        };
        same_part && self.session == other.session && self.extension == other.extension
    }
}

/// The priority of an event if too much waits.
enum EventPriority {
    /// Kept always: no other event has the content.
    All,
    Piece,
    /// Dropped early: an extension can send it without limit.
    Note,
    /// Replaced by the next event for the same part of the screen.
    Replaceable(ExtensionName, ScreenRegion),
}

impl ClientOutbox {
    /// Creates an empty outbox.
    pub(crate) fn new(room: OutboxLimits, form: LineEncoding) -> Self {
        Self { room, form, ..Self::default() }
    }

    /// Adds a reply.
    ///
    /// # Errors
    /// If the reply has no JSON form, which never happens; the outbox is then unchanged.
    pub(crate) fn reply(&mut self, reply: RpcResponse) -> Result<(), serde_json::Error> {
        let line = self.waiting_line(reply, None)?;
        self.push(line);
        Ok(())
    }

    /// Adds an event, or drops it.
    ///
    /// # Errors
    /// If the event has no JSON form, which never happens; the outbox is then unchanged.
    pub(crate) fn event(
        &mut self,
        session: SessionKey,
        event: impl Into<ClientEvent>,
    ) -> Result<(), serde_json::Error> {
        let event = event.into();
        let worth = event_priority(&event);
        let room = match worth {
            EventPriority::All | EventPriority::Replaceable(..) => usize::MAX,
            EventPriority::Piece => self.room.pieces,
            EventPriority::Note => self.room.notes,
        };
        if self.bytes > room {
            self.record_loss(session);
            return Ok(());
        }
        let topic = match worth {
            EventPriority::All | EventPriority::Piece | EventPriority::Note => None,
            EventPriority::Replaceable(extension, about) => {
                Some(LineTopic { session: session.clone(), extension, about })
            }
        };
        let line = self.waiting_line(EventLine { event, session: session.clone() }, topic)?;
        let Some(line) = self.merge_line(line) else { return Ok(()) };
        self.report_gap(session)?;
        self.push(line);
        Ok(())
    }

    /// Takes the next lines as text: at most `most` bytes, but at least one line. Returns `None` if
    /// no line waits.
    ///
    /// # Errors
    /// None in practice: this method reports the last dropped events, and that event has a JSON
    /// form.
    pub(crate) fn take(&mut self, most: usize) -> Result<Option<String>, serde_json::Error> {
        self.report_gaps()?;
        let mut taken = String::new();
        while let Some(line) = self.lines.front()
            && (taken.is_empty() || taken.len() + line.bytes() <= most)
        {
            match self.pop() {
                Some(LineContent::Text(line)) => taken.push_str(&line),
                Some(LineContent::Typed(line, _)) => taken.push_str(&line.encode()?),
                None => {}
            }
        }
        Ok((!taken.is_empty()).then_some(taken))
    }

    /// Takes the next line as a value. Returns `None` if no line waits.
    pub(crate) fn take_line(&mut self) -> Result<Option<ServerLine>, serde_json::Error> {
        self.report_gaps()?;
        Ok(self
            .pop()
            .and_then(|kept| if let LineContent::Typed(line, _) = kept { Some(*line) } else { None }))
    }

    /// Appends the waiting lines and the drop counts of another outbox.
    pub(crate) fn append(&mut self, mut other: Self) -> Result<(), serde_json::Error> {
        std::mem::take(&mut other.lines).into_iter().for_each(|line| self.push(line));
        other.report_gaps()?;
        other.lines.into_iter().for_each(|line| self.push(line));
        Ok(())
    }

    /// Returns the number of waiting bytes.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.bytes
    }

    /// True if no more commands should be read, because their replies would also wait.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > self.room.notes
    }

    fn waiting_line(
        &self,
        line: impl Into<ServerLine>,
        topic: Option<LineTopic>,
    ) -> Result<WaitingLine, serde_json::Error> {
        let line = line.into();
        let kept = match self.form {
            LineEncoding::Text => LineContent::Text(line.encode()?),
            LineEncoding::Typed => {
                let bytes = line_weight(&line)?;
                LineContent::Typed(Box::new(line), bytes)
            }
        };
        Ok(WaitingLine { content: kept, topic })
    }

    fn push(&mut self, line: WaitingLine) {
        self.bytes += line.bytes();
        self.lines.push_back(line);
    }

    fn pop(&mut self) -> Option<LineContent> {
        let line = self.lines.pop_front()?;
        self.bytes -= line.bytes();
        Some(line.content)
    }

    fn record_loss(&mut self, session: SessionKey) {
        *self.gaps.entry(session).or_default() += 1;
    }

    /// Merges a line with the waiting lines of the same part of the screen if much waits. The line
    /// moves behind them, or replaces the last one if both have the same topic. Returns the line if
    /// it belongs at the end.
    fn merge_line(&mut self, line: WaitingLine) -> Option<WaitingLine> {
        let Some(topic) = line.topic.as_ref().filter(|_| self.bytes > self.room.pieces) else {
            return Some(line);
        };
        let is_beside =
            |older: &WaitingLine| older.topic.as_ref().is_some_and(|older| older.is_beside(topic));
        if topic.about == ScreenRegion::Panel(PanelPhase::Opens) {
            // Behind the panels of other extensions, because the last opened panel is visible. The
            // events of the previous panel are obsolete.
            self.lines.retain(|older| !is_beside(older));
            self.bytes = self.lines.iter().map(WaitingLine::bytes).sum();
            return Some(line);
        }
        let Some(last) = self.lines.iter().rposition(is_beside) else { return Some(line) };
        self.bytes += line.bytes();
        match self.lines.get_mut(last) {
            Some(older) if older.topic == line.topic => {
                self.bytes -= older.bytes();
                *older = line;
            }
            Some(_) | None => self.lines.insert(last + 1, line),
        }
        None
    }

    /// Reports the last dropped events when no line waits.
    fn report_gaps(&mut self) -> Result<(), serde_json::Error> {
        if self.lines.is_empty() {
            while let Some((session, _)) = self.gaps.first_key_value() {
                self.report_gap(session.clone())?;
            }
        }
        Ok(())
    }

    /// Reports the number of dropped events of a session, if there are any.
    fn report_gap(&mut self, session: SessionKey) -> Result<(), serde_json::Error> {
        let Some(lost) = self.gaps.remove(&session) else { return Ok(()) };
        let event = AgentEvent::EventGap { lost }.into();
        let line = self.waiting_line(EventLine { event, session }, None)?;
        self.push(line);
        Ok(())
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only the events that are named here may be dropped")]
fn event_priority(event: &ClientEvent) -> EventPriority {
    let panel = |extension: &ExtensionName, told| {
        EventPriority::Replaceable(extension.clone(), ScreenRegion::Panel(told))
    };
    match event {
        ClientEvent::Agent(
            AgentEvent::TextDelta { .. }
            | AgentEvent::ThinkingDelta { .. }
            | AgentEvent::ToolUseArgs { .. }
            | AgentEvent::ToolProgress { .. },
        ) => EventPriority::Piece,
        ClientEvent::Agent(
            AgentEvent::ExtNotify { .. }
            | AgentEvent::ExtClearNotes { .. }
            | AgentEvent::ExtDisplay { .. }
            | AgentEvent::HostCallStart { .. }
            | AgentEvent::HostCallEnd { .. },
        )
        | ClientEvent::Rpc(
            RpcEvent::Insert { .. } | RpcEvent::SetEditor { .. } | RpcEvent::SetWorking { .. },
        ) => EventPriority::Note,
        ClientEvent::Rpc(RpcEvent::SetTitle { extension, .. }) => {
            EventPriority::Replaceable(extension.clone(), ScreenRegion::Title)
        }
        ClientEvent::Rpc(RpcEvent::RegistrationsChanged { extension }) => {
            EventPriority::Replaceable(extension.clone(), ScreenRegion::Registrations)
        }
        ClientEvent::Rpc(RpcEvent::PanelOpen { extension, .. }) => panel(extension, PanelPhase::Opens),
        ClientEvent::Rpc(RpcEvent::PanelRender { extension, panel: content }) => {
            panel(extension, PanelPhase::Holds(content.panel_id.clone()))
        }
        ClientEvent::Rpc(RpcEvent::PanelClose { extension, .. }) => panel(extension, PanelPhase::Closes),
        ClientEvent::Rpc(RpcEvent::ExtStatus { extension, key, .. }) => {
            EventPriority::Replaceable(extension.clone(), ScreenRegion::Status(key.clone()))
        }
        _ => EventPriority::All,
    }
}

/// Returns the approximate size of a line as JSON. Escapes are not counted, nor is the data of
/// images, of which the line contains only the size.
fn line_weight(line: &ServerLine) -> Result<usize, serde_json::Error> {
    let mut count = ByteCounter(0);
    let mut json = serde_json::Serializer::new(&mut count);
    match line {
        ServerLine::Reply(reply) => reply.serialize(&mut json)?,
        ServerLine::Event(event) => event.serialize(&mut json)?,
    }
    let images = match line {
        ServerLine::Reply(_) => 0,
        ServerLine::Event(line) => image_bytes(&line.event),
    };
    Ok(count.0 + 1 + images)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other event has images")]
fn image_bytes(event: &ClientEvent) -> usize {
    let content = match event {
        ClientEvent::Agent(
            AgentEvent::UserMessage { content, .. }
            | AgentEvent::CustomMessage { content, .. }
            | AgentEvent::ToolResult { content, .. }
            | AgentEvent::HostCallEnd { content, .. },
        ) => content,
        _ => return 0,
    };
    let image = |content: &ContentBlock| match content {
        ContentBlock::Image(image) => image.data.len(),
        ContentBlock::Text { .. } => 0,
    };
    content.iter().map(image).sum()
}

/// Counts the written bytes and discards them.
struct ByteCounter(usize);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
