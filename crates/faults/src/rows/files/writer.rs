//! One write in a separate process, interrupted by `strace`: the process is killed, or a system call fails, at the n-th
//! call.

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

/// The system calls at which a write may fail, and true if the main thread makes them too.
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

/// The number of calls that the writing thread makes before the write. `strace` counts the calls of each thread
/// separately. After these calls, a larger number belongs to the writing thread only.
const LEAD: usize = 100;

/// More calls of one kind than a write makes.
const MOST: usize = 100;

pub(super) const FILE: &str = "file";

/// Returns the old content. Old and new content are longer than a page, so that a partial write is visible.
pub(super) fn old_content() -> String {
    "old line\n".repeat(2_000)
}

pub(super) fn new_content() -> String {
    "a new line\n".repeat(3_000)
}

/// Calls a tool in a directory, with new tools that have read only the file `read`.
pub(super) async fn call(dir: &Path, read: Option<&str>, name: &str, args: &Value) -> Result<ToolOutput> {
    let environment = HostEnvironment::new(dir.join("work")).with_backup_dir(dir.join("backups"));
    let tools = builtin_tools(Arc::new(environment));
    let run = async |name: &str, args: &Value| -> Result<ToolOutput> {
        let tool = tools.iter().find(|tool| tool.spec().name == name).context("unknown tool")?;
        let args = RawJson::from_value(args)?;
        let call = ToolCall { id: ToolCallId::new("t1"), name: name.to_owned(), args };
        Ok(tool.execute(ToolContext::new(CancellationToken::new(), drop), call).await)
    };
    if let Some(read) = read {
        run("read", &json!({"path": read})).await?;
    }
    run(name, args).await
}

/// Runs the writer process. It exits with 0 if the tool reports success.
pub(crate) fn write_once(dir: &Path) -> ExitCode {
    // One thread writes, and it never needs to wake another thread with a system call.
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

/// Makes every call of the main thread this many times.
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

/// The outcome of a write.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WriteEnd {
    Written,
    Refused,
    Killed,
}

/// Writes once for every call, each time interrupted at the next one; `judge` checks the resulting files. Returns the
/// number of interruptions.
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

/// Creates a file with the old content.
pub(super) fn with_old(work: &Path) -> Result<()> {
    let mut file = File::create(work.join(FILE))?;
    file.write_all(old_content().as_bytes())?;
    Ok(())
}

/// Checks that no files of a write remain in the directory.
pub(super) fn nothing_left(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        ensure!(!name.to_string_lossy().contains(".haft-"), "{} remains", name.display());
    }
    Ok(())
}
