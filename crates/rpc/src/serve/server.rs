//! `RpcServer`: handles the lines of the client and the results of tasks.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use haft_core::hooks::{PendingSwitch, SwitchReason};
use haft_protocol::ext::SessionShutdownReason;
use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc::{
    Command, CommandFailure, CommandKind, ErrorCode, ForkCommand, NewSession, ReplyPayload, RpcEvent,
    RpcRequest, RpcResponse, SessionEnd,
};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::active_session::{self, ActiveSession, SessionStage};
use super::jobs::{self, JobOutcome, OwnRun};
use super::jobs::{CommandScope, SwitchMode, TaskEvent};
use super::outcome::{CommandExecution, catch_panics};
use super::{EndReason, ServeOptions, route, session};
use crate::auth_gate::{AuthGate, AuthRefusal};
use crate::client_sink::ClientSink;
use crate::command_scheduler::{CommandScheduler, CommandSource, CommandTicket, SchedulerEffect, SessionJob};
use crate::extension_commands::{ExtensionCommandQueue, ExtensionPromptCount, ExtensionRequest};
use crate::input::{IncomingLine, RequestSource};
use crate::open_sessions::OpenSessions;
use crate::question_broker::QuestionBroker;
use crate::screen::ScreenFactory;
use crate::session_provider::{OpenedSession, SessionChoice, SessionProvider};

/// The reason why the connection to the client failed.
pub(super) enum ConnectionError {
    Input(io::Error),
    /// The client is still connected, but the output cannot be written.
    Output(io::Error),
}

/// The maximum number of open commands with possibly long replies, for which no space is reserved.
/// No command is read while there are this many.
const MOST_BULKY: usize = 4;

/// The maximum number of lines that wait for a session that is being opened. No line is read while there are this many.
const MOST_DEFERRED: usize = 16;

pub(super) struct RpcServer<S> {
    pub(super) sessions: Arc<S>,
    pub(super) version: String,
    /// True if `hello` fails for a name in `approve` that no tool has.
    pub(super) checks_approvals: bool,
    pub(super) client_sink: ClientSink,
    pub(super) questions: QuestionBroker,
    pub(super) auth_gate: AuthGate,
    /// The scheduler of commands that concern no single session.
    pub(super) process_scheduler: CommandScheduler,
    pub(super) open_sessions: OpenSessions<ActiveSession>,
    pub(super) work: JoinSet<TaskEvent>,
    /// Cancelled when sessions must no longer be opened.
    pub(super) ending: CancellationToken,
    /// True while a session is opened that the next commands refer to.
    pub(super) holds: bool,
    /// The lines that wait meanwhile.
    deferred: VecDeque<IncomingLine>,
    /// The number of open commands with possibly long replies.
    pub(super) bulky: usize,
    extension_commands: ExtensionCommandQueue,
    extension_prompts: ExtensionPromptCount,
    end: Option<EndReason>,
}

impl<S: SessionProvider> RpcServer<S> {
    pub(super) fn new(
        sessions: Arc<S>,
        first: OpenedSession,
        outlet: ClientSink,
        extension_commands: ExtensionCommandQueue,
        questions: QuestionBroker,
        options: ServeOptions,
    ) -> Self {
        let seat = ActiveSession::new(first, None);
        Self {
            sessions,
            version: options.version,
            checks_approvals: options.checks_approvals,
            client_sink: outlet,
            questions,
            auth_gate: AuthGate::new(options.token),
            process_scheduler: CommandScheduler::default(),
            open_sessions: OpenSessions::new(seat.id(), seat),
            work: JoinSet::new(),
            ending: CancellationToken::new(),
            holds: false,
            deferred: VecDeque::new(),
            bulky: 0,
            extension_commands,
            extension_prompts: ExtensionPromptCount::default(),
            end: None,
        }
    }

    /// Runs until all work is finished.
    pub(super) async fn run(
        &mut self,
        cancel: &CancellationToken,
        input: &mut impl RequestSource,
        mut writer: Pin<&mut impl Future<Output = io::Result<()>>>,
    ) -> Result<EndReason, ConnectionError> {
        let outlet = self.client_sink.clone();
        let (mut reads, mut writes, mut told, mut broken) = (true, true, false, None);
        loop {
            if let Some(end) = self.end.filter(|_| self.is_over()) {
                return broken.map_or(Ok(end), Err);
            }
            let said = async {
                outlet.wait_for_room().await;
                input.next().await
            };
            tokio::select! {
                biased;
                () = cancel.cancelled(), if !told => {
                    told = true;
                    self.shutdown(EndReason::Cancelled);
                }
                written = &mut writer, if writes => {
                    writes = false;
                    let torn = written.err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
                    broken = broken.or(torn.map(ConnectionError::Output));
                    self.shutdown(EndReason::Gone);
                }
                Some(news) = self.work.join_next() => match news {
                    Ok(news) => self.handle_task_event(news),
                    Err(error) => tracing::error!(%error, "a client task was lost"),
                },
                Some(request) = self.extension_commands.next_request() => self.handle_extension_request(request),
                said = said, if reads && self.may_read() => {
                    let line = said.unwrap_or_else(|error| {
                        broken = Some(ConnectionError::Input(error));
                        IncomingLine::End
                    });
                    reads = !matches!(line, IncomingLine::End);
                    self.handle_line(line);
                }
            }
        }
    }

    fn may_read(&self) -> bool {
        self.bulky < MOST_BULKY && (!self.holds || self.deferred.len() < MOST_DEFERRED)
    }

    /// Handles a line of the client. While a session is opened that the next commands refer to, only answers
    /// to questions are handled at once: the opening may wait for one.
    fn handle_line(&mut self, line: IncomingLine) {
        let is_answer = |line: &IncomingLine| match line {
            IncomingLine::Request(request) => request.command.kind() == CommandKind::UiResponse,
            IncomingLine::Unreadable(_) | IncomingLine::End => false,
        };
        if self.holds && !is_answer(&line) {
            return self.deferred.push_back(line);
        }
        match line {
            IncomingLine::Request(request) => self.handle_request(request),
            IncomingLine::Unreadable(reply) => {
                self.client_sink.reply(self.auth_gate.reply_to_unreadable(reply));
            }
            IncomingLine::End => self.finish(),
        }
    }

    /// Handles the lines that waited for the opened session.
    fn release_hold(&mut self) {
        self.holds = false;
        while !self.holds
            && let Some(line) = self.deferred.pop_front()
        {
            self.handle_line(line);
        }
    }

    fn is_over(&self) -> bool {
        let closed = self.open_sessions.iter().all(|(_, seat)| seat.stage == SessionStage::Closed);
        closed && self.process_scheduler.is_closed() && self.work.is_empty()
    }

    /// Handles the end of the input: accepted commands are finished.
    fn finish(&mut self) {
        self.end.get_or_insert(EndReason::Input);
        // The client can no longer answer questions.
        self.questions.end();
        // The sessions close next. The last line of each is `session_closed`, and no reply follows
        // it.
        let effects = self.process_scheduler.finish();
        self.apply_effects(&CommandScope::Process, None, effects);
    }

    /// Stops all work at once.
    pub(super) fn shutdown(&mut self, end: EndReason) {
        if self.end.is_none_or(|end| end == EndReason::Input) {
            self.end = Some(end);
        }
        self.ending.cancel();
        self.questions.end();
        let effects = self.process_scheduler.shutdown();
        self.apply_effects(&CommandScope::Process, None, effects);
        self.each_session(CommandScheduler::shutdown);
    }

    fn each_session(&mut self, turn: impl Fn(&mut CommandScheduler) -> Vec<SchedulerEffect>) {
        let places: Vec<CommandScope> =
            self.open_sessions.iter().map(|(id, _)| CommandScope::Session(id.to_owned())).collect();
        for place in places {
            let effects = self.scheduler(&place).map(&turn).unwrap_or_default();
            self.apply_effects(&place, None, effects);
        }
    }

    pub(super) fn scheduler(&mut self, place: &CommandScope) -> Option<&mut CommandScheduler> {
        match place {
            CommandScope::Process => Some(&mut self.process_scheduler),
            CommandScope::Session(id) => self.open_sessions.get_mut(id).map(|seat| &mut seat.scheduler),
        }
    }

    /// Applies the effects of a scheduler, in order. `about` is the session that the command named.
    pub(super) fn apply_effects(
        &mut self,
        place: &CommandScope,
        about: Option<&str>,
        effects: Vec<SchedulerEffect>,
    ) {
        for effect in effects {
            match (effect, place) {
                (SchedulerEffect::Reply(reply), _) => self.client_sink.reply(reply),
                (SchedulerEffect::ReplyToExtension(id, outcome), _) => {
                    self.extension_commands.reply(id, outcome);
                }
                (SchedulerEffect::Do(ticket, command), place) => {
                    self.execute_command(place, about, ticket, command)
                }
                (SchedulerEffect::Start(job), CommandScope::Session(id)) => self.start(id, job),
                (SchedulerEffect::Stop, CommandScope::Session(id)) => {
                    self.open_sessions.get_mut(id).into_iter().for_each(|seat| seat.stop.cancel());
                }
                (SchedulerEffect::Close, CommandScope::Session(id)) => self.close(id),
                (SchedulerEffect::Close, CommandScope::Process) if self.ending.is_cancelled() => {}
                (SchedulerEffect::Close, CommandScope::Process) => {
                    self.each_session(CommandScheduler::finish)
                }
                // The process itself has no jobs.
                (SchedulerEffect::Start(_) | SchedulerEffect::Stop, CommandScope::Process) => {}
            }
        }
    }

    pub(super) fn complete_command(
        &mut self,
        place: &CommandScope,
        ticket: CommandTicket,
        outcome: Result<ReplyPayload, CommandFailure>,
    ) {
        let effects = self.scheduler(place).map(|desk| desk.complete(ticket, outcome)).unwrap_or_default();
        self.apply_effects(place, None, effects);
        // The command may have changed what extensions mirror.
        if let CommandScope::Session(id) = place
            && let Some(host) = self.open_sessions.opened_session(id).and_then(|opened| opened.host())
        {
            host.update_mirrors();
        }
    }

    fn start(&mut self, id: &str, job: SessionJob) {
        let Some(seat) = self.open_sessions.get_mut(id) else { return };
        seat.stop = seat.closing.child_token();
        let (session, sessions) = (Arc::clone(&seat.opened), Arc::clone(&self.sessions));
        let (stop, id) = (seat.stop.clone(), id.to_owned());
        let mut work = async move { jobs::run_job(&session, &sessions, &stop, job).await }.boxed();
        // The job starts before the next command is read, so that a message to the agent after a
        // prompt finds it running.
        let ended = (&mut work).now_or_never();
        self.work.spawn(async move {
            let ended = match ended {
                Some(ended) => ended,
                None => work.await,
            };
            TaskEvent::Ended(id, ended)
        });
    }

    /// Begins a run that the program drives, in the only session. Other runs wait for its end.
    pub(super) fn begin_own_run(&mut self) -> OwnRun {
        let id = self.open_sessions.current_id().to_owned();
        let (sender, ended) = oneshot::channel::<()>();
        let (mut stop, mut closing) = (CancellationToken::new(), CancellationToken::new());
        if let Some(seat) = self.open_sessions.get_mut(&id) {
            seat.scheduler.begin_own_run();
            (stop, closing) = (seat.stop.clone(), seat.closing.clone());
        }
        self.work.spawn(async move {
            // The sender is dropped at the end of the run.
            _ = ended.await;
            TaskEvent::Ended(id, JobOutcome::default())
        });
        OwnRun { stop, closing, _ended: sender }
    }

    /// Closes an idle session: ends its extensions and writes its file.
    fn close(&mut self, id: &str) {
        let reason = match self.ending.is_cancelled() {
            true => SessionShutdownReason::Quit,
            false => self.open_sessions.shutdown_reason(id),
        };
        let Some(seat) = self.open_sessions.get_mut(id) else { return };
        let (id, session) = (id.to_owned(), Arc::clone(&seat.opened));
        seat.closing.cancel();
        self.work.spawn(async move {
            let left = catch_panics(session.end_processes(reason)).await;
            let kept =
                catch_panics(async { session.agent.session().flush().await.map_err(CommandFailure::other) })
                    .await;
            TaskEvent::Closed(id, kept.and(left).err().map(|failure| failure.error))
        });
    }

    fn handle_task_event(&mut self, news: TaskEvent) {
        match news {
            TaskEvent::Done(place, ticket, outcome) => self.complete_command(&place, ticket, outcome),
            TaskEvent::Bulky(place, ticket, outcome) => {
                self.bulky -= 1;
                self.complete_command(&place, ticket, outcome);
            }
            TaskEvent::Gone => {}
            TaskEvent::Ran(id, ticket, outcome) => self.handle_command_run(&id, ticket, outcome),
            TaskEvent::Opened(ticket, meant, outcome) => self.handle_session_opened(ticket, meant, outcome),
            TaskEvent::Ended(id, ended) => self.handle_job_end(id, ended),
            TaskEvent::Closed(id, unsafe_because) => self.handle_session_closed(&id, unsafe_because),
        }
    }

    fn handle_job_end(&mut self, id: String, JobOutcome { last, stopped, .. }: JobOutcome) {
        if let (Some(last), Some(seat)) = (last, self.open_sessions.get_mut(&id)) {
            seat.opened.screen.event(last);
        }
        let place = CommandScope::Session(id);
        if stopped && let CommandScope::Session(id) = &place {
            self.open_sessions.mark_closing(id, SessionEnd::Failed);
            let effects = self.scheduler(&place).map(CommandScheduler::shutdown).unwrap_or_default();
            self.apply_effects(&place, None, effects);
        }
        let effects = self.scheduler(&place).map(CommandScheduler::job_ended).unwrap_or_default();
        self.apply_effects(&place, None, effects);
        if stopped && self.open_sessions.iter().all(|(_, seat)| seat.stage != SessionStage::Open) {
            self.shutdown(EndReason::Stopped);
        }
    }

    fn handle_session_closed(&mut self, id: &str, lost: Option<String>) {
        let Some(seat) = self.open_sessions.get_mut(id) else { return };
        seat.stage = SessionStage::Closed;
        let reason = seat.reason;
        let effects = seat.scheduler.session_closed();
        if let Some(why) = lost {
            seat.opened.screen.event(jobs::error_event(why));
        }
        self.apply_effects(&CommandScope::Session(id.to_owned()), None, effects);
        self.client_sink.event(Some(id), RpcEvent::SessionClosed { reason });
        // The last session stays until the process has ended, for later questions.
        drop(self.open_sessions.remove(id));
    }

    /// Handles a command of the client. It is answered exactly once: here, or by its scheduler.
    fn handle_request(&mut self, request: RpcRequest) {
        let kind = request.command.kind();
        if let Err(refused) = self.auth_gate.admit(&request.command) {
            let (failure, ends) = match refused {
                AuthRefusal::Closed(failure) => (failure, false),
                AuthRefusal::Wrong(failure) => (failure, true),
            };
            self.send_failure(request.id, kind, failure);
            if ends {
                self.shutdown(EndReason::Refused);
            }
            return;
        }
        self.handle_admitted(request);
        // After the reply to `hello`, if authentication was required.
        self.client_sink.release_held();
    }

    fn handle_admitted(&mut self, request: RpcRequest) {
        let RpcRequest { id, command, session } = request;
        let kind = command.kind();
        if let Err(failure) =
            self.dispatch_command(CommandSource::Client(id.clone()), command, session.as_deref())
        {
            self.send_failure(id, kind, failure);
        }
    }

    fn handle_extension_request(&mut self, request: ExtensionRequest) {
        match request {
            ExtensionRequest::Execute { id, extension, request, reply } => {
                tracing::debug!(%extension, command = %request.command.kind(), "command of an extension");
                self.extension_commands.expect_reply(id, extension, reply);
                let RpcRequest { id: _, command, session } = request;
                if let Err(failure) =
                    self.dispatch_command(CommandSource::Extension(id), command, session.as_deref())
                {
                    self.extension_commands.reply(id, Err(failure));
                }
            }
            ExtensionRequest::Withdraw(id) => {
                if self.extension_commands.forget_reply(id) {
                    self.each_session(|desk| desk.withdraw_command(id));
                }
            }
        }
    }

    /// Passes a command to its scheduler, which answers it. The error is the reply to a command that does
    /// not reach a scheduler.
    fn dispatch_command(
        &mut self,
        from: CommandSource,
        mut command: Command,
        session: Option<&str>,
    ) -> Result<(), CommandFailure> {
        let kind = command.kind();
        route::check_images(&mut command)?;
        let (place, about) = route::route_command(kind, session, &self.open_sessions)?;
        match from {
            CommandSource::Client(_) => self.extension_prompts.count_client(&command),
            CommandSource::Extension(_) => {
                let busy = self.scheduler(&place).is_some_and(|desk| desk.is_working());
                self.extension_prompts.count_extension(&command, busy)?;
            }
        }
        if let (CommandKind::CloseSession, CommandScope::Session(id)) = (kind, &place) {
            self.open_sessions.check_can_close_one(id)?;
            self.open_sessions.mark_closing(id, SessionEnd::Requested);
        }
        let reopens = matches!(from, CommandSource::Extension(_)) && !self.ending.is_cancelled();
        let Some(desk) = self.scheduler(&place) else { return Ok(()) };
        let reopened = reopens && place == CommandScope::Process && desk.reopen();
        let mut effects = desk.command_from(from, command);
        if reopened {
            effects.extend(desk.finish());
        }
        self.apply_effects(&place, about.as_deref(), effects);
        Ok(())
    }

    fn send_failure(&self, id: Option<String>, kind: CommandKind, failure: CommandFailure) {
        self.client_sink.reply(RpcResponse::failure(id, kind, failure));
    }

    /// Handles the result of a command that was run. Its job is queued before the next prompt.
    fn handle_command_run(
        &mut self,
        id: &str,
        ticket: CommandTicket,
        outcome: Result<(ReplyPayload, Option<SessionJob>), CommandFailure>,
    ) {
        let place = CommandScope::Session(id.to_owned());
        let (mut outcome, job) = match outcome {
            Ok((data, job)) => (Ok(data), job),
            Err(failure) => (Err(failure), None),
        };
        let mut effects = Vec::new();
        if let (Some(job), Some(desk)) = (job, self.scheduler(&place)) {
            match desk.add_job(job) {
                Ok(begins) => effects = begins,
                Err(failure) => outcome = Err(failure),
            }
        }
        self.complete_command(&place, ticket, outcome);
        self.apply_effects(&place, None, effects);
    }

    /// Returns the extension that sent an open command.
    pub(super) fn find_caller(
        &mut self,
        place: &CommandScope,
        ticket: CommandTicket,
    ) -> Option<ExtensionName> {
        let id = self.scheduler(place)?.extension_command(ticket)?;
        self.extension_commands.find_caller(id)
    }

    pub(super) fn new_session(
        &mut self,
        ticket: CommandTicket,
        wish: NewSession,
        caller: Option<ExtensionName>,
    ) -> Option<CommandExecution> {
        let switch = PendingSwitch::new(SwitchReason::New).with_caller(caller);
        let which = SessionChoice::New { ephemeral: wish.ephemeral };
        let reviewed = self.review_switch(switch, which);
        self.open(ticket, SwitchMode::Stay, reviewed);
        None
    }

    /// Asks the hooks of the current session before another one is opened.
    fn review_switch(
        &self,
        switch: PendingSwitch,
        which: SessionChoice,
    ) -> BoxFuture<'static, Result<SessionChoice, CommandFailure>> {
        let current = self.open_sessions.opened_session(self.open_sessions.current_id());
        let (agent, cancel) = (current.map(|opened| opened.agent.clone()), self.ending.clone());
        let reviewed = async move {
            if let Some(agent) = agent {
                agent.review_switch(&cancel, &switch).await.map_err(session::change_failure)?;
            }
            Ok(which)
        };
        reviewed.boxed()
    }

    pub(super) fn switch_session(
        &mut self,
        ticket: CommandTicket,
        named: &str,
        caller: Option<ExtensionName>,
    ) -> Option<CommandExecution> {
        match self.open_sessions.find(Some(named)).map(str::to_owned) {
            Ok(id) if self.open_sessions.is_closing(&id) => {
                Some(CommandExecution::Now(Err(active_session::session_closing_failure())))
            }
            Ok(id) => {
                drop(self.open_sessions.switch_to(&id));
                self.announce_switch(&id, caller);
                Some(CommandExecution::Now(self.open_sessions.describe_session(&id)))
            }
            Err(failure) if self.open_sessions.iter().any(|(id, _)| id.starts_with(named)) => {
                Some(CommandExecution::Now(Err(failure)))
            }
            Err(_) => {
                self.holds = true;
                let switch = PendingSwitch::new(SwitchReason::Resume).with_session(named).with_caller(caller);
                let reviewed = self.review_switch(switch, SessionChoice::Stored(named.to_owned()));
                self.open(ticket, SwitchMode::Switch, reviewed);
                None
            }
        }
    }

    /// Tells the client that an extension made this session the current one.
    fn announce_switch(&self, id: &str, caller: Option<ExtensionName>) {
        if let Some(extension) = caller {
            self.client_sink.event(Some(id), RpcEvent::SessionSwitched { extension });
        }
    }

    pub(super) fn fork(
        &mut self,
        ticket: CommandTicket,
        id: &str,
        wish: ForkCommand,
        caller: Option<ExtensionName>,
    ) -> Option<CommandExecution> {
        let Some(opened) = self.open_sessions.opened_session(id) else {
            return Some(CommandExecution::Now(Err(CommandFailure::other("no session"))));
        };
        let copied = session::copy_session(opened.agent.clone(), wish, caller, self.ending.clone());
        self.open(ticket, SwitchMode::Stay, copied.boxed());
        None
    }

    /// Opens another session; [`handle_session_opened`](Self::handle_session_opened) continues.
    fn open(
        &mut self,
        ticket: CommandTicket,
        meant: SwitchMode,
        which: BoxFuture<'static, Result<SessionChoice, CommandFailure>>,
    ) {
        let (sessions, ending) = (Arc::clone(&self.sessions), self.ending.clone());
        let screens = ScreenFactory::new(
            self.client_sink.clone(),
            self.questions.clone(),
            self.extension_commands.command_sender(),
            true,
        );
        self.work.spawn(async move {
            let opened = catch_panics(async {
                let which = which.await?;
                let reason = which.start_reason();
                let opened = sessions.open(which, &screens).await?;
                Ok(OpenedSession { reason, ..opened })
            });
            let ended = || CommandFailure::new(ErrorCode::Shutdown, "the process is ending");
            let opened = ending.run_until_cancelled(opened).await.unwrap_or_else(|| Err(ended()));
            if opened.is_err() {
                screens.report_open_failed();
            }
            TaskEvent::Opened(ticket, meant, opened)
        });
    }

    fn handle_session_opened(
        &mut self,
        ticket: CommandTicket,
        meant: SwitchMode,
        outcome: Result<OpenedSession, CommandFailure>,
    ) {
        let id = outcome.and_then(|opened| self.add_session(opened));
        let reply = match &id {
            Ok(id) => self.open_sessions.describe_session(id),
            Err(failure) => Err(failure.clone()),
        };
        if let (Ok(id), SwitchMode::Switch) = (&id, meant) {
            drop(self.open_sessions.switch_to(id));
            let caller = self.find_caller(&CommandScope::Process, ticket);
            self.announce_switch(id, caller);
        }
        self.complete_command(&CommandScope::Process, ticket, reply);
        if let Ok(id) = id {
            self.shutdown_if_ending(id);
        }
        if meant == SwitchMode::Switch {
            self.release_hold();
        }
    }

    /// Adds an opened session. A session that is already open stays unchanged.
    fn add_session(&mut self, opened: OpenedSession) -> Result<String, CommandFailure> {
        let id = opened.screen.session().to_owned();
        if self.open_sessions.get_mut(&id).is_some() {
            self.work.spawn(async move {
                // No caller needs the result.
                drop(catch_panics(opened.end_processes(SessionShutdownReason::Quit)).await);
                TaskEvent::Gone
            });
            let error = format!("session {id} is already open; name it with `session`");
            return Err(CommandFailure::new(ErrorCode::SessionLocked, error));
        }
        let current = self.open_sessions.opened_session(self.open_sessions.current_id());
        let previous = current.and_then(|current| current.agent.session().path());
        drop(self.open_sessions.add(id.clone(), ActiveSession::new(opened, previous.as_deref())));
        Ok(id)
    }

    /// Shuts down a session that was opened during a shutdown.
    fn shutdown_if_ending(&mut self, id: String) {
        if self.ending.is_cancelled() {
            let place = CommandScope::Session(id);
            let effects = self.scheduler(&place).map(CommandScheduler::shutdown).unwrap_or_default();
            self.apply_effects(&place, None, effects);
        }
    }
}
