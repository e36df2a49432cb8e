//! A run: from the arguments to the last event.

mod compact;
mod drive;
pub(crate) mod ends;
mod join;
mod list;
mod model;
pub(crate) mod output;
pub(crate) mod queue;
mod screen;
mod session;

use anyhow::Context as _;
use haft_core::model::ModelInfo;
use haft_core::session::Session;

use crate::args::{CompactArgs, RunArgs};
use crate::console::note;
use crate::exit::Exit;
use crate::session::Sessions;
use crate::setup::Setup;
use crate::{console, extensions, hooks, logging, prompt};

use compact::Wish;
use drive::Task;
pub(crate) use ends::Ends;
pub(crate) use join::{Parts, ToolChoice, join};
pub(crate) use list::for_clients as models_for_clients;
pub(crate) use model::{choose_by_name, clamped};
pub(crate) use output::Output;
pub(crate) use screen::{Flow, interrupted};
pub(crate) use session::{Chosen, Opened, open as open_session, resume};

pub(crate) fn run(args: RunArgs) -> anyhow::Result<Exit> {
    let json = args.json;
    work(args).inspect_err(|error| Output::failed(json, error))
}

fn work(args: RunArgs) -> anyhow::Result<Exit> {
    let setup = Setup::read(&args)?;
    logging::init(&setup.home)?;
    if let Some(pattern) = args.list_models {
        let form = if args.json { list::Form::Json } else { list::Form::Table(console::width()) };
        return complete(async move { list::list(&setup, pattern.as_deref(), form).await });
    }
    let prompt = prompt::read(&args.prompt)?;
    let chosen = match open_session(&args.session, &setup, prompt.is_some())? {
        Opened::Session(chosen) => chosen,
        Opened::Nothing(exit) => return Ok(exit),
    };
    if prompt.is_none() && !chosen.resumed {
        return Exit::Usage.fail(
            "nothing to do; give a prompt with -p, or start haft on a terminal; haft demo shows a whole turn",
        );
    }
    let output = match (args.json, args.verbose) {
        (true, _) => Output::json(),
        (false, true) => Output::story(),
        (false, false) => Output::answer(),
    };
    telling_repairs(args.json, chosen.session.clone(), || {
        check(&setup)?;
        complete(async move {
            let parts = parts(&args, setup, chosen).await?;
            if let Some(warning) = clamped(&*parts.model, parts.thinking) {
                note(&warning);
            }
            drive::drive(parts, Task::Prompt(prompt), output).await
        })
    })
}

/// Sums up a session: `haft session compact`.
pub(crate) fn compact(args: CompactArgs) -> anyhow::Result<Exit> {
    let json = args.json;
    sum_up(args).inspect_err(|error| Output::failed(json, error))
}

fn sum_up(args: CompactArgs) -> anyhow::Result<Exit> {
    let (id, wish) = (args.which.id.clone(), Wish::from(&args));
    let args = RunArgs::from(args);
    let setup = Setup::read(&args)?;
    logging::init(&setup.home)?;
    let found = Sessions::new(&setup.home, &setup.cwd).find(&id)?;
    let chosen = Chosen { session: resume(&found, &setup)?, resumed: true };
    let output = if wish.json { Output::json() } else { Output::answer() };
    telling_repairs(wish.json, chosen.session.clone(), || {
        check(&setup)?;
        complete(async move {
            let parts = parts(&args, setup, chosen).await?;
            drive::drive(parts, Task::Compact(wish), output).await
        })
    })
}

/// Works in a session, and tells behind that what was mended of its file and no run has told. Opening has mended it
/// already: what is not told now, nobody ever hears of.
fn telling_repairs(
    json: bool,
    session: Session,
    work: impl FnOnce() -> anyhow::Result<Exit>,
) -> anyhow::Result<Exit> {
    let outcome = work();
    Output::repaired(json, &session);
    outcome
}

/// Says what is not used, and makes sure that all that is named can be started.
fn check(setup: &Setup) -> anyhow::Result<()> {
    setup.tell();
    check_named(setup)
}

pub(crate) fn check_named(setup: &Setup) -> anyhow::Result<()> {
    extensions::check_named(&setup.search, &setup.config)?;
    hooks::check(&setup.hooks, &setup.search, &setup.config)
}

pub(crate) async fn parts(args: &RunArgs, setup: Setup, chosen: Chosen) -> anyhow::Result<Parts> {
    let model = session::model(args, &setup, &chosen).await?;
    let thinking = session::thinking(args, &setup, &chosen);
    Ok(Parts { thinking, ..Parts::new(args, setup, model, chosen.session)? })
}

/// The same for a copy of a conversation that goes on in this process, which began with the model `first`.
pub(crate) async fn parts_of_copy(
    args: &RunArgs,
    setup: Setup,
    copy: Session,
    first: &ModelInfo,
) -> anyhow::Result<Parts> {
    let model = session::model_of_copy(args, &setup, &copy, first).await?;
    let thinking = session::thinking_of_copy(&setup, &copy);
    let names_tools = copy.context().settings.tools.is_some();
    let parts = Parts { thinking, ..Parts::new(args, setup, model, copy)? };
    Ok(if names_tools { Parts { tools: ToolChoice::All, ..parts } } else { parts })
}

/// Works on one prompt with parts that are chosen already: what the demo does.
pub(crate) fn run_with(parts: Parts, prompt: String, output: Output) -> anyhow::Result<Exit> {
    let json = matches!(output, Output::Json(_));
    telling_repairs(json, parts.session.clone(), || {
        complete(drive::drive(parts, Task::Prompt(Some(prompt)), output))
    })
}

/// Runs to the end. One thread owns the agent and all extensions, so that asking an extension costs no hop between
/// threads; and the agent is a task like theirs, so that an answer wakes it without another turn of the driver.
pub(crate) fn complete(
    work: impl Future<Output = anyhow::Result<Exit>> + Send + 'static,
) -> anyhow::Result<Exit> {
    haft_launch::harden_self().iter().for_each(|error| tracing::warn!(%error, "not hardened"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let exit = runtime.block_on(async { tokio::spawn(work).await });
    // A read that hangs in the kernel must not hold up the end, and that of a panic neither.
    runtime.shutdown_background();
    // Nobody ends the task before its time: what ended it is a panic.
    exit.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc;

    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn a_read_that_hangs_holds_up_no_panic() {
        let (holds, hangs) = mpsc::channel::<()>();
        let work = async move {
            let (begun, has_begun) = oneshot::channel();
            let read = tokio::task::spawn_blocking(move || {
                begun.send(()).unwrap();
                hangs.recv()
            });
            has_begun.await.unwrap();
            drop(read);
            panic!("as it was told to");
        };
        assert!(catch_unwind(AssertUnwindSafe(|| complete(work))).is_err());
        drop(holds);
    }
}
