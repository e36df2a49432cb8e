//! Session files: the summary of a session in a list, and resuming sessions of different lengths.
//!
//! Base of the summary: reading the file in pieces and finding its newlines, the minimum for separating entries.
//! Resuming compares a file with a file ten times as long, because the length of a session must not matter.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_core::session::entry::Name;
use haft_core::session::store::SessionStore;
use haft_core::session::{Durability, Session};

use super::start::WallCpuTimer;
use crate::method::{RepetitionPlan, compare, median};
use crate::report::{LineGoal, Report, Unit};

const SUMMARY_PLAN: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 20 };

const RESUME_PLAN: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 100 };

const SUMMARY: LineGoal = LineGoal { goal: 2.0, gate: 2.5 };

const RESUME: LineGoal = LineGoal { goal: 1.2, gate: 2.0 };

const LONG_PLAN: RepetitionPlan = RepetitionPlan { repetitions: 3, pairs: 6 };

const LONG_SUMMARY: LineGoal = LineGoal::without_gate(2.0);

/// The sessions of a list, and the entries of each: 1 MB.
const LISTED: u32 = 200;

const LISTED_ENTRIES: u64 = 1_900;

/// A time in seconds that a user does not notice.
const LIST: f64 = 0.2;

const SHORT: u64 = 100_000;

const LONG: u64 = 1_000_000;

/// The entries since the last compaction, which a resumed session starts with.
const NEWEST: u64 = 200;

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let dir = tempfile::tempdir().context("create a directory")?;
    let long_ones = dir.path().join("long");
    std::fs::create_dir(&long_ones).context("create a directory")?;
    let (short, long) = (write_session(&long_ones, 1, SHORT)?, write_session(&long_ones, 2, LONG)?);
    summary(report, &short)?;
    long_summary(report, &long)?;
    resume(report, &short, &long)?;
    list(report, dir.path())?;
    measure_append(report, dir.path())
}

/// Measures the summary of a long file.
fn long_summary(report: &mut Report, file: &Path) -> Result<()> {
    let plan = report.plan_for_effort(LONG_PLAN);
    let [_, cpu] = compare(plan, || time_newline_scan(file), || time_newline_scan(file))?;
    let sound = report.add_control("control of 1,000,000, CPU", Unit::Seconds, cpu);
    let [_, cpu] = compare(plan, || time_newline_scan(file), || time_summary(file, LONG))?;
    report.add_comparison("summary of 1,000,000, CPU", Unit::Seconds, cpu, Some(LONG_SUMMARY), sound);
    Ok(())
}

/// Measures the summaries of many sessions, as a list shows them.
fn list(report: &mut Report, dir: &Path) -> Result<()> {
    let project = dir.join("project");
    std::fs::create_dir(&project).context("create a directory")?;
    for number in 1..=LISTED {
        write_session(&project, number, LISTED_ENTRIES)?;
    }
    let (store, mut times) = (SessionStore::new(dir), Vec::new());
    for _ in 0..5 {
        let clock = WallCpuTimer::start();
        let mut seen = 0;
        for found in store.list_all()?.iter().filter(|found| found.path.starts_with(&project)) {
            seen += usize::from(found.summary()?.messages > 0);
        }
        let [_, cpu] = clock.stop();
        ensure!(seen == LISTED as usize, "the list has {seen} sessions");
        times.push(cpu);
    }
    report.add_figure(
        "list 200 of 1 MB, CPU",
        Unit::Seconds,
        median(times),
        Some(LineGoal::without_gate(LIST)),
    );
    Ok(())
}

/// Measures how long appending an entry blocks the calling thread, without waiting for the disk.
fn measure_append(report: &mut Report, dir: &Path) -> Result<()> {
    let session = Session::create(dir, dir);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    for (bytes, durability, what) in [
        (500, Durability::Soon, "append of 500 B"),
        (500, Durability::Now, "append of 500 B, durable"),
        (4 << 20, Durability::Soon, "append of 4 MB"),
        (4 << 20, Durability::Now, "append of 4 MB, durable"),
    ] {
        let mut times = Vec::new();
        for _ in 0..20 {
            let body = Name { name: "x".repeat(bytes) };
            let start = Instant::now();
            let written = session.append(body, durability);
            times.push(start.elapsed().as_secs_f64());
            runtime.block_on(written)?;
        }
        report.add_figure(what, Unit::Seconds, median(times), None);
    }
    Ok(())
}

fn summary(report: &mut Report, file: &Path) -> Result<()> {
    let plan = report.plan_for_effort(SUMMARY_PLAN);
    let [wall, cpu] = compare(plan, || time_newline_scan(file), || time_newline_scan(file))?;
    let wall_sound = report.add_control("control of summary, wall", Unit::Seconds, wall);
    let cpu_sound = report.add_control("control of summary, own CPU", Unit::Seconds, cpu);
    let [wall, cpu] = compare(plan, || time_newline_scan(file), || time_summary(file, SHORT))?;
    report.add_comparison("summary of 100,000, wall", Unit::Seconds, wall, None, wall_sound);
    report
        .add_comparison("summary of 100,000, own CPU", Unit::Seconds, cpu, Some(SUMMARY), cpu_sound)
        .make_gated();
    Ok(())
}

fn resume(report: &mut Report, short: &Path, long: &Path) -> Result<()> {
    let plan = report.plan_for_effort(RESUME_PLAN);
    let [wall, cpu] = compare(plan, || time_resume(short), || time_resume(short))?;
    let wall_sound = report.add_control("control of resume, wall", Unit::Seconds, wall);
    let cpu_sound = report.add_control("control of resume, own CPU", Unit::Seconds, cpu);
    let [wall, cpu] = compare(plan, || time_resume(short), || time_resume(long))?;
    report.add_comparison("resume 1,000,000, wall", Unit::Seconds, wall, Some(RESUME), wall_sound);
    report
        .add_comparison("resume 1,000,000, own CPU", Unit::Seconds, cpu, Some(RESUME), cpu_sound)
        .make_gated();
    Ok(())
}

/// Reads the file in pieces of 256 KiB and counts its lines.
fn time_newline_scan(file: &Path) -> Result<[f64; 2]> {
    let clock = WallCpuTimer::start();
    let (mut file, mut buffer, mut lines) = (File::open(file)?, vec![0; 256 * 1024], 0);
    loop {
        let read = file.read(&mut buffer)?;
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else { break };
        lines += memchr::memchr_iter(b'\n', piece).count();
    }
    let times = clock.stop();
    ensure!(lines as u64 > SHORT, "the file has only {lines} lines");
    Ok(times)
}

fn time_summary(file: &Path, entries: u64) -> Result<[f64; 2]> {
    let root =
        file.parent().and_then(Path::parent).context("the session file is not in a project directory")?;
    let id = file.file_stem().context("the session file has no name")?.to_string_lossy();
    let found = SessionStore::new(root).find(&id)?;
    let clock = WallCpuTimer::start();
    let summary = found.summary()?;
    let times = clock.stop();
    // The compaction entry is not a message.
    ensure!(summary.messages as u64 + 1 == entries, "the summary counts {} messages", summary.messages);
    Ok(times)
}

fn time_resume(file: &Path) -> Result<[f64; 2]> {
    let clock = WallCpuTimer::start();
    let session = Session::open(file)?;
    let context = session.context();
    let times = clock.stop();
    ensure!(
        context.messages.len() as u64 == NEWEST + 1,
        "the resumed session has {} messages",
        context.messages.len()
    );
    Ok(times)
}

/// Writes a session of `entries` entries of 546 bytes, with a compaction before the newest ones.
fn write_session(dir: &Path, number: u32, entries: u64) -> Result<PathBuf> {
    let path = dir.join(format!("{number:032x}.jsonl"));
    let mut file = BufWriter::new(File::create(&path).context("create a session")?);
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
