//! The other side of every pipe: what this binary is when a row starts it as a child.

pub(crate) mod client;
pub(crate) mod stream;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::ExitCode;

use haft_core::model::ModelInfo;
use haft_host::{Host, HostConfig};
use haft_sdk::{Extension, ToolCallDecision};

/// The first argument of a child; the second says which one.
pub(crate) const MARK: &str = "--as";

/// The least extension: blocking, no JSON library, frames taken apart by their text.
pub(crate) const LEAST: &str = "least";
/// A guard made with the SDK, as users write them.
pub(crate) const GUARD: &str = "guard";
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
/// The same with a host without extensions.
pub(crate) const IDLE_HOST: &str = "idle-host";

/// An extension as somebody writes it in ten minutes: the arguments of `python3`, without the user's site packages.
pub(crate) const PYTHON: &[&str] = &["-I", "-c", include_str!("peers/plain.py")];
/// The same: the arguments of `node`.
pub(crate) const NODE: &[&str] = &["-e", include_str!("peers/plain.js")];

/// What the least extension says first.
const OPENING: &str = concat!(
    r#"{"type":"hello","name":"least","version":"1.0.0","capabilities":["events"]}"#,
    "\n",
    r#"{"type":"subscribe","intercept":["tool_call"]}"#,
    "\n",
    r#"{"type":"ready"}"#,
    "\n"
);

pub(crate) fn run(role: &str) -> ExitCode {
    let outcome = match role {
        LEAST => least(),
        GUARD => return guard().run(),
        CLIENT => client::run(),
        STREAM => return stream::sdk(),
        FLOOD => stream::bare(),
        EMPTY => Ok(()),
        IDLE => idle(),
        IDLE_HOST => idle_host(),
        _ => Err(io::Error::other(format!("no such child: {role}"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{role}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn guard() -> Extension {
    Extension::new("guard", "1.0.0").intercept_tool_call(|call, _host| async move {
        match call.tool_name.as_str() {
            "bash" => ToolCallDecision::block("no shell"),
            _ => ToolCallDecision::allow(),
        }
    })
}

fn least() -> io::Result<()> {
    // As large as a pipe: with less, the base would be slower than it must be.
    let mut input = BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut output = io::stdout().lock();
    output.write_all(OPENING.as_bytes())?;
    let (mut line, mut answer) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix(br#"{"type":"event_intercept","id":""#) {
            let id = rest.split(|&byte| byte == b'"').next().unwrap_or_default();
            answer.clear();
            answer.extend_from_slice(br#"{"type":"event_intercept_response","id":""#);
            answer.extend_from_slice(id);
            answer.extend_from_slice(b"\"}\n");
            output.write_all(&answer)?;
        } else if line.starts_with(br#"{"type":"shutdown""#) {
            return output.write_all(b"{\"type\":\"shutdown_ack\"}\n");
        }
    }
}

fn idle() -> io::Result<()> {
    io::stdout().write_all(b"ready\n")?;
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}

/// On a runtime like the binary's, with everything a host needs before its first extension.
fn idle_host() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let host = runtime.block_on(Host::builder(config()).start());
    idle()?;
    runtime.block_on(host.shutdown());
    Ok(())
}

/// A host's config as rows use it: without logs, because a row measures no disk.
pub(crate) fn config() -> HostConfig {
    let model = ModelInfo { provider: "bench".into(), model: "none".into() };
    HostConfig::new(env!("CARGO_PKG_VERSION"), model, std::env::temp_dir())
}
