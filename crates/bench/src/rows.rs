//! The rows: what is measured. One file each, and one line here.

mod intercept;
mod process;
mod start;

use std::path::Path;

use anyhow::{Context, Result};

use crate::method::Comparison;
use crate::platform;
use crate::report::{Goal, Line, Report, Unit};

/// Something to measure.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    measure: fn(&mut Report) -> Result<()>,
}

/// Every row, in the order they are run.
pub(crate) const ROWS: &[Row] = &[
    Row { name: "intercept", about: "asking an extension, against a bare pipe", measure: intercept::measure },
    Row {
        name: "start",
        about: "starting 50 extensions, against starting the processes",
        measure: start::measure,
    },
    Row {
        name: "process",
        about: "haft's start and memory, against an empty program",
        measure: process::measure,
    },
];

/// Runs rows one after the other; each is printed and saved as soon as it is done.
pub(crate) fn run(rows: &[Row]) -> Result<()> {
    let cpu = platform::pin()?;
    println!("everything on CPU {cpu}\n");
    // Beside the build, wherever that is.
    let binary = std::env::current_exe().context("find this binary")?;
    let target = binary.ancestors().nth(2).unwrap_or(Path::new("target"));
    for row in rows {
        let mut report = Report { row: row.name, lines: Vec::new(), skipped: Vec::new() };
        (row.measure)(&mut report).with_context(|| format!("row {}", row.name))?;
        println!("{report}");
        report.save(&target.join("bench"))?;
    }
    Ok(())
}

impl Report {
    /// Adds a comparison of the base with itself; says whether the machine can be measured on.
    fn control(&mut self, what: &str, unit: Unit, found: Comparison) -> bool {
        let sound = found.is_sound_control();
        self.lines.push(Line { what: what.to_owned(), unit, found, goal: None, sound });
        sound
    }

    /// Adds a comparison. `sound` is what the control of the same base said.
    fn line(&mut self, what: &str, unit: Unit, found: Comparison, goal: Option<Goal>, sound: bool) {
        self.lines.push(Line { what: what.to_owned(), unit, found, goal, sound });
    }

    fn skip(&mut self, what: impl Into<String>) {
        self.skipped.push(what.into());
    }
}
