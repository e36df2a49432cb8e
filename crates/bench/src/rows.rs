//! The rows: what is measured. One file each, and one line here.

mod intercept;
mod oneshot;
mod peers;
mod process;
mod start;

use std::path::Path;

use anyhow::{Context, Result};

use crate::method::Comparison;
use crate::platform::Machine;
use crate::report::{Found, Goal, Line, Report, Unit};

/// Something to measure.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    place: Place,
    measure: fn(&mut Report) -> Result<()>,
}

/// Where a row runs, with all its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On one processor, which shows the cost of code and system calls and is steady.
    OneCpu,
    /// On all there are, for what is about work beside other work; steady on an idle machine only.
    AllCpus,
}

/// Every row, in the order they are run.
pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "intercept",
        about: "asking an extension, against a bare pipe",
        place: Place::OneCpu,
        measure: intercept::measure,
    },
    Row {
        name: "start",
        about: "starting 50 extensions, against starting the processes",
        place: Place::OneCpu,
        measure: start::measure,
    },
    Row {
        name: "process",
        about: "haft's start and memory, against an empty program",
        place: Place::OneCpu,
        measure: process::measure,
    },
    Row {
        name: "oneshot",
        about: "haft -p with a model that answers at once, against the least client",
        place: Place::OneCpu,
        measure: oneshot::measure,
    },
];

/// haft beside other agents: no row, because what it finds depends on what is installed.
pub(crate) const PEERS: Row = Row {
    name: "peers",
    about: "haft beside the agents on the PATH: a prompt, 50 shell calls, a hook",
    place: Place::AllCpus,
    measure: peers::measure,
};

/// Runs rows one after the other; each is printed and saved as soon as it is done.
pub(crate) fn run(rows: &[Row]) -> Result<()> {
    let machine = Machine::new()?;
    // Beside the build, wherever that is.
    let binary = std::env::current_exe().context("find this binary")?;
    let target = binary.ancestors().nth(2).unwrap_or(Path::new("target"));
    for row in rows {
        match row.place {
            Place::OneCpu => println!("on CPU {}", machine.pin()?),
            Place::AllCpus => println!("on {} CPUs", machine.unpin()?),
        }
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
        self.lines.push(Line { what: what.to_owned(), unit, found: Found::Ratio(found), goal: None, sound });
        sound
    }

    /// Adds a comparison. `sound` is what the control of the same base said.
    fn line(&mut self, what: &str, unit: Unit, found: Comparison, goal: Option<Goal>, sound: bool) {
        self.lines.push(Line { what: what.to_owned(), unit, found: Found::Ratio(found), goal, sound });
    }

    /// Adds a figure that needs no base.
    fn figure(&mut self, what: &str, unit: Unit, value: f64, goal: Option<Goal>) {
        self.lines.push(Line { what: what.to_owned(), unit, found: Found::Value(value), goal, sound: true });
    }

    fn skip(&mut self, what: impl Into<String>) {
        self.skipped.push(what.into());
    }
}
