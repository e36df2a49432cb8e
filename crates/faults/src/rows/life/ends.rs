//! The end of the host, asked for or not, and clocks that jump. All but one with the whole program.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_launch::find_program;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::evil::Misbehavior;
use crate::oracle::tagged_processes;
use crate::row::{CASE, FaultCase, FaultRow, skip};
use crate::world::{HaftProgram, World, last_word};

/// The shortest end of the program when it is asked once and an extension does not leave: the time until the extension is
/// asked to terminate, and the time until it is killed.
const LADDER: Duration = Duration::from_secs(3);

/// Ends that may take longer than that, because the machine is busy, before one must not.
const ATTEMPTS: usize = 20;

/// The exit status of a run that was interrupted.
const INTERRUPTED: i32 = 130;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "L-10",
        title: "the host is killed",
        cases: &[FaultCase { play: |world| Box::pin(nothing_outlives_it(world)), ..CASE }],
        undefend: Some(|_| {}),
    },
    FaultRow {
        id: "L-11",
        title: "the host is asked to end, once and twice",
        cases: &[
            FaultCase { play: |world| Box::pin(ends_in_order(world, Signal::TERM)), ..CASE },
            FaultCase { play: |world| Box::pin(ends_in_order(world, Signal::INT)), ..CASE },
            FaultCase { play: |world| Box::pin(ends_at_once(world)), ..CASE },
        ],
        undefend: Some(|_| {}),
    },
    FaultRow {
        id: "L-13",
        title: "clocks jump: an hour asleep, a day back, ten years on",
        cases: &[FaultCase { play: |world| Box::pin(no_deadline_passes(world)), ..CASE }],
        undefend: Some(|_| {}),
    },
    FaultRow {
        id: "L-17",
        title: "has not said hello when the host ends",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("silent"),
            setup: |setup| {
                setup.start_impatiently();
                setup.hello_within(Duration::from_secs(600));
            },
            ..CASE
        }],
        undefend: Some(|setup| setup.config.timeouts.shutdown_grace = Duration::from_secs(600)),
    },
];

/// A model that calls a tool which takes longer than any row.
fn sleep_steps() -> Value {
    json!([{"say": [{"call": {"name": "bash", "args": {"command": "sleep 3600"}}}]}, last_word()])
}

/// `haft` with these extensions, in the middle of a tool call.
async fn at_work(world: &World, extensions: &[(&str, &str, Value)]) -> Result<HaftProgram> {
    let haft = HaftProgram::start(world, &sleep_steps(), extensions, &["--json", "go"], &[])?;
    world.wait_until("haft is at work", || haft.stdout_text().contains("\"tool_call\"")).await?;
    Ok(haft)
}

/// Good ones, one that ignores a signal, one that has left its session, one that does not run at all. Without the
/// defence its guards are killed before.
async fn nothing_outlives_it(world: &mut World) -> Result<()> {
    let before = tagged_processes(&world.tag).len();
    let faults = ["good", "ignore-sigterm", "daemonise", "stopped"];
    let extensions = faults.map(|fault| (fault, fault, json!({})));
    // The one that does not run holds this up for longer than the row lasts.
    let haft = HaftProgram::start(world, &sleep_steps(), &extensions, &["--json", "go"], &[])?;
    let marked = |fault: &&str| world.marks().iter().any(|mark| mark == fault);
    let there = || faults.iter().skip(1).all(marked);
    world.wait_until("its extensions are there", there).await?;
    let daemon = || tagged_processes(&world.tag).into_iter().any(|pid| command_line(pid) == ["sleep", "600"]);
    world.wait_until("what one of them leaves behind is there", daemon).await?;
    world.mark("killed")?;
    if world.mode.undefended {
        haft.signal(Signal::STOP)?;
        kill_children(haft.id())?;
    }
    haft.signal(Signal::KILL)?;
    // None of them ends by itself as long as the row lasts.
    let gone =
        world.wait_until("nothing of it is left", || tagged_processes(&world.tag).len() <= before).await;
    gone.with_context(|| {
        format!("{} processes are left", tagged_processes(&world.tag).len().saturating_sub(before))
    })
}

/// The words of the command line of a process, none if it is gone.
fn command_line(pid: i32) -> Vec<String> {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split_terminator('\0').map(str::to_owned).collect()
}

fn kill_children(parent: u32) -> Result<()> {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).context("list the threads of haft")?;
    for thread in threads.flatten() {
        let children = fs::read_to_string(thread.path().join("children")).context("read its children")?;
        for pid in children.split_whitespace() {
            let pid = pid.parse().ok().and_then(Pid::from_raw).context("a process id")?;
            kill_process(pid, Signal::KILL).context("kill a guard")?;
        }
    }
    Ok(())
}

/// As it would be if nobody had thought of the signal.
fn signal_for_mode(world: &World, signal: Signal) -> Signal {
    if world.mode.undefended { Signal::KILL } else { signal }
}

async fn ends_in_order(world: &mut World, signal: Signal) -> Result<()> {
    let mut haft = at_work(world, &[("good", "good", json!({}))]).await?;
    haft.signal(signal_for_mode(world, signal))?;
    world.mark("asked to end")?;
    let ran = haft.wait_for_end(world).await?;
    ensure!(ran.code == Some(INTERRUPTED), "it ended with {ran:?}");
    ensure!(world.marks().iter().any(|mark| mark == "shutdown"), "its extension was not asked to leave");
    ensure!(ran.events_of_type("tool_result").len() == 1, "the call has no result: {}", ran.stdout);
    ensure!(ran.stdout.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{}", ran.stdout);
    Ok(())
}

/// One that is asked twice does not wait for its extension. One that waits never ends before the extension's time is
/// over, so that a single quick end shows it.
async fn ends_at_once(world: &mut World) -> Result<()> {
    let attempts = if world.mode.undefended { 1 } else { ATTEMPTS };
    let mut took = Duration::MAX;
    for attempt in 1..=attempts {
        took = took.min(end_twice_asked(world, attempt).await?);
        if took < LADDER {
            return Ok(());
        }
    }
    anyhow::bail!("the quickest of {attempts} ends took {took:?}")
}

/// Returns the time from the moment when the extension is asked to leave to the end of the program.
async fn end_twice_asked(world: &World, attempt: usize) -> Result<Duration> {
    let before = tagged_processes(&world.tag).len();
    let mut haft = at_work(world, &[("ignore-sigterm", "ignores", json!({}))]).await?;
    haft.signal(Signal::INT)?;
    world.mark("asked to end")?;
    let asked = || world.marks().iter().filter(|mark| *mark == "linger").count() == attempt;
    world.wait_until("the extension is asked to leave", asked).await?;
    let start = Instant::now();
    if !world.mode.undefended {
        haft.signal(Signal::INT)?;
    }
    let ran = haft.wait_for_end(world).await?;
    let took = start.elapsed();
    ensure!(ran.code == Some(INTERRUPTED), "it ended with {ran:?}");
    ensure!(ran.stdout.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{}", ran.stdout);
    world.wait_until("its extension is gone", || tagged_processes(&world.tag).len() <= before).await?;
    Ok(took)
}

/// The clock of the wall and the one that counts sleep jump during a call; without the defence, the one that deadlines
/// are measured by, too.
async fn no_deadline_passes(world: &mut World) -> Result<()> {
    let shim = clock_shim(world)?.display().to_string();
    let steps = json!([{"say": [{"call": {"name": "evil_tool", "args": {}}}]}, last_word()]);
    let monotonic = if world.mode.undefended { "1" } else { "" };
    let variables = [("LD_PRELOAD", shim.as_str()), ("HAFT_SHIM_MONOTONIC", monotonic)];
    let mut haft = HaftProgram::start(
        world,
        &steps,
        &[("slow-tool", "slow", json!({}))],
        &["--json", "go"],
        &variables,
    )?;
    let ran = haft.wait_for_end(world).await?;
    ensure!(world.marks().iter().any(|mark| mark == "clock"), "no clock has jumped");
    ensure!(ran.code == Some(0), "it ended with {ran:?}");
    ensure!(
        ran.events_of_type("extension_error").is_empty(),
        "it reported {:?}",
        ran.events_of_type("extension_error")
    );
    let results = ran.events_of_type("tool_result");
    ensure!(results.len() == 1 && results.iter().all(|result| result["is_error"] != true), "{results:?}");
    Ok(())
}

/// Writes the program that `haft` asks for the time.
fn clock_shim(world: &World) -> Result<PathBuf> {
    let Ok(compiler) = find_program("cc") else { return skip("a C compiler") };
    let (source, shim) = (world.dir.join("clock.c"), world.dir.join("clock.so"));
    fs::write(&source, CLOCK).context("write the shim")?;
    #[expect(clippy::disallowed_methods, reason = "a compiler, which makes a part of the test")]
    let made =
        Command::new(compiler).args(["-shared", "-fPIC", "-o"]).arg(&shim).arg(&source).arg("-ldl").output();
    let made = made.context("start the compiler")?;
    ensure!(made.status.success(), "the shim cannot be compiled: {}", String::from_utf8_lossy(&made.stderr));
    Ok(shim)
}

/// From its second second on the wall's clock is a day behind or ten years ahead, and an hour was slept through.
const CLOCK: &str = r#"#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int (*real)(clockid_t, struct timespec *);
static time_t first;
static int marked;

int clock_gettime(clockid_t id, struct timespec *now) {
    struct timespec steady;
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, now);
    real(CLOCK_MONOTONIC, &steady);
    if (!first) first = steady.tv_sec;
    time_t ran = steady.tv_sec - first;
    if (result || ran < 1) return result;
    const char *all = getenv("HAFT_SHIM_MONOTONIC");
    const char *marker = getenv("HAFT_MARKER");
    if (id == CLOCK_REALTIME) now->tv_sec += ran % 2 ? -86400 : 10 * 31557600;
    if (id == CLOCK_BOOTTIME || (id == CLOCK_MONOTONIC && all && *all)) now->tv_sec += 3600;
    if (!marked && marker) {
        marked = 1;
        FILE *file = fopen(marker, "a");
        if (file) { fputs("clock\n", file); fclose(file); }
    }
    return result;
}
"#;
