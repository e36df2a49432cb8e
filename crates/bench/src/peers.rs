//! The peers at the other end of every pipe: the roles of this binary as a child of a row.

pub(crate) mod client;
mod hook;
mod host_roles;
mod minimal_extension;
pub(crate) mod mirror;
mod results;
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

/// The first argument of a child; the second argument is its role.
pub(crate) const MARK: &str = "--as";

/// The minimal extension: blocking IO, no JSON library, frames parsed as text.
pub(crate) const LEAST: &str = "least";
/// A guard made with the SDK, as users write one.
pub(crate) const GUARD: &str = "guard";
/// An extension made with the SDK that lets every call pass.
pub(crate) const PASS: &str = "pass";
/// An extension with three tools, which end in its number.
pub(crate) const TOOLBOX: &str = "toolbox";
/// A client of a model that replays requests.
pub(crate) const CLIENT: &str = "client";
/// An SDK extension that draws a panel continuously.
pub(crate) const STREAM: &str = "stream";
/// Like [`STREAM`], without the SDK.
pub(crate) const FLOOD: &str = "flood";
/// A program that exits at once.
pub(crate) const EMPTY: &str = "empty";
/// A program that prints one line and waits for the end of its input.
pub(crate) const IDLE: &str = "idle";
/// An extension that counts the events it receives.
pub(crate) const WATCHER: &str = "watcher";

/// The name of the role [`mirror`].
pub(crate) const MIRROR: &str = "mirror";
/// An extension that subscribes to events and never reads.
pub(crate) const STALLED: &str = "stalled";
/// Like [`IDLE`], with a host of as many extensions as the number after the colon.
pub(crate) const HOST_OF: &str = "host-of";
/// Starts an extension on request, while holding this number of megabytes.
pub(crate) const SPAWNER: &str = "spawner";
/// A host that asks [`GUARD`] this many times.
pub(crate) const ASKS: &str = "asks";
/// A bare pipe that asks [`LEAST`] this many times.
pub(crate) const RAW_ASKS: &str = "raw-asks";
/// A host that forwards a picture of one mebibyte this many times.
pub(crate) const CARRIES: &str = "carries";
/// The minimal extension as a gate that takes this many milliseconds for each answer.
pub(crate) const SLOW_GATE: &str = "slow-gate";

/// The minimal process hook.
pub(crate) const HOOK: &str = "hook";
/// Like [`HOOK`], but sends back everything that it is asked about.
pub(crate) const HOOK_ECHO: &str = "hook-echo";
/// Like [`HOOK`], but records everything that it receives.
pub(crate) const HOOK_RECORD: &str = "hook-record";

/// A simple extension in Python: the arguments of `python3`, without the user's site packages.
pub(crate) const PYTHON: &[&str] = &["-I", "-c", include_str!("peers/plain.py")];
/// A simple extension in JavaScript: the arguments of `node`.
pub(crate) const NODE: &[&str] = &["-e", include_str!("peers/plain.js")];

/// A simple process hook in Python: the arguments of `python3`.
pub(crate) const PYTHON_HOOK: &[&str] = &["-I", "-c", include_str!("peers/hook.py")];

/// Appends a number to a role.
pub(crate) fn role_with_number(role: &str, number: u32) -> String {
    format!("{role}:{number}")
}

pub(crate) fn run(role: &str) -> ExitCode {
    let (role, number) = role.split_once(':').unwrap_or((role, "0"));
    let outcome = match role {
        GUARD => return guard_extension().run(),
        PASS => return pass_extension().run(),
        STREAM => return stream::run_sdk(),
        _ => number
            .parse()
            .context("parse the number of the role")
            .and_then(|number| run_numbered_role(role, number)),
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
        LEAST => Ok(minimal_extension::run_ordered()?),
        HOOK => Ok(hook::allow_all()?),
        HOOK_ECHO => Ok(hook::echo_calls()?),
        HOOK_RECORD => Ok(hook::record_calls()?),
        SLOW_GATE => Ok(minimal_extension::run_gate(Duration::from_millis(number.into()))?),
        TOOLBOX => Ok(toolbox::run(count)?),
        CLIENT => Ok(client::run()?),
        FLOOD => Ok(stream::run_bare()?),
        STALLED => Ok(watcher::run_stalled()?),
        WATCHER => Ok(watcher::count()?),
        MIRROR => Ok(mirror::follow_session()?),
        EMPTY => Ok(()),
        IDLE => Ok(run_idle()?),
        HOST_OF => host_roles::host_of(count),
        SPAWNER => host_roles::run_spawner(count),
        ASKS => host_roles::query_guard(count),
        RAW_ASKS => host_roles::query_least(count),
        CARRIES => host_roles::forward_images(count),
        _ => match ResultPayload::from_role(role) {
            Some(payload) => Ok(results::answer(payload, count << 10)?),
            None => bail!("unknown role"),
        },
    }
}

fn pass_extension() -> Extension {
    Extension::new("pass", "1.0.0").intercept_tool_call(|_call, _host| async { ToolCallDecision::allow() })
}

/// Creates the extension of [`GUARD`].
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
