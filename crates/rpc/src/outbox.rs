//! `Outbox`: what waits for a client that reads in its own time.
//!
//! The agent never waits for it. What a client cannot do without is kept however long it takes: replies, messages, results
//! and ends. Pieces of what comes as a whole later are left out while much waits, and how many is told before the next line
//! of their session. So is what an extension can tell without end. Of an extension's panel, what is newer takes the place of
//! what waits, and so does what it says in the status line.

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
    /// For what extensions tell without end: notes, what they show, what they put into the editor, and what they have haft
    /// do.
    pub notes: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { pieces: 1024 * 1024, notes: 8 * 1024 * 1024 }
    }
}

/// How many places may be empty in any case.
const MOST_EMPTY: usize = 64;

/// The lines that wait, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    room: Room,
    form: Form,
    places: VecDeque<Place>,
    /// How many places were taken away so far: the number of the first one.
    first: u64,
    /// How many of the places are empty.
    empty: usize,
    /// Of all lines, as far as it is known without writing them.
    bytes: usize,
    /// The last place where something about the panel of an extension waits, or about one of its items in the status line.
    newest: BTreeMap<NewestOf, u64>,
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

/// What waits at one place.
#[derive(Debug)]
enum Place {
    One(Kept),
    /// About the panel of one extension, in order: at most that it opens, what is in it, and that it closes. Empty when it
    /// has opened again since. The first place never is.
    Panel(VecDeque<(Told, Kept)>),
}

/// What is told about a panel.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    Opens,
    Holds(PanelId),
    Closes,
}

impl Kept {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(line) => line.len(),
            Self::Typed(_, bytes) => *bytes,
        }
    }
}

impl Place {
    fn first(&self) -> Option<&Kept> {
        match self {
            Self::One(kept) => Some(kept),
            Self::Panel(lines) => lines.front().map(|(_, kept)| kept),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::One(kept) => kept.bytes(),
            Self::Panel(lines) => lines.iter().map(|(_, kept)| kept.bytes()).sum(),
        }
    }
}

/// The session of an event, if it is about one.
type Session = Option<String>;

/// Whose panel, of which an extension has one open at a time; or whose item in the status line, with its key.
type NewestOf = (Session, ExtensionName, Option<String>);

/// What a client loses with an event.
enum Worth {
    /// Something that nothing else tells.
    All,
    /// A piece of what comes as a whole.
    Piece,
    /// Something that an extension tells as often as it likes.
    Note,
    /// Something about an extension's panel: what is in it is replaced by what is in it next, and all that was before it
    /// opens again by that.
    Panel(ExtensionName, Told),
    /// What an extension says in the status line under a key, which the next thing that it says there replaces.
    Status(ExtensionName, String),
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
        self.push(Place::One(kept));
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
            Worth::All | Worth::Panel(..) | Worth::Status(..) => usize::MAX,
            Worth::Piece => self.room.pieces,
            Worth::Note => self.room.notes,
        };
        if self.bytes > room {
            self.lose(session);
            return Ok(());
        }
        let kept = self.kept(EventLine { event, session: session.clone() })?;
        let (newest, place) = match worth {
            Worth::All | Worth::Piece | Worth::Note => (None, Some(Place::One(kept))),
            Worth::Panel(extension, told) => {
                let panel = (session.clone(), extension, None);
                let last = self.join(&panel, told, kept);
                (Some(panel), last.map(|last| Place::Panel(VecDeque::from([last]))))
            }
            Worth::Status(extension, key) => {
                let item = (session.clone(), extension, Some(key));
                let last = self.replace(&item, kept);
                (Some(item), last.map(Place::One))
            }
        };
        let Some(place) = place else { return Ok(()) };
        self.tell_gap(session)?;
        newest.map(|newest| self.newest.insert(newest, self.next()));
        self.push(place);
        Ok(())
    }

    /// Takes the next lines as text, as many as `most` bytes hold and at least one. Nothing when none waits.
    ///
    /// # Errors
    /// None in truth: what was left out last is told of here, and that has a JSON form.
    pub(crate) fn take(&mut self, most: usize) -> Result<Option<String>, serde_json::Error> {
        self.tell_gaps()?;
        let mut taken = String::new();
        while let Some(kept) = self.places.front().and_then(Place::first)
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
            let Some(place) = other.places.pop_front() else { return Ok(()) };
            self.push(place);
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

    fn push(&mut self, place: Place) {
        self.bytes += place.bytes();
        self.places.push_back(place);
    }

    fn pop(&mut self) -> Option<Kept> {
        let (kept, emptied) = match self.places.pop_front()? {
            Place::One(kept) => (kept, true),
            Place::Panel(mut lines) => {
                let (_, kept) = lines.pop_front()?;
                let emptied = lines.is_empty();
                if !emptied {
                    self.places.push_front(Place::Panel(lines));
                }
                (kept, emptied)
            }
        };
        self.bytes -= kept.bytes();
        if emptied {
            self.first += 1;
            self.trim();
        }
        Some(kept)
    }

    /// No empty place stays at the beginning, and not many behind it.
    fn trim(&mut self) {
        while self.places.front().is_some_and(|place| place.first().is_none()) {
            self.places.pop_front();
            (self.first, self.empty) = (self.first + 1, self.empty - 1);
        }
        let first = self.first;
        self.newest.retain(|_, at| *at >= first);
        if self.empty > MOST_EMPTY.max(self.places.len() / 2) {
            self.close_ranks();
        }
    }

    /// Takes the empty places away.
    fn close_ranks(&mut self) {
        let newest = std::mem::take(&mut self.newest);
        let mut newest: BTreeMap<u64, NewestOf> = newest.into_iter().map(|(of, at)| (at, of)).collect();
        for (at, place) in (self.first..).zip(std::mem::take(&mut self.places)) {
            if place.first().is_some() {
                newest.remove(&at).map(|of| self.newest.insert(of, self.next()));
                self.places.push_back(place);
            }
        }
        self.empty = 0;
    }

    /// The number of the next place that is added.
    fn next(&self) -> u64 {
        self.first + self.places.len() as u64
    }

    fn lose(&mut self, session: Session) {
        *self.gaps.entry(session).or_default() += 1;
    }

    /// While much waits, puts news of an extension's panel where older ones wait, and in their place as far as nobody
    /// misses them. Gives it back where it comes last.
    fn join(&mut self, panel: &NewestOf, told: Told, kept: Kept) -> Option<(Told, Kept)> {
        let older = self.newest.get(panel).filter(|_| self.bytes > self.room.pieces);
        let place = older.and_then(|at| usize::try_from(at - self.first).ok());
        let Some(Place::Panel(lines)) = place.and_then(|place| self.places.get_mut(place)) else {
            return Some((told, kept));
        };
        if told == Told::Opens {
            // Behind the panels of others: the one that opened last is the one that is seen.
            let gone = std::mem::take(lines);
            self.bytes -= gone.iter().map(|(_, kept)| kept.bytes()).sum::<usize>();
            self.empty += 1;
            self.trim();
            return Some((told, kept));
        }
        self.bytes += kept.bytes();
        if matches!(told, Told::Holds(_)) && lines.back().is_some_and(|(last, _)| *last == told) {
            self.bytes -= lines.pop_back().map_or(0, |(_, kept)| kept.bytes());
        }
        lines.push_back((told, kept));
        None
    }

    /// While much waits, puts what an item in the status line says in the place of what waits of it. Gives it back if nothing
    /// does.
    fn replace(&mut self, item: &NewestOf, kept: Kept) -> Option<Kept> {
        let older = self.newest.get(item).filter(|_| self.bytes > self.room.pieces);
        let place = older.and_then(|at| usize::try_from(at - self.first).ok());
        let Some(Place::One(older)) = place.and_then(|place| self.places.get_mut(place)) else {
            return Some(kept);
        };
        self.bytes = self.bytes - older.bytes() + kept.bytes();
        *older = kept;
        None
    }

    /// Once nothing waits, says what was left out last.
    fn tell_gaps(&mut self) -> Result<(), serde_json::Error> {
        if self.places.is_empty() {
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
        self.push(Place::One(kept));
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
            AgentEvent::ExtNotify { .. }
            | AgentEvent::ExtClearNotes { .. }
            | AgentEvent::ExtDisplay { .. }
            | AgentEvent::HostCallStart { .. }
            | AgentEvent::HostCallEnd { .. },
        )
        | Event::Rpc(RpcEvent::Insert { .. }) => Worth::Note,
        Event::Rpc(RpcEvent::PanelOpen { extension, .. }) => Worth::Panel(extension.clone(), Told::Opens),
        Event::Rpc(RpcEvent::PanelRender { extension, panel }) => {
            Worth::Panel(extension.clone(), Told::Holds(panel.panel_id.clone()))
        }
        Event::Rpc(RpcEvent::PanelClose { extension, .. }) => Worth::Panel(extension.clone(), Told::Closes),
        Event::Rpc(RpcEvent::ExtStatus { extension, key, .. }) => {
            Worth::Status(extension.clone(), key.clone())
        }
        _ => Worth::All,
    }
}
