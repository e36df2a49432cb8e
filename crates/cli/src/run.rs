//! A run: from the arguments to the last event.

mod drive;
pub(crate) mod frontend;
mod join;
mod list;
mod model;
pub(crate) mod output;
mod session;

use anyhow::Context as _;

use crate::args::RunArgs;
use crate::console::note;
use crate::exit::{Exit, OrExit as _};
use crate::setup::Setup;
use crate::{console, extensions, logging, prompt};

pub(crate) use join::{Parts, ToolChoice, facts};
pub(crate) use output::Output;
use session::Opened;

/// Works on one prompt, or lists models.
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
    let chosen = match session::open(&args.session, &setup, prompt.is_some())? {
        Opened::Session(chosen) => chosen,
        Opened::Nothing(exit) => return Ok(exit),
    };
    if prompt.is_none() && !chosen.resumed {
        return Err(anyhow::anyhow!("nothing to do; give a prompt, or see haft --help and haft demo"))
            .or_exit(Exit::Usage);
    }
    setup.tell();
    model::preload(&setup);
    extensions::check_named(&setup.search)?;
    let output = if args.json { Output::json() } else { Output::answer() };
    complete(async move {
        let model = session::model(&args, &setup, &chosen).await?;
        let thinking = session::thinking(&args, &setup, &chosen);
        if let Some(warning) = model::clamped(&*model, thinking) {
            note(&warning);
        }
        let parts = Parts { thinking, ..Parts::new(&args, setup, model, chosen.session)? };
        drive::drive(parts, prompt, output).await
    })
}

/// Works on one prompt with parts that are chosen already: what the demo does.
pub(crate) fn run_with(parts: Parts, prompt: String, output: Output) -> anyhow::Result<Exit> {
    complete(drive::drive(parts, Some(prompt), output))
}

/// Runs to the end. One thread owns the agent and all extensions, so that asking an extension costs no hop between
/// threads; and the agent is a task like theirs, so that an answer wakes it without another turn of the driver.
fn complete(work: impl Future<Output = anyhow::Result<Exit>> + Send + 'static) -> anyhow::Result<Exit> {
    haft_launch::harden_self().iter().for_each(|error| tracing::warn!(%error, "not hardened"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    // Nobody ends the task before its time: what ended it is a panic.
    let exit = runtime
        .block_on(async { tokio::spawn(work).await })
        .unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    // A read that hangs in the kernel must not hold up the end.
    runtime.shutdown_background();
    exit
}
