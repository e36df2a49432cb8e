//! Whose command it is, and whether it may be one at all.

use haft_protocol::content::Image;
use haft_protocol::rpc::{Command, CommandKind, Failure, Request, Response, SessionEnd};

use super::End;
use super::hub::{Hub, Place};
use super::messages;
use crate::door::Refused;
use crate::sessions::Sessions;

impl<S: Sessions> Hub<S> {
    /// A command of the client. From here on it is answered exactly once: here, or by the desk that it is brought to.
    pub(super) fn request(&mut self, request: Request) {
        let kind = request.command.kind();
        if let Err(refused) = self.door.admit(&request.command) {
            let (failure, ends) = match refused {
                Refused::Closed(failure) => (failure, false),
                Refused::Wrong(failure) => (failure, true),
            };
            self.refuse(request.id, kind, failure);
            if ends {
                self.shutdown(End::Refused);
            }
            return;
        }
        self.admitted(request);
        // Behind the reply to `hello`, where that was needed.
        self.outlet.open();
    }

    fn admitted(&mut self, mut request: Request) {
        let kind = request.command.kind();
        let routed = images(&mut request.command).and_then(|()| self.place(kind, request.session.as_deref()));
        let (place, about) = match routed {
            Ok(routed) => routed,
            Err(failure) => return self.refuse(request.id, kind, failure),
        };
        if let (CommandKind::CloseSession, Place::Session(id)) = (kind, &place) {
            if let Err(failure) = self.may_close(id) {
                return self.refuse(request.id, kind, failure);
            }
            self.leave(id, SessionEnd::Requested);
        }
        let effects = self.desk(&place).map(|desk| desk.command(request)).unwrap_or_default();
        self.apply(&place, about.as_deref(), effects);
    }

    fn refuse(&self, id: Option<String>, kind: CommandKind, failure: Failure) {
        self.outlet.reply(Response::failure(id, kind, failure));
    }

    /// Where it belongs, and the session that it is about.
    fn place(&self, kind: CommandKind, named: Option<&str>) -> Result<(Place, Option<String>), Failure> {
        let find = || self.roster.find(named).map(str::to_owned);
        match kind {
            CommandKind::Ping
            | CommandKind::Shutdown
            | CommandKind::UiResponse
            | CommandKind::ListSessions
            | CommandKind::NewSession => Ok((Place::Lobby, None)),
            // It may name one that is not open.
            CommandKind::SwitchSession => Ok((Place::Lobby, named.map(str::to_owned))),
            // What it opens does not go with the session that it is about.
            CommandKind::Hello | CommandKind::GetModels | CommandKind::Fork => {
                Ok((Place::Lobby, Some(find()?)))
            }
            CommandKind::Prompt
            | CommandKind::Abort
            | CommandKind::Steer
            | CommandKind::FollowUp
            | CommandKind::Interrupt
            | CommandKind::TakeQueued
            | CommandKind::Compact
            | CommandKind::GetState
            | CommandKind::GetMessages
            | CommandKind::Clear
            | CommandKind::SetModel
            | CommandKind::SetThinking
            | CommandKind::GetTools
            | CommandKind::SetTools
            | CommandKind::CloseSession
            | CommandKind::Tree
            | CommandKind::MoveTo
            | CommandKind::SetName
            | CommandKind::ListCommands
            | CommandKind::RunCommand
            | CommandKind::CompleteCommand
            | CommandKind::ListExtensions
            | CommandKind::ReloadExt
            | CommandKind::PanelKey
            | CommandKind::PanelClose
            | CommandKind::PanelResize => Ok((Place::Session(find()?), None)),
        }
    }
}

/// Makes sure that the images of a message are images, before anybody relies on them.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other command has images")]
fn images(command: &mut Command) -> Result<(), Failure> {
    let images: &mut [Image] = match command {
        Command::Prompt(said) => &mut said.images,
        Command::Steer(said) => &mut said.images,
        Command::FollowUp(said) => &mut said.images,
        _ => return Ok(()),
    };
    images.iter_mut().try_for_each(messages::checked)
}
