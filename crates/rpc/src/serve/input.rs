//! The way of an input to a message for the model: the command of an extension, hooks, a template or a skill.

use std::sync::Arc;

use haft_core::hooks::UserInput;
use haft_host::CommandError;
use haft_protocol::content::InputSource;
use haft_protocol::ext::CommandAction;
use haft_protocol::ids::ExtensionName;
use tokio_util::sync::CancellationToken;

use crate::session_provider::{OpenedSession, SessionExtensions, SessionProvider, TemplateExpansion};

/// The use of an input.
pub(super) enum InputUse {
    Message(UserInput),
    /// An extension's command did something else than write a message.
    Shown(CommandAction, ExtensionName),
    /// The command failed; the reason for people.
    Failed(String),
    /// A hook handled the input, or the wait was cancelled.
    Handled,
    /// The input begins with `/`, and there is no such command.
    Unknown(UserInput),
}

/// Runs the extension's command that the input names; `None` if it names none. `plain` inputs name no command.
pub(super) async fn run_named_command(
    session: &OpenedSession,
    cancel: &CancellationToken,
    input: &UserInput,
    plain: bool,
) -> Option<ExtensionCommandResult> {
    let (name, args) = split_command(&input.text).filter(|_| !plain)?;
    run_extension_command(session, cancel, name, args).await
}

/// Has the hooks review the message of a command that ran, or the input itself, which may name a template. After a
/// cancellation the input counts as handled.
pub(super) async fn resolve_input(
    session: &OpenedSession,
    sessions: &Arc<impl SessionProvider>,
    cancel: &CancellationToken,
    input: UserInput,
    plain: bool,
    ran: Option<ExtensionCommandResult>,
) -> InputUse {
    let resolved = async {
        if let Some(ran) = ran {
            return review_command_result(session, cancel, ran, input).await;
        }
        let Some(input) = session.agent.review_input(cancel, input).await else { return InputUse::Handled };
        match split_command(&input.text).filter(|_| !plain) {
            None => InputUse::Message(input),
            Some((name, args)) => match expand_template(sessions, name, args).await {
                TemplateExpansion::Message(text) => InputUse::Message(input.with_text(text)),
                TemplateExpansion::Failed(why) => InputUse::Failed(format!("/{name}: {why}")),
                TemplateExpansion::Unknown => InputUse::Unknown(input),
            },
        }
    };
    cancel.run_until_cancelled(resolved).await.unwrap_or(InputUse::Handled)
}

/// Splits `/name arguments`; `None` for any other text.
fn split_command(text: &str) -> Option<(&str, &str)> {
    let typed = text.strip_prefix('/')?;
    Some(typed.split_once(char::is_whitespace).unwrap_or((typed, "")))
}

/// The result of an extension's command, or the reason for its failure.
pub(super) type ExtensionCommandResult = Result<(CommandAction, ExtensionName), String>;

/// Runs a command of an extension; `None` if no extension has it.
async fn run_extension_command(
    session: &OpenedSession,
    cancel: &CancellationToken,
    name: &str,
    args: &str,
) -> Option<ExtensionCommandResult> {
    let SessionExtensions { host, .. } = session.extensions.as_ref()?;
    match host.run_command(cancel, name, args).await {
        Ok(outcome) => Some(match outcome.action {
            CommandAction::Failed(why) => Err(format!("extension {}/{name}: {why}", outcome.extension)),
            action @ (CommandAction::Prompt(_)
            | CommandAction::Insert(_)
            | CommandAction::Display(_)
            | CommandAction::OpenPanel(_)
            | CommandAction::Noop) => Ok((action, outcome.extension)),
        }),
        Err(CommandError::Unknown { .. }) => None,
        Err(error) => Some(Err(error.to_string())),
    }
}

/// Has the hooks review the message of an extension's command. It is not expanded.
async fn review_command_result(
    session: &OpenedSession,
    cancel: &CancellationToken,
    ran: ExtensionCommandResult,
    input: UserInput,
) -> InputUse {
    match ran {
        Ok((CommandAction::Prompt(text), _)) => {
            let written = UserInput::new(text, InputSource::Extension).with_images(input.images);
            let reviewed = session.agent.review_input(cancel, written).await;
            reviewed.map_or(InputUse::Handled, InputUse::Message)
        }
        Ok((action, extension)) => InputUse::Shown(action, extension),
        Err(why) => InputUse::Failed(why),
    }
}

async fn expand_template(sessions: &Arc<impl SessionProvider>, name: &str, args: &str) -> TemplateExpansion {
    let (sessions, name, args) = (Arc::clone(sessions), name.to_owned(), args.to_owned());
    let expanded = tokio::task::spawn_blocking(move || sessions.expand(&name, &args));
    expanded.await.unwrap_or_else(|error| TemplateExpansion::Failed(error.to_string()))
}
