//! Commands of extensions.

use std::sync::Arc;

use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{CommandAction, CompletionItem, InvokeCommand, QueryCompletions};
use haft_protocol::ids::ExtensionName;
use tokio_util::sync::CancellationToken;

use super::active_extensions::ExtensionCommand;
use super::completions::SupersededCompletion;
use super::host_state::HostState;
use crate::agent::managed_extension::ManagedExtension;
use crate::extension::Deadline;
use crate::extension::frontend::LabeledText;
use crate::supervision::host_context::HostContext;
use crate::wire::fault::{CallError, FaultCode};

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandOutcome {
    /// The extension that ran it.
    pub extension: ExtensionName,
    /// The requested action. A display, an insertion or a panel was already passed to the event sink or the
    /// front end. A prompt and a failure are left to the caller. The first line of a prompt names its origin.
    /// The prompt is sent to the model unchanged and is never parsed as a command.
    pub action: CommandAction,
}

/// The reason why a command has no outcome.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// No extension has such a command.
    #[error("no extension has a command /{name}")]
    Unknown {
        /// The command.
        name: String,
    },
    /// A newer completion request for the same command replaced this one.
    #[error("a newer completion request for /{name} replaced this one")]
    Superseded {
        /// The command.
        name: String,
    },
    /// The extension failed; the failure was reported.
    #[error("extension {extension}/{name} failed: {detail}")]
    Failed {
        /// The extension.
        extension: ExtensionName,
        /// The command.
        name: String,
        /// The error.
        detail: String,
    },
}

impl std::fmt::Debug for CommandError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        haft_core::error::write_report(self, f)
    }
}

pub(super) async fn run(
    inner: &HostState,
    cancel: &CancellationToken,
    name: &str,
    args: &str,
) -> Result<CommandOutcome, CommandError> {
    let mut found = find(inner, name);
    if found.is_none() {
        // A cancelled caller has no use for the answer.
        _ = cancel.run_until_cancelled(inner.wait_until_settled()).await;
        found = find(inner, name);
    }
    let Some((info, entry)) = found else {
        return Err(CommandError::Unknown { name: name.to_owned() });
    };
    let command = InvokeCommand { name: info.name.clone(), args: args.trim().to_owned() };
    match invoke_command(&entry, cancel, command).await {
        Ok(action) => {
            let action = label_prompt(&inner.shared, &info, action);
            apply_action(&inner.shared, &info.extension, &action);
            Ok(CommandOutcome { extension: info.extension, action })
        }
        Err(error) => Err(CommandError::Failed {
            extension: info.extension,
            name: info.name,
            detail: error.to_string(),
        }),
    }
}

pub(super) async fn complete(
    inner: &HostState,
    cancel: &CancellationToken,
    name: &str,
    prefix: &str,
) -> Result<Vec<CompletionItem>, CommandError> {
    let Some((info, entry)) = find(inner, name) else {
        return Err(CommandError::Unknown { name: name.to_owned() });
    };
    if !info.completes {
        return Ok(Vec::new());
    }
    let question = QueryCompletions { name: info.name.clone(), prefix: prefix.to_owned() };
    let answer = inner.completing.complete(cancel, &entry, question, &inner.shared.limits).await;
    answer.map_err(|SupersededCompletion| CommandError::Superseded { name: info.name })
}

async fn invoke_command(
    entry: &ManagedExtension,
    cancel: &CancellationToken,
    command: InvokeCommand,
) -> Result<CommandAction, CallError> {
    entry.ensure_started(cancel).await?;
    let deadline = Deadline::after(entry.timeouts.command);
    let extension = entry.acquire_handle(cancel, &deadline).await?;
    let what = format!("/{}", command.name).into();
    extension.query_or_report(cancel, command, what, deadline, FaultCode::FrameInvalid).await
}

/// Finds a command by its name. Names are case-insensitive, but an exact match wins.
fn find(inner: &HostState, name: &str) -> Option<(ExtensionCommand, Arc<ManagedExtension>)> {
    let mut known = inner.claim_commands();
    let exact = known.iter().position(|(info, _)| info.name == name);
    let alike = || known.iter().position(|(info, _)| info.name.eq_ignore_ascii_case(name));
    let found = exact.or_else(alike)?;
    Some(known.swap_remove(found))
}

/// Adds the origin to a prompt and removes invisible characters.
fn label_prompt(shared: &HostContext, info: &ExtensionCommand, action: CommandAction) -> CommandAction {
    let CommandAction::Prompt(text) = action else { return action };
    let ExtensionCommand { name, extension, .. } = info;
    let LabeledText { text, hidden } = LabeledText::new(extension, &format!(", command {name}"), &text);
    shared.reporter(extension).report_hidden_text(hidden, &format!("the prompt of command {name}"));
    CommandAction::Prompt(text)
}

fn apply_action(shared: &HostContext, extension: &ExtensionName, action: &CommandAction) {
    match action {
        CommandAction::Display(text) => {
            let (extension, text) = (extension.clone(), text.clone());
            (shared.events)(AgentEvent::ExtDisplay { extension, text });
        }
        CommandAction::Insert(text) => shared.frontend.insert(extension, text),
        CommandAction::OpenPanel(panel) => shared.frontend.open_panel(extension, panel),
        CommandAction::Prompt(_) | CommandAction::Noop | CommandAction::Failed(_) => {}
    }
}
