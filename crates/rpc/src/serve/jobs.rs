//! The work of a session, one job at a time: a prompt or a compaction.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use haft_core::Prompt;
use haft_core::compact::CompactError;
use haft_core::error::{TurnError, TurnErrorKind};
use haft_core::hooks::UserInput;
use haft_protocol::content::InputSource;
use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{self, ClientEvent, CommandFailure, PromptCommand, ReplyPayload, RpcEvent};
use tokio::sync::{OwnedMutexGuard, oneshot};
use tokio_util::sync::CancellationToken;

use super::input::{InputUse, resolve_input, run_named_command};
use crate::command_scheduler::{CommandTicket, SessionJob};
use crate::session_provider::{OpenedSession, RunUpdate, SessionProvider};

#[derive(Debug, Default)]
pub(super) struct JobOutcome {
    /// The final event. It is sent when the session is idle, so that the client finds it idle.
    pub(super) last: Option<ClientEvent>,
    /// True if a gate of the session failed and the user chose not to continue without it.
    pub(super) stopped: bool,
    /// True if a command or compaction failed. Runs report their own failures.
    failed: bool,
}

impl JobOutcome {
    fn with_last_event(last: impl Into<ClientEvent>) -> Self {
        Self { last: Some(last.into()), ..Self::default() }
    }

    fn failed_with(last: impl Into<ClientEvent>) -> Self {
        Self { failed: true, ..Self::with_last_event(last) }
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
            SessionJob::Prompt(said) => {
                let input = session.create_input(said.message, said.images);
                run_prompt(session, sessions, stop, input, said.plain == Some(true)).await
            }
            SessionJob::ExtensionPrompt(PromptCommand { message: text, images, plain }) => {
                let input = UserInput::new(text, InputSource::Extension).with_images(images);
                run_prompt(session, sessions, stop, input, plain == Some(true)).await
            }
            SessionJob::Message(said) => {
                let prompt: Prompt = session.create_input(said.message, said.images).into();
                run_agent(session, stop, Some(prompt), None).await
            }
            // A prompt may have taken the messages along.
            SessionJob::Resume if !session.agent.has_unanswered_message() => JobOutcome::default(),
            SessionJob::Resume => run_agent(session, stop, None, None).await,
            SessionJob::Compact(wish) => run_compaction(session, stop, wish).await,
        }
    };
    // A panic becomes an error event and does not affect the other sessions.
    let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        session.screen.set_compacting(false);
        let failed = error_event("internal error; see the log for details. The session continues");
        if !is_prompt {
            return JobOutcome::failed_with(failed);
        }
        session.screen.event(failed);
        JobOutcome::failed_with(AgentEvent::Done)
    });
    if outcome.failed {
        session.report_end(RunUpdate::Failed).await;
    }
    outcome
}

/// Handles a prompt of the person: an existing command, or otherwise a message.
async fn run_prompt(
    session: &OpenedSession,
    sessions: &Arc<impl SessionProvider>,
    stop: &CancellationToken,
    input: UserInput,
    is_plain: bool,
) -> JobOutcome {
    // A command may itself send messages to the agent, so it runs before the prompt takes its place.
    let ran = run_named_command(session, stop, &input, is_plain).await;
    if let Some(Err(why)) = ran {
        session.screen.event(error_event(why));
        return JobOutcome::failed_with(AgentEvent::Done);
    }
    // Later messages to the agent wait until the run has this prompt.
    let place = stop.run_until_cancelled(Arc::clone(&session.input_order).lock_owned()).await;
    let Some(place) = place else { return JobOutcome::with_last_event(AgentEvent::Done) };
    let (has_images, written) = (!input.images.is_empty(), input.text.clone());
    let failure = match resolve_input(session, sessions, stop, input, is_plain, ran).await {
        // A prompt may begin with a path, so only an existing command is run.
        InputUse::Message(input) | InputUse::Unknown(input) => {
            return run_agent(session, stop, Some(input.into()), Some(place)).await;
        }
        InputUse::Failed(why) => Some(why),
        InputUse::Shown(..) if has_images => {
            let name = written.split_whitespace().next().unwrap_or_default();
            Some(format!("{name} does not call the model; the images were not sent"))
        }
        InputUse::Shown(..) | InputUse::Handled => None,
    };
    match failure {
        Some(why) => {
            session.screen.event(error_event(why));
            JobOutcome::failed_with(AgentEvent::Done)
        }
        None => JobOutcome::with_last_event(AgentEvent::Done),
    }
}

/// Runs the agent with a prompt, or else with the messages that have no answer. `place` is released when
/// the run has the prompt.
async fn run_agent(
    session: &OpenedSession,
    stop: &CancellationToken,
    prompt: Option<Prompt>,
    mut place: Option<OwnedMutexGuard<()>>,
) -> JobOutcome {
    session.offer_tools();
    let mut changes = session.extensions.as_ref().map(|extensions| extensions.host.changes());
    let mut run = match prompt {
        Some(prompt) => session.agent.prompt(prompt),
        None => session.agent.resume(),
    };
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
                Some(event) => {
                    drop(place.take());
                    session.show_run_event(event).await;
                }
                None => break,
            },
        }
    }
    let result = run.finish().await;
    let stopped = matches!(&result, Err(TurnError { kind: TurnErrorKind::Stopped { .. }, .. }));
    session.report_end(RunUpdate::Ended(result)).await;
    JobOutcome { last, stopped, failed: false }
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
        Err(error) => JobOutcome::failed_with(error_event(error)),
    }
}

/// Creates an error event outside of a run.
pub(super) fn error_event(message: impl std::fmt::Display) -> AgentEvent {
    AgentEvent::Error { message: message.to_string(), stage: None, advice: None }
}

/// The program's own run. The runs of extensions begin after it is dropped.
#[derive(Debug)]
pub struct OwnRun {
    /// Cancelled when the run must stop.
    pub stop: CancellationToken,
    /// Cancelled when all runs have ended and the session closes.
    pub closing: CancellationToken,
    /// Dropped at the end of the run.
    pub(super) _ended: oneshot::Sender<()>,
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
