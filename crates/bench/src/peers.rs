//! The other side of every pipe: what this binary is when a row starts it as a child.

pub(crate) mod client;
mod hook;
mod least;
mod results;
mod standing;
pub(crate) mod stream;
mod toolbox;
pub(crate) mod watcher;

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use haft_sdk::{Extension, ToolCallDecision};

pub(crate) use hook::RECORD;
pub(crate) use results::ResultPayload;
pub(crate) use toolbox::activation_fields as toolbox_activation;

/// The first argument of a child; the second says which one.
pub(crate) const MARK: &str = "--as";

/// The least extension: blocking, no JSON library, frames taken apart by their text.
pub(crate) const LEAST: &str = "least";
/// A guard made with the SDK, as users write them.
pub(crate) const GUARD: &str = "guard";
/// An extension made with the SDK that lets every call pass.
pub(crate) const PASS: &str = "pass";
/// An extension with three tools, which end in its number.
pub(crate) const TOOLBOX: &str = "toolbox";
/// A client of a model that only passes requests on.
pub(crate) const CLIENT: &str = "client";
/// An extension that draws a panel without end, made with the SDK.
pub(crate) const STREAM: &str = "stream";
/// The same without an SDK.
pub(crate) const FLOOD: &str = "flood";
/// A program that ends at once.
pub(crate) const EMPTY: &str = "empty";
/// A program that says one line and waits for the end of its input.
pub(crate) const IDLE: &str = "idle";
/// One that counts the events it is told.
pub(crate) const WATCHER: &str = "watcher";
/// One that subscribes to events and never reads.
pub(crate) const STALLED: &str = "stalled";
/// [`IDLE`] with a host of so many extensions, the number behind a colon.
pub(crate) const HOST_OF: &str = "host-of";
/// Starts an extension when told, holding so many megabytes.
pub(crate) const SPAWNER: &str = "spawner";
/// A host that asks [`GUARD`] so many times.
pub(crate) const ASKS: &str = "asks";
/// A bare pipe that asks [`LEAST`] so many times.
pub(crate) const RAW_ASKS: &str = "raw-asks";
/// A host that carries on a picture of a mebibyte so many times.
pub(crate) const CARRIES: &str = "carries";
/// The least extension as a gate that takes so many milliseconds for each answer.
pub(crate) const SLOW_GATE: &str = "slow-gate";

/// The least process hook.
pub(crate) const HOOK: &str = "hook";
/// The same, which sends back all that it is asked about.
pub(crate) const HOOK_ECHO: &str = "hook-echo";
/// The same, which writes down what it is told.
pub(crate) const HOOK_RECORD: &str = "hook-record";

/// An extension as somebody writes it in ten minutes: the arguments of `python3`, without the user's site packages.
pub(crate) const PYTHON: &[&str] = &["-I", "-c", include_str!("peers/plain.py")];
/// The same: the arguments of `node`.
pub(crate) const NODE: &[&str] = &["-e", include_str!("peers/plain.js")];

/// A process hook as somebody writes it: the arguments of `python3`.
pub(crate) const PYTHON_HOOK: &[&str] = &["-I", "-c", include_str!("peers/hook.py")];

/// A role with its number.
pub(crate) fn role_with_number(role: &str, number: u32) -> String {
    format!("{role}:{number}")
}

pub(crate) fn run(role: &str) -> ExitCode {
    let (role, number) = role.split_once(':').unwrap_or((role, "0"));
    let outcome = match role {
        GUARD => return guard_extension().run(),
        PASS => return pass_extension().run(),
        STREAM => return stream::run_sdk(),
        _ => {
            number.parse().context("read a role's number").and_then(|number| run_numbered_role(role, number))
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{role}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run_numbered_role(role: &str, number: u32) -> Result<()> {
    let count = usize::try_from(number)?;
    match role {
        LEAST => Ok(least::run_ordered()?),
        HOOK => Ok(hook::allow_all()?),
        HOOK_ECHO => Ok(hook::echo_calls()?),
        HOOK_RECORD => Ok(hook::record_calls()?),
        SLOW_GATE => Ok(least::run_gate(Duration::from_millis(number.into()))?),
        TOOLBOX => Ok(toolbox::run(count)?),
        CLIENT => Ok(client::run()?),
        FLOOD => Ok(stream::run_bare()?),
        STALLED => Ok(watcher::run_stalled()?),
        WATCHER => Ok(watcher::count()?),
        EMPTY => Ok(()),
        IDLE => Ok(run_idle()?),
        HOST_OF => standing::host_of(count),
        SPAWNER => standing::run_spawner(count),
        ASKS => standing::query_guard(count),
        RAW_ASKS => standing::query_least(count),
        CARRIES => standing::forward_images(count),
        _ => match ResultPayload::from_role(role) {
            Some(payload) => Ok(results::answer(payload, count << 10)?),
            None => bail!("no such child"),
        },
    }
}

fn pass_extension() -> Extension {
    Extension::new("pass", "1.0.0").intercept_tool_call(|_call, _host| async { ToolCallDecision::allow() })
}

/// [`GUARD`].
pub(crate) fn guard_extension() -> Extension {
    Extension::new("guard", "1.0.0").intercept_tool_call(|call, _host| async move {
        match call.tool_name.as_str() {
            "bash" => ToolCallDecision::block("no shell"),
            _ => ToolCallDecision::allow(),
        }
    })
}

fn run_idle() -> io::Result<()> {
    io::stdout().write_all(b"ready\n")?;
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}
