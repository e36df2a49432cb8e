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

use args::{Cli, Command, Mode};
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
        Err(help) => args::show(&help),
    };
    ExitCode::from(exit.code())
}

fn dispatch(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command {
        None if cli.run.mode.mode == Some(Mode::Rpc) => rpc::run(cli.run.into()),
        None if interactive::is_wanted(&cli.run) => interactive::run(cli.run),
        None => run::run(cli.run),
        Some(Command::Ext(args)) => ext::run(args),
        Some(Command::Rpc(args)) => rpc::run(*args),
        Some(Command::Session(args)) => session::run(args, run::compact),
        Some(Command::Config(args)) => config::run(args),
        Some(Command::Trust(args)) => trust::run(args),
        Some(Command::Doctor(args)) => doctor::run(args),
        Some(Command::Login(args)) => login::login(args),
        Some(Command::Logout(args)) => login::logout(args),
        Some(Command::Demo) => demo::run(),
        Some(Command::Skill(args)) => skill::run(args),
        Some(Command::Completions { shell }) => pages::completions(shell),
        Some(Command::Man) => pages::man(),
        Some(Command::Extension { name }) => demo::serve_extension(&name),
    }
}

/// Says what went wrong, unless nobody listens any more.
fn report(error: &anyhow::Error) -> Exit {
    let exit = Exit::of(error);
    if exit != Exit::Ok {
        // It may quote others, so only its first row says that it is haft's.
        console::note(&console::rows("haft: ", "  | ", &format!("{error:#}"), console::width()));
    }
    exit
}
