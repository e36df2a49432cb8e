//! Processes that have a host and are looked at from outside: their memory, their system calls, their starts.

use std::io::{self, BufRead, Write};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_host::Host;

use crate::asking::{Asked, Raw, call, line, runtime, spec, specs};
use crate::children::Program;
use crate::{peers, platform};

/// With so many extensions: says when they are up, and lives until its input ends.
pub(super) fn host_of(count: usize) -> Result<()> {
    platform::allow_many_files()?;
    let program = Program::own(peers::LEAST)?;
    let runtime = runtime()?;
    let host = runtime.block_on(Host::builder(peers::config()).specs(specs(count, &program)).start());
    let up = host.hook_source().hooks().before_tool_execute.len();
    ensure!(up == count, "{up} of {count} extensions came up");
    peers::idle()?;
    runtime.block_on(host.shutdown());
    Ok(())
}

/// Holds so many megabytes; for every line it reads it starts one extension and says how many seconds that took.
pub(super) fn spawner(megabytes: usize) -> Result<()> {
    // Not zeros: those would be one page that is mapped often.
    let ballast = vec![1_u8; megabytes << 20];
    let specs = [spec("peer", &Program::own(peers::LEAST)?)];
    let runtime = runtime()?;
    for line in io::stdin().lock().lines() {
        line?;
        let (time, host) = runtime.block_on(async {
            let start = Instant::now();
            let host = Host::builder(peers::config()).specs(specs.to_vec()).start().await;
            (start.elapsed(), host)
        });
        writeln!(io::stdout().lock(), "{}", time.as_secs_f64())?;
        runtime.block_on(host.shutdown());
    }
    ensure!(ballast.iter().all(|&byte| byte == 1), "the ballast is damaged");
    Ok(())
}

/// A host asks the SDK's guard so often.
pub(super) fn asks(trips: usize) -> Result<()> {
    let mut asked = Asked::start(&Program::own(peers::GUARD)?, call(200)?, trips)?;
    asked.block()?;
    asked.end();
    Ok(())
}

/// A bare pipe asks the least extension so often.
pub(super) fn raw_asks(trips: usize) -> Result<()> {
    let line = line(&call(200)?)?;
    Raw::start(&Program::own(peers::LEAST)?, &line, trips)?.block().context("ask")?;
    Ok(())
}
