//! One write in a process of its own, and the ways in which it is interrupted: `strace` kills it, or lets the system
//! refuse, at its n-th call.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use haft_core::tool::{ToolContext, ToolOutput};
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::ids::ToolCallId;
use haft_tools::{HostEnvironment, builtin_tools};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::strace;

/// The first argument of a process that writes once.
pub(crate) const WRITER: &str = "write-once";

/// The calls of the system that a write may come to grief at, and whether the main thread makes them too.
const CALLS: &[(&str, bool)] = &[
    ("openat", true),
    ("openat2", false),
    ("read", true),
    ("write", true),
    ("lseek", true),
    ("statx", true),
    ("newfstatat", true),
    ("flistxattr", false),
    ("fchmod", false),
    ("fchown", false),
    ("flock", false),
    ("fsync", false),
    ("ftruncate", false),
    ("renameat", false),
    ("renameat2", false),
    ("unlink", false),
    ("unlinkat", false),
    ("mkdir", false),
    ("rmdir", false),
    ("getdents64", false),
];

/// `strace` counts every call of every thread by itself. So often the writing thread makes those that the main thread
/// makes too, before it begins; from then on a number means a call of the writing thread.
const LEAD: usize = 100;

/// More calls of one kind than a write has.
const MOST: usize = 100;

pub(super) const FILE: &str = "file";

/// Returns the old content, and the new one: more than a page each, so that half of one can be seen.
pub(super) fn old_content() -> String {
    "old line\n".repeat(2_000)
}

pub(super) fn new_content() -> String {
    "a new line\n".repeat(3_000)
}

/// Calls a tool in a directory, with tools that know nothing yet but what `read` names.
pub(super) async fn call(dir: &Path, read: Option<&str>, name: &str, args: &Value) -> Result<ToolOutput> {
    let environment = HostEnvironment::new(dir.join("work")).with_backup_dir(dir.join("backups"));
    let tools = builtin_tools(Arc::new(environment));
    let run = async |name: &str, args: &Value| -> Result<ToolOutput> {
        let tool = tools.iter().find(|tool| tool.spec().name == name).context("a tool of that name")?;
        let args = RawJson::from_value(args)?;
        let call = ToolCall { id: ToolCallId::new("t1"), name: name.to_owned(), args };
        Ok(tool.execute(ToolContext::new(CancellationToken::new(), drop), call).await)
    };
    if let Some(read) = read {
        run("read", &json!({"path": read})).await?;
    }
    run(name, args).await
}

/// The process itself. Exits with 0 if it was told that the file is written.
pub(crate) fn write_once(dir: &Path) -> ExitCode {
    // One thread that writes, and nothing that it would have to wake by a call of its own.
    let Ok(runtime) =
        tokio::runtime::Builder::new_current_thread().enable_time().max_blocking_threads(1).build()
    else {
        return ExitCode::from(2);
    };
    let output = runtime.block_on(async {
        tokio::task::spawn_blocking(make_lead_calls).await??;
        call(dir, Some(FILE), "write", &json!({"path": FILE, "content": new_content()})).await
    });
    match output {
        Ok(output) if !output.is_error => ExitCode::SUCCESS,
        Ok(output) => {
            eprintln!("{}", joined_text(&output.content));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

/// Every call that the main thread may make, so often.
fn make_lead_calls() -> Result<()> {
    for _ in 0..LEAD {
        let mut file = File::options().read(true).write(true).open("/dev/null")?;
        file.write_all(b"-")?;
        let _nothing = file.read(&mut [0])?;
        file.rewind()?;
        fs::metadata("/")?;
        rustix::fs::statat(rustix::fs::CWD, "/", rustix::fs::AtFlags::empty())?;
    }
    Ok(())
}

/// The end of one write.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WriteEnd {
    Written,
    Refused,
    Killed,
}

/// Writes once for every call there is, each time interrupted at the next; `judge` looks at what is left. Says how
/// often it was interrupted.
pub(super) fn at_every_call(
    dir: &Path,
    fault: &str,
    prepare: impl Fn(&Path) -> Result<()>,
    judge: impl Fn(&Path, &WriteEnd) -> Result<()>,
) -> Result<usize> {
    let mut hits = 0;
    for &(call, led) in CALLS {
        for n in 1..MOST {
            let place = dir.join(format!("{call}-{n}-{fault}").replace('=', "-"));
            fs::create_dir_all(place.join("work"))?;
            prepare(&place.join("work"))?;
            let log = place.join("strace");
            let nth = if led { LEAD + n } else { n };
            let end = write_interrupted(&place, &log, call, &format!("{call}:{fault}:when={nth}"))?;
            judge(&place, &end).with_context(|| format!("{fault} at {call} {n}, then {end:?}"))?;
            let hit = end == WriteEnd::Killed || fs::read_to_string(&log)?.contains("(INJECTED)");
            fs::remove_dir_all(&place)?;
            if !hit {
                break;
            }
            hits += 1;
        }
    }
    Ok(hits)
}

fn write_interrupted(place: &Path, log: &Path, call: &str, inject: &str) -> Result<WriteEnd> {
    let ran = strace::run(&[WRITER.as_ref(), place.as_os_str()], log, call, Some(inject))?;
    if strace::is_killed(&ran) {
        return Ok(WriteEnd::Killed);
    }
    match ran.status.code() {
        Some(0) => Ok(WriteEnd::Written),
        Some(1) => Ok(WriteEnd::Refused),
        _ => anyhow::bail!("the writer ended with {}: {}", ran.status, String::from_utf8_lossy(&ran.stderr)),
    }
}

/// A file with the old content.
pub(super) fn with_old(work: &Path) -> Result<()> {
    let mut file = File::create(work.join(FILE))?;
    file.write_all(old_content().as_bytes())?;
    Ok(())
}

/// Nothing of a write is left in the directory.
pub(super) fn nothing_left(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        ensure!(!name.to_string_lossy().contains(".haft-"), "{} is left", name.display());
    }
    Ok(())
}
