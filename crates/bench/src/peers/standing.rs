//! Processes that have a host and are looked at from outside: their memory, their system calls, their starts.

use std::io::{self, BufRead, Write};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_host::Host;

use crate::asking::{
    HostCandidate, PipeBase, bench_host_config, extension_spec, extension_specs, query_line, runtime,
    write_call,
};
use crate::calling::ToolCallCandidate;
use crate::children::ChildProgram;
use crate::{peers, platform};

/// With so many extensions: says when they are up, and lives until its input ends.
pub(super) fn host_of(count: usize) -> Result<()> {
    platform::allow_many_files()?;
    let program = ChildProgram::in_role(peers::LEAST)?;
    let runtime = runtime()?;
    let host =
        runtime.block_on(Host::builder(bench_host_config()).specs(extension_specs(count, &program)).start());
    let up = host.hook_source().hooks().before_tool_execute.len();
    ensure!(up == count, "{up} of {count} extensions came up");
    peers::run_idle()?;
    runtime.block_on(host.shutdown());
    Ok(())
}

/// Holds so many megabytes; for every line it reads it starts one extension and says how many seconds that took, by the
/// wall and of its own CPU time.
pub(super) fn run_spawner(megabytes: usize) -> Result<()> {
    // Not zeros: those would be one page that is mapped often.
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

/// A host asks the SDK's guard so often.
pub(super) fn query_guard(trips: usize) -> Result<()> {
    let mut asked = HostCandidate::start(&ChildProgram::in_role(peers::GUARD)?, write_call(200)?, trips)?;
    asked.block()?;
    asked.end();
    Ok(())
}

/// A bare pipe asks the least extension so often.
pub(super) fn query_least(trips: usize) -> Result<()> {
    let line = query_line(&write_call(200)?)?;
    PipeBase::start(&ChildProgram::in_role(peers::LEAST)?, &line, trips)?.block().context("ask")?;
    Ok(())
}

/// A host carries on a picture of a mebibyte so often.
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
