//! `CommandScheduler`: orders the commands of one session.
//!
//! A state machine without IO. Commands and results go in; [`SchedulerEffect`]s come out, which the
//! caller applies in order before the next input. The scheduler answers each command exactly once
//! and runs one job at a time.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use haft_protocol::rpc::{
    AbortCommand, Command, CommandFailure, CommandKind, CompactCommand, ErrorCode, NoData, PromptCommand,
    ReplyPayload, RpcResponse, StartedData,
};

use crate::extension_commands::ExtensionCommandId;

/// The maximum number of prompts that wait for the current job.
pub const MOST_WAITING: usize = 64;

/// The maximum number of open commands, including waiting prompts.
pub(crate) const MOST_OPEN: usize = 256;

#[derive(Debug, PartialEq)]
pub(crate) enum SchedulerEffect {
    Reply(RpcResponse),
    /// The reply to a command of an extension.
    ReplyToExtension(ExtensionCommandId, Result<ReplyPayload, CommandFailure>),
    /// Runs the command beside the current job. The caller reports the result with
    /// [`CommandScheduler::done`]. [`Command::Clear`] must finish before the next input, because
    /// the session is idle only now.
    Do(CommandTicket, Command),
    /// Starts the job, which runs until [`CommandScheduler::ended`].
    Start(SessionJob),
    Stop,
    /// Closes the session: no job runs and none waits. The caller then calls
    /// [`CommandScheduler::closed`].
    Close,
}

/// A job of a session. Jobs run one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionJob {
    Prompt(PromptCommand),
    /// A prompt of an extension.
    ExtensionPrompt(PromptCommand),
    /// A message for the model, unchanged even if it looks like a command.
    Message(PromptCommand),
    Compact(CompactCommand),
    /// A run for messages that are in the session or in its queue.
    Resume,
}

/// An unanswered command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CommandTicket(u64);

/// The state of one session.
#[derive(Debug, Default)]
pub(crate) struct CommandScheduler {
    tickets: u64,
    open: BTreeMap<CommandTicket, PendingReply>,
    /// The commands among them that change the setup of a job. No job starts before they are done.
    holding: BTreeSet<CommandTicket>,
    works: bool,
    /// The waiting jobs; empty while no job runs and no setup changes.
    waiting: VecDeque<WaitingJob>,
    stage: SchedulerStage,
    closer: Option<PendingReply>,
    /// The commands that wait until the session is idle.
    idle_waiters: Vec<CommandTicket>,
}

/// The parts of a command that its reply needs.
#[derive(Debug)]
struct PendingReply {
    to: CommandSource,
    kind: CommandKind,
}

/// The sender of a command, which gets the reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandSource {
    /// The client, with the id of the command.
    Client(Option<String>),
    Extension(ExtensionCommandId),
}

/// A waiting job, and the command that is answered when the job starts.
#[derive(Debug)]
struct WaitingJob {
    ticket: Option<CommandTicket>,
    job: SessionJob,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SchedulerStage {
    #[default]
    Open,
    /// The client sends no more commands; accepted commands still run.
    Finishing,
    /// The session finishes its current job and starts no other.
    Closing,
    /// The scheduler has emitted [`SchedulerEffect::Close`].
    Closed,
}

impl CommandScheduler {
    pub(crate) fn command_from(&mut self, to: CommandSource, command: Command) -> Vec<SchedulerEffect> {
        let asked = PendingReply { to, kind: command.kind() };
        if matches!(self.stage, SchedulerStage::Closing | SchedulerStage::Closed) {
            return vec![asked.into_failure(session_ended_failure())];
        }
        self.route_command(asked, command)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all other commands run at once")]
    fn route_command(&mut self, asked: PendingReply, command: Command) -> Vec<SchedulerEffect> {
        match command {
            Command::Prompt(prompt) if is_empty_prompt(&prompt) => {
                vec![asked.into_failure(empty_message_failure())]
            }
            Command::Prompt(prompt) => {
                let job = match asked.to {
                    CommandSource::Client(_) => SessionJob::Prompt(prompt),
                    CommandSource::Extension(_) => SessionJob::ExtensionPrompt(prompt),
                };
                self.accept_job(asked, job)
            }
            Command::Compact(compact) => self.accept_job(asked, SessionJob::Compact(compact)),
            Command::Abort(abort) => self.abort(asked, abort),
            Command::Clear(_) | Command::MoveTo(_) if self.is_busy() => {
                vec![asked.into_failure(busy_failure())]
            }
            Command::CloseSession(_) => {
                self.closer = Some(asked);
                self.shutdown()
            }
            Command::WaitIdle(_) if self.is_idle() => {
                vec![asked.into_reply(Ok(ReplyPayload::from_value(NoData {})))]
            }
            _ if self.is_full_for(&asked.to) => vec![asked.into_failure(too_many_commands_failure())],
            Command::WaitIdle(_) => {
                let ticket = self.issue_ticket(asked);
                self.idle_waiters.push(ticket);
                Vec::new()
            }
            command => {
                let holds =
                    matches!(command, Command::SetModel(_) | Command::ReloadExt(_) | Command::MoveTo(_));
                let ticket = self.issue_ticket(asked);
                self.holding.extend(holds.then_some(ticket));
                vec![SchedulerEffect::Do(ticket, command)]
            }
        }
    }

    pub(crate) fn complete(
        &mut self,
        ticket: CommandTicket,
        outcome: Result<ReplyPayload, CommandFailure>,
    ) -> Vec<SchedulerEffect> {
        let mut effects: Vec<SchedulerEffect> = self.answer(ticket, outcome).into_iter().collect();
        if self.holding.remove(&ticket) {
            effects.extend(self.start());
            effects.extend(self.answer_idle_waiters());
        }
        effects.extend(self.close_if_finished());
        effects
    }

    /// Withdraws a command whose sender does not wait any more. A job that waits does not start.
    pub(crate) fn withdraw_command(&mut self, id: ExtensionCommandId) -> Vec<SchedulerEffect> {
        let of_sender = |asked: &PendingReply| asked.to == CommandSource::Extension(id);
        let Some(ticket) = self.open.iter().find(|(_, asked)| of_sender(asked)).map(|(ticket, _)| *ticket)
        else {
            return Vec::new();
        };
        let waited = self.waiting.len() + self.idle_waiters.len();
        self.waiting.retain(|waiting| waiting.ticket != Some(ticket));
        self.idle_waiters.retain(|waiter| *waiter != ticket);
        if self.waiting.len() + self.idle_waiters.len() == waited {
            // The command runs already.
            return Vec::new();
        }
        self.open.remove(&ticket);
        let answered = self.answer_idle_waiters();
        answered.into_iter().chain(self.close_if_finished()).collect()
    }

    /// Begins a run of the program, which is not a job. It ends with
    /// [`job_ended`](Self::job_ended).
    pub(crate) fn begin_own_run(&mut self) {
        self.works = true;
    }

    /// Adds a job without a waiting command: the prompt of an extension's command, or the run for a
    /// message. The caller adds it before that command is done.
    ///
    /// # Errors
    /// [`CommandFailure`] if too many jobs wait, or the session is closing.
    pub(crate) fn add_job(&mut self, job: SessionJob) -> Result<Vec<SchedulerEffect>, CommandFailure> {
        self.check_room()?;
        Ok(self.enqueue(WaitingJob { ticket: None, job }))
    }

    /// Checks that [`add_job`](Self::add_job) accepts a job.
    ///
    /// # Errors
    /// As for `add_job`.
    pub(crate) fn check_room(&self) -> Result<(), CommandFailure> {
        match self.stage {
            SchedulerStage::Closing | SchedulerStage::Closed => Err(session_ended_failure()),
            SchedulerStage::Open | SchedulerStage::Finishing if self.waiting.len() >= MOST_WAITING => {
                Err(queue_full_failure())
            }
            SchedulerStage::Open | SchedulerStage::Finishing => Ok(()),
        }
    }

    pub(crate) fn job_ended(&mut self) -> Vec<SchedulerEffect> {
        self.works = false;
        match self.stage {
            SchedulerStage::Open | SchedulerStage::Finishing => {
                let mut effects = self.start();
                effects.extend(self.answer_idle_waiters());
                effects.extend(self.close_if_finished());
                effects
            }
            SchedulerStage::Closing => vec![self.close()],
            SchedulerStage::Closed => Vec::new(),
        }
    }

    pub(crate) fn finish(&mut self) -> Vec<SchedulerEffect> {
        if self.stage == SchedulerStage::Open {
            self.stage = SchedulerStage::Finishing;
        }
        self.close_if_finished().into_iter().collect()
    }

    /// Accepts commands again after the client's last one was done, because extensions may send some until
    /// all sessions have closed. Returns true if the scheduler was closed; the caller then closes it again
    /// with [`finish`](Self::finish).
    pub(crate) fn reopen(&mut self) -> bool {
        let was_closed = self.stage == SchedulerStage::Closed;
        if was_closed {
            self.stage = SchedulerStage::Finishing;
        }
        was_closed
    }

    /// Stops the current job and fails all open commands.
    pub(crate) fn shutdown(&mut self) -> Vec<SchedulerEffect> {
        if matches!(self.stage, SchedulerStage::Closing | SchedulerStage::Closed) {
            return Vec::new();
        }
        self.stage = SchedulerStage::Closing;
        self.waiting.clear();
        self.holding.clear();
        self.idle_waiters.clear();
        let open = std::mem::take(&mut self.open);
        let mut effects: Vec<SchedulerEffect> =
            open.into_values().map(|asked| asked.into_failure(session_ended_failure())).collect();
        effects.push(if self.works { SchedulerEffect::Stop } else { self.close() });
        effects
    }

    pub(crate) fn session_closed(&mut self) -> Vec<SchedulerEffect> {
        self.closer
            .take()
            .map(|asked| asked.into_reply(Ok(ReplyPayload::from_value(NoData {}))))
            .into_iter()
            .collect()
    }

    /// Returns the id of an open command if an extension sent it.
    pub(crate) fn extension_command(&self, ticket: CommandTicket) -> Option<ExtensionCommandId> {
        match self.open.get(&ticket)?.to {
            CommandSource::Extension(id) => Some(id),
            CommandSource::Client(_) => None,
        }
    }

    pub(crate) fn is_working(&self) -> bool {
        self.works
    }

    /// Returns the number of jobs that wait.
    pub(crate) fn waiting_jobs(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.stage == SchedulerStage::Closed
    }

    /// True if a job runs or a command changes the current entry of the session.
    fn is_busy(&self) -> bool {
        self.works || !self.waiting.is_empty() || self.is_moving()
    }

    /// True if a command moves the session to another entry.
    fn is_moving(&self) -> bool {
        let moves = |ticket| self.open.get(ticket).is_some_and(|asked| asked.kind == CommandKind::MoveTo);
        self.holding.iter().any(moves)
    }

    /// True if the client has too many open commands. The host limits those of extensions.
    fn is_full_for(&self, sender: &CommandSource) -> bool {
        let is_of_client = |to: &CommandSource| matches!(to, CommandSource::Client(_));
        let of_client = self.open.values().filter(|asked| is_of_client(&asked.to));
        is_of_client(sender) && of_client.count() >= MOST_OPEN
    }

    /// True if no job runs, and none can start.
    fn is_idle(&self) -> bool {
        !self.works && self.waiting.is_empty() && self.holding.is_empty()
    }

    fn answer_idle_waiters(&mut self) -> Vec<SchedulerEffect> {
        if !self.is_idle() {
            return Vec::new();
        }
        let waiters = std::mem::take(&mut self.idle_waiters).into_iter();
        waiters.filter_map(|ticket| self.answer(ticket, Ok(ReplyPayload::from_value(NoData {})))).collect()
    }

    fn issue_ticket(&mut self, asked: PendingReply) -> CommandTicket {
        self.tickets += 1;
        let ticket = CommandTicket(self.tickets);
        self.open.insert(ticket, asked);
        ticket
    }

    fn answer(
        &mut self,
        ticket: CommandTicket,
        outcome: Result<ReplyPayload, CommandFailure>,
    ) -> Option<SchedulerEffect> {
        self.open.remove(&ticket).map(|asked| asked.into_reply(outcome))
    }

    fn accept_job(&mut self, asked: PendingReply, job: SessionJob) -> Vec<SchedulerEffect> {
        if self.waiting.len() >= MOST_WAITING {
            return vec![asked.into_failure(queue_full_failure())];
        }
        let ticket = Some(self.issue_ticket(asked));
        self.enqueue(WaitingJob { ticket, job })
    }

    fn enqueue(&mut self, waiting: WaitingJob) -> Vec<SchedulerEffect> {
        self.waiting.push_back(waiting);
        self.start()
    }

    /// Starts the oldest waiting job, if it can start.
    fn start(&mut self) -> Vec<SchedulerEffect> {
        if self.works || !self.holding.is_empty() {
            return Vec::new();
        }
        let Some(WaitingJob { ticket, job }) = self.waiting.pop_front() else { return Vec::new() };
        self.works = true;
        let started = ReplyPayload::from_value(StartedData { started: true });
        let reply = ticket.and_then(|ticket| self.answer(ticket, Ok(started)));
        reply.into_iter().chain([SchedulerEffect::Start(job)]).collect()
    }

    fn abort(&mut self, asked: PendingReply, abort: AbortCommand) -> Vec<SchedulerEffect> {
        let mut effects = vec![asked.into_reply(Ok(ReplyPayload::from_value(NoData {})))];
        if abort.queued == Some(true) {
            let taken = std::mem::take(&mut self.waiting).into_iter().filter_map(|waiting| waiting.ticket);
            effects.extend(taken.filter_map(|ticket| self.answer(ticket, Err(aborted_failure()))));
        }
        effects.extend((self.works || self.is_moving()).then_some(SchedulerEffect::Stop));
        effects
    }

    fn close_if_finished(&mut self) -> Option<SchedulerEffect> {
        let idle = !self.works && self.waiting.is_empty() && self.open.is_empty();
        let finished = self.stage == SchedulerStage::Finishing && idle;
        finished.then(|| self.close())
    }

    fn close(&mut self) -> SchedulerEffect {
        self.stage = SchedulerStage::Closed;
        SchedulerEffect::Close
    }
}

impl PendingReply {
    fn into_reply(self, outcome: Result<ReplyPayload, CommandFailure>) -> SchedulerEffect {
        let Self { to, kind } = self;
        match (to, outcome) {
            (CommandSource::Client(id), Ok(data)) => {
                SchedulerEffect::Reply(RpcResponse::success_of_kind(id, kind, data))
            }
            (CommandSource::Client(id), Err(failure)) => {
                SchedulerEffect::Reply(RpcResponse::failure(id, kind, failure))
            }
            (CommandSource::Extension(id), outcome) => SchedulerEffect::ReplyToExtension(id, outcome),
        }
    }

    fn into_failure(self, failure: CommandFailure) -> SchedulerEffect {
        self.into_reply(Err(failure))
    }
}

fn is_empty_prompt(prompt: &PromptCommand) -> bool {
    prompt.message.trim().is_empty() && prompt.images.is_empty()
}

fn empty_message_failure() -> CommandFailure {
    CommandFailure::new(ErrorCode::EmptyMessage, "the message is empty; add a text")
}

fn busy_failure() -> CommandFailure {
    let error = "the session is busy; wait for `done`, or send `abort` first";
    CommandFailure::new(ErrorCode::Busy, error)
}

fn queue_full_failure() -> CommandFailure {
    let error = format!("{MOST_WAITING} prompts wait already; wait for some to begin, or abort them");
    CommandFailure::new(ErrorCode::QueueFull, error)
}

fn too_many_commands_failure() -> CommandFailure {
    let error = format!("{MOST_OPEN} commands are under way already; wait for some of their replies");
    CommandFailure::new(ErrorCode::QueueFull, error)
}

fn aborted_failure() -> CommandFailure {
    CommandFailure::new(ErrorCode::Aborted, "cancelled by `abort` before it started")
}

fn session_ended_failure() -> CommandFailure {
    CommandFailure::new(
        ErrorCode::Shutdown,
        "command not run: the session is closed or haft is ending; use another session or restart haft",
    )
}
