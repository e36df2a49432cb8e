//! The gated lines: the few that are steady on a busy machine. They are printed, or compared with those of another
//! build of this program.

mod against;

use anyhow::{Context, Result};

use crate::facts::Machine;
use crate::method::Effort;
use crate::options::Mode;
use crate::platform::Processors;
use crate::rows::{ROWS, Row};

/// Measures the gated lines. True if no line speaks against the change.
pub(crate) fn run(mode: &Mode, effort: Effort) -> Result<bool> {
    if !cfg!(target_os = "linux") {
        println!("SKIP gate: ratios are measured on Linux only");
        return Ok(true);
    }
    match mode {
        Mode::Report => report(effort).map(|()| true),
        Mode::Json(row) => json(row, effort).map(|()| true),
        Mode::Against(program) => against::run(program, effort),
    }
}

/// Prints the tables. Goals and gates stand beside the figures; nothing is judged, because what they come to depends on
/// the processor.
fn report(effort: Effort) -> Result<()> {
    let (processors, machine) = (Processors::new()?, Machine::read());
    println!("{machine}\nprofile {}; printed, not judged\n", env!("HAFT_BENCH_PROFILE"));
    for report in ROWS.iter().filter_map(|row| row.gates(&processors, &machine, effort)) {
        println!("{}", report?);
    }
    Ok(())
}

/// Prints one row as JSON.
fn json(row: &Row, effort: Effort) -> Result<()> {
    let report = row.gates(&Processors::new()?, &Machine::read(), effort);
    let report = report.with_context(|| format!("row {} has no gated lines", row.name))??;
    println!("{}", report.json()?);
    Ok(())
}
