//! Drives a run: prints events, handles interrupts, stops the extensions at the end.

use std::sync::Arc;
use std::time::SystemTime;

use haft_config::{TemplateExpansion, TemplateSet};
use haft_core::error::{TurnError, TurnErrorKind};
use haft_core::hooks::UserInput;
use haft_core::sanitize::sanitize_line;
use haft_core::{Prompt, Run};
use haft_host::{CommandError, CommandOutcome, ExtensionCommand, Host};
use haft_protocol::content::InputSource;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::CommandAction;
use haft_rpc::{RunUpdate, SessionOwner, SessionScreen};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::build_agent::{RunParts, RunningAgent, build_agent};
use super::compact::{self, CompactOptions};
use super::display::{RunDisplay, RunFlow, exit_of_model, handle_interrupt};
use super::output::RunOutput;
use super::session_outputs::SessionOutputs;
use super::session_source::SessionSource;
use crate::args::RunArgs;
use crate::console::note;
use crate::exit::Exit;
use crate::interrupt::InterruptListener;
use crate::resources::PromptResources;
use crate::session::SessionFinder;

pub(super) enum RunTask {
    /// Works on a prompt; without one, continues where the session stopped.
    Prompt(Option<String>),
    Compact(CompactOptions),
}

impl RunTask {
    /// Returns the filter of agent events that are shown although no run reports them.
    fn event_filter(&self) -> Option<fn(&AgentEvent) -> bool> {
        match self {
            Self::Prompt(_) => None,
            Self::Compact(options) => Some(options.event_filter()),
        }
    }
}

pub(super) async fn drive(
    args: RunArgs,
    parts: RunParts,
    task: RunTask,
    output: RunOutput,
) -> anyhow::Result<Exit> {
    let mut interrupts = InterruptListener::listen()?;
    let results = parts.home.results_dir();
    let approve = parts.tool_settings.approve.value.clone();
    let sessions = SessionSource::for_printed_run(args, SessionFinder::new(&parts.home, &parts.host.cwd));
    let parts = parts.in_mode(output.host_mode());
    let owner = SessionOwner::new();
    let (screen, events) = (owner.open_screen(&parts.session), owner.events());
    let ends = SessionOutputs::for_printing(&screen, task.event_filter(), approve.clone());
    let Some(joined) = interrupts.run_until_first(build_agent(parts, ends)).await else {
        return Ok(Exit::Aborted);
    };
    let mut joined = joined?;
    let mut display = RunDisplay { output, interrupts, events, cancel: CancellationToken::new() };
    let worked = match check_run(&joined, &approve, &mut display).await {
        Ok(None) => {
            let session = PrintedSession { owner, screen, sessions: Arc::new(sessions) };
            run_session(&mut joined, session, task, &mut display).await
        }
        Ok(Some(exit)) => Ok(exit),
        Err(error) => Err(error),
    };
    // A finished run has written all entries; an interrupted one may not have.
    let (leave, synced) = (joined.host.shutdown(), joined.agent.session().flush());
    let stopped = joined.agent.background_jobs().stop_all();
    display.interrupts.run_until_second(async { _ = futures::join!(leave, synced, stopped) }).await;
    let shown = drain_events(&mut display).await;
    haft_tools::clear_results(&results, SystemTime::now());
    // The failure of the run matters more than a failure of the output.
    let exit = worked?;
    shown?;
    Ok(exit)
}

async fn drain_events(display: &mut RunDisplay) -> anyhow::Result<()> {
    while !display.interrupts.is_immediate()
        && let Some(event) = display.events.try_recv()
    {
        display.show(&event).await?;
    }
    Ok(())
}

/// Shows the session, and checks extensions and tools. Returns the exit code if the run does not begin.
async fn check_run(
    joined: &RunningAgent,
    approve: &[String],
    display: &mut RunDisplay,
) -> anyhow::Result<Option<Exit>> {
    if display.show(&joined.agent.session().event()).await? == RunFlow::StopNow {
        return Ok(Some(Exit::Aborted));
    }
    let checked = async {
        joined.check().await?;
        joined.warn_unknown_approvals(approve).await;
        anyhow::Ok(())
    };
    match display.interrupts.run_until_first(checked).await {
        Some(checked) => checked.map(|()| None),
        None => Ok(Some(Exit::Aborted)),
    }
}

/// The session of a printed run before its owner serves it.
struct PrintedSession {
    owner: SessionOwner,
    screen: Arc<SessionScreen>,
    sessions: Arc<SessionSource>,
}

/// Works on the task, then on the runs that extensions asked for meanwhile. The session is then closed.
async fn run_session(
    joined: &mut RunningAgent,
    PrintedSession { owner, screen, sessions }: PrintedSession,
    task: RunTask,
    display: &mut RunDisplay,
) -> anyhow::Result<Exit> {
    let (listener, runs) = mpsc::channel(1);
    let opened = sessions.adopt_session(joined, &screen).with_run_listener(listener);
    let cancel = CancellationToken::new();
    let (own, serving) =
        owner.serve(cancel.clone(), Arc::clone(&sessions), opened, env!("CARGO_PKG_VERSION"));
    let serving = tokio::spawn(serving);
    display.cancel = own.stop.clone();
    let may_be_followed = matches!(task, RunTask::Prompt(_));
    let mut worked = run_task(joined, &sessions, task, display).await;
    if let (Ok(_), Err(error)) = (&worked, display.output.print_answer()) {
        worked = Err(error);
    }
    let closing = own.closing.clone();
    drop(own);
    // Runs of extensions start only after a successful run.
    let is_followed = may_be_followed && matches!(worked, Ok(Exit::Ok));
    if !is_followed {
        cancel.cancel();
    }
    display.cancel = cancel.clone();
    let followed = follow_later_runs(runs, &closing, display).await;
    // The session closes at once if the output failed.
    cancel.cancel();
    display.interrupts.run_until_second(async { _ = serving.await }).await;
    let own = worked?;
    let exit = if is_followed { followed? } else { own };
    display.output.finish();
    Ok(exit)
}

/// Shows the runs that extensions asked for until the session closes. Returns the exit code of the first one that failed.
async fn follow_later_runs(
    mut runs: mpsc::Receiver<RunUpdate>,
    closing: &CancellationToken,
    display: &mut RunDisplay,
) -> anyhow::Result<Exit> {
    let mut exit = Exit::Ok;
    loop {
        let flow = tokio::select! {
            biased;
            () = display.interrupts.next() => handle_interrupt(&display.interrupts, &display.cancel),
            Some(event) = display.events.recv() => display.show(&event).await?,
            Some(update) = runs.recv() => match update {
                RunUpdate::Event(event) => display.show(&event).await?,
                RunUpdate::Ended(result) => {
                    exit = first_failure(exit, exit_of_run(&result));
                    display.output.print_answer()?;
                    RunFlow::Continue
                }
                RunUpdate::Failed => {
                    exit = first_failure(exit, Exit::Failure);
                    RunFlow::Continue
                }
            },
            () = closing.cancelled() => {
                let interrupted = if display.cancel.is_cancelled() { Exit::Aborted } else { Exit::Ok };
                return Ok(first_failure(exit, interrupted));
            }
        };
        if flow == RunFlow::StopNow {
            return Ok(Exit::Aborted);
        }
    }
}

fn first_failure(exit: Exit, later: Exit) -> Exit {
    if exit == Exit::Ok { later } else { exit }
}

async fn run_task(
    joined: &mut RunningAgent,
    sessions: &SessionSource,
    task: RunTask,
    display: &mut RunDisplay,
) -> anyhow::Result<Exit> {
    let run = match task {
        RunTask::Compact(options) => return compact::compact(joined, options, display).await,
        RunTask::Prompt(None) => joined.agent.resume(),
        RunTask::Prompt(Some(prompt)) => match resolve_prompt(joined, sessions, prompt, display).await? {
            PromptResolution::Prompt(prompt) => joined.agent.prompt(prompt),
            PromptResolution::Done(exit) => return Ok(exit),
        },
    };
    let followed = follow_run(joined, run, display).await?;
    if followed.is_ok() {
        joined.check_gates()?;
    }
    Ok(exit_of_run(&followed))
}

/// The use of a prompt before the model is asked.
enum PromptResolution {
    Prompt(Prompt),
    Done(Exit),
}

/// Runs an extension's command if the prompt begins with its name, has the hooks review the prompt, and expands
/// templates and skills. Notes of extensions are shown meanwhile.
async fn resolve_prompt(
    joined: &mut RunningAgent,
    sessions: &SessionSource,
    prompt: String,
    display: &mut RunDisplay,
) -> anyhow::Result<PromptResolution> {
    let agent = joined.agent.clone();
    let resources = sessions.resources();
    let templates = resources.find_templates();
    let mut input = UserInput::new(prompt, InputSource::Print);
    if let Some((name, args)) = split_command(&input.text) {
        if let Some(owner) = templates.get(name).and_then(|_| owner_of(name, &joined.host.commands())) {
            note(&format!(
                "haft: /{name} runs the command of extension {owner}; the template of the same name is ignored"
            ));
        }
        let (host, cancel) = (joined.host.clone(), display.cancel.clone());
        let asked = host.run_command(&cancel, name, args.trim());
        let Some(outcome) = wait_showing(display, asked).await? else {
            return Ok(PromptResolution::Done(Exit::Aborted));
        };
        match outcome {
            Ok(CommandOutcome { action: CommandAction::Prompt(text), .. }) => {
                input = UserInput::new(text, InputSource::Extension);
            }
            Ok(CommandOutcome { action: CommandAction::Failed(error), extension, .. }) => {
                anyhow::bail!("extension {extension}: /{name}: {error}");
            }
            Ok(_) => return Ok(PromptResolution::Done(Exit::Ok)),
            // A prompt may begin with a path; only known commands are commands.
            Err(CommandError::Unknown { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let cancel = display.cancel.clone();
    let Some(reviewed) = wait_showing(display, agent.review_input(&cancel, input)).await? else {
        return Ok(PromptResolution::Done(Exit::Aborted));
    };
    let Some(input) = reviewed else { return Ok(PromptResolution::Done(Exit::Ok)) };
    // The text of an extension is a message, not a command.
    let is_written = input.source != InputSource::Extension;
    let expanded = match split_command(&input.text).filter(|_| is_written) {
        Some((name, args)) => expand_command(&joined.host, &resources, &templates, name, args)?,
        None => None,
    };
    let text = expanded.unwrap_or_else(|| input.text.clone());
    Ok(PromptResolution::Prompt(input.with_text(text).into()))
}

/// Splits `/name arguments`; `None` for any other text.
fn split_command(text: &str) -> Option<(&str, &str)> {
    let typed = text.strip_prefix('/')?;
    Some(typed.split_once(char::is_whitespace).unwrap_or((typed, "")))
}

/// Expands a template or a skill; `None` if there is none of this name, which a note may explain.
fn expand_command(
    host: &Host,
    resources: &PromptResources,
    templates: &TemplateSet,
    name: &str,
    args: &str,
) -> anyhow::Result<Option<String>> {
    match resources.expand(templates, name, args) {
        TemplateExpansion::Prompt(text) => return Ok(Some(text)),
        TemplateExpansion::Failed(why) => return Exit::Usage.fail(format!("/{name}: {why}")),
        TemplateExpansion::Unknown => {}
    }
    templates.problems.iter().for_each(|problem| note(&sanitize_line(&format!("haft: {problem}"))));
    if templates.is_unused(name) {
        note(&sanitize_line(&format!(
            "haft: /{name} is a template of the project, which is not trusted; the prompt was sent unchanged"
        )));
    } else if let Some(warning) = mistyped_note(name, &known_commands(&host.commands(), templates)) {
        note(&warning);
    }
    Ok(None)
}

/// Waits for extensions and shows their events; `None` if the user interrupted the wait.
async fn wait_showing<T>(
    display: &mut RunDisplay,
    work: impl Future<Output = T>,
) -> anyhow::Result<Option<T>> {
    let cancel = display.cancel.clone();
    tokio::pin!(work);
    let outcome = loop {
        tokio::select! {
            biased;
            () = display.interrupts.next() => {
                handle_interrupt(&display.interrupts, &cancel);
                return Ok(None);
            }
            Some(event) = display.events.recv() => if display.show(&event).await? == RunFlow::StopNow {
                return Ok(None);
            },
            outcome = &mut work => break outcome,
        }
    };
    // The user interrupted the work, so its result starts nothing.
    Ok((!cancel.is_cancelled()).then_some(outcome))
}

fn owner_of(name: &str, commands: &[ExtensionCommand]) -> Option<String> {
    commands.iter().find(|command| command.name == name).map(|command| command.extension.to_string())
}

fn known_commands(commands: &[ExtensionCommand], templates: &TemplateSet) -> Vec<String> {
    let templates = templates.templates.iter().map(|template| template.name.clone());
    commands.iter().map(|command| command.name.clone()).chain(templates).collect()
}

/// Returns a note about a prompt whose first word looks like an unknown command; `None` if it looks like a path.
fn mistyped_note(name: &str, known: &[String]) -> Option<String> {
    /// The minimum similarity of a suggestion, from 0 to 1.
    const ALIKE: f64 = 0.8;
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
        return None;
    }
    let likeness = |command: &str| strsim::jaro_winkler(command, name);
    let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let hint = nearest
        .filter(|command| likeness(command) >= ALIKE)
        .map(|command| format!("; did you mean /{command}?"))
        .unwrap_or_default();
    Some(format!("haft: unknown command /{name}; the prompt was sent unchanged{hint}"))
}

/// Shows all events of the run and of the extensions until the run ends.
async fn follow_run(
    joined: &mut RunningAgent,
    mut run: Run,
    display: &mut RunDisplay,
) -> anyhow::Result<Result<(), TurnError>> {
    // An extension may stop the run, too.
    let stop = std::mem::replace(&mut display.cancel, run.cancellation_token());
    loop {
        let flow = tokio::select! {
            biased;
            () = stop.cancelled(), if !display.cancel.is_cancelled() => {
                display.cancel.cancel();
                RunFlow::Continue
            }
            () = display.interrupts.next() => handle_interrupt(&display.interrupts, &display.cancel),
            Some(event) = display.events.recv() => display.show(&event).await?,
            Ok(()) = joined.changes.changed() => {
                joined.offer_tools()?;
                RunFlow::Continue
            }
            event = run.next() => match event {
                Some(event) => display.show(&event).await?,
                None => return Ok(run.finish().await),
            },
        };
        if flow == RunFlow::StopNow {
            return Ok(Err(TurnError::new(0, TurnErrorKind::Aborted)));
        }
    }
}

fn exit_of_run(result: &Result<(), TurnError>) -> Exit {
    let Err(error) = result else { return Exit::Ok };
    match &error.kind {
        TurnErrorKind::Model(error) => exit_of_model(error.kind),
        TurnErrorKind::Blocked { .. } => Exit::Blocked,
        TurnErrorKind::Stopped { .. } => Exit::RequiredExtension,
        TurnErrorKind::MaxSteps { .. } => Exit::MaxSteps,
        TurnErrorKind::Aborted => Exit::Aborted,
        // Without a prompt, the session has no message to answer.
        TurnErrorKind::NothingToDo | TurnErrorKind::EmptyPrompt => Exit::Usage,
        TurnErrorKind::Busy | TurnErrorKind::Session { .. } => Exit::Failure,
        _ => Exit::Failure,
    }
}
