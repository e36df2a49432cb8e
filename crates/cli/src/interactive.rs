//! The interactive mode: the agent and its extensions on one thread, the screen on another.
//!
//! The screen is a client like any other program: it sends commands of the RPC protocol and receives its lines. A
//! terminal that blocks therefore blocks only the thread of the screen.

mod screen;
mod ui_backend;

use std::io::{self, IsTerminal as _};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use futures::FutureExt as _;
use haft_config::Home;
use haft_core::sanitize::sanitize_line;
use haft_core::session::Session;
use haft_protocol::content::InputSource;
use haft_protocol::rpc::{RpcRequest, ServerLine};
use haft_rpc::{EndReason, ServeOptions};
use haft_tui::terminal;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::args::RunArgs;
use crate::console::{note, notes};
use crate::exit::Exit;
use crate::interrupt::InterruptListener;
use crate::logging;
use crate::rpc::exit_for_end;
use crate::run::{
    ProviderSecrets, RunOutput, SelectedSession, SessionOpenOutcome, SessionSource, ask_about_trust,
    check_named, open_session, run_to_completion,
};
use crate::session::{SessionFinder, short_id};
use crate::setup::RunSetup;
use crate::timeouts;
use crate::tool_sandbox::{sandbox_gap, sandbox_label};

use screen::{ScreenOptions, ScreenThread};
use ui_backend::{OpenSessions, RunningShells, SessionStart, UiBackend, UiContext};

/// The maximum number of lines that wait for the screen. Further lines wait in haft-rpc, which drops droppable lines.
const LINES: usize = 256;

/// True if the command line starts the interactive mode: no other mode is requested, and a terminal is available.
pub(crate) fn is_wanted(args: &RunArgs) -> bool {
    let is_terminal = || io::stdin().is_terminal() && io::stdout().is_terminal();
    allows_interactive(args) && is_terminal()
}

fn allows_interactive(args: &RunArgs) -> bool {
    !(args.print || args.json || args.verbose || args.list_models.is_some() || args.mode.is_server())
}

pub(crate) fn run(args: RunArgs) -> anyhow::Result<Exit> {
    // Notes printed before the screen opens would disappear behind it.
    notes::hold_notes();
    let outcome = run_with_setup(args);
    notes::release_notes();
    outcome
}

fn run_with_setup(args: RunArgs) -> anyhow::Result<Exit> {
    let args = ask_about_trust(args)?;
    let setup = RunSetup::read(&args)?;
    logging::init_beside_screen(&setup.home)?;
    let mut args = args;
    let start = ScreenOptions {
        prompt: take_prompt(&mut args.prompt),
        opens_session_picker: wants_session_picker(&mut args, &setup)?,
        keymap: screen::load_keymap(&setup.home),
        settings: screen::load_settings(&setup.config, screen_mode(&args)),
        sandbox: sandbox_label(&setup.config.tools),
        has_sandbox_gap: sandbox_gap(&setup.config.tools).is_some(),
        is_trusted: setup.project.is_trusted(),
    };
    let chosen = match open_session(&args.session, &setup, true)? {
        SessionOpenOutcome::Session(chosen) => chosen,
        SessionOpenOutcome::Nothing(exit) => return Ok(exit),
    };
    // Front ends receive ignored project settings as an event.
    args.json = true;
    setup.print_other_notes();
    check_named(&setup)?;
    let unopened = Arc::new(Mutex::new(Some(chosen.session.clone())));
    let outcome = run_to_completion(serve_screen(args, setup, chosen, start, Arc::clone(&unopened)));
    // Reports repairs of the session file that no front end reported.
    if let Some(session) = take_once(&unopened) {
        RunOutput::report_repairs(false, &session);
    }
    outcome
}

fn screen_mode(args: &RunArgs) -> Option<&'static str> {
    match (args.linear || terminal::Environment::from_process().is_dumb(), args.inline) {
        (true, _) => Some("linear"),
        (false, true) => Some("inline"),
        (false, false) => None,
    }
}

/// Takes the prompt from the command line.
fn take_prompt(prompt: &mut Vec<String>) -> Option<String> {
    let prompt = std::mem::take(prompt).join(" ");
    (!prompt.trim().is_empty()).then_some(prompt)
}

/// True if the user wants to choose a session first. Fails if there is none.
fn wants_session_picker(args: &mut RunArgs, setup: &RunSetup) -> anyhow::Result<bool> {
    if args.session.resume.as_deref() != Some("") {
        return Ok(false);
    }
    SessionFinder::new(&setup.home, &setup.cwd).latest()?;
    args.session.resume = None;
    Ok(true)
}

/// Serves the screen until the user, a signal or a failure ends it. The screen is closed before any further output.
async fn serve_screen(
    args: RunArgs,
    setup: RunSetup,
    chosen: SelectedSession,
    start: ScreenOptions,
    unopened: Arc<Mutex<Option<Session>>>,
) -> anyhow::Result<Exit> {
    let context = ui_context(&args, &setup);
    let (results, open, shells) =
        (setup.home.results_dir(), Arc::clone(&context.open), Arc::new(RunningShells::default()));
    let backend = UiBackend { runtime: Handle::current(), context, shells: Arc::clone(&shells) };
    let (lines, screen_lines) = mpsc::channel(LINES);
    let (ready, is_ready) = oneshot::channel();
    let (ready, opens) = (Mutex::new(Some(ready)), Arc::clone(&open));
    let program = SessionSource::new(args, is_recorded(&backend.context.args), setup, chosen)
        .with_input_source(InputSource::Interactive)
        .with_open_listener(move |agent| {
            opens.add_agent(agent);
            drop(take_once(&unopened));
            // Only the first session has a receiver.
            take_once(&ready).map(|ready| ready.send(()));
        });
    let mut screen = None;
    let served = serve_client(program, lines, is_ready, |lines, requests| {
        notes::show(screen::notes_as_lines(lines));
        Ok(screen.insert(ScreenThread::begin(start, backend, requests, screen_lines)?))
    });
    let served = AssertUnwindSafe(served).catch_unwind().await;
    // After this, no task sends lines to the screen.
    notes::hold_notes();
    shells.stop_all();
    let shown = match screen {
        Some(screen) => screen.end().await,
        None => Ok(None),
    };
    haft_tools::clear_results(&results, SystemTime::now());
    print_resume_hint(&open);
    let served = served.unwrap_or_else(|panic| resume_unwind(panic));
    // A signal reaches both threads, in any order.
    if let Some(terminal::ExitReason::Signal(_)) = shown? { Ok(Exit::Aborted) } else { served }
}

/// Serves the client that `begin` starts when the first session is open, or soon if that takes longer.
async fn serve_client<'s>(
    program: SessionSource,
    lines: mpsc::Sender<ServerLine>,
    is_ready: oneshot::Receiver<()>,
    begin: impl FnOnce(
        mpsc::Sender<ServerLine>,
        mpsc::UnboundedSender<RpcRequest>,
    ) -> anyhow::Result<&'s mut ScreenThread>,
) -> anyhow::Result<Exit> {
    let mut interrupts = InterruptListener::listen()?;
    let cancel = CancellationToken::new();
    let (requests, heard) = mpsc::unbounded_channel();
    let mut options = ServeOptions::new(env!("CARGO_PKG_VERSION"));
    // The interface itself warns about unknown names in `tools.approve`.
    options.checks_approvals = false;
    let serving = haft_rpc::serve_local(&cancel, Arc::new(program), heard, lines.clone(), options);
    tokio::pin!(serving);
    tokio::select! {
        biased;
        () = interrupts.next() => return Ok(Exit::Aborted),
        end = &mut serving => return exit_for_end(end),
        Ok(()) = is_ready => {}
        // Slow extensions start beside the drawing.
        () = tokio::time::sleep(timeouts::FIRST_DRAW) => {}
    }
    // From now on Ctrl-C is a key of the interface, or belongs to another program in the foreground.
    let mut interrupts = InterruptListener::listen_for_end()?;
    let screen = begin(lines, requests)?;
    loop {
        tokio::select! {
            biased;
            () = interrupts.next() => {
                cancel.cancel();
                if interrupts.is_immediate() {
                    return Ok(Exit::Aborted);
                }
            }
            () = screen.wait_until_over(), if !cancel.is_cancelled() => cancel.cancel(),
            end = &mut serving => return match end {
                // The user quit.
                Ok(EndReason::Cancelled) if !interrupts.has_received_any() => Ok(Exit::Ok),
                end => exit_for_end(end),
            },
        }
    }
}

fn ui_context(args: &RunArgs, setup: &RunSetup) -> Arc<UiContext> {
    Arc::new(UiContext {
        home: Home::at(setup.home.root()),
        cwd: setup.cwd.clone(),
        args: Arc::new(args.clone()),
        tools: setup.config.tools.clone(),
        secrets: ProviderSecrets::new(args, setup),
        open: Arc::new(OpenSessions::default()),
        start: SessionStart::default(),
    })
}

fn is_recorded(args: &RunArgs) -> bool {
    !args.session.no_session
}

fn print_resume_hint(open: &OpenSessions) {
    let Some(session) = open.current() else { return };
    if session.path().is_some_and(|path| path.exists()) && !session.branch().is_empty() {
        note(&sanitize_line(&format!("resume this session with: haft --resume {}", short_id(session.id()))));
    }
}

/// Takes the content of the slot.
fn take_once<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_noninteractive_for_other_modes() {
        assert!(allows_interactive(&RunArgs::default()));
        assert!(allows_interactive(&RunArgs { prompt: vec!["fix it".into()], ..RunArgs::default() }));
        for args in [
            RunArgs { print: true, ..RunArgs::default() },
            RunArgs { json: true, ..RunArgs::default() },
            RunArgs { verbose: true, ..RunArgs::default() },
            RunArgs { list_models: Some(None), ..RunArgs::default() },
        ] {
            assert!(!allows_interactive(&args), "{args:?}");
        }
    }

    #[test]
    fn joins_words_to_prompt() {
        assert_eq!(take_prompt(&mut vec!["fix".into(), "it".into()]).as_deref(), Some("fix it"));
        assert_eq!(take_prompt(&mut vec![" ".into()]), None);
        assert_eq!(take_prompt(&mut Vec::new()), None);
    }
}
