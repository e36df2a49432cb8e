//! The control: a canary in a process without faults.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use haft_host::Host;

use crate::canary::{PACE, call, call_timed};
use crate::world::{RunMode, WorldSetup};

/// Runs a canary alone until the process is killed, and records its round trips.
pub(crate) fn run(file: &Path) -> ExitCode {
    match try_run(file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn try_run(file: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut out =
        OpenOptions::new().create(true).append(true).open(file).context("open the control's file")?;
    runtime.block_on(async {
        let dir = file.with_extension("home");
        let setup = WorldSetup::new(RunMode::default(), "control", dir)?;
        let host = Host::builder(setup.config).specs(setup.specs).start().await;
        ensure!(call(&host).await? == 0, "the control's canary received an event");
        loop {
            let trip = call_timed(&host).await?;
            writeln!(out, "{} {}", trip.at, trip.micros).context("write a round trip")?;
            // sleep: the pace of the calls
            tokio::time::sleep(PACE).await;
        }
    })
}
