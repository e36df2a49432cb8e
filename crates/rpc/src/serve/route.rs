//! Routes commands to sessions, and refuses those that are not allowed.

use haft_protocol::content::Image;
use haft_protocol::rpc::{Command, CommandKind, Failure};

use super::messages;
use super::seat::ActiveSession;
use super::work::Place;
use crate::roster::OpenSessions;

/// Where it belongs, and the session that it is about.
pub(super) fn place(
    kind: CommandKind,
    named: Option<&str>,
    roster: &OpenSessions<ActiveSession>,
) -> Result<(Place, Option<String>), Failure> {
    let find = || roster.find(named).map(str::to_owned);
    match kind {
        CommandKind::Ping
        | CommandKind::Shutdown
        | CommandKind::UiResponse
        | CommandKind::ListSessions
        | CommandKind::NewSession => Ok((Place::Lobby, None)),
        // It may name one that is not open.
        CommandKind::SwitchSession => Ok((Place::Lobby, named.map(str::to_owned))),
        // What it opens does not go with the session that it is about.
        CommandKind::Hello | CommandKind::GetModels | CommandKind::Fork => Ok((Place::Lobby, Some(find()?))),
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

/// Makes sure that the images of a message are images, before anybody relies on them.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other command has images")]
pub(super) fn check_images(command: &mut Command) -> Result<(), Failure> {
    let images: &mut [Image] = match command {
        Command::Prompt(said) => &mut said.images,
        Command::Steer(said) => &mut said.images,
        Command::FollowUp(said) => &mut said.images,
        _ => return Ok(()),
    };
    images.iter_mut().try_for_each(messages::checked)
}
