//! The `haft` binary: parse, wire up, print.

mod args;
mod config;
mod console;
mod demo;
mod doctor;
mod exit;
mod ext;
mod extensions;
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
mod trust;

use std::process::ExitCode;

use args::{Cli, CliCommand, ServerMode};
use exit::Exit;

/// The first argument of this program when it is to start an extension and guard it. No command of the command line:
/// nothing else has run by then, because it is done for every extension.
const LAUNCHER_ROLE: &str = "__launch";

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|role| role == LAUNCHER_ROLE) {
        return haft_launch::launcher_main(args);
    }
    // Before any key is in memory. A run does it again, when there is a log that can say what failed.
    haft_launch::harden_self();
    let exit = match args::parse() {
        Ok(cli) => dispatch(cli).unwrap_or_else(|error| report(&error)),
        Err(help) => args::print_clap_error(&help),
    };
    ExitCode::from(exit.code())
}

fn dispatch(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command {
        None if cli.run.mode.mode == Some(ServerMode::Rpc) => rpc::run(cli.run.into()),
        None if interactive::is_wanted(&cli.run) => interactive::run(cli.run),
        None => run::run(cli.run),
        Some(CliCommand::Ext(args)) => ext::run(args),
        Some(CliCommand::Rpc(args)) => rpc::run(*args),
        Some(CliCommand::Session(args)) => session::run(args, run::compact),
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

/// Says what went wrong, unless nobody listens any more.
fn report(error: &anyhow::Error) -> Exit {
    let exit = Exit::from_error(error);
    if exit != Exit::Ok {
        // It may quote others, so only its first row says that it is haft's.
        console::note(&console::prefixed_rows(
            "haft: ",
            "  | ",
            &format!("{error:#}"),
            console::terminal_width(),
        ));
    }
    exit
}
