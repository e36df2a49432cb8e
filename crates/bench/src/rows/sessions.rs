//! Session files: finding all entries of one, and going on with one of any length.
//!
//! Base of the first: reading the file in pieces and finding its newlines, the least that tells entries apart.
//! Candidate: the index. The second compares a file with one ten times as long: how long a session is must not matter.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use haft_core::session::{Index, Session};

use super::start::Clock;
use crate::method::{Plan, compare};
use crate::report::{Goal, Report, Unit};

const INDEX_PLAN: Plan = Plan { repetitions: 5, pairs: 20 };

const RESUME_PLAN: Plan = Plan { repetitions: 5, pairs: 100 };

const INDEX: Goal = Goal { goal: 1.6, gate: 2.5 };

const RESUME: Goal = Goal { goal: 1.2, gate: 2.0 };

const SHORT: u64 = 100_000;

const LONG: u64 = 1_000_000;

/// Entries that a session goes on with: what came after its last compaction.
const NEWEST: u64 = 200;

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let dir = tempfile::tempdir().context("make a directory")?;
    let (short, long) = (written(dir.path(), 1, SHORT)?, written(dir.path(), 2, LONG)?);
    index(report, &short)?;
    resume(report, &short, &long)
}

fn index(report: &mut Report, file: &Path) -> Result<()> {
    let plan = report.plan(INDEX_PLAN);
    let [wall, cpu] = compare(plan, || newlines(file), || newlines(file))?;
    let wall_sound = report.control("control of index, wall", Unit::Seconds, wall);
    let cpu_sound = report.control("control of index, own CPU", Unit::Seconds, cpu);
    let [wall, cpu] = compare(plan, || newlines(file), || indexed(file))?;
    report.line("index of 100,000, wall", Unit::Seconds, wall, None, wall_sound);
    report.line("index of 100,000, own CPU", Unit::Seconds, cpu, Some(INDEX), cpu_sound).gated();
    Ok(())
}

fn resume(report: &mut Report, short: &Path, long: &Path) -> Result<()> {
    let plan = report.plan(RESUME_PLAN);
    let [wall, cpu] = compare(plan, || resumed(short), || resumed(short))?;
    let wall_sound = report.control("control of resume, wall", Unit::Seconds, wall);
    let cpu_sound = report.control("control of resume, own CPU", Unit::Seconds, cpu);
    let [wall, cpu] = compare(plan, || resumed(short), || resumed(long))?;
    report.line("resume 1,000,000, wall", Unit::Seconds, wall, Some(RESUME), wall_sound);
    report.line("resume 1,000,000, own CPU", Unit::Seconds, cpu, Some(RESUME), cpu_sound).gated();
    Ok(())
}

/// Reads the file in pieces of 256 KiB and counts its lines.
fn newlines(file: &Path) -> Result<[f64; 2]> {
    let clock = Clock::start();
    let (mut file, mut buffer, mut lines) = (File::open(file)?, vec![0; 256 * 1024], 0);
    loop {
        let read = file.read(&mut buffer)?;
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else { break };
        lines += memchr::memchr_iter(b'\n', piece).count();
    }
    let times = clock.stop();
    ensure!(lines as u64 > SHORT, "{lines} lines");
    Ok(times)
}

fn indexed(file: &Path) -> Result<[f64; 2]> {
    let clock = Clock::start();
    let index = Index::of(file)?;
    let times = clock.stop();
    ensure!(index.rows().len() as u64 == SHORT, "{} entries", index.rows().len());
    Ok(times)
}

fn resumed(file: &Path) -> Result<[f64; 2]> {
    let clock = Clock::start();
    let session = Session::open(file)?;
    let context = session.context();
    let times = clock.stop();
    ensure!(context.messages.len() as u64 == NEWEST + 1, "{} messages", context.messages.len());
    Ok(times)
}

/// A session of so many entries of 546 bytes, compacted before the newest ones.
fn written(dir: &Path, number: u32, entries: u64) -> Result<PathBuf> {
    let path = dir.join(format!("{number:032x}.jsonl"));
    let mut file = BufWriter::new(File::create(&path).context("make a session")?);
    let time = "2026-01-02T03:04:05.678Z";
    writeln!(
        file,
        r#"{{"type":"session","id":"{number:032x}","parent":null,"format_version":1,"cwd":"/","created":"{time}"}}"#
    )?;
    for at in 1..=entries {
        let parent = if at == 1 { "null".to_owned() } else { format!("\"{:032x}\"", at - 1) };
        let body = match at == entries - NEWEST {
            true => r#""summary":"s","first_kept":null,"tokens_before":1"#.to_owned(),
            false => format!(
                r#""message":{{"role":"user","content":[{{"type":"text","text":"{:x<280}"}}],"time":"{time}"}}"#,
                at
            ),
        };
        let kind = if at == entries - NEWEST { "compaction" } else { "message" };
        writeln!(file, r#"{{"type":"{kind}","id":"{at:032x}","parent":{parent},"time":"{time}",{body}}}"#)?;
    }
    file.flush()?;
    Ok(path)
}
