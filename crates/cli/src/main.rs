//! The `haft` binary: parses the command line, builds the parts, prints the output.

mod advice;
mod args;
mod caller;
mod config;
mod console;
mod demo;
mod doctor;
mod exit;
mod ext;
mod extensions;
mod fetch;
mod hooks;
mod interactive;
mod interrupt;
mod logging;
mod login;
mod pages;
mod prompt;
mod resources;
mod rpc;
mod run;
mod sandbox;
mod session;
mod setup;
#[cfg(test)]
mod sinks;
mod skill;
mod timeouts;
mod token;
mod tool_sandbox;
mod trust;
mod usage;
mod zot;

use std::process::ExitCode;

use args::{Cli, CliCommand};
use exit::Exit;

/// The first argument of this program in the role of the guardian, which starts an extension. It is not a command of
/// the command line, so that no other code runs first.
const LAUNCHER_ROLE: &str = "__launch";

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|role| role == LAUNCHER_ROLE) {
        return haft_launch::launcher_main(args);
    }
    // Runs before any key is in memory. Each run repeats it when the log exists, to report failures.
    haft_launch::harden_self();
    let exit = match args::parse() {
        Ok(cli) => run_command(cli).unwrap_or_else(|error| report(&error)),
        Err(help) => args::print_clap_error(&help),
    };
    ExitCode::from(exit.code())
}

fn run_command(cli: Cli) -> anyhow::Result<Exit> {
    if let Some(action) = cli.command.as_ref().and_then(caller::find_person_only_action) {
        caller::require_person(action)?;
    }
    match cli.command {
        None if cli.run.mode.is_server() => rpc::run(cli.run.into()),
        None if interactive::is_wanted(&cli.run) => interactive::run(cli.run),
        None => run::run(cli.run),
        Some(CliCommand::Ext(args)) => ext::run(args),
        Some(CliCommand::Rpc(args)) => rpc::run(*args),
        Some(CliCommand::Session(args)) => session::run(args, run::compact),
        Some(CliCommand::Usage(args)) => usage::run(args),
        Some(CliCommand::Config(args)) => config::run(args),
        Some(CliCommand::Trust(args)) => trust::run(args),
        Some(CliCommand::Doctor(args)) => doctor::run(args),
        Some(CliCommand::Login(args)) => login::login(args),
        Some(CliCommand::Logout(args)) => login::logout(args),
        Some(CliCommand::Demo) => demo::run(),
        Some(CliCommand::Skill(args)) => skill::run(args),
        Some(CliCommand::Completions { shell }) => pages::print_completions(shell),
        Some(CliCommand::Man) => pages::print_manual(),
        Some(CliCommand::Extension { name }) => demo::serve_extension(&name),
    }
}

/// Prints an error, unless the reader of the output is gone.
fn report(error: &anyhow::Error) -> Exit {
    let exit = Exit::from_error(error);
    if exit != Exit::Ok {
        // The message can quote other programs, so only its first row has the prefix of haft.
        console::note(&console::prefixed_rows(
            "haft: ",
            "  | ",
            &advice::error_text(error),
            console::terminal_width(),
        ));
    }
    exit
}
