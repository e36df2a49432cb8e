//! `Desk`: the commands of one session, in the order in which they count.
//!
//! A state machine without IO: commands and what became of the work go in, [`Effect`]s come out, to be carried out in order
//! before anything else goes in. The promise: each command is answered exactly once, whatever happens, and one thing is
//! worked on at a time.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use haft_protocol::rpc::{
    Abort, Command, CommandKind, Compact, ErrorCode, Failure, NoData, Payload, Prompt, Request, Response,
    Started,
};

/// The number of prompts that may wait behind the one that is worked on.
pub const MOST_WAITING: usize = 64;

/// The number of commands that may be under way, prompts that wait included.
pub(crate) const MOST_OPEN: usize = 256;

#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    Reply(Response),
    /// This is done beside the work; what it comes to is told with [`Desk::done`]. [`Command::Clear`] is done before
    /// anything else goes in, since nothing is worked on only now.
    Do(Ticket, Command),
    /// This is worked on from here on, until [`Desk::ended`].
    Start(Job),
    Stop,
    /// The session is not needed any more: nothing is worked on and nothing waits. [`Desk::closed`] comes next.
    Close,
}

/// A job of a session, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Job {
    Prompt(Prompt),
    /// A message for the model as it stands, whatever it begins with.
    Message(Prompt),
    Compact(Compact),
}

/// A command that is not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ticket(u64);

/// The state of one session.
#[derive(Debug, Default)]
pub(crate) struct CommandScheduler {
    tickets: u64,
    open: BTreeMap<Ticket, Asked>,
    /// Of these, the ones that change what a job works with: none begins before they are done.
    holding: BTreeSet<Ticket>,
    works: bool,
    /// The jobs that wait; none while nothing is worked on and nothing is changed.
    waiting: VecDeque<Waiting>,
    stage: Stage,
    closer: Option<Asked>,
}

/// A command, as far as its answer needs it.
#[derive(Debug)]
struct Asked {
    id: Option<String>,
    kind: CommandKind,
}

/// A job, and the command that is answered when it begins.
#[derive(Debug)]
struct Waiting {
    ticket: Option<Ticket>,
    job: Job,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Open,
    /// No more commands come; what was accepted is finished.
    Finishing,
    /// The session ends its work and begins nothing else.
    Closing,
    /// [`Effect::Close`] was said.
    Closed,
}

impl CommandScheduler {
    pub(crate) fn command(&mut self, request: Request) -> Vec<Effect> {
        let Request { id, command, session: _ } = request;
        let asked = Asked { id, kind: command.kind() };
        if matches!(self.stage, Stage::Closing | Stage::Closed) {
            return vec![asked.failed(ended())];
        }
        self.take(asked, command)
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "what has no place in the order of work is done at once"
    )]
    fn take(&mut self, asked: Asked, command: Command) -> Vec<Effect> {
        match command {
            Command::Prompt(prompt) if says_nothing(&prompt) => vec![asked.failed(empty())],
            Command::Prompt(prompt) => self.accept(asked, Job::Prompt(prompt)),
            Command::Compact(compact) => self.accept(asked, Job::Compact(compact)),
            Command::Abort(abort) => self.abort(asked, abort),
            Command::Clear(_) | Command::MoveTo(_) if self.is_busy() => vec![asked.failed(busy())],
            Command::CloseSession(_) => {
                self.closer = Some(asked);
                self.shutdown()
            }
            _ if self.open.len() >= MOST_OPEN => vec![asked.failed(flooded())],
            command => {
                let holds =
                    matches!(command, Command::SetModel(_) | Command::ReloadExt(_) | Command::MoveTo(_));
                let ticket = self.ticket(asked);
                self.holding.extend(holds.then_some(ticket));
                vec![Effect::Do(ticket, command)]
            }
        }
    }

    pub(crate) fn done(&mut self, ticket: Ticket, outcome: Result<Payload, Failure>) -> Vec<Effect> {
        let mut effects: Vec<Effect> = self.answer(ticket, outcome).into_iter().collect();
        if self.holding.remove(&ticket) {
            effects.extend(self.start());
        }
        effects.extend(self.close_if_finished());
        effects
    }

    /// A job that nobody waits for the beginning of: the prompt of an extension's command, told before that command is
    /// done.
    ///
    /// # Errors
    /// [`Failure`] when too much waits, or the session is closing.
    pub(crate) fn add(&mut self, job: Job) -> Result<Vec<Effect>, Failure> {
        match self.stage {
            Stage::Closing | Stage::Closed => Err(ended()),
            Stage::Open | Stage::Finishing if self.waiting.len() >= MOST_WAITING => Err(full()),
            Stage::Open | Stage::Finishing => Ok(self.enqueue(Waiting { ticket: None, job })),
        }
    }

    pub(crate) fn ended(&mut self) -> Vec<Effect> {
        self.works = false;
        match self.stage {
            Stage::Open | Stage::Finishing => {
                let mut effects = self.start();
                effects.extend(self.close_if_finished());
                effects
            }
            Stage::Closing => vec![self.close()],
            Stage::Closed => Vec::new(),
        }
    }

    pub(crate) fn finish(&mut self) -> Vec<Effect> {
        if self.stage == Stage::Open {
            self.stage = Stage::Finishing;
        }
        self.close_if_finished().into_iter().collect()
    }

    /// Ends at once: what is worked on is stopped, and whoever waits for an answer is told that none comes.
    pub(crate) fn shutdown(&mut self) -> Vec<Effect> {
        if matches!(self.stage, Stage::Closing | Stage::Closed) {
            return Vec::new();
        }
        self.stage = Stage::Closing;
        self.waiting.clear();
        self.holding.clear();
        let open = std::mem::take(&mut self.open);
        let mut effects: Vec<Effect> = open.into_values().map(|asked| asked.failed(ended())).collect();
        effects.push(if self.works { Effect::Stop } else { self.close() });
        effects
    }

    pub(crate) fn closed(&mut self) -> Vec<Effect> {
        self.closer.take().map(|asked| asked.answered(Ok(Payload::of(NoData {})))).into_iter().collect()
    }

    pub(crate) fn works(&self) -> bool {
        self.works
    }

    /// The number of jobs that wait behind it.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.stage == Stage::Closed
    }

    /// True if somebody relies on where the session stands, or moves it.
    fn is_busy(&self) -> bool {
        let moves = |ticket| self.open.get(ticket).is_some_and(|asked| asked.kind == CommandKind::MoveTo);
        self.works || !self.waiting.is_empty() || self.holding.iter().any(moves)
    }

    fn ticket(&mut self, asked: Asked) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.open.insert(ticket, asked);
        ticket
    }

    fn answer(&mut self, ticket: Ticket, outcome: Result<Payload, Failure>) -> Option<Effect> {
        self.open.remove(&ticket).map(|asked| asked.answered(outcome))
    }

    fn accept(&mut self, asked: Asked, job: Job) -> Vec<Effect> {
        if self.waiting.len() >= MOST_WAITING {
            return vec![asked.failed(full())];
        }
        let ticket = Some(self.ticket(asked));
        self.enqueue(Waiting { ticket, job })
    }

    fn enqueue(&mut self, waiting: Waiting) -> Vec<Effect> {
        self.waiting.push_back(waiting);
        self.start()
    }

    /// Begins what waits longest, if it can begin.
    fn start(&mut self) -> Vec<Effect> {
        if self.works || !self.holding.is_empty() {
            return Vec::new();
        }
        let Some(Waiting { ticket, job }) = self.waiting.pop_front() else { return Vec::new() };
        self.works = true;
        let started = Payload::of(Started { started: true });
        let reply = ticket.and_then(|ticket| self.answer(ticket, Ok(started)));
        reply.into_iter().chain([Effect::Start(job)]).collect()
    }

    fn abort(&mut self, asked: Asked, abort: Abort) -> Vec<Effect> {
        let mut effects = vec![asked.answered(Ok(Payload::of(NoData {})))];
        if abort.queued == Some(true) {
            let taken = std::mem::take(&mut self.waiting).into_iter().filter_map(|waiting| waiting.ticket);
            effects.extend(taken.filter_map(|ticket| self.answer(ticket, Err(aborted()))));
        }
        effects.extend(self.works.then_some(Effect::Stop));
        effects
    }

    fn close_if_finished(&mut self) -> Option<Effect> {
        let idle = !self.works && self.waiting.is_empty() && self.open.is_empty();
        let finished = self.stage == Stage::Finishing && idle;
        finished.then(|| self.close())
    }

    fn close(&mut self) -> Effect {
        self.stage = Stage::Closed;
        Effect::Close
    }
}

impl Asked {
    fn answered(self, outcome: Result<Payload, Failure>) -> Effect {
        let Self { id, kind } = self;
        Effect::Reply(match outcome {
            Ok(data) => Response::done(id, kind, data),
            Err(failure) => Response::failure(id, kind, failure),
        })
    }

    fn failed(self, failure: Failure) -> Effect {
        self.answered(Err(failure))
    }
}

fn says_nothing(prompt: &Prompt) -> bool {
    prompt.message.trim().is_empty() && prompt.images.is_empty()
}

fn empty() -> Failure {
    Failure::new(ErrorCode::EmptyMessage, "the message is empty; say something")
}

fn busy() -> Failure {
    let error = "the session is at work; wait for `done`, or send `abort` first";
    Failure::new(ErrorCode::Busy, error)
}

fn full() -> Failure {
    let error = format!("{MOST_WAITING} prompts wait already; wait for some to begin, or abort them");
    Failure::new(ErrorCode::QueueFull, error)
}

fn flooded() -> Failure {
    let error = format!("{MOST_OPEN} commands are under way already; wait for some of their replies");
    Failure::new(ErrorCode::QueueFull, error)
}

fn aborted() -> Failure {
    Failure::new(ErrorCode::Aborted, "taken back by `abort` before it began")
}

fn ended() -> Failure {
    Failure::new(
        ErrorCode::Shutdown,
        "not done: the session is closed, or haft ends; ask another session, or start haft again",
    )
}
