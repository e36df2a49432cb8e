//! Runs commands: quick ones at once, all others as tasks.

use std::sync::Arc;

use haft_core::hooks::UserInput;
use haft_protocol::content::InputSource;
use haft_protocol::rpc::{Command, CommandFailure, ErrorCode, PongData, SendMessage};

use super::jobs::{CommandScope, TaskEvent};
use super::messages::SentMessage;
use super::outcome::{CommandExecution, catch_panics, empty_reply, reply_data};
use super::server::RpcServer;
use super::{EndReason, background, branch, extension, messages, record, session, setup};
use crate::command_scheduler::{CommandTicket, SessionJob};
use crate::session_provider::{OpenedSession, SessionProvider};

impl<S: SessionProvider> RpcServer<S> {
    /// Runs a command of a scheduler. `about` is the session of the command if it differs from the
    /// scheduler's.
    pub(super) fn execute_command(
        &mut self,
        place: &CommandScope,
        about: Option<&str>,
        ticket: CommandTicket,
        command: Command,
    ) {
        let carried = match place {
            CommandScope::Process => self.run_process_command(about, ticket, command),
            CommandScope::Session(id) => self.run_session_command(id, ticket, command),
        };
        match carried {
            Some(CommandExecution::Now(outcome)) => self.complete_command(place, ticket, outcome),
            Some(CommandExecution::Later(work)) => {
                let place = place.clone();
                self.work.spawn(async move { TaskEvent::Done(place, ticket, catch_panics(work).await) });
            }
            Some(CommandExecution::Bulky(work)) => {
                self.bulky += 1;
                let place = place.clone();
                self.work.spawn(async move { TaskEvent::Bulky(place, ticket, catch_panics(work).await) });
            }
            // The reply is sent elsewhere.
            None => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all other commands belong to a session")]
    fn run_process_command(
        &mut self,
        about: Option<&str>,
        ticket: CommandTicket,
        command: Command,
    ) -> Option<CommandExecution> {
        let about = about.unwrap_or_default();
        let caller = self.find_caller(&CommandScope::Process, ticket);
        Some(match command {
            Command::Ping(_) => CommandExecution::Now(reply_data(PongData { pong: true })),
            Command::Hello(hello) => {
                self.questions.apply_hello(&hello);
                let opened = self.open_sessions.opened_session(about);
                let current = self.open_sessions.current_id();
                let reply = setup::hello_data(&self.version, current, opened.map(AsRef::as_ref));
                match opened.filter(|_| self.checks_approvals) {
                    None => CommandExecution::Now(reply),
                    Some(opened) => {
                        let (opened, questions) = (Arc::clone(opened), self.questions.clone());
                        setup::check_approvals(opened, questions, self.ending.clone(), reply)
                    }
                }
            }
            Command::Shutdown(_) => {
                self.complete_command(&CommandScope::Process, ticket, empty_reply());
                self.shutdown(EndReason::Requested);
                return None;
            }
            Command::UiResponse(response) => match self.questions.answer(response) {
                Err(failure) => CommandExecution::Now(Err(failure)),
                Ok(over) => {
                    // The client gets the reply to its answer first.
                    self.complete_command(&CommandScope::Process, ticket, empty_reply());
                    self.questions.conclude_question(over);
                    return None;
                }
            },
            Command::ListSessions(_) => {
                session::list_sessions(&self.open_sessions, Arc::clone(&self.sessions), self.ending.clone())
            }
            Command::FindSessions(wish) => session::find_sessions(
                &self.open_sessions,
                Arc::clone(&self.sessions),
                self.ending.clone(),
                wish,
            ),
            Command::GetModels(wish) => {
                let opened = self.open_sessions.opened_session(about).map(AsRef::as_ref);
                setup::get_models(opened, Arc::clone(&self.sessions), self.ending.clone(), wish)
            }
            Command::NewSession(wish) => return self.new_session(ticket, wish, caller),
            Command::SwitchSession(_) => return self.switch_session(ticket, about, caller),
            Command::Fork(wish) => return self.fork(ticket, about, wish, caller),
            other => CommandExecution::Now(Err(misplaced_command(&other))),
        })
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all other commands belong to the process or the scheduler"
    )]
    fn run_session_command(
        &mut self,
        id: &str,
        ticket: CommandTicket,
        command: Command,
    ) -> Option<CommandExecution> {
        if let Command::SendMessage(wish) = command {
            return self.send_message(id, ticket, wish);
        }
        let sessions = Arc::clone(&self.sessions);
        let caller = self.find_caller(&CommandScope::Session(id.to_owned()), ticket);
        let Some(seat) = self.open_sessions.get_mut(id) else {
            return Some(CommandExecution::Now(Err(misplaced_command(&command))));
        };
        let opened: &Arc<OpenedSession> = &seat.opened;
        let is_of_extension = seat.scheduler.extension_command(ticket).is_some();
        let input = |text, images| match is_of_extension {
            true => UserInput::new(text, InputSource::Extension).with_images(images),
            false => opened.create_input(text, images),
        };
        Some(match command {
            Command::Steer(said) => {
                messages::steer(opened, seat.closing.clone(), input(said.message, said.images))
            }
            Command::FollowUp(said) => {
                messages::follow_up(opened, seat.closing.clone(), input(said.message, said.images))
            }
            Command::Interrupt(wish) => CommandExecution::Now(messages::interrupt(opened, wish)),
            Command::TakeQueued(_) => CommandExecution::Now(messages::take_queued(opened)),
            Command::GetMessages(_) => CommandExecution::Now(messages::messages(opened)),
            Command::GetState(_) => setup::state(opened, &seat.scheduler),
            Command::Clear(_) => CommandExecution::Now(session::clear(opened)),
            Command::Tree(_) => session::tree(opened),
            Command::MoveTo(wish) => {
                seat.stop = seat.closing.child_token();
                branch::move_to(opened, seat.stop.clone(), caller, wish)
            }
            Command::SetName(wish) => session::set_name(opened, wish),
            Command::AppendEntry(wish) => record::append_entry(opened, wish),
            Command::SetLabel(wish) => record::set_label(opened, wish),
            Command::SetTags(wish) => record::set_tags(opened, wish),
            Command::SetModel(wish) => setup::set_model(opened, sessions, seat.closing.clone(), wish),
            Command::SetThinking(wish) => CommandExecution::Now(setup::set_thinking(opened, wish)),
            Command::GetTools(_) => CommandExecution::Now(setup::get_tools(opened)),
            Command::SetTools(wish) => CommandExecution::Now(setup::set_tools(opened, wish)),
            Command::ListCommands(_) => extension::list_commands(opened, sessions),
            Command::ListExtensions(_) => CommandExecution::Now(extension::list_extensions(opened)),
            Command::ListJobs(_) => CommandExecution::Now(background::list_jobs(opened)),
            Command::StopJob(wish) => CommandExecution::Now(background::stop_job(opened, wish)),
            Command::ReloadExt(wish) => extension::reload(opened, wish),
            Command::RunShortcut(wish) => extension::run_shortcut(opened, seat.closing.clone(), wish),
            Command::PanelKey(key) => CommandExecution::Now(extension::panel_key(opened, key)),
            Command::PanelClose(close) => CommandExecution::Now(extension::panel_close(opened, &close)),
            Command::PanelResize(room) => CommandExecution::Now(extension::panel_resize(opened, room)),
            Command::CompleteCommand(wish) => extension::complete(opened, seat.closing.clone(), wish),
            Command::RunCommand(wish) => {
                let (opened, stop) = (Arc::clone(opened), seat.closing.clone());
                let work = extension::run_command(opened, sessions, stop, wish, is_of_extension);
                let id = id.to_owned();
                self.work.spawn(async move { TaskEvent::Ran(id, ticket, catch_panics(work).await) });
                return None;
            }
            other => CommandExecution::Now(Err(misplaced_command(&other))),
        })
    }
}

impl<S: SessionProvider> RpcServer<S> {
    /// Adds a message to the conversation. The run for it, if it needs one, takes its place before the
    /// next command, and begins after the reply.
    fn send_message(
        &mut self,
        id: &str,
        ticket: CommandTicket,
        wish: SendMessage,
    ) -> Option<CommandExecution> {
        let Some(seat) = self.open_sessions.get_mut(id) else {
            return Some(CommandExecution::Now(Err(misplaced_command(&wish.into()))));
        };
        let has_room = if wish.turn { seat.scheduler.check_room() } else { Ok(()) };
        let sent = has_room.and_then(|()| messages::send_message(&seat.opened, wish));
        let (reply, begins) = match sent {
            Ok(SentMessage { reply, needs_run: false }) => (reply_data(reply), Vec::new()),
            Ok(SentMessage { reply, needs_run: true }) => match seat.scheduler.add_job(SessionJob::Resume) {
                Ok(begins) => (reply_data(reply), begins),
                Err(failure) => (Err(failure), Vec::new()),
            },
            Err(failure) => (Err(failure), Vec::new()),
        };
        let place = CommandScope::Session(id.to_owned());
        self.complete_command(&place, ticket, reply);
        self.apply_effects(&place, None, begins);
        None
    }
}

/// Returns the reply to a command at the wrong scheduler, which is an internal error.
fn misplaced_command(command: &Command) -> CommandFailure {
    CommandFailure::new(
        ErrorCode::Failed,
        format!("{} came to the wrong place; please report this", command.kind()),
    )
}
