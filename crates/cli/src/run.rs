//! A run: from the arguments to the last event.

mod build_agent;
mod compact;
mod display;
mod drive;
mod guarded_tools;
mod list;
mod model;
pub(crate) mod output;
mod provider_secrets;
mod session;
pub(crate) mod session_outputs;
mod session_resources;
mod session_source;
mod trust_question;

use std::sync::Arc;

use anyhow::Context as _;
use haft_core::model::{Model, ModelId};
use haft_core::session::Session;

use crate::args::{CompactArgs, RunArgs};
use crate::console::note;
use crate::exit::{Exit, OrExit as _};
use crate::session::SessionFinder;
use crate::setup::RunSetup;
use crate::tool_sandbox::check_working_directory;
use crate::{console, extensions, hooks, logging, prompt};

pub(crate) use build_agent::{RunParts, RunningAgent, ToolChoice, build_agent, launcher};
use compact::CompactOptions;
pub(crate) use display::{RunFlow, handle_interrupt};
use drive::RunTask;
pub(crate) use list::for_clients as models_for_clients;
pub(crate) use model::{choose_by_name, thinking_level_note};
pub(crate) use output::RunOutput;
pub(crate) use provider_secrets::ProviderSecrets;
pub(crate) use session::{SelectedSession, SessionOpenOutcome, open as open_session, resume};
pub(crate) use session_outputs::SessionOutputs;
pub(crate) use session_source::SessionSource;
pub(crate) use trust_question::ask_about_trust;

pub(crate) fn run(args: RunArgs) -> anyhow::Result<Exit> {
    let json = args.json;
    run_prompt(args).inspect_err(|error| RunOutput::report_failure(json, error))
}

fn run_prompt(args: RunArgs) -> anyhow::Result<Exit> {
    let args = if args.list_models.is_some() { args } else { ask_about_trust(args)? };
    let setup = RunSetup::read(&args)?;
    logging::init(&setup.home)?;
    if let Some(pattern) = args.list_models {
        let form = if args.json {
            list::ModelListFormat::Json
        } else {
            list::ModelListFormat::Table(console::terminal_width())
        };
        return run_to_completion(
            async move { list::print_model_list(&setup, pattern.as_deref(), form).await },
        );
    }
    let prompt = prompt::read(&args.prompt)?;
    let chosen = match open_session(&args.session, &setup, prompt.is_some())? {
        SessionOpenOutcome::Session(chosen) => chosen,
        SessionOpenOutcome::Nothing(exit) => return Ok(exit),
    };
    if prompt.is_none() && !chosen.resumed {
        return Exit::Usage.fail(
            "no prompt given; use -p PROMPT, or start haft in a terminal (`haft demo` shows an example turn)",
        );
    }
    let output = match (args.json, args.verbose) {
        (true, _) => RunOutput::json(),
        (false, true) => RunOutput::with_progress(),
        (false, false) => RunOutput::answer(),
    };
    with_repair_report(args.json, chosen.session.clone(), || {
        check_setup(&setup)?;
        run_to_completion(async move {
            let parts = build_parts(&args, setup, chosen).await?;
            if let Some(warning) = thinking_level_note(&*parts.model, parts.thinking) {
                note(&warning);
            }
            drive::drive(args, parts, RunTask::Prompt(prompt), output).await
        })
    })
}

/// Compacts a session: `haft session compact`.
pub(crate) fn compact(args: CompactArgs) -> anyhow::Result<Exit> {
    let json = args.json;
    run_compaction(args).inspect_err(|error| RunOutput::report_failure(json, error))
}

fn run_compaction(args: CompactArgs) -> anyhow::Result<Exit> {
    let (id, options) = (args.which.id.clone(), CompactOptions::from(&args));
    let args = ask_about_trust(RunArgs::from(args))?;
    let setup = RunSetup::read(&args)?;
    logging::init(&setup.home)?;
    let found = SessionFinder::new(&setup.home, &setup.cwd).find(&id)?;
    let chosen = SelectedSession { session: resume(&found, &setup)?, resumed: true };
    let output = if options.json { RunOutput::json() } else { RunOutput::answer() };
    with_repair_report(options.json, chosen.session.clone(), || {
        check_setup(&setup)?;
        run_to_completion(async move {
            let parts = build_parts(&args, setup, chosen).await?;
            drive::drive(args, parts, RunTask::Compact(options), output).await
        })
    })
}

/// Works in a session, then reports repairs of its file that no run reported. Opening the session repaired the file, so
/// the repairs are reported now or never.
fn with_repair_report(
    json: bool,
    session: Session,
    work: impl FnOnce() -> anyhow::Result<Exit>,
) -> anyhow::Result<Exit> {
    let outcome = work();
    RunOutput::report_repairs(json, &session);
    outcome
}

/// Prints notes about ignored files, and checks that the extensions and hooks of the command line can start.
fn check_setup(setup: &RunSetup) -> anyhow::Result<()> {
    setup.print_notes();
    check_named(setup)
}

/// Checks the working directory, and that the extensions and hooks of the command line can start.
pub(crate) fn check_named(setup: &RunSetup) -> anyhow::Result<()> {
    check_working_directory(&setup.home, &setup.cwd, &setup.config.tools)
        .map_err(|error| anyhow::anyhow!("{error} (`--sandbox full`)"))
        .or_exit(Exit::Configuration)?;
    extensions::check_named(&setup.search, &setup.config)?;
    hooks::check_hook_names(&setup.hooks, &setup.search, &setup.config)
}

pub(crate) async fn build_parts(
    args: &RunArgs,
    setup: RunSetup,
    chosen: SelectedSession,
) -> anyhow::Result<RunParts> {
    let model = session::session_model(args, &setup, &chosen).await?;
    build_parts_with(args, setup, chosen, model)
}

/// Builds the parts for the screen, where the user can select a model that is not configured yet.
pub(crate) async fn build_parts_for_screen(
    args: &RunArgs,
    setup: RunSetup,
    chosen: SelectedSession,
) -> anyhow::Result<RunParts> {
    let model = model::or_no_model(args, session::session_model(args, &setup, &chosen).await)?;
    build_parts_with(args, setup, chosen, model)
}

fn build_parts_with(
    args: &RunArgs,
    setup: RunSetup,
    chosen: SelectedSession,
    model: Arc<dyn Model>,
) -> anyhow::Result<RunParts> {
    let thinking = session::session_thinking(args, &setup, &chosen);
    Ok(RunParts { thinking, ..RunParts::new(args, setup, model, chosen.session)? })
}

/// Builds the parts for a copy of a conversation in this process, which began with the model `first`.
pub(crate) async fn build_parts_for_copy(
    args: &RunArgs,
    setup: RunSetup,
    copy: Session,
    first: &ModelId,
) -> anyhow::Result<RunParts> {
    let model = session::model_of_copy(args, &setup, &copy, first).await?;
    let thinking = session::thinking_of_copy(&setup, &copy);
    let names_tools = copy.context().settings.tools.is_some();
    let parts = RunParts { thinking, ..RunParts::new(args, setup, model, copy)? };
    Ok(if names_tools { RunParts { tools: ToolChoice::All, ..parts } } else { parts })
}

/// Works on one prompt with the given parts, as in the demo.
pub(crate) fn run_with_parts(parts: RunParts, prompt: String, output: RunOutput) -> anyhow::Result<Exit> {
    let json = matches!(output, RunOutput::Json(_));
    with_repair_report(json, parts.session.clone(), || {
        let task = RunTask::Prompt(Some(prompt));
        run_to_completion(drive::drive(RunArgs::default(), parts, task, output))
    })
}

/// Runs the work to its end. One thread runs the agent and all extensions, which avoids thread switches. The agent is a
/// task, so that an answer of an extension wakes it directly.
pub(crate) fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = anyhow::Result<T>> + Send + 'static,
) -> anyhow::Result<T> {
    haft_launch::harden_self().iter().for_each(|error| tracing::warn!(%error, "cannot harden the process"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let exit = runtime.block_on(async { tokio::spawn(work).await });
    // A read that blocks in the kernel must not delay the end, even after a panic.
    runtime.shutdown_background();
    // The task is never aborted, so the error is a panic.
    exit.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc;

    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn propagates_panic_despite_blocked_read() {
        let (holds, hangs) = mpsc::channel::<()>();
        let work = async move {
            let (begun, has_begun) = oneshot::channel();
            let read = tokio::task::spawn_blocking(move || {
                begun.send(()).unwrap();
                hangs.recv()
            });
            has_begun.await.unwrap();
            drop(read);
            panic!("expected panic");
        };
        assert!(catch_unwind(AssertUnwindSafe(|| run_to_completion::<Exit>(work))).is_err());
        drop(holds);
    }
}
