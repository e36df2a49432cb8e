//! A session that is too large to read completely.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_core::session::entry::{EntryBody, Name};
use haft_core::session::store;
use haft_core::session::{Durability, EntryId, Session, SessionError};

use crate::oracle::{HeapGrowth, bytes_read};
use crate::world::World;

/// The size of the file in bytes.
const LENGTH: (u64, u64) = (20 << 20, 200 << 20);

/// The size of its longest line in bytes.
const LONGEST: usize = 8 << 20;

/// The number of times that the session is opened after the first time.
const ROUNDS: (u64, u64) = (8, 20);

/// The memory in bytes that opening may leave: a thirty-second of the longest line, which is read every time.
const KEPT: u64 = LONGEST as u64 / 32;

/// A line of an unknown type.
const UNKNOWN: &str =
    r#"{"type":"hologram","id":"0000000000000000000000000000aaaa","parent":null,"time":"t","depth":[1, 2]}"#;

const LAST: u128 = 0xcccc;

pub(super) async fn opens_large_session(world: &mut World) -> Result<()> {
    world.mark("long")?;
    let (length, rounds) = (world.amount(LENGTH.0, LENGTH.1), world.amount(ROUNDS.0, ROUNDS.1));
    let dir = world.dir.join("sessions").join("project");
    let opened = tokio::task::spawn_blocking(move || -> Result<Duration> {
        fs::create_dir_all(&dir).context("create the directory of sessions")?;
        let file = dir.join("0000000000000000000000000000feed.jsonl");
        write_session(&file, 1, length, LONGEST).context("write the session")?;
        let took = time_open(&file, length)?;
        let growth = HeapGrowth::after_first_round();
        for _ in 0..rounds {
            time_open(&file, length)?;
        }
        growth.check(rounds, KEPT)?;
        goes_on(&file)?;
        keeps_unknown_lines(&dir.join("0000000000000000000000000000fade.jsonl"))?;
        leaves_newer_format(&dir.join("0000000000000000000000000000beef.jsonl"))?;
        Ok(took)
    });
    let took = opened.await.context("the check panicked")??;
    world.report_finding(&format!("{} MiB opened in {:.1} ms", length >> 20, took.as_secs_f64() * 1e3));
    Ok(())
}

/// Opens the session, of which only the end is read, and returns the duration.
fn time_open(file: &Path, length: u64) -> Result<Duration> {
    let (start, before) = (Instant::now(), bytes_read());
    let session = Session::open(file).context("open the session")?;
    let took = start.elapsed();
    ensure!(session.entry(EntryId::from(1)).is_none(), "the whole file was read");
    if let (Some(before), Some(after)) = (before, bytes_read()) {
        // This includes the short reads of the canary's round trips.
        let (read, most) = (after - before, LONGEST as u64 + length / 2);
        ensure!(
            read < most,
            "{read} bytes were read to open a session of {length} bytes with a line of {LONGEST} bytes"
        );
    }
    let ids: Vec<EntryId> = session.branch().iter().map(|entry| entry.id).collect();
    ensure!(ids == [0xaaaa, 0xbbbb, 0xbbbc, LAST].map(EntryId::from), "unexpected branch: {ids:?}");
    Ok(took)
}

/// Opens the session and adds an entry.
fn goes_on(file: &Path) -> Result<()> {
    let session = Session::open(file).context("open the session again")?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(session.append(Name { name: "long".to_owned() }, Durability::Now)).context("append")?;
    Ok(())
}

/// Checks that unknown lines are kept, in the file and in a fork.
fn keeps_unknown_lines(file: &Path) -> Result<()> {
    write_session(file, 1, 0, 0)?;
    let fork = store::fork(file, Some(EntryId::from(LAST))).context("fork the session")?;
    for session in [Session::open(file).context("open the session again")?, fork] {
        let entry =
            session.entry(EntryId::from(0xaaaa)).context("the entry of an unknown type is missing")?;
        let EntryBody::Unknown(unknown) = &entry.body else { anyhow::bail!("the entry has another type") };
        ensure!(*unknown.line == *UNKNOWN, "the entry was changed: {}", unknown.line);
    }
    Ok(())
}

/// Checks that a newer format is read and not changed.
fn leaves_newer_format(file: &Path) -> Result<()> {
    write_session(file, 2, 0, 0)?;
    let before = fs::read(file)?;
    let session = Session::open(file).context("open a session of a newer format")?;
    ensure!(session.branch().len() == 4, "{} entries of a newer format are visible", session.branch().len());
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let appended = runtime.block_on(session.append(Name { name: "x".to_owned() }, Durability::Soon));
    ensure!(matches!(appended, Err(SessionError::Newer { .. })), "the session was written to: {appended:?}");
    ensure!(fs::read(file)? == before, "the file was changed");
    Ok(())
}

/// Writes many messages, an entry that a compaction kept, the compaction, a long line, and a last line.
fn write_session(file: &Path, version: u32, length: u64, longest: usize) -> Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    let id = file.file_stem().unwrap_or_default().to_string_lossy();
    writeln!(
        out,
        r#"{{"type":"session","id":"{id}","parent":null,"format_version":{version},"cwd":"/","created":"t"}}"#
    )?;
    let text = "x".repeat(380);
    for at in 1..=length / 512 {
        let id = format!("{at:032x}");
        writeln!(
            out,
            r#"{{"type":"message","id":"{id}","parent":null,"time":"t","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"time":"t"}}}}"#
        )?;
    }
    writeln!(out, "{UNKNOWN}")?;
    let rest = [
        (
            0xaaaa_u128,
            0xbbbb,
            "compaction",
            format!(r#""summary":"s","first_kept":"{:032x}","tokens_before":1"#, 0xaaaa),
        ),
        (0xbbbb, 0xbbbc, "name", format!(r#""name":"{}""#, "x".repeat(longest))),
        (0xbbbc, LAST, "name", r#""name":"last""#.to_owned()),
    ];
    for (parent, id, kind, fields) in rest {
        writeln!(
            out,
            r#"{{"type":"{kind}","id":"{id:032x}","parent":"{parent:032x}","time":"t",{fields}}}"#
        )?;
    }
    out.flush().context("write the session")
}
