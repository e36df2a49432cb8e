//! The work of a session, one job at a time: a prompt, or a summary.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::{FutureExt as _, StreamExt as _};
use haft_core::Prompt;
use haft_core::compact::CompactError;
use haft_core::error::TurnErrorKind;
use haft_host::CommandError;
use haft_protocol::content::Content;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::CommandAction;
use haft_protocol::rpc::{self, Event, Failure, Payload, RpcEvent};
use tokio_util::sync::CancellationToken;

use crate::desk::{Job, Ticket};
use crate::sessions::{Expanded, Extensions, Opened, Sessions};

#[derive(Debug, Default)]
pub(super) struct Ended {
    /// The event that ends it. It is told once nothing is worked on any more: who has heard it finds the session idle.
    pub(super) last: Option<Event>,
    /// True if what keeps watch over the session is broken, and nobody wants to go on without it.
    pub(super) stopped: bool,
}

impl Ended {
    fn with(last: impl Into<Event>) -> Self {
        Self { last: Some(last.into()), stopped: false }
    }
}

/// Works on it to the end, which the client is told of, whatever happens.
pub(super) async fn job(
    session: &Opened,
    sessions: &Arc<impl Sessions>,
    stop: &CancellationToken,
    job: Job,
) -> Ended {
    let is_prompt = !matches!(job, Job::Compact(_));
    let work = async {
        match job {
            Job::Prompt(said) => prompt(session, sessions, stop, said).await,
            Job::Message(said) => message(session, stop, said).await,
            Job::Compact(wish) => compact(session, stop, wish).await,
        }
    };
    // Whatever panics in there is told as an error, and does not take the other sessions along.
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        session.screen.sums_up(false);
        let failed = error("haft failed here; the log says where. The session goes on");
        if !is_prompt {
            return Ended::with(failed);
        }
        session.screen.event(failed);
        Ended::with(AgentEvent::Done)
    })
}

/// Handles the person's prompt: a command if it begins as one that there is, and otherwise a message.
async fn prompt(
    session: &Opened,
    sessions: &Arc<impl Sessions>,
    stop: &CancellationToken,
    said: rpc::Prompt,
) -> Ended {
    let typed = said.message.strip_prefix('/').filter(|_| said.plain != Some(true));
    let Some(typed) = typed else { return message(session, stop, said).await };
    let (name, args) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let ran = command(session, sessions, name, args);
    let failure = match stop.run_until_cancelled(ran).await {
        Some(Ran::Message(text)) => {
            return message(session, stop, rpc::Prompt { message: text, ..said }).await;
        }
        // A prompt may begin with a path; only a command that exists is one.
        Some(Ran::Unknown) => return message(session, stop, said).await,
        Some(Ran::Failed(why)) => Some(why),
        Some(Ran::Shown(..)) if !said.images.is_empty() => {
            Some(format!("/{name} does not ask the model; the images were not sent"))
        }
        Some(Ran::Shown(..)) | None => None,
    };
    if let Some(why) = failure {
        session.screen.event(error(why));
    }
    Ended::with(AgentEvent::Done)
}

/// The outcome of a command.
pub(super) enum Ran {
    Message(String),
    Shown(CommandAction, haft_protocol::ids::ExtensionName),
    /// It failed; why, for people.
    Failed(String),
    Unknown,
}

/// Runs an extension's command, or makes a message of a template.
pub(super) async fn command(session: &Opened, sessions: &Arc<impl Sessions>, name: &str, args: &str) -> Ran {
    if let Some(Extensions { host, .. }) = &session.extensions {
        // Whoever asks drops this when nobody wants the answer any more.
        let cancel = CancellationToken::new();
        let _cancelled = cancel.clone().drop_guard();
        match host.run_command(&cancel, name, args).await {
            Ok(outcome) => {
                return match outcome.action {
                    CommandAction::Prompt(text) => Ran::Message(text),
                    CommandAction::Failed(why) => {
                        Ran::Failed(format!("extension {}/{name}: {why}", outcome.extension))
                    }
                    action @ (CommandAction::Insert(_)
                    | CommandAction::Display(_)
                    | CommandAction::OpenPanel(_)
                    | CommandAction::Noop) => Ran::Shown(action, outcome.extension),
                };
            }
            Err(CommandError::Unknown { .. }) => {}
            Err(error) => return Ran::Failed(error.to_string()),
        }
    }
    let (sessions, named, typed) = (Arc::clone(sessions), name.to_owned(), args.to_owned());
    let expanded = tokio::task::spawn_blocking(move || sessions.expand(&named, &typed));
    match expanded.await.unwrap_or_else(|error| Expanded::Failed(error.to_string())) {
        Expanded::Message(text) => Ran::Message(text),
        Expanded::Failed(why) => Ran::Failed(format!("/{name}: {why}")),
        Expanded::Unknown => Ran::Unknown,
    }
}

async fn message(session: &Opened, stop: &CancellationToken, said: rpc::Prompt) -> Ended {
    session.offer_tools();
    let mut changes = session.extensions.as_ref().map(|extensions| extensions.host.changes());
    let mut run = session.agent.prompt(content(said.message, said.images));
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
    Ended { last, stopped }
}

async fn compact(session: &Opened, stop: &CancellationToken, wish: rpc::Compact) -> Ended {
    session.screen.sums_up(true);
    let outcome = session.agent.compact(stop.clone(), wish.instructions).await;
    session.screen.sums_up(false);
    match outcome {
        Ok(compacted) => Ended::with(RpcEvent::CompactDone { summary: compacted.summary }),
        Err(CompactError::Aborted) => Ended::default(),
        Err(error) => Ended::with(self::error(error)),
    }
}

pub(super) fn content(message: String, images: Vec<haft_protocol::content::Image>) -> Prompt {
    let text = (!message.is_empty()).then(|| Content::text(message));
    Prompt { content: text.into_iter().chain(images.into_iter().map(Content::Image)).collect() }
}

/// Something went wrong outside of a run.
pub(super) fn error(message: impl std::fmt::Display) -> AgentEvent {
    AgentEvent::Error { message: message.to_string(), stage: None }
}

/// News about work under way.
pub(super) enum News {
    Ended(String, Ended),
    /// A command whose reply may be long.
    Bulky(Place, Ticket, Result<Payload, Failure>),
    Done(Place, Ticket, Result<Payload, Failure>),
    /// A command of an extension, or a template: beside its reply, the job that comes of it.
    Ran(String, Ticket, Result<(Payload, Option<Job>), Failure>),
    /// A session is open, or is not.
    Opened(Ticket, Meant, Result<Opened, Failure>),
    /// A session is closed; why what it said may not be on the disk.
    Closed(String, Option<String>),
    /// The rest of a session that was open already.
    Gone,
}

/// The place that a command belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Lobby,
    Session(String),
}

/// The session that later commands without a name mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meant {
    FromHereOn,
    Not,
}
