//! Driving a run: events out, interrupts in, extensions stopped at the end.

use futures::StreamExt as _;
use haft_core::Run;
use haft_core::error::{TurnError, TurnErrorKind};
use haft_core::model::ModelErrorKind;
use haft_host::{CommandError, ExtensionState};
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::CommandAction;
use tokio_util::sync::CancellationToken;

use super::join::{Joined, Parts, join};
use super::output::Output;
use crate::console::note;
use crate::exit::{Exit, OrExit as _};
use crate::interrupt::Interrupts;

/// Works on one prompt from the start of the extensions to their end.
pub(super) async fn drive(parts: Parts, prompt: String, mut output: Output) -> anyhow::Result<Exit> {
    let mut interrupts = Interrupts::listen()?;
    let Some(joined) = interrupts.unless_first(join(parts)).await else { return Ok(Exit::Aborted) };
    let mut joined = joined?;
    let worked = work(&mut joined, &prompt, &mut output, &mut interrupts).await;
    interrupts.unless_second(joined.host.shutdown()).await;
    while let Ok(event) = joined.events.try_recv() {
        output.event(&event).await?;
    }
    worked
}

async fn work(
    joined: &mut Joined,
    prompt: &str,
    output: &mut Output,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    required(joined)?;
    joined.host.session_start();
    let prompt = match command(joined, prompt, interrupts).await? {
        Next::Prompt(prompt) => prompt,
        Next::Done(exit) => return Ok(exit),
    };
    let run = joined.agent.prompt(prompt);
    let outcome = follow(joined, run, output, interrupts).await?;
    output.finish().await?;
    Ok(outcome.map_or_else(|error| exit_of(&error), |()| Exit::Ok))
}

/// A guard that must be in place and is not ends the run before anything happens.
fn required(joined: &Joined) -> anyhow::Result<()> {
    let missing = joined
        .host
        .states()
        .into_iter()
        .find(|status| status.required && !matches!(status.state, ExtensionState::Ready));
    match missing {
        None => Ok(()),
        Some(status) => Err(anyhow::anyhow!(
            "required extension {} is not running; see haft ext logs {} or disable it",
            status.name,
            status.name
        ))
        .or_exit(Exit::RequiredExtension),
    }
}

/// What a prompt comes to before the model hears of it.
enum Next {
    Prompt(String),
    Done(Exit),
}

/// Runs an extension's command when the prompt begins with one.
async fn command(joined: &mut Joined, prompt: &str, interrupts: &mut Interrupts) -> anyhow::Result<Next> {
    let Some(typed) = prompt.strip_prefix('/') else { return Ok(Next::Prompt(prompt.to_owned())) };
    let (name, args) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let cancel = CancellationToken::new();
    let asked = joined.host.run_command(&cancel, name, args.trim());
    let Some(outcome) = interrupts.unless_first(asked).await else { return Ok(Next::Done(Exit::Aborted)) };
    match outcome {
        Ok(outcome) => match outcome.action {
            CommandAction::Prompt(text) => Ok(Next::Prompt(text)),
            CommandAction::Failed(error) => Err(anyhow::anyhow!("extension /{name}: {error}")),
            CommandAction::Insert(_)
            | CommandAction::Display(_)
            | CommandAction::OpenPanel(_)
            | CommandAction::Noop => Ok(Next::Done(Exit::Ok)),
        },
        // A prompt may begin with a path; only a command that exists is one.
        Err(CommandError::Unknown { .. }) => Ok(Next::Prompt(prompt.to_owned())),
        Err(error) => Err(error.into()),
    }
}

/// Shows every event of the run and of the extensions until the run is over.
async fn follow(
    joined: &mut Joined,
    mut run: Run,
    output: &mut Output,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Result<(), TurnError>> {
    let cancel = run.cancellation();
    loop {
        tokio::select! {
            biased;
            () = interrupts.next() => {
                if cancel.is_cancelled() {
                    return Ok(Err(TurnError { step: 0, kind: TurnErrorKind::Aborted }));
                }
                note("haft: stopping; once more to stop at once");
                cancel.cancel();
            }
            Some(event) = joined.events.recv() => output.event(&event).await?,
            Ok(()) = joined.changes.changed() => joined.offer_tools()?,
            event = run.next() => match event {
                Some(AgentEvent::Done) => {
                    output.event(&AgentEvent::Done).await?;
                    return Ok(run.finish().await);
                }
                Some(event) => output.event(&event).await?,
                None => return Ok(run.finish().await),
            },
        }
    }
}

fn exit_of(error: &TurnError) -> Exit {
    match &error.kind {
        TurnErrorKind::Model(error) => match error.kind {
            ModelErrorKind::Auth => Exit::NoProvider,
            ModelErrorKind::Cancelled => Exit::Aborted,
            ModelErrorKind::RateLimited
            | ModelErrorKind::Unavailable
            | ModelErrorKind::Rejected
            | ModelErrorKind::Connection
            | ModelErrorKind::Truncated => Exit::Provider,
        },
        TurnErrorKind::Blocked { .. } => Exit::Blocked,
        TurnErrorKind::MaxSteps { .. } => Exit::MaxSteps,
        TurnErrorKind::Aborted => Exit::Aborted,
        TurnErrorKind::Busy => Exit::Failure,
    }
}
