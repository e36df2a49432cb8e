//! Carrying commands out: those that take no time at once, all others as tasks.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use haft_protocol::rpc::{Command, ErrorCode, Failure, NoData, Payload, Pong};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::hub::{Hub, News, Place};
use super::{End, extension, messages, session, setup, state};
use crate::desk::Ticket;
use crate::sessions::{Opened, Sessions};

/// What a command comes to.
pub(super) type Outcome = Result<Payload, Failure>;

/// When.
pub(super) enum Carried {
    Now(Outcome),
    /// The task that does it.
    Later(BoxFuture<'static, Outcome>),
    /// The same, where the reply may be long.
    Bulky(BoxFuture<'static, Outcome>),
}

impl Carried {
    pub(super) fn later(work: impl Future<Output = Outcome> + Send + 'static) -> Self {
        Self::Later(work.boxed())
    }

    /// What nobody waits for any more once everything ends: it may ask somebody who is slow to answer.
    pub(super) fn before(
        ending: CancellationToken,
        work: impl Future<Output = Outcome> + Send + 'static,
    ) -> Self {
        let ended = || Failure::new(ErrorCode::Shutdown, "the process ends");
        Self::later(async move { ending.run_until_cancelled(work).await.unwrap_or_else(|| Err(ended())) })
    }

    /// What blocks the thread, because it reads the disk, and may have a lot to say.
    pub(super) fn blocking(work: impl FnOnce() -> Outcome + Send + 'static) -> Self {
        Self::Bulky(off_thread(work).boxed())
    }
}

/// Does what reads the disk where it holds up nothing else.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(Failure::other(error)))
}

/// The data of a reply.
pub(super) fn data(data: impl Serialize + Send + Sync + 'static) -> Outcome {
    Ok(Payload::of(data))
}

/// Done, and nothing to say of it.
pub(super) fn nothing() -> Outcome {
    data(NoData {})
}

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

    /// What is about no single session.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others are a session's")]
    fn of_process(&mut self, about: Option<&str>, ticket: Ticket, command: Command) -> Option<Carried> {
        let about = about.unwrap_or_default();
        Some(match command {
            Command::Ping(_) => Carried::Now(data(Pong { pong: true })),
            Command::Hello(hello) => {
                self.questions.hello(&hello);
                Carried::Now(self.greeting(about))
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
            Command::ListSessions(_) => self.list_sessions(),
            Command::GetModels(_) => self.get_models(about),
            Command::NewSession(wish) => return self.new_session(ticket, wish),
            Command::SwitchSession(_) => return self.switch_session(ticket, about),
            Command::Fork(wish) => return self.fork(ticket, about, wish),
            other => Carried::Now(Err(misplaced(&other))),
        })
    }

    /// What is about the session of this id.
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
            Command::GetState(_) => state::state(opened, &seat.desk),
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

/// Does it; when something panics in there, that is the answer.
pub(super) async fn answered<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let panicked = |_| Err(Failure::other("haft failed here; the log says where. All else goes on"));
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(panicked)
}

/// A command at a desk that it does not belong to: a mistake of haft's own, and still answered.
fn misplaced(command: &Command) -> Failure {
    Failure::new(ErrorCode::Failed, format!("{} came to the wrong place; please report this", command.kind()))
}
