//! The gated lines: the few that are steady on a busy machine. They are printed, or compared with those of another
//! build of this program.

mod compare_builds;

use anyhow::{Context, Result};

use crate::facts::MachineDescription;
use crate::method::EffortLevel;
use crate::options::GateMode;
use crate::platform::Processors;
use crate::rows::{BenchmarkRow, ROWS};

/// Measures the gated lines. Returns true if no line is slower than allowed.
pub(crate) fn run(mode: &GateMode, effort: EffortLevel) -> Result<bool> {
    if !cfg!(target_os = "linux") {
        println!("SKIP gate: ratios are measured on Linux only");
        return Ok(true);
    }
    match mode {
        GateMode::Report => report(effort).map(|()| true),
        GateMode::Json(row) => print_json(row, effort).map(|()| true),
        GateMode::Against(program) => compare_builds::run(program, effort),
    }
}

/// Prints the tables with goals and gates, but without a verdict, because the figures depend on the processor.
fn report(effort: EffortLevel) -> Result<()> {
    let (processors, machine) = (Processors::new()?, MachineDescription::read());
    println!("{machine}\nprofile {}; figures only, not judged\n", env!("HAFT_BENCH_PROFILE"));
    for report in ROWS.iter().filter_map(|row| row.measure_gated(&processors, &machine, effort)) {
        println!("{}", report?);
    }
    Ok(())
}

/// Prints one row as JSON.
fn print_json(row: &BenchmarkRow, effort: EffortLevel) -> Result<()> {
    let report = row.measure_gated(&Processors::new()?, &MachineDescription::read(), effort);
    let report = report.with_context(|| format!("row {} has no gated lines", row.name))??;
    println!("{}", report.to_json()?);
    Ok(())
}
