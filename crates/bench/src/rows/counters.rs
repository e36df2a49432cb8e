//! Counters that do not depend on the machine: the system calls of one round trip.
//!
//! `strace` counts the calls of the asking thread, in a run with few round trips and a run with many.

use std::path::Path;

use anyhow::{Context, Result};

use crate::children::ChildProgram;
use crate::peers;
use crate::report::{Report, Unit};

/// The numbers of round trips of the two runs.
const TRIPS: (u32, u32) = (100, 1100);

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let Ok(strace) = haft_launch::find_program("strace") else {
        report.skip("strace is not installed");
        return Ok(());
    };
    for (what, role) in [("calls a trip, bare pipe", peers::RAW_ASKS), ("calls a trip, host", peers::ASKS)] {
        let (few, many) =
            (count_system_calls(&strace, role, TRIPS.0)?, count_system_calls(&strace, role, TRIPS.1)?);
        report.add_figure(what, Unit::Count, (many - few) / f64::from(TRIPS.1 - TRIPS.0), None);
    }
    Ok(())
}

/// Counts the system calls of the main thread of a process in this role.
fn count_system_calls(strace: &Path, role: &str, trips: u32) -> Result<f64> {
    let counted = tempfile::NamedTempFile::new().context("create a file for strace")?;
    let own = ChildProgram::in_role(&peers::role_with_number(role, trips))?;
    let mut args: Vec<String> = ["-c", "-o"].map(str::to_owned).into();
    args.push(counted.path().to_string_lossy().into_owned());
    args.push(own.path.to_string_lossy().into_owned());
    args.extend(own.args);
    ChildProgram { path: strace.to_owned(), args }.run()?;
    total_calls(&std::fs::read_to_string(counted.path())?).context("parse the table of strace")
}

/// Returns the total number of calls, from the last line of the table.
fn total_calls(table: &str) -> Option<f64> {
    let line = table.lines().rfind(|line| line.trim_end().ends_with("total"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_total() {
        let table = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 58.97    0.000023           0       100           read
------ ----------- ----------- --------- --------- ----------------
100.00    0.000039           0       201         3 total
";
        assert_eq!(total_calls(table), Some(201.0));
        assert_eq!(total_calls(""), None);
    }
}
