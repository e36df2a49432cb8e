//! Processes with a host that are measured from outside: their memory, system calls and starts.

use std::io::{self, BufRead, Write};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_host::Host;

use crate::children::ChildProgram;
use crate::extension_query::{
    HostCandidate, PipeBase, bench_host_config, extension_spec, extension_specs, query_line, runtime,
    write_call,
};
use crate::tool_calls::ToolCallCandidate;
use crate::{peers, platform};

/// Runs a host with `count` extensions: reports when they are ready, and lives until its input ends.
pub(super) fn host_of(count: usize) -> Result<()> {
    platform::allow_many_files()?;
    let program = ChildProgram::in_role(peers::LEAST)?;
    let runtime = runtime()?;
    let host =
        runtime.block_on(Host::builder(bench_host_config()).specs(extension_specs(count, &program)).start());
    let up = host.hook_source().hooks().before_tool_execute.len();
    ensure!(up == count, "{up} of {count} extensions started");
    peers::run_idle()?;
    runtime.block_on(host.shutdown());
    Ok(())
}

/// Holds this many megabytes. For every input line it starts one extension and prints the duration in seconds, by the
/// wall clock and by its own CPU time.
pub(super) fn run_spawner(megabytes: usize) -> Result<()> {
    // Pages of zeros would all be mapped to one physical page.
    let ballast = vec![1_u8; megabytes << 20];
    let specs = [extension_spec("peer", &ChildProgram::in_role(peers::LEAST)?)];
    let runtime = runtime()?;
    for line in io::stdin().lock().lines() {
        line?;
        let (start, cpu) = (Instant::now(), platform::cpu_time());
        let host = runtime.block_on(Host::builder(bench_host_config()).specs(specs.to_vec()).start());
        let (wall, cpu) = (start.elapsed().as_secs_f64(), platform::cpu_time() - cpu);
        writeln!(io::stdout().lock(), "{wall} {cpu}")?;
        runtime.block_on(host.shutdown());
    }
    ensure!(ballast.iter().all(|&byte| byte == 1), "the ballast is damaged");
    Ok(())
}

/// Asks the SDK's guard this many times through a host.
pub(super) fn query_guard(trips: usize) -> Result<()> {
    let mut asked = HostCandidate::start(&ChildProgram::in_role(peers::GUARD)?, write_call(200)?, trips)?;
    asked.block()?;
    asked.end();
    Ok(())
}

/// Asks the minimal extension this many times through a bare pipe.
pub(super) fn query_least(trips: usize) -> Result<()> {
    let line = query_line(&write_call(200)?)?;
    PipeBase::start(&ChildProgram::in_role(peers::LEAST)?, &line, trips)?.block().context("ask")?;
    Ok(())
}

/// Forwards a picture of one mebibyte this many times through a host.
pub(super) fn forward_images(times: usize) -> Result<()> {
    let mut called = ToolCallCandidate::start(&ChildProgram::in_role(&peers::role_with_number(
        peers::ResultPayload::Image.role(),
        1024,
    ))?)?;
    for _ in 0..times {
        called.block(true)?;
    }
    called.end();
    Ok(())
}
