//! `Outbox`: what waits for a client that reads in its own time.
//!
//! The agent never waits for it. What a client cannot do without is kept however long it takes: replies, messages, results
//! and ends. Pieces of what comes as a whole later are left out while much waits, and how many is told before the next line
//! of their session. Of a panel, the newest content takes the place of the one that waits, and so does what an extension
//! says in the status line.

#[cfg(test)]
mod tests;
mod weight;

use std::collections::{BTreeMap, VecDeque};

use haft_protocol::event::AgentEvent;
use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::{Event, EventLine, Line, Response, RpcEvent};

/// How much may wait before something is left out, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// For pieces: of text, of thinking, of arguments, of a tool's output. Beyond it, panels are replaced.
    pub pieces: usize,
    /// For what extensions tell without end: notes, and what they have haft do.
    pub notes: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { pieces: 1024 * 1024, notes: 8 * 1024 * 1024 }
    }
}

/// The lines that wait, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    room: Room,
    form: Form,
    lines: VecDeque<Kept>,
    /// How many lines were taken out so far: the number of the first one.
    first: u64,
    /// Of all lines, as far as it is known without writing them.
    bytes: usize,
    /// Where the newest of what replaces itself waits.
    newest: BTreeMap<PlaceOf, u64>,
    /// How many of each session were left out and are not told of yet.
    gaps: BTreeMap<Session, u64>,
}

/// What a client reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// Lines of JSON.
    #[default]
    Text,
    /// Lines as they are: it is in the same process.
    Typed,
}

/// A line that waits.
#[derive(Debug)]
enum Kept {
    Text(String),
    /// With what it weighs, in bytes.
    Typed(Box<Line>, usize),
}

impl Kept {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(line) => line.len(),
            Self::Typed(_, bytes) => *bytes,
        }
    }
}

/// The session of an event, if it is about one.
type Session = Option<String>;

/// Whose place, and which.
type PlaceOf = (Session, ExtensionName, Place);

/// Where what comes later takes the place of what was there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Panel(PanelId),
    /// By the item's key.
    Status(String),
}

/// What a client loses with an event.
enum Worth {
    /// Something that nothing else tells.
    All,
    /// A piece of what comes as a whole.
    Piece,
    /// Something that an extension tells as often as it likes.
    Note,
    /// What the next one in the same place replaces.
    Newest(ExtensionName, Place),
    /// Something that nothing else tells, about a panel.
    Panel(ExtensionName, PanelId),
}

impl Outbox {
    /// An empty one.
    pub(crate) fn new(room: Room, form: Form) -> Self {
        Self { room, form, ..Self::default() }
    }

    /// Adds a reply.
    ///
    /// # Errors
    /// When it has no JSON form, which none lacks; then nothing is added.
    pub(crate) fn reply(&mut self, reply: Response) -> Result<(), serde_json::Error> {
        let kept = self.kept(reply)?;
        self.push(kept);
        Ok(())
    }

    /// Adds an event, or leaves it out.
    ///
    /// # Errors
    /// When it has no JSON form, which none lacks; then nothing is added.
    pub(crate) fn event(
        &mut self,
        session: Session,
        event: impl Into<Event>,
    ) -> Result<(), serde_json::Error> {
        let event = event.into();
        let worth = worth(&event);
        let room = match worth {
            Worth::All | Worth::Newest(..) | Worth::Panel(..) => usize::MAX,
            Worth::Piece => self.room.pieces,
            Worth::Note => self.room.notes,
        };
        if self.bytes > room {
            self.lose(session);
            return Ok(());
        }
        let mut kept = self.kept(EventLine { event, session: session.clone() })?;
        let waits = match worth {
            Worth::Newest(extension, place) => {
                let place = (session.clone(), extension, place);
                match self.replace(&place, kept) {
                    Some(unplaced) => kept = unplaced,
                    None => return Ok(()),
                }
                Some(place)
            }
            Worth::Panel(extension, id) => {
                // It counts behind the content that waits, so that stays where it is.
                self.newest.remove(&(session.clone(), extension, Place::Panel(id)));
                None
            }
            Worth::All | Worth::Piece | Worth::Note => None,
        };
        self.tell_gap(session)?;
        if let Some(place) = waits {
            self.newest.insert(place, self.next());
        }
        self.push(kept);
        Ok(())
    }

    /// Takes the next lines as text, as many as `most` bytes hold and at least one. Nothing when none waits.
    ///
    /// # Errors
    /// None in truth: what was left out last is told of here, and that has a JSON form.
    pub(crate) fn take(&mut self, most: usize) -> Result<Option<String>, serde_json::Error> {
        self.tell_gaps()?;
        let mut taken = String::new();
        while let Some(kept) = self.lines.front()
            && (taken.is_empty() || taken.len() + kept.bytes() <= most)
        {
            match self.pop() {
                Some(Kept::Text(line)) => taken.push_str(&line),
                Some(Kept::Typed(line, _)) => taken.push_str(&line.encode()?),
                None => {}
            }
        }
        Ok((!taken.is_empty()).then_some(taken))
    }

    /// Takes the next line as it is. Nothing when none waits.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(crate) fn take_line(&mut self) -> Result<Option<Line>, serde_json::Error> {
        self.tell_gaps()?;
        Ok(self.pop().and_then(|kept| if let Kept::Typed(line, _) = kept { Some(*line) } else { None }))
    }

    /// Adds what waits in another one, and what it has left out.
    ///
    /// # Errors
    /// None in truth, as [`take`](Self::take).
    pub(crate) fn append(&mut self, mut other: Self) -> Result<(), serde_json::Error> {
        loop {
            other.tell_gaps()?;
            let Some(kept) = other.pop() else { return Ok(()) };
            self.push(kept);
        }
    }

    /// How many bytes wait.
    pub(crate) fn waiting(&self) -> usize {
        self.bytes
    }

    /// Whether so much waits that no more commands should be read: their replies would only wait, too.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > self.room.notes
    }

    /// A line in the form in which it waits.
    fn kept(&self, line: impl Into<Line>) -> Result<Kept, serde_json::Error> {
        let line = line.into();
        Ok(match self.form {
            Form::Text => Kept::Text(line.encode()?),
            Form::Typed => {
                let bytes = weight::of(&line)?;
                Kept::Typed(Box::new(line), bytes)
            }
        })
    }

    fn push(&mut self, kept: Kept) {
        self.bytes += kept.bytes();
        self.lines.push_back(kept);
    }

    fn pop(&mut self) -> Option<Kept> {
        let kept = self.lines.pop_front()?;
        self.bytes -= kept.bytes();
        self.first += 1;
        let first = self.first;
        self.newest.retain(|_, at| *at >= first);
        Some(kept)
    }

    /// The number of the next line that is added.
    fn next(&self) -> u64 {
        self.first + self.lines.len() as u64
    }

    fn lose(&mut self, session: Session) {
        *self.gaps.entry(session).or_default() += 1;
    }

    /// While much waits, puts what is newer in the place of what waits there. Gives it back if nothing does.
    fn replace(&mut self, place: &PlaceOf, kept: Kept) -> Option<Kept> {
        let older = self.newest.get(place).filter(|_| self.bytes > self.room.pieces);
        let place = older.and_then(|at| usize::try_from(at - self.first).ok());
        let Some(older) = place.and_then(|place| self.lines.get_mut(place)) else { return Some(kept) };
        self.bytes = self.bytes - older.bytes() + kept.bytes();
        *older = kept;
        None
    }

    /// Once nothing waits, says what was left out last.
    fn tell_gaps(&mut self) -> Result<(), serde_json::Error> {
        if self.lines.is_empty() {
            while let Some((session, _)) = self.gaps.first_key_value() {
                self.tell_gap(session.clone())?;
            }
        }
        Ok(())
    }

    /// Says how many of a session were left out, if any were.
    fn tell_gap(&mut self, session: Session) -> Result<(), serde_json::Error> {
        let Some(lost) = self.gaps.remove(&session) else { return Ok(()) };
        let event = AgentEvent::EventGap { lost }.into();
        let kept = self.kept(EventLine { event, session })?;
        self.push(kept);
        Ok(())
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "nothing is left out unless it is named here")]
fn worth(event: &Event) -> Worth {
    match event {
        Event::Agent(
            AgentEvent::TextDelta { .. }
            | AgentEvent::ThinkingDelta { .. }
            | AgentEvent::ToolUseArgs { .. }
            | AgentEvent::ToolProgress { .. },
        ) => Worth::Piece,
        Event::Agent(
            AgentEvent::ExtNotify { .. } | AgentEvent::HostCallStart { .. } | AgentEvent::HostCallEnd { .. },
        ) => Worth::Note,
        Event::Rpc(RpcEvent::PanelRender { extension, panel }) => {
            Worth::Newest(extension.clone(), Place::Panel(panel.panel_id.clone()))
        }
        Event::Rpc(RpcEvent::ExtStatus { extension, key, .. }) => {
            Worth::Newest(extension.clone(), Place::Status(key.clone()))
        }
        Event::Rpc(RpcEvent::PanelOpen { extension, panel }) => {
            Worth::Panel(extension.clone(), panel.panel_id.clone())
        }
        Event::Rpc(RpcEvent::PanelClose { extension, panel_id }) => {
            Worth::Panel(extension.clone(), panel_id.clone())
        }
        _ => Worth::All,
    }
}
