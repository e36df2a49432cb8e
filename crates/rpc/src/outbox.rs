//! `ClientOutbox`: what waits for a client that reads in its own time.
//!
//! The agent never waits for it. What a client cannot do without is kept however long it takes: replies, messages, results
//! and ends. Pieces of what comes as a whole later are left out while much waits, and how many is told before the next line
//! of their session. So is what an extension can tell without end. Of an extension's panel, what is newer takes the place of
//! what waits, and so does what it says in the status line.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};

use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::{ClientEvent, EventLine, RpcEvent, RpcResponse, ServerLine};
use serde::Serialize as _;

/// The number of bytes that may wait before something is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxLimits {
    /// For pieces: of text, of thinking, of arguments, of a tool's output. Beyond it, panels are replaced.
    pub pieces: usize,
    /// For what extensions tell without end: notes, what they show, what they put into the editor, and what they have haft
    /// do.
    pub notes: usize,
}

impl Default for OutboxLimits {
    fn default() -> Self {
        Self { pieces: 1024 * 1024, notes: 8 * 1024 * 1024 }
    }
}

/// The lines that wait, oldest first.
#[derive(Debug, Default)]
pub(crate) struct ClientOutbox {
    room: OutboxLimits,
    form: LineEncoding,
    lines: VecDeque<WaitingLine>,
    /// Of all lines, as far as it is known without writing them.
    bytes: usize,
    /// The numbers of events that were left out and not reported yet, by session.
    gaps: BTreeMap<SessionKey, u64>,
}

/// The form of lines for a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LineEncoding {
    #[default]
    Text,
    /// Lines as they are: it is in the same process.
    Typed,
}

#[derive(Debug)]
struct WaitingLine {
    content: LineContent,
    topic: Option<LineTopic>,
}

/// The form in which a line waits.
#[derive(Debug)]
enum LineContent {
    Text(String),
    /// With what it weighs, in bytes.
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

/// The session of an event, if it is about one.
type SessionKey = Option<String>;

/// The subject of a line that a later line of the same extension may replace.
#[derive(Debug, PartialEq, Eq)]
struct LineTopic {
    session: SessionKey,
    extension: ExtensionName,
    about: ScreenRegion,
}

/// The part of the screen that a line of an extension is about.
#[derive(Debug, PartialEq, Eq)]
enum ScreenRegion {
    /// The panel of the extension, of which it has one open at a time.
    Panel(PanelPhase),
    Status(String),
}

/// The state of a panel for a client.
#[derive(Debug, PartialEq, Eq)]
enum PanelPhase {
    Opens,
    Holds(PanelId),
    Closes,
}

impl LineTopic {
    /// True if both are about one panel, or one item of the status line.
    fn is_beside(&self, other: &Self) -> bool {
        let same_part = match (&self.about, &other.about) {
            (ScreenRegion::Panel(_), ScreenRegion::Panel(_)) => true,
            (one, other) => one == other,
        };
        same_part && self.session == other.session && self.extension == other.extension
    }
}

/// The loss for a client when an event is left out.
enum EventPriority {
    /// Something that nothing else tells.
    All,
    Piece,
    /// Something that an extension tells as often as it likes.
    Note,
    /// Something about a part of the screen that the next thing about this part may replace.
    Replaceable(ExtensionName, ScreenRegion),
}

impl ClientOutbox {
    /// An empty one.
    pub(crate) fn new(room: OutboxLimits, form: LineEncoding) -> Self {
        Self { room, form, ..Self::default() }
    }

    /// Adds a reply.
    ///
    /// # Errors
    /// When it has no JSON form, which none lacks; then nothing is added.
    pub(crate) fn reply(&mut self, reply: RpcResponse) -> Result<(), serde_json::Error> {
        let line = self.waiting_line(reply, None)?;
        self.push(line);
        Ok(())
    }

    /// Adds an event, or leaves it out.
    ///
    /// # Errors
    /// When it has no JSON form, which none lacks; then nothing is added.
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

    /// Takes the next lines as text, as many as `most` bytes hold and at least one. Nothing when none waits.
    ///
    /// # Errors
    /// None in truth: what was left out last is told of here, and that has a JSON form.
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

    /// Takes the next line as it is. Nothing when none waits.
    pub(crate) fn take_line(&mut self) -> Result<Option<ServerLine>, serde_json::Error> {
        self.report_gaps()?;
        Ok(self
            .pop()
            .and_then(|kept| if let LineContent::Typed(line, _) = kept { Some(*line) } else { None }))
    }

    /// Adds what waits in another one, and what it has left out.
    pub(crate) fn append(&mut self, mut other: Self) -> Result<(), serde_json::Error> {
        std::mem::take(&mut other.lines).into_iter().for_each(|line| self.push(line));
        other.report_gaps()?;
        other.lines.into_iter().for_each(|line| self.push(line));
        Ok(())
    }

    /// The number of bytes that wait.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.bytes
    }

    /// True if so much waits that no more commands should be read: their replies would only wait, too.
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

    /// While much waits, puts a line behind the older ones about the same part of the screen, or in the place of the last of
    /// them if both have the same topic. Returns the line where it comes last of all.
    fn merge_line(&mut self, line: WaitingLine) -> Option<WaitingLine> {
        let Some(topic) = line.topic.as_ref().filter(|_| self.bytes > self.room.pieces) else {
            return Some(line);
        };
        let is_beside =
            |older: &WaitingLine| older.topic.as_ref().is_some_and(|older| older.is_beside(topic));
        if topic.about == ScreenRegion::Panel(PanelPhase::Opens) {
            // Behind the panels of others: the one that opened last is the one that is seen. Nobody misses what was told of
            // the panel before.
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

    /// Once nothing waits, says what was left out last.
    fn report_gaps(&mut self) -> Result<(), serde_json::Error> {
        if self.lines.is_empty() {
            while let Some((session, _)) = self.gaps.first_key_value() {
                self.report_gap(session.clone())?;
            }
        }
        Ok(())
    }

    /// Says how many of a session were left out, if any were.
    fn report_gap(&mut self, session: SessionKey) -> Result<(), serde_json::Error> {
        let Some(lost) = self.gaps.remove(&session) else { return Ok(()) };
        let event = AgentEvent::EventGap { lost }.into();
        let line = self.waiting_line(EventLine { event, session }, None)?;
        self.push(line);
        Ok(())
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "nothing is left out unless it is named here")]
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
        | ClientEvent::Rpc(RpcEvent::Insert { .. }) => EventPriority::Note,
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

/// As many bytes as it has as a line of JSON, but for what is escaped in one, and those of the images that such a line only
/// tells the size of.
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

/// Counts what is written, and keeps nothing of it.
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
