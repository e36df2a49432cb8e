//! Extensions: their commands, panels and states.

use std::sync::Arc;

use haft_core::hooks::UserInput;
use haft_host::{
    CommandError, ExtensionOrigin, ExtensionState, ExtensionStatus, Host, ReloadStats, RestartError,
    ShortcutError,
};
use haft_protocol::content::InputSource;
use haft_protocol::event::ExtensionFault;
use haft_protocol::ext::{self, CommandAction, StatusText};
use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc::{
    self, CommandFailure, CommandInfo, CommandResult, CommandsData, CompleteCommand, CompletionsData,
    ErrorCode, ExtensionInfo, ExtensionsData, PanelCloseCommand, PanelKeyCommand, PanelResizeCommand,
    PromptCommand, ReloadData, ReloadExt, ReplyPayload, RunCommand, RunShortcut, StatusItem,
};
use tokio_util::sync::CancellationToken;

use super::input::{InputUse, resolve_input, run_named_command};
use super::outcome::{CommandExecution, ReplyResult, empty_reply, reply_data};
use crate::command_scheduler::SessionJob;
use crate::session_provider::{OpenedSession, SessionProvider};
use crate::shorten_name;

pub(super) fn list_commands(
    session: &OpenedSession,
    sessions: Arc<impl SessionProvider>,
) -> CommandExecution {
    let of_extensions = session.host().map(Host::commands).unwrap_or_default().into_iter();
    let mut commands: Vec<CommandInfo> = of_extensions
        .map(|command| CommandInfo {
            name: command.name,
            description: command.description,
            extension: Some(command.extension),
            completes: command.completes,
        })
        .collect();
    CommandExecution::from_blocking(move || {
        let taken: Vec<String> = commands.iter().map(|command| command.name.clone()).collect();
        commands.extend(sessions.templates().into_iter().filter(|template| !taken.contains(&template.name)));
        reply_data(CommandsData { commands })
    })
}

/// Runs a command. Returns its reply, and the job that follows from it.
pub(super) async fn run_command(
    session: Arc<OpenedSession>,
    sessions: Arc<impl SessionProvider>,
    closing: CancellationToken,
    wish: RunCommand,
    is_of_extension: bool,
) -> Result<(ReplyPayload, Option<SessionJob>), CommandFailure> {
    let RunCommand { name, args } = wish;
    if name.contains(char::is_whitespace) {
        return Err(unknown_command(&name));
    }
    let written = if args.is_empty() { format!("/{name}") } else { format!("/{name} {args}") };
    let mut input = session.create_input(written, Vec::new());
    if is_of_extension {
        input.source = InputSource::Extension;
    }
    let ran = run_named_command(&session, &closing, &input, false).await;
    let used = resolve_input(&session, &sessions, &closing, input, false, ran).await;
    if closing.is_cancelled() {
        return Err(CommandFailure::new(
            ErrorCode::Shutdown,
            "the session was closed before the command finished",
        ));
    }
    let (action, extension, job) = match used {
        InputUse::Message(UserInput { text: message, images, .. }) => {
            let job = SessionJob::Message(PromptCommand { message, images, plain: None });
            let owner = session.host().and_then(|host| command_owner(host, &name));
            (rpc::CommandActionKind::Prompt, owner, Some(job))
        }
        InputUse::Shown(action, extension) => (action_kind(&action), Some(extension), None),
        InputUse::Handled => (rpc::CommandActionKind::Noop, None, None),
        InputUse::Failed(why) => return Err(CommandFailure::other(why)),
        InputUse::Unknown(_) => return Err(unknown_command(&name)),
    };
    reply_data(CommandResult { action, extension }).map(|reply| (reply, job))
}

pub(super) fn complete(
    session: &Arc<OpenedSession>,
    closing: CancellationToken,
    wish: CompleteCommand,
) -> CommandExecution {
    let session = Arc::clone(session);
    CommandExecution::from_future(async move {
        let CompleteCommand { name, prefix } = wish;
        let Some(host) = session.host() else { return Err(unknown_command(&name)) };
        match host.complete_command(&closing, &name, &prefix).await {
            Ok(items) => reply_data(CompletionsData { items }),
            Err(CommandError::Unknown { name }) => Err(unknown_command(&name)),
            Err(error) => Err(CommandFailure::new(ErrorCode::Aborted, error.to_string())),
        }
    })
}

fn unknown_command(name: &str) -> CommandFailure {
    let name = shorten_name(name);
    let error = format!("unknown command /{name}; `list_commands` lists the commands");
    CommandFailure::new(ErrorCode::CommandNotFound, error)
}

fn command_owner(host: &Host, name: &str) -> Option<ExtensionName> {
    let named = |command: &haft_host::ExtensionCommand| command.name.eq_ignore_ascii_case(name);
    host.commands().into_iter().find(named).map(|command| command.extension)
}

fn action_kind(action: &CommandAction) -> rpc::CommandActionKind {
    match action {
        CommandAction::Prompt(_) => rpc::CommandActionKind::Prompt,
        CommandAction::Insert(_) => rpc::CommandActionKind::Insert,
        CommandAction::Display(_) => rpc::CommandActionKind::Display,
        CommandAction::OpenPanel(_) => rpc::CommandActionKind::OpenPanel,
        CommandAction::Noop | CommandAction::Failed(_) => rpc::CommandActionKind::Noop,
    }
}

pub(super) fn list_extensions(session: &OpenedSession) -> ReplyResult {
    let states = session.host().map(Host::statuses).unwrap_or_default();
    reply_data(ExtensionsData { extensions: states.into_iter().map(extension_info).collect() })
}

fn status_item((key, StatusText { text, styled }): (String, StatusText)) -> StatusItem {
    StatusItem { key, text, styled }
}

fn extension_info(status: ExtensionStatus) -> ExtensionInfo {
    let (state, fault) = match status.state {
        ExtensionState::Starting => ("starting", None),
        ExtensionState::Ready => ("ready", None),
        ExtensionState::Restarting { code, message } => ("restarting", Some((code, message))),
        ExtensionState::Idle => ("idle", None),
        ExtensionState::Stopping => ("stopping", None),
        ExtensionState::Stopped => ("stopped", None),
        ExtensionState::Failed { code, message } => ("failed", Some((code, message))),
        // A state of a newer host.
        _ => ("ready", None),
    };
    let origin = match status.origin {
        ExtensionOrigin::Explicit => "explicit",
        ExtensionOrigin::BuiltIn => "built_in",
        ExtensionOrigin::Global => "global",
        ExtensionOrigin::Project => "project",
        ExtensionOrigin::Hook => "hook",
    };
    let extension = &status.name;
    ExtensionInfo {
        fault: fault
            .map(|(code, message)| ExtensionFault::new(extension.clone(), code.as_str().to_owned(), message)),
        name: status.name,
        version: status.version,
        description: status.description,
        state: state.to_owned(),
        origin: origin.to_owned(),
        dir: status.dir.to_string_lossy().into_owned(),
        required: status.required,
        gates_off: status.gates_off,
        log: status.log.map(|log| log.to_string_lossy().into_owned()),
        commands: status.commands,
        tools: status.tools,
        shortcuts: status.shortcuts,
        status: status.status_items.into_iter().map(status_item).collect(),
    }
}

pub(super) fn reload(session: &Arc<OpenedSession>, wish: ReloadExt) -> CommandExecution {
    let session = Arc::clone(session);
    CommandExecution::from_future(async move {
        let host = session.extension_host()?;
        let reloaded = match wish.name {
            None => host.reload().await,
            Some(name) => {
                host.restart(&name).await.map_err(not_restarted)?;
                let mut stats = ReloadStats::default();
                stats.stopped = 1;
                stats.loaded = 1;
                stats.ready = 1;
                stats
            }
        };
        session.adopt_reloaded().await;
        let ReloadStats { stopped, loaded, ready, kept, errors, .. } = reloaded;
        reply_data(ReloadData {
            stopped: stopped as u64,
            loaded: loaded as u64,
            ready: ready as u64,
            kept: kept as u64,
            errors,
        })
    })
}

fn not_restarted(error: RestartError) -> CommandFailure {
    let code = match error {
        RestartError::Unknown { .. } | RestartError::NoProcess { .. } => ErrorCode::ExtensionNotFound,
        RestartError::Failed { .. } | _ => ErrorCode::Failed,
    };
    CommandFailure::new(code, error.to_string())
}

pub(super) fn run_shortcut(
    session: &Arc<OpenedSession>,
    closing: CancellationToken,
    RunShortcut { extension, key }: RunShortcut,
) -> CommandExecution {
    let session = Arc::clone(session);
    CommandExecution::from_future(async move {
        let host = session.extension_host()?;
        host.press_shortcut(&closing, &extension, &key).await.map_err(|error| {
            let code = match error {
                ShortcutError::Unknown { .. } => ErrorCode::ExtensionNotFound,
                ShortcutError::Failed { .. } | _ => ErrorCode::Failed,
            };
            CommandFailure::new(code, error.to_string())
        })?;
        empty_reply()
    })
}

pub(super) fn panel_key(session: &OpenedSession, key: PanelKeyCommand) -> ReplyResult {
    let PanelKeyCommand { extension, panel_id, key, text } = key;
    session.panel_host(&extension, &panel_id)?.panel_key(&extension, ext::PanelKey { panel_id, key, text });
    empty_reply()
}

pub(super) fn panel_close(session: &OpenedSession, close: &PanelCloseCommand) -> ReplyResult {
    let PanelCloseCommand { extension, panel_id } = close;
    let host = session.panel_host(extension, panel_id)?;
    session.screen.remove_panel(extension, panel_id);
    host.panel_closed(extension, panel_id.clone());
    empty_reply()
}

pub(super) fn panel_resize(session: &OpenedSession, room: PanelResizeCommand) -> ReplyResult {
    let PanelResizeCommand { extension, panel_id, width, height } = room;
    let host = session.panel_host(&extension, &panel_id)?;
    host.panel_resized(&extension, ext::PanelResize { panel_id, width, height });
    empty_reply()
}
