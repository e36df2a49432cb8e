//! Extensions: their commands, their panels, how they are.

use std::sync::Arc;

use haft_host::{CommandError, ExtensionState, ExtensionStatus, Host, Origin, ReloadStats, RestartError};
use haft_protocol::event::ExtensionFault;
use haft_protocol::ext::{self, CommandAction};
use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc::{
    self, CommandInfo, CommandResult, CommandsData, CompleteCommand, CompletionsData, ErrorCode,
    ExtensionInfo, ExtensionsData, Failure, PanelClose, PanelKey, PanelResize, Payload, Prompt, ReloadData,
    ReloadExt, RunCommand, StatusItem,
};
use tokio_util::sync::CancellationToken;

use super::outcome::{Carried, Outcome, data, nothing};
use super::work::{self, Ran};
use crate::desk::Job;
use crate::sessions::{Opened, Sessions};
use crate::shortened;

pub(super) fn list_commands(session: &Opened, sessions: Arc<impl Sessions>) -> Carried {
    let of_extensions = session.host().map(Host::commands).unwrap_or_default().into_iter();
    let mut commands: Vec<CommandInfo> = of_extensions
        .map(|command| CommandInfo {
            name: command.name,
            description: command.description,
            extension: Some(command.extension),
            completes: command.completes,
        })
        .collect();
    Carried::blocking(move || {
        let taken: Vec<String> = commands.iter().map(|command| command.name.clone()).collect();
        commands.extend(sessions.templates().into_iter().filter(|template| !taken.contains(&template.name)));
        data(CommandsData { commands })
    })
}

/// Runs a command; beside its reply, the job that comes of it.
pub(super) async fn run_command(
    session: Arc<Opened>,
    sessions: Arc<impl Sessions>,
    closing: CancellationToken,
    wish: RunCommand,
) -> Result<(Payload, Option<Job>), Failure> {
    let RunCommand { name, args } = wish;
    let ran = work::command(&session, &sessions, &name, &args);
    let Some(ran) = closing.run_until_cancelled(ran).await else {
        return Err(Failure::new(ErrorCode::Shutdown, "the session was closed before the command was done"));
    };
    let (action, extension, job) = match ran {
        Ran::Message(message) => {
            let job = Job::Message(Prompt { message, images: Vec::new(), plain: None });
            let owner = session.host().and_then(|host| owner(host, &name));
            (rpc::CommandAction::Prompt, owner, Some(job))
        }
        Ran::Shown(action, extension) => (shown(&action), Some(extension), None),
        Ran::Failed(why) => return Err(Failure::other(why)),
        Ran::Unknown => return Err(unknown(&name)),
    };
    data(CommandResult { action, extension }).map(|reply| (reply, job))
}

pub(super) fn complete(session: &Arc<Opened>, closing: CancellationToken, wish: CompleteCommand) -> Carried {
    let session = Arc::clone(session);
    Carried::later(async move {
        let CompleteCommand { name, prefix } = wish;
        let Some(host) = session.host() else { return Err(unknown(&name)) };
        match host.complete_command(&closing, &name, &prefix).await {
            Ok(items) => data(CompletionsData { items }),
            Err(CommandError::Unknown { name }) => Err(unknown(&name)),
            Err(error) => Err(Failure::new(ErrorCode::Aborted, error.to_string())),
        }
    })
}

fn unknown(name: &str) -> Failure {
    let name = shortened(name);
    let error = format!("there is no command /{name}; `list_commands` says which there are");
    Failure::new(ErrorCode::CommandNotFound, error)
}

fn owner(host: &Host, name: &str) -> Option<ExtensionName> {
    let named = |command: &haft_host::CommandInfo| command.name.eq_ignore_ascii_case(name);
    host.commands().into_iter().find(named).map(|command| command.extension)
}

fn shown(action: &CommandAction) -> rpc::CommandAction {
    match action {
        CommandAction::Prompt(_) => rpc::CommandAction::Prompt,
        CommandAction::Insert(_) => rpc::CommandAction::Insert,
        CommandAction::Display(_) => rpc::CommandAction::Display,
        CommandAction::OpenPanel(_) => rpc::CommandAction::OpenPanel,
        CommandAction::Noop | CommandAction::Failed(_) => rpc::CommandAction::Noop,
    }
}

pub(super) fn list_extensions(session: &Opened) -> Outcome {
    let states = session.host().map(Host::statuses).unwrap_or_default();
    data(ExtensionsData { extensions: states.into_iter().map(info).collect() })
}

fn info(status: ExtensionStatus) -> ExtensionInfo {
    let (state, fault) = match status.state {
        ExtensionState::Starting => ("starting", None),
        ExtensionState::Ready => ("ready", None),
        ExtensionState::Restarting { code, message } => ("restarting", Some((code, message))),
        ExtensionState::Idle => ("idle", None),
        ExtensionState::Stopping => ("stopping", None),
        ExtensionState::Stopped => ("stopped", None),
        ExtensionState::Failed { code, message } => ("failed", Some((code, message))),
        // Of a newer host.
        _ => ("ready", None),
    };
    let origin = match status.origin {
        Origin::Explicit => "explicit",
        Origin::BuiltIn => "built_in",
        Origin::Global => "global",
        Origin::Project => "project",
        Origin::Hook => "hook",
    };
    let extension = &status.name;
    ExtensionInfo {
        fault: fault.map(|(code, message)| ExtensionFault {
            extension: extension.clone(),
            code: code.as_str().to_owned(),
            message,
        }),
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
        status: status.status_items.into_iter().map(|(key, text)| StatusItem { key, text }).collect(),
    }
}

pub(super) fn reload(session: &Arc<Opened>, wish: ReloadExt) -> Carried {
    let session = Arc::clone(session);
    Carried::later(async move {
        let host = session.extension_host()?;
        let reloaded = match wish.name {
            None => host.reload().await,
            Some(name) => {
                host.restart(&name).await.map_err(not_restarted)?;
                ReloadStats { stopped: 1, loaded: 1, ready: 1, ..ReloadStats::default() }
            }
        };
        session.offer_tools();
        let ReloadStats { stopped, loaded, ready, kept, errors } = reloaded;
        data(ReloadData {
            stopped: stopped as u64,
            loaded: loaded as u64,
            ready: ready as u64,
            kept: kept as u64,
            errors,
        })
    })
}

fn not_restarted(error: RestartError) -> Failure {
    let code = match error {
        RestartError::Unknown { .. } | RestartError::NoProcess { .. } => ErrorCode::ExtensionNotFound,
        RestartError::Failed { .. } | _ => ErrorCode::Failed,
    };
    Failure::new(code, error.to_string())
}

pub(super) fn panel_key(session: &Opened, key: PanelKey) -> Outcome {
    let PanelKey { extension, panel_id, key, text } = key;
    session.panel(&extension, &panel_id)?.panel_key(&extension, ext::PanelKey { panel_id, key, text });
    nothing()
}

pub(super) fn panel_close(session: &Opened, close: &PanelClose) -> Outcome {
    let PanelClose { extension, panel_id } = close;
    let host = session.panel(extension, panel_id)?;
    session.screen.closed_panel(extension, panel_id);
    host.panel_closed(extension, panel_id.clone());
    nothing()
}

pub(super) fn panel_resize(session: &Opened, room: PanelResize) -> Outcome {
    let PanelResize { extension, panel_id, width, height } = room;
    let host = session.panel(&extension, &panel_id)?;
    host.panel_resized(&extension, ext::PanelResize { panel_id, width, height });
    nothing()
}
