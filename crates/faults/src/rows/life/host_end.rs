//! The end of the host, requested or not, and clocks that jump. All rows but one run the whole program.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_launch::find_program;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::misbehavior::Misbehavior;
use crate::oracle::tagged_processes;
use crate::row::{CASE, FaultCase, FaultRow, skip};
use crate::world::{HaftProgram, World, last_word};

/// The shortest shutdown of the program after one request if an extension does not exit: the time until it is asked to
/// terminate, plus the time until it is killed.
const LADDER: Duration = Duration::from_secs(3);

/// The number of shutdowns that may take longer on a busy machine.
const ATTEMPTS: usize = 20;

/// The exit status of an interrupted run.
const INTERRUPTED: i32 = 130;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "L-10",
        title: "the host is killed",
        cases: &[FaultCase { play: |world| Box::pin(no_process_outlives_host(world)), ..CASE }],
        undefend: Some(|_| {}),
    },
    FaultRow {
        id: "L-11",
        title: "the host gets a request to end, once and twice",
        cases: &[
            FaultCase { play: |world| Box::pin(ends_in_order(world, Signal::TERM)), ..CASE },
            FaultCase { play: |world| Box::pin(ends_in_order(world, Signal::INT)), ..CASE },
            FaultCase { play: |world| Box::pin(ends_at_once(world)), ..CASE },
        ],
        undefend: Some(|_| {}),
    },
    FaultRow {
        id: "L-13",
        title: "clocks jump: an hour of sleep, a day back, ten years ahead",
        cases: &[FaultCase { play: |world| Box::pin(no_deadline_passes(world)), ..CASE }],
        undefend: Some(|_| {}),
    },
    FaultRow {
        id: "L-17",
        title: "has not sent hello when the host ends",
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

/// Returns the steps of a model that calls a tool with a duration longer than any row.
fn sleep_steps() -> Value {
    json!([{"say": [{"call": {"name": "bash", "args": {"command": "sleep 3600"}}}]}, last_word()])
}

/// Starts `haft` with these extensions and waits until it runs a tool call.
async fn at_work(world: &World, extensions: &[(&str, &str, Value)]) -> Result<HaftProgram> {
    let haft = HaftProgram::start(world, &sleep_steps(), extensions, &["--json", "go"], &[])?;
    world.wait_until("haft is at work", || haft.stdout_text().contains("\"tool_call\"")).await?;
    Ok(haft)
}

/// Uses a normal extension, one that ignores a signal, one that left its session, and one that is stopped. Without the
/// defense, the guardians are killed first.
async fn no_process_outlives_host(world: &mut World) -> Result<()> {
    let before = tagged_processes(&world.tag).len();
    let faults = ["good", "ignore-sigterm", "daemonize", "stopped"];
    let extensions = faults.map(|fault| (fault, fault, json!({})));
    // The stopped extension delays the call for longer than the row lasts.
    let haft = HaftProgram::start(world, &sleep_steps(), &extensions, &["--json", "go"], &[])?;
    let marked = |fault: &&str| world.marks().iter().any(|mark| mark == fault);
    let there = || faults.iter().skip(1).all(marked);
    world.wait_until("the extensions have started", there).await?;
    let daemon = || tagged_processes(&world.tag).into_iter().any(|pid| command_line(pid) == ["sleep", "600"]);
    world.wait_until("the daemon of one extension has started", daemon).await?;
    world.mark("killed")?;
    if world.mode.undefended {
        haft.signal(Signal::STOP)?;
        kill_children(haft.id())?;
    }
    haft.signal(Signal::KILL)?;
    // None of them exits by itself while the row lasts.
    let gone =
        world.wait_until("no process of it is left", || tagged_processes(&world.tag).len() <= before).await;
    gone.with_context(|| {
        format!("{} processes are left", tagged_processes(&world.tag).len().saturating_sub(before))
    })
}

/// Returns the words of a process's command line, or none if the process has ended.
fn command_line(pid: i32) -> Vec<String> {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split_terminator('\0').map(str::to_owned).collect()
}

fn kill_children(parent: u32) -> Result<()> {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).context("list the threads of haft")?;
    for thread in threads.flatten() {
        let children =
            fs::read_to_string(thread.path().join("children")).context("read the children of haft")?;
        for pid in children.split_whitespace() {
            let pid = pid.parse().ok().and_then(Pid::from_raw).context("parse a process id")?;
            kill_process(pid, Signal::KILL).context("kill a guardian")?;
        }
    }
    Ok(())
}

/// Returns the signal, or without the defense a signal that haft does not handle.
fn signal_for_mode(world: &World, signal: Signal) -> Signal {
    if world.mode.undefended { Signal::KILL } else { signal }
}

async fn ends_in_order(world: &mut World, signal: Signal) -> Result<()> {
    let mut haft = at_work(world, &[("good", "good", json!({}))]).await?;
    haft.signal(signal_for_mode(world, signal))?;
    world.mark("asked to end")?;
    let ran = haft.wait_for_end(world).await?;
    ensure!(ran.code == Some(INTERRUPTED), "haft ended with {ran:?}");
    ensure!(world.marks().iter().any(|mark| mark == "shutdown"), "the extension was not asked to shut down");
    ensure!(ran.events_of_type("tool_result").len() == 1, "the call has no result: {}", ran.stdout);
    ensure!(ran.stdout.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{}", ran.stdout);
    Ok(())
}

/// Checks that a second request ends haft without waiting for its extension. A haft that waits always takes longer than
/// the extension's deadlines, so one quick end is enough.
async fn ends_at_once(world: &mut World) -> Result<()> {
    let attempts = if world.mode.undefended { 1 } else { ATTEMPTS };
    let mut took = Duration::MAX;
    for attempt in 1..=attempts {
        took = took.min(end_twice_asked(world, attempt).await?);
        if took < LADDER {
            return Ok(());
        }
    }
    anyhow::bail!("the fastest of {attempts} shutdowns took {took:?}")
}

/// Returns the time from the shutdown request to the extension until the end of the program.
async fn end_twice_asked(world: &World, attempt: usize) -> Result<Duration> {
    let before = tagged_processes(&world.tag).len();
    let mut haft = at_work(world, &[("ignore-sigterm", "ignores", json!({}))]).await?;
    haft.signal(Signal::INT)?;
    world.mark("asked to end")?;
    let asked = || world.marks().iter().filter(|mark| *mark == "linger").count() == attempt;
    world.wait_until("the extension is asked to shut down", asked).await?;
    let start = Instant::now();
    if !world.mode.undefended {
        haft.signal(Signal::INT)?;
    }
    let ran = haft.wait_for_end(world).await?;
    let took = start.elapsed();
    ensure!(ran.code == Some(INTERRUPTED), "haft ended with {ran:?}");
    ensure!(ran.stdout.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{}", ran.stdout);
    world.wait_until("the extension has ended", || tagged_processes(&world.tag).len() <= before).await?;
    Ok(took)
}

/// The wall clock and the clock that counts sleep jump during a call. Without the defense, so does the clock that
/// measures deadlines.
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
    ensure!(ran.code == Some(0), "haft ended with {ran:?}");
    ensure!(
        ran.events_of_type("extension_error").is_empty(),
        "haft reported {:?}",
        ran.events_of_type("extension_error")
    );
    let results = ran.events_of_type("tool_result");
    ensure!(results.len() == 1 && results.iter().all(|result| result["is_error"] != true), "{results:?}");
    Ok(())
}

/// Compiles the library that changes the clocks of `haft`.
fn clock_shim(world: &World) -> Result<PathBuf> {
    let Ok(compiler) = find_program("cc") else { return skip("a C compiler") };
    let (source, shim) = (world.dir.join("clock.c"), world.dir.join("clock.so"));
    fs::write(&source, CLOCK).context("write the shim")?;
    #[expect(clippy::disallowed_methods, reason = "starts a compiler for a part of the test")]
    let made =
        Command::new(compiler).args(["-shared", "-fPIC", "-o"]).arg(&shim).arg(&source).arg("-ldl").output();
    let made = made.context("start the compiler")?;
    ensure!(made.status.success(), "the shim cannot be compiled: {}", String::from_utf8_lossy(&made.stderr));
    Ok(shim)
}

/// From its second second on, the wall clock jumps a day back or ten years ahead, and the boot clock an hour ahead.
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
