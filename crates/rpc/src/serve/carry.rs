//! Carrying commands out: those that take no time at once, all others as tasks.

use std::sync::Arc;

use haft_protocol::rpc::{Command, ErrorCode, Failure, Pong};

use super::hub::Hub;
use super::outcome::{Carried, answered, data, nothing};
use super::work::{News, Place};
use super::{End, extension, messages, session, setup};
use crate::desk::Ticket;
use crate::sessions::{Opened, Sessions};

impl<S: Sessions> Hub<S> {
    /// Does what a desk says. `about` is the session that the command is about, where it is not the desk's.
    pub(super) fn carry_out(&mut self, place: &Place, about: Option<&str>, ticket: Ticket, command: Command) {
        let carried = match place {
            Place::Lobby => self.of_process(about, ticket, command),
            Place::Session(id) => self.of_session(id, ticket, command),
        };
        match carried {
            Some(Carried::Now(outcome)) => self.done(place, ticket, outcome),
            Some(Carried::Later(work)) => {
                let place = place.clone();
                self.work.spawn(async move { News::Done(place, ticket, answered(work).await) });
            }
            Some(Carried::Bulky(work)) => {
                self.bulky += 1;
                let place = place.clone();
                self.work.spawn(async move { News::Bulky(place, ticket, answered(work).await) });
            }
            // It is answered elsewhere.
            None => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all others are a session's")]
    fn of_process(&mut self, about: Option<&str>, ticket: Ticket, command: Command) -> Option<Carried> {
        let about = about.unwrap_or_default();
        Some(match command {
            Command::Ping(_) => Carried::Now(data(Pong { pong: true })),
            Command::Hello(hello) => {
                self.questions.hello(&hello);
                Carried::Now(setup::greeting(&self.version, self.roster.current(), self.roster.opened(about)))
            }
            Command::Shutdown(_) => {
                self.done(&Place::Lobby, ticket, nothing());
                self.shutdown(End::Requested);
                return None;
            }
            Command::UiResponse(response) => match self.questions.answer(response) {
                Err(failure) => Carried::Now(Err(failure)),
                Ok(over) => {
                    // The client hears first that its answer counts.
                    self.done(&Place::Lobby, ticket, nothing());
                    self.questions.conclude(over);
                    return None;
                }
            },
            Command::ListSessions(_) => {
                session::list(&self.roster, Arc::clone(&self.sessions), self.ending.clone())
            }
            Command::GetModels(_) => {
                let opened = self.roster.opened(about);
                setup::get_models(opened, Arc::clone(&self.sessions), self.ending.clone())
            }
            Command::NewSession(wish) => return self.new_session(ticket, wish),
            Command::SwitchSession(_) => return self.switch_session(ticket, about),
            Command::Fork(wish) => return self.fork(ticket, about, wish),
            other => Carried::Now(Err(misplaced(&other))),
        })
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all others are the process's, or the desk's")]
    fn of_session(&mut self, id: &str, ticket: Ticket, command: Command) -> Option<Carried> {
        let sessions = Arc::clone(&self.sessions);
        let Some(seat) = self.roster.get_mut(id) else {
            return Some(Carried::Now(Err(misplaced(&command))));
        };
        let opened: &Arc<Opened> = &seat.opened;
        Some(match command {
            Command::Steer(said) => Carried::Now(messages::steer(opened, said)),
            Command::FollowUp(said) => Carried::Now(messages::follow_up(opened, said)),
            Command::Interrupt(wish) => Carried::Now(messages::interrupt(opened, wish)),
            Command::TakeQueued(_) => Carried::Now(messages::take_queued(opened)),
            Command::GetMessages(_) => Carried::Now(messages::messages(opened)),
            Command::GetState(_) => setup::state(opened, &seat.desk),
            Command::Clear(_) => Carried::Now(session::clear(opened)),
            Command::Tree(_) => session::tree(opened),
            Command::MoveTo(wish) => session::move_to(opened, wish),
            Command::SetName(wish) => session::set_name(opened, wish),
            Command::SetModel(wish) => setup::set_model(opened, sessions, seat.closing.clone(), wish),
            Command::SetThinking(wish) => Carried::Now(setup::set_thinking(opened, wish)),
            Command::GetTools(_) => Carried::Now(setup::get_tools(opened)),
            Command::SetTools(wish) => Carried::Now(setup::set_tools(opened, wish)),
            Command::ListCommands(_) => extension::list_commands(opened, sessions),
            Command::ListExtensions(_) => Carried::Now(extension::list_extensions(opened)),
            Command::ReloadExt(wish) => extension::reload(opened, wish),
            Command::PanelKey(key) => Carried::Now(extension::panel_key(opened, key)),
            Command::PanelClose(close) => Carried::Now(extension::panel_close(opened, &close)),
            Command::PanelResize(room) => Carried::Now(extension::panel_resize(opened, room)),
            Command::CompleteCommand(wish) => extension::complete(opened, seat.closing.clone(), wish),
            Command::RunCommand(wish) => {
                let work = extension::run_command(Arc::clone(opened), sessions, seat.closing.clone(), wish);
                let id = id.to_owned();
                self.work.spawn(async move { News::Ran(id, ticket, answered(work).await) });
                return None;
            }
            other => Carried::Now(Err(misplaced(&other))),
        })
    }
}

/// A command at a desk that it does not belong to: a mistake of haft's own, and still answered.
fn misplaced(command: &Command) -> Failure {
    Failure::new(ErrorCode::Failed, format!("{} came to the wrong place; please report this", command.kind()))
}
