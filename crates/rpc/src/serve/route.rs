//! Routes commands to sessions, and rejects commands that are not allowed.

use haft_protocol::content::Image;
use haft_protocol::rpc::{Command, CommandFailure, CommandKind};

use super::active_session::ActiveSession;
use super::jobs::CommandScope;
use super::messages;
use crate::open_sessions::OpenSessions;

/// Returns the scope of a command, and the session that it concerns.
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
        | CommandKind::FindSessions
        | CommandKind::NewSession => Ok((CommandScope::Process, None)),
        // The command may name a session that is not open.
        CommandKind::SwitchSession => Ok((CommandScope::Process, named.map(str::to_owned))),
        // The opened session is independent of the session that the command concerns.
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
        | CommandKind::WaitIdle
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
        | CommandKind::AppendEntry
        | CommandKind::SendMessage
        | CommandKind::SetLabel
        | CommandKind::SetTags
        | CommandKind::ListCommands
        | CommandKind::RunCommand
        | CommandKind::CompleteCommand
        | CommandKind::RunShortcut
        | CommandKind::ListExtensions
        | CommandKind::ListJobs
        | CommandKind::StopJob
        | CommandKind::ReloadExt
        | CommandKind::PanelKey
        | CommandKind::PanelClose
        | CommandKind::PanelResize => Ok((CommandScope::Session(find()?), None)),
    }
}

/// Checks the images of a message early, before other code uses them.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other command has images")]
pub(super) fn check_images(command: &mut Command) -> Result<(), CommandFailure> {
    let images: &mut [Image] = match command {
        Command::Prompt(said) => &mut said.images,
        Command::Steer(said) => &mut said.images,
        Command::FollowUp(said) => &mut said.images,
        Command::SendMessage(said) => &mut said.images,
        _ => return Ok(()),
    };
    images.iter_mut().try_for_each(messages::normalize_image)
}
