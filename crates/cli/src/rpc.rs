//! `haft rpc`: a server for programs that drive sessions with lines of JSON.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::SystemTime;

use haft_rpc::{EndReason, ServeError, ServeOptions};
use tokio_util::sync::CancellationToken;

use crate::args::{RpcArgs, RunArgs};
use crate::console::note;
use crate::exit::Exit;
use crate::interrupt::InterruptListener;
use crate::run::{
    RunFlow, RunOutput, SessionOpenOutcome, SessionSource, ask_about_trust, check_named, handle_interrupt,
    open_session, run_to_completion,
};
use crate::setup::RunSetup;
use crate::{logging, token};

pub(crate) fn run(args: RpcArgs) -> anyhow::Result<Exit> {
    // Runs before any process starts that could read the variable.
    let token = token::token_from_env(|name| std::env::var_os(name))?;
    let (records, args) = (args.records_sessions(), RunArgs::from(args));
    if args.session.resume.as_deref() == Some("") {
        return Exit::Usage
            .fail("cannot show a list of sessions here; use --resume ID, or -c for the most recent session");
    }
    let args = ask_about_trust(args)?;
    let setup = RunSetup::read(&args)?;
    logging::init(&setup.home)?;
    let chosen = match open_session(&args.session, &setup, true)? {
        SessionOpenOutcome::Session(chosen) => chosen,
        SessionOpenOutcome::Nothing(exit) => return Ok(exit),
    };
    setup.print_notes();
    if std::io::stdin().is_terminal() {
        note(
            "haft: reading commands from standard input, one JSON object per line (see docs/rpc-protocol.md); Ctrl-D ends",
        );
    }
    let first = chosen.session.clone();
    let outcome = check_named(&setup).and_then(|()| {
        let mut options = ServeOptions::new(env!("CARGO_PKG_VERSION"));
        options.token = token;
        options.approve.clone_from(&setup.config.tools.approve.value);
        let results = setup.home.results_dir();
        let program = SessionSource::new(args, records, setup, chosen);
        run_to_completion(async move {
            let exit = serve(program, options).await;
            haft_tools::clear_results(&results, SystemTime::now());
            exit
        })
    });
    // Reports repairs of the session file that no run reported. They go to standard error, because standard output
    // carries only the protocol.
    RunOutput::report_repairs(false, &first);
    outcome
}

/// Serves until the client disconnects or a signal arrives.
async fn serve(program: SessionSource, options: ServeOptions) -> anyhow::Result<Exit> {
    let mut interrupts = InterruptListener::listen()?;
    let cancel = CancellationToken::new();
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let serving = haft_rpc::serve(&cancel, Arc::new(program), input, output, options);
    tokio::pin!(serving);
    loop {
        tokio::select! {
            biased;
            () = interrupts.next() => if handle_interrupt(&interrupts, &cancel) == RunFlow::StopNow {
                return Ok(Exit::Aborted);
            },
            end = &mut serving => return exit_for_end(end),
        }
    }
}

pub(crate) fn exit_for_end(end: Result<EndReason, ServeError<anyhow::Error>>) -> anyhow::Result<Exit> {
    match end {
        Ok(EndReason::Input | EndReason::Requested | EndReason::Gone) => Ok(Exit::Ok),
        Ok(EndReason::Cancelled) => Ok(Exit::Aborted),
        Ok(EndReason::Refused) => {
            Err(anyhow::anyhow!("the client did not send the token in {}", token::VARIABLES.join(" or ")))
        }
        Ok(EndReason::Stopped) => Exit::RequiredExtension
            .fail("a gate keeps failing, so the session stopped; run `haft doctor` for details"),
        Err(ServeError::First(error)) => Err(error),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_every_end_to_exit_code() {
        for (end, expect) in [
            (EndReason::Input, Exit::Ok),
            (EndReason::Requested, Exit::Ok),
            (EndReason::Gone, Exit::Ok),
            (EndReason::Cancelled, Exit::Aborted),
            (EndReason::Refused, Exit::Failure),
            (EndReason::Stopped, Exit::RequiredExtension),
        ] {
            let exit = exit_for_end(Ok(end)).unwrap_or_else(|error| Exit::from_error(&error));
            assert_eq!(exit, expect, "{end:?}");
        }
        let first = Exit::NoProvider.attach_to(anyhow::anyhow!("no key"));
        let error = exit_for_end(Err(ServeError::First(first))).unwrap_err();
        assert_eq!((Exit::from_error(&error), format!("{error:#}").as_str()), (Exit::NoProvider, "no key"));
        let gone = std::io::Error::other("torn");
        assert_eq!(Exit::from_error(&exit_for_end(Err(ServeError::Input(gone))).unwrap_err()), Exit::Failure);
    }
}
