//! Group S, second half: tools that change files.

mod racer;
mod writer;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use haft_core::file_queue::FileQueue;
use haft_core::tool::{Tool, ToolContext};
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::ids::ToolCallId;
use haft_tools::{HostEnvironment, builtin_tools};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::services;
use crate::defense::{Defense, take_down};
use crate::row::{CASE, FaultCase, FaultRow, skip};
use crate::strace;
use crate::world::World;
pub(crate) use racer::{RACER, run_racer};
use writer::{FILE, WriteEnd, at_every_call, call, new_content, nothing_left, old_content, with_old};
pub(crate) use writer::{WRITER, write_once};

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "S-11",
        title: "a write is killed at any of its system calls",
        cases: &[
            FaultCase { play: |world| Box::pin(survives_kills(world, with_old)), ..CASE },
            FaultCase { play: |world| Box::pin(survives_kills(world, with_hard_link)), ..CASE },
        ],
        undefend: Some(|_| take_down(Defense::AtomicWrites)),
    },
    FaultRow {
        id: "S-12",
        title: "any system call of a write fails: no space, IO error, quota, read-only",
        cases: &[
            FaultCase { play: |world| Box::pin(survives_refusals(world, with_old)), ..CASE },
            FaultCase { play: |world| Box::pin(survives_refusals(world, with_hard_link)), ..CASE },
        ],
        undefend: Some(|_| take_down(Defense::AtomicWrites)),
    },
    FaultRow {
        id: "S-13",
        title: "the file to write is not a regular file",
        cases: &[FaultCase { play: |world| Box::pin(rejects_special_files(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::OnlyFiles)),
    },
    FaultRow {
        id: "S-14",
        title: "many edits of one file at once, by path, symbolic link and hard link, by three extensions and other users of the queue",
        cases: &[
            FaultCase { play: |world| Box::pin(many_edits(world)), ..CASE },
            FaultCase { play: |world| Box::pin(edits_with_extensions(world)), ..CASE },
        ],
        undefend: Some(|_| take_down(Defense::FileQueue)),
    },
    FaultRow {
        id: "S-16",
        title: "an editor changes a file between read and edit",
        cases: &[FaultCase { play: |world| Box::pin(detects_external_changes(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::StaleCheck)),
    },
    FaultRow {
        id: "S-17",
        title: "a directory is replaced by a link during a write",
        cases: &[
            FaultCase { play: |world| Box::pin(racer::stays_below_root(world)), ..CASE },
            FaultCase { play: |world| Box::pin(racer::follows_links_inside(world)), ..CASE },
        ],
        undefend: Some(|_| take_down(Defense::Containment)),
    },
    FaultRow {
        id: "S-18",
        title: "an ignore file is a pipe, a device or a sparse file, in the project or in a parent directory",
        cases: &[FaultCase { play: |world| Box::pin(ignore_files_never_end(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::OnlyFiles)),
    },
];

/// The errors of a disk.
const ERRORS: &[&str] = &["ENOSPC", "EIO", "EDQUOT", "EROFS", "EACCES"];

/// Creates a hard link, so that the file cannot be replaced by a new one.
fn with_hard_link(work: &Path) -> Result<()> {
    with_old(work)?;
    Ok(fs::hard_link(work.join(FILE), work.join("other"))?)
}

/// The rounds block a separate thread, so that the host continues.
async fn survives_kills(world: &mut World, prepare: fn(&Path) -> Result<()>) -> Result<()> {
    if !strace::can_trace() {
        return skip(strace::NEEDED);
    }
    let dir = world.dir.join("killed");
    let rounds = tokio::task::spawn_blocking(move || {
        at_every_call(&dir, "signal=KILL", prepare, |place, end| {
            check_swept(place)?;
            let expect: &[String] =
                if *end == WriteEnd::Written { &[new_content()] } else { &[old_content(), new_content()] };
            check_content(place, expect)
        })
    });
    let rounds = rounds.await??;
    ensure!(rounds >= 15, "only {rounds} calls were interrupted");
    world.mark(&format!("killed at each of {rounds} calls"))
}

async fn survives_refusals(world: &mut World, prepare: fn(&Path) -> Result<()>) -> Result<()> {
    if !strace::can_trace() {
        return skip(strace::NEEDED);
    }
    let errors = world.amount(ERRORS.get(..2).unwrap_or(ERRORS), ERRORS);
    for error in errors {
        let dir = world.dir.join("refused");
        let rounds = tokio::task::spawn_blocking(move || {
            at_every_call(&dir, &format!("error={error}"), prepare, |place, end| match end {
                // An error during cleanup is not an error of the write.
                WriteEnd::Written => check_content(place, &[new_content()]),
                WriteEnd::Refused => check_content(place, &[old_content()]),
                WriteEnd::Killed => bail!("the writer was killed instead of failing"),
            })
        });
        let rounds = rounds.await??;
        ensure!(rounds >= 15, "only {rounds} calls were refused");
        world.mark(&format!("{error} at each of {rounds} calls"))?;
    }
    Ok(())
}

/// Writes another file, and checks that leftovers are removed and torn files are restored.
fn check_swept(place: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let args = json!({"path": "next", "content": "next"});
    let output = runtime.block_on(call(place, None, "write", &args))?;
    ensure!(!output.is_error, "the next write fails: {}", joined_text(&output.content));
    nothing_left(&place.join("work"))?;
    let backups = fs::read_dir(place.join("backups")).into_iter().flatten().flatten();
    let left = backups.filter(|entry| entry.path().is_dir()).count();
    ensure!(left == 0, "{left} backups remain");
    Ok(())
}

/// Checks that the file has one of these contents under all its names.
fn check_content(place: &Path, expect: &[String]) -> Result<()> {
    for name in [FILE, "other"] {
        let path = place.join("work").join(name);
        if name == FILE || path.exists() {
            let content = fs::read_to_string(&path).context("read what was written")?;
            ensure!(expect.contains(&content), "{name} has {} bytes, neither old nor new", content.len());
        }
    }
    Ok(())
}

/// The tools of one session in the world's directory.
struct ToolSession {
    tools: Vec<Arc<dyn Tool>>,
    queue: FileQueue,
}

impl ToolSession {
    fn new(world: &World) -> Self {
        let environment = HostEnvironment::new(world.dir.join("work"));
        Self::with_environment(environment.with_backup_dir(world.dir.join("backups")))
    }

    fn with_environment(environment: HostEnvironment) -> Self {
        Self::with_queue(environment, FileQueue::default())
    }

    fn with_queue(environment: HostEnvironment, queue: FileQueue) -> Self {
        Self { tools: builtin_tools(Arc::new(environment.with_queue(queue.clone()))), queue }
    }

    async fn call(&self, name: &str, args: Value) -> Result<Result<String, String>> {
        let tool = self.tools.iter().find(|tool| tool.spec().name == name).context("unknown tool")?;
        let args = RawJson::from_value(&args)?;
        let call = ToolCall { id: ToolCallId::new("t1"), name: name.to_owned(), args };
        let output = tool.execute(ToolContext::new(CancellationToken::new(), drop), call).await;
        let text = joined_text(&output.content);
        Ok(if output.is_error { Err(text) } else { Ok(text) })
    }
}

async fn rejects_special_files(world: &mut World) -> Result<()> {
    let work = world.dir.join("work");
    let session = ToolSession::new(world);
    haft_test_support::create_pipe(&work.join("pipe")).context("create a pipe")?;
    let _socket = std::os::unix::net::UnixListener::bind(work.join("socket"))?;
    fs::create_dir_all(work.join("dir"))?;
    std::os::unix::fs::symlink("nowhere", work.join("dangling"))?;
    world.mark("special files")?;
    let kinds = [
        ("pipe", "a pipe, socket or device"),
        ("socket", "a pipe, socket or device"),
        ("/dev/full", "a pipe, socket or device"),
        ("dir", "is a directory"),
        ("dangling", "is a symbolic link to a missing file"),
    ];
    for (path, expect) in kinds {
        let said = session.call("write", json!({"path": path, "content": ""})).await?;
        let Err(said) = said else { bail!("{path} was written: {said:?}") };
        ensure!(said.contains(expect), "{path}: {said}");
    }
    nothing_left(&work)
}

async fn ignore_files_never_end(world: &mut World) -> Result<()> {
    let work = world.dir.join("work");
    let session = ToolSession::new(world);
    world.mark("ignore files")?;
    for (number, name) in ["a/.gitignore", "a/.ignore", ".gitignore", ".ignore"].into_iter().enumerate() {
        let inside = work.join(format!("{number}/a/b"));
        fs::create_dir_all(&inside)?;
        fs::write(inside.join("needle"), "needle\n")?;
        let path = work.join(format!("{number}")).join(name);
        match number {
            0 => haft_test_support::create_pipe(&path)?,
            1 => fs::File::create(&path)?.set_len(1 << 40)?,
            _ => std::os::unix::fs::symlink("/dev/zero", &path)?,
        }
        let expect = format!("{number}/a/b/needle:1:needle\n");
        let args = json!({"pattern": "needle", "path": format!("{number}/a/b")});
        let call = tokio::time::timeout(Duration::from_secs(60), session.call("grep", args));
        let said = call.await.with_context(|| format!("{name} hangs the search"))??;
        ensure!(said.as_ref() == Ok(&expect), "{name}: {said:?}");
    }
    Ok(())
}

/// Runs built-in edits under three names, and three other users of the queue; no change may be lost.
async fn many_edits(world: &mut World) -> Result<()> {
    let edits = world.amount(320, 10_000);
    let work = world.dir.join("work");
    let session = Arc::new(ToolSession::new(world));
    let file = work.join(FILE);
    let lines: String = (0..edits).map(|n| format!("old-{n};\n")).collect();
    fs::write(&file, lines)?;
    std::os::unix::fs::symlink(&file, work.join("link"))?;
    fs::hard_link(&file, work.join("other"))?;
    ensure!(session.call("read", json!({"path": FILE})).await?.is_ok(), "the file cannot be read");
    world.mark("edits at once")?;
    for from in (0..edits).step_by(64) {
        let mut calls = tokio::task::JoinSet::new();
        for n in from..(from + 64).min(edits) {
            calls.spawn(edit(Arc::clone(&session), work.clone(), n));
        }
        while let Some(done) = calls.join_next().await {
            done??;
        }
    }
    let expect: String = (0..edits).map(|n| format!("new-{n};\n")).collect();
    let found = fs::read_to_string(&file)?;
    let lost = expect.lines().zip(found.lines()).filter(|(expect, found)| expect != found).count();
    ensure!(found == expect, "{lost} of {edits} edits are lost");
    nothing_left(&work)
}

/// Runs edits by three extensions and the built-in tools.
async fn edits_with_extensions(world: &mut World) -> Result<()> {
    let dir = world.dir.clone();
    services::many_edits(world, async |served, edits| {
        let work = dir.join("work");
        let environment = HostEnvironment::new(&work).with_backup_dir(dir.join("backups"));
        let session = Arc::new(ToolSession::with_queue(environment, served.queue.clone()));
        ensure!(session.call("read", json!({"path": FILE})).await?.is_ok(), "the file cannot be read");
        let mut calls = tokio::task::JoinSet::new();
        for n in edits {
            calls.spawn(edit(Arc::clone(&session), work.clone(), n));
        }
        while let Some(done) = calls.join_next().await {
            done??;
        }
        Ok(())
    })
    .await
}

/// Runs the n-th edit in one of the ways.
async fn edit(session: Arc<ToolSession>, work: std::path::PathBuf, n: usize) -> Result<()> {
    let names = [FILE, "link", "other"];
    let name = names.get(n % names.len()).copied().unwrap_or(FILE);
    let (old, new) = (format!("old-{n};"), format!("new-{n};"));
    // One edit in eight is made without the tools, which must then read the file again.
    if n % 8 == 7 {
        let guard = session.queue.lock(&work.join(name)).await?;
        let text = fs::read_to_string(guard.path())?;
        tokio::task::yield_now().await;
        return Ok(fs::write(guard.path(), text.replace(&old, &new))?);
    }
    let args = json!({"path": name, "edits": [{"old_text": old, "new_text": new}]});
    for _ in 0..1_000 {
        match session.call("edit", args.clone()).await? {
            Ok(_) => return Ok(()),
            Err(stale) if stale.contains("read it again") => {
                let read = session.call("read", json!({"path": name})).await?;
                ensure!(read.is_ok(), "{read:?}");
            }
            Err(other) => bail!("edit {n}: {other}"),
        }
    }
    bail!("edit {n} stays stale")
}

/// A change of a file by a program that does not know haft.
type ExternalEdit = fn(&Path) -> Result<()>;

/// Changes the file in place, by replacing it, and with unchanged length and time.
async fn detects_external_changes(world: &mut World) -> Result<()> {
    let session = ToolSession::new(world);
    let path = world.dir.join("work").join(FILE);
    let change = json!({"path": FILE, "edits": [{"old_text": "one", "new_text": "1"}]});
    let whole = json!({"path": FILE, "content": "mine"});
    let editors: [(&str, ExternalEdit); 3] = [
        ("in place", |path| Ok(fs::write(path, "one and more")?)),
        ("by replacement", |path| {
            fs::write(path.with_extension("new"), "one and less")?;
            Ok(fs::rename(path.with_extension("new"), path)?)
        }),
        ("with the same length and time", |path| {
            let time = fs::metadata(path)?.modified()?;
            fs::write(path, "one 2")?;
            Ok(fs::File::options().write(true).open(path)?.set_modified(time)?)
        }),
    ];
    for (how, editor) in editors {
        fs::write(&path, "one 1")?;
        ensure!(session.call("read", json!({"path": FILE})).await?.is_ok(), "the file cannot be read");
        editor(&path)?;
        world.mark(how)?;
        let theirs = fs::read_to_string(&path)?;
        for (tool, args) in [("edit", &change), ("write", &whole)] {
            let said = session.call(tool, args.clone()).await?;
            let stale = said.as_ref().is_err_and(|said| said.contains("has changed since it was read"));
            ensure!(stale, "changed {how}, and {tool} answered {said:?}");
            ensure!(fs::read_to_string(&path)? == theirs, "{tool} has changed the file");
        }
    }
    Ok(())
}
