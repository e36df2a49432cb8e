//! The rows: what is measured. One file each, and one line here.

mod chain;
mod counters;
mod fanout;
mod hooks;
mod intercept;
mod lazy;
mod memory;
mod oneshot;
mod peers;
mod process;
mod results;
mod sandbox;
mod screen;
mod sessions;
mod spawn;
mod start;
mod stream;

use anyhow::{Context, Result};

use crate::facts::{Load, Machine, Setting};
use crate::method::Effort;
use crate::platform::Processors;
use crate::report::Report;
use crate::{page, report};

/// Fills a report.
type Measure = fn(&mut Report) -> Result<()>;

/// Something to measure.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    place: Place,
    measure: Measure,
    /// Only what a check can rely on. None where nothing is.
    gate: Option<Measure>,
}

/// Where a row runs, with all its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On one processor, which shows the cost of code and system calls and is steady.
    OneCpu,
    /// On all there are, for what is about work beside other work; steady on an idle machine only.
    AllCpus,
    /// The same, before everything else that runs, if the system allows it.
    AllCpusFirst,
}

/// Every row, in the order they are run.
#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    row("intercept", Place::OneCpu, "asking an extension, against a bare pipe", intercept::measure).gate(intercept::gate),
    row("intercept-all", Place::AllCpusFirst, "the same on all CPUs", intercept::measure_free),
    row("chain", Place::OneCpu, "several extensions and one call, against bare pipes", chain::measure).gate(chain::gate),
    row("chain-all", Place::AllCpusFirst, "the same on all CPUs", chain::measure_free),
    row("hooks", Place::OneCpu, "asking and telling process hooks, against bare pipes", hooks::measure),
    row("counters", Place::OneCpu, "system calls of asking an extension, against a bare pipe", counters::measure),
    row("fanout", Place::OneCpu, "2,000 events to 100 extensions, against plain writes", fanout::measure).gate(fanout::gate),
    row("beside", Place::AllCpusFirst, "asking an extension while 100 others are told events", fanout::beside::measure),
    row("results", Place::OneCpu, "long results of a tool, against reading as many bytes", results::measure).gate(results::allocated),
    row("start", Place::OneCpu, "starting 1 to 1,000 extensions, against starting the processes", start::measure),
    row("lazy", Place::OneCpu, "starting extensions that wait for their first use, against reading their manifests", lazy::measure),
    row("spawn", Place::OneCpu, "starting one from a large program, against a small one", spawn::measure).gate(spawn::measure),
    row("sandbox", Place::OneCpu, "starting a program in a sandbox, against starting it without", sandbox::measure),
    row("process", Place::OneCpu, "haft's start and memory, against an empty program", process::measure),
    row("memory", Place::OneCpu, "memory of the host for each live extension", memory::measure),
    row("stream", Place::OneCpu, "a panel that is drawn 20,000 times a second: wakes of the host", stream::measure).gate(stream::gate),
    row("sessions", Place::OneCpu, "finding the entries of a session, and going on with a long one", sessions::measure).gate(sessions::measure),
    row("oneshot", Place::OneCpu, "haft -p with a model that answers at once, against the least client", oneshot::measure),
    row("screen", Place::AllCpus, "the interactive mode: from a key to the screen beside 100,000 messages", screen::measure),
];

/// haft beside other agents. Not one of the rows, because what it finds depends on what is installed.
pub(crate) const PEERS: &Row =
    &row("peers", Place::AllCpus, "haft beside the agents on the PATH", peers::measure);

const fn row(name: &'static str, place: Place, about: &'static str, measure: Measure) -> Row {
    Row { name, about, place, measure, gate: None }
}

/// The rows' names and what they are about, a line each.
pub(crate) fn list() -> String {
    ROWS.iter().map(|row| format!("  {:<14} {}\n", row.name, row.about)).collect()
}

/// Runs rows one after the other; each is printed and saved as soon as it is done, and the page is made anew.
pub(crate) fn run(rows: &[&Row], effort: Effort) -> Result<()> {
    let (processors, machine) = (Processors::new()?, Machine::read());
    let folder = report::folder()?;
    let order: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
    println!("{machine}\n");
    for row in rows {
        let report = row.report(row.measure, &processors, &machine, effort)?;
        println!("{report}");
        report.save(&folder)?;
        page::renew(&folder, &order)?;
    }
    println!("{}", folder.join(page::FILE).display());
    Ok(())
}

impl Row {
    const fn gate(mut self, gate: Measure) -> Self {
        self.gate = Some(gate);
        self
    }

    /// True if some lines are steady on a busy machine.
    pub(crate) fn is_gated(&self) -> bool {
        self.gate.is_some()
    }

    /// Returns the gated lines of a row; None where there are none.
    pub(crate) fn gates(
        &self,
        processors: &Processors,
        machine: &Machine,
        effort: Effort,
    ) -> Option<Result<Report>> {
        Some(self.report(self.gate?, processors, machine, effort))
    }

    fn report(
        &self,
        measure: Measure,
        processors: &Processors,
        machine: &Machine,
        effort: Effort,
    ) -> Result<Report> {
        let before = Load::now();
        let setting = match self.place {
            Place::OneCpu => Setting { cpus: processors.pin()?, real_time: false },
            Place::AllCpus => Setting { cpus: processors.unpin()?, real_time: false },
            Place::AllCpusFirst => Setting { cpus: processors.unpin()?, real_time: processors.go_first() },
        };
        let mut report = Report::new(self.name, self.about, effort, machine.clone(), setting);
        let outcome = measure(&mut report).with_context(|| format!("row {}", self.name));
        if setting.real_time {
            processors.go_with_others()?;
        }
        outcome?;
        report.load = Load { before, after: Load::now() };
        Ok(report)
    }
}
