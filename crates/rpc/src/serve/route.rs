//! Routes commands to sessions, and refuses those that are not allowed.

use haft_protocol::content::Image;
use haft_protocol::rpc::{Command, CommandFailure, CommandKind};

use super::messages;
use super::seat::ActiveSession;
use super::work::CommandScope;
use crate::roster::OpenSessions;

/// Where it belongs, and the session that it is about.
pub(super) fn route_command(
    kind: CommandKind,
    named: Option<&str>,
    roster: &OpenSessions<ActiveSession>,
) -> Result<(CommandScope, Option<String>), CommandFailure> {
    let find = || roster.find(named).map(str::to_owned);
    match kind {
        CommandKind::Ping
        | CommandKind::Shutdown
        | CommandKind::UiResponse
        | CommandKind::ListSessions
        | CommandKind::NewSession => Ok((CommandScope::Process, None)),
        // It may name one that is not open.
        CommandKind::SwitchSession => Ok((CommandScope::Process, named.map(str::to_owned))),
        // What it opens does not go with the session that it is about.
        CommandKind::Hello | CommandKind::GetModels | CommandKind::Fork => {
            Ok((CommandScope::Process, Some(find()?)))
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
        | CommandKind::PanelResize => Ok((CommandScope::Session(find()?), None)),
    }
}

/// Makes sure that the images of a message are images, before anybody relies on them.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other command has images")]
pub(super) fn check_images(command: &mut Command) -> Result<(), CommandFailure> {
    let images: &mut [Image] = match command {
        Command::Prompt(said) => &mut said.images,
        Command::Steer(said) => &mut said.images,
        Command::FollowUp(said) => &mut said.images,
        _ => return Ok(()),
    };
    images.iter_mut().try_for_each(messages::normalize_image)
}
