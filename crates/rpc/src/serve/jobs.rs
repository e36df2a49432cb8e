//! The work of a session, one job at a time: a prompt or a compaction.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::{FutureExt as _, StreamExt as _};
use haft_core::Prompt;
use haft_core::compact::CompactError;
use haft_core::error::TurnErrorKind;
use haft_host::CommandError;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::CommandAction;
use haft_protocol::rpc::{self, ClientEvent, CommandFailure, ReplyPayload, RpcEvent};
use tokio_util::sync::CancellationToken;

use crate::command_scheduler::{CommandTicket, SessionJob};
use crate::session_provider::{OpenedSession, SessionExtensions, SessionProvider, TemplateExpansion};

#[derive(Debug, Default)]
pub(super) struct JobOutcome {
    /// The final event. It is sent when the session is idle, so that the client finds it idle.
    pub(super) last: Option<ClientEvent>,
    /// True if a gate of the session failed and the user chose not to continue without it.
    pub(super) stopped: bool,
}

impl JobOutcome {
    fn with_last_event(last: impl Into<ClientEvent>) -> Self {
        Self { last: Some(last.into()), stopped: false }
    }
}

/// Runs a job to its end and reports the end to the client, even after a panic.
pub(super) async fn run_job(
    session: &OpenedSession,
    sessions: &Arc<impl SessionProvider>,
    stop: &CancellationToken,
    job: SessionJob,
) -> JobOutcome {
    let is_prompt = !matches!(job, SessionJob::Compact(_));
    let work = async {
        match job {
            SessionJob::Prompt(said) => run_prompt(session, sessions, stop, said).await,
            SessionJob::Message(said) => run_message(session, stop, said).await,
            SessionJob::Compact(wish) => run_compaction(session, stop, wish).await,
        }
    };
    // A panic becomes an error event and does not affect the other sessions.
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        session.screen.set_compacting(false);
        let failed = error_event("internal error; see the log for details. The session continues");
        if !is_prompt {
            return JobOutcome::with_last_event(failed);
        }
        session.screen.event(failed);
        JobOutcome::with_last_event(AgentEvent::Done)
    })
}

/// Handles a prompt of the person: an existing command, or otherwise a message.
async fn run_prompt(
    session: &OpenedSession,
    sessions: &Arc<impl SessionProvider>,
    stop: &CancellationToken,
    said: rpc::PromptCommand,
) -> JobOutcome {
    let typed = said.message.strip_prefix('/').filter(|_| said.plain != Some(true));
    let Some(typed) = typed else { return run_message(session, stop, said).await };
    let (name, args) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let ran = run_command(session, sessions, name, args);
    let failure = match stop.run_until_cancelled(ran).await {
        Some(CommandRun::Message(text)) => {
            return run_message(session, stop, rpc::PromptCommand { message: text, ..said }).await;
        }
        // A prompt may begin with a path, so only an existing command is run.
        Some(CommandRun::Unknown) => return run_message(session, stop, said).await,
        Some(CommandRun::Failed(why)) => Some(why),
        Some(CommandRun::Shown(..)) if !said.images.is_empty() => {
            Some(format!("/{name} does not call the model; the images were not sent"))
        }
        Some(CommandRun::Shown(..)) | None => None,
    };
    if let Some(why) = failure {
        session.screen.event(error_event(why));
    }
    JobOutcome::with_last_event(AgentEvent::Done)
}

/// The result of a command.
pub(super) enum CommandRun {
    Message(String),
    Shown(CommandAction, haft_protocol::ids::ExtensionName),
    /// The command failed; the reason for people.
    Failed(String),
    Unknown,
}

/// Runs an extension's command, or expands a template to a message.
pub(super) async fn run_command(
    session: &OpenedSession,
    sessions: &Arc<impl SessionProvider>,
    name: &str,
    args: &str,
) -> CommandRun {
    if let Some(SessionExtensions { host, .. }) = &session.extensions {
        // The caller drops this future when the answer is no longer needed.
        let cancel = CancellationToken::new();
        let _cancelled = cancel.clone().drop_guard();
        match host.run_command(&cancel, name, args).await {
            Ok(outcome) => {
                return match outcome.action {
                    CommandAction::Prompt(text) => CommandRun::Message(text),
                    CommandAction::Failed(why) => {
                        CommandRun::Failed(format!("extension {}/{name}: {why}", outcome.extension))
                    }
                    action @ (CommandAction::Insert(_)
                    | CommandAction::Display(_)
                    | CommandAction::OpenPanel(_)
                    | CommandAction::Noop) => CommandRun::Shown(action, outcome.extension),
                };
            }
            Err(CommandError::Unknown { .. }) => {}
            Err(error) => return CommandRun::Failed(error.to_string()),
        }
    }
    let (sessions, named, typed) = (Arc::clone(sessions), name.to_owned(), args.to_owned());
    let expanded = tokio::task::spawn_blocking(move || sessions.expand(&named, &typed));
    match expanded.await.unwrap_or_else(|error| TemplateExpansion::Failed(error.to_string())) {
        TemplateExpansion::Message(text) => CommandRun::Message(text),
        TemplateExpansion::Failed(why) => CommandRun::Failed(format!("/{name}: {why}")),
        TemplateExpansion::Unknown => CommandRun::Unknown,
    }
}

async fn run_message(
    session: &OpenedSession,
    stop: &CancellationToken,
    said: rpc::PromptCommand,
) -> JobOutcome {
    session.offer_tools();
    let mut changes = session.extensions.as_ref().map(|extensions| extensions.host.changes());
    let mut run = session.agent.prompt(prompt_content(said.message, said.images));
    let handle = run.handle();
    let (mut stopped, mut last) = (false, None);
    loop {
        let changed = async {
            match &mut changes {
                Some(changes) => changes.changed().await.is_ok(),
                None => false,
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled(), if !stopped => {
                stopped = true;
                handle.abort();
            }
            true = changed => session.offer_tools(),
            event = run.next() => match event {
                Some(AgentEvent::Done) => last = Some(AgentEvent::Done.into()),
                Some(event) => session.screen.event(event),
                None => break,
            },
        }
    }
    let stopped = run.finish().await.is_err_and(|error| matches!(error.kind, TurnErrorKind::Stopped { .. }));
    JobOutcome { last, stopped }
}

async fn run_compaction(
    session: &OpenedSession,
    stop: &CancellationToken,
    wish: rpc::CompactCommand,
) -> JobOutcome {
    session.screen.set_compacting(true);
    let outcome = session.agent.compact(stop.clone(), wish.instructions).await;
    session.screen.set_compacting(false);
    match outcome {
        Ok(compacted) => JobOutcome::with_last_event(RpcEvent::CompactDone { summary: compacted.summary }),
        Err(CompactError::Aborted) => JobOutcome::default(),
        Err(error) => JobOutcome::with_last_event(error_event(error)),
    }
}

pub(super) fn prompt_content(message: String, images: Vec<haft_protocol::content::Image>) -> Prompt {
    let text = (!message.is_empty()).then(|| ContentBlock::text(message));
    Prompt { content: text.into_iter().chain(images.into_iter().map(ContentBlock::Image)).collect() }
}

/// Creates an error event outside of a run.
pub(super) fn error_event(message: impl std::fmt::Display) -> AgentEvent {
    AgentEvent::Error { message: message.to_string(), stage: None }
}

/// A result of a task.
pub(super) enum TaskEvent {
    Ended(String, JobOutcome),
    /// The result of a command with a possibly long reply.
    Bulky(CommandScope, CommandTicket, Result<ReplyPayload, CommandFailure>),
    Done(CommandScope, CommandTicket, Result<ReplyPayload, CommandFailure>),
    /// The result of an extension's command or a template: the reply, and the job that follows.
    Ran(String, CommandTicket, Result<(ReplyPayload, Option<SessionJob>), CommandFailure>),
    /// A session was opened, or failed to open.
    Opened(CommandTicket, SwitchMode, Result<OpenedSession, CommandFailure>),
    /// A session was closed; the reason if its file may be incomplete.
    Closed(String, Option<String>),
    /// The rest of a session that was already open has been dropped.
    Gone,
}

/// The scheduler of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandScope {
    Process,
    Session(String),
}

/// The change of the current session after an open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SwitchMode {
    Switch,
    Stay,
}
