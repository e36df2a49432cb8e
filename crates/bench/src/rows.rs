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

use crate::facts::{MachineDescription, RunConditions, SystemLoad};
use crate::method::EffortLevel;
use crate::platform::Processors;
use crate::report::Report;
use crate::{page, report};

/// Fills a report.
type MeasureFn = fn(&mut Report) -> Result<()>;

/// Something to measure.
#[derive(Debug)]
pub(crate) struct BenchmarkRow {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    place: CpuPlacement,
    measure: MeasureFn,
    /// Only what a check can rely on. None where nothing is.
    gate: Option<MeasureFn>,
}

/// Where a row runs, with all its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CpuPlacement {
    /// On one processor, which shows the cost of code and system calls and is steady.
    OneCpu,
    /// On all there are, for what is about work beside other work; steady on an idle machine only.
    AllCpus,
    /// The same, before everything else that runs, if the system allows it.
    AllCpusFirst,
}

/// Every row, in the order they are run.
#[rustfmt::skip]
pub(crate) const ROWS: &[BenchmarkRow] = &[
    row("intercept", CpuPlacement::OneCpu, "asking an extension, against a bare pipe", intercept::measure).with_gate(intercept::measure_gated),
    row("intercept-all", CpuPlacement::AllCpusFirst, "the same on all CPUs", intercept::measure_free),
    row("chain", CpuPlacement::OneCpu, "several extensions and one call, against bare pipes", chain::measure).with_gate(chain::measure_gated),
    row("chain-all", CpuPlacement::AllCpusFirst, "the same on all CPUs", chain::measure_free),
    row("hooks", CpuPlacement::OneCpu, "asking and telling process hooks, against bare pipes", hooks::measure),
    row("counters", CpuPlacement::OneCpu, "system calls of asking an extension, against a bare pipe", counters::measure),
    row("fanout", CpuPlacement::OneCpu, "2,000 events to 100 extensions, against plain writes", fanout::measure).with_gate(fanout::measure_gated),
    row("beside", CpuPlacement::AllCpusFirst, "asking an extension while 100 others are told events", fanout::beside::measure),
    row("results", CpuPlacement::OneCpu, "long results of a tool, against reading as many bytes", results::measure).with_gate(results::measure_allocations),
    row("start", CpuPlacement::OneCpu, "starting 1 to 1,000 extensions, against starting the processes", start::measure),
    row("lazy", CpuPlacement::OneCpu, "starting extensions that wait for their first use, against reading their manifests", lazy::measure),
    row("spawn", CpuPlacement::OneCpu, "starting one from a large program, against a small one", spawn::measure).with_gate(spawn::measure),
    row("sandbox", CpuPlacement::OneCpu, "starting a program in a sandbox, against starting it without", sandbox::measure),
    row("process", CpuPlacement::OneCpu, "haft's start and memory, against an empty program", process::measure),
    row("memory", CpuPlacement::OneCpu, "memory of the host for each live extension", memory::measure),
    row("stream", CpuPlacement::OneCpu, "a panel that is drawn 20,000 times a second: wakes of the host", stream::measure).with_gate(stream::measure_gated),
    row("sessions", CpuPlacement::OneCpu, "finding the entries of a session, and going on with a long one", sessions::measure).with_gate(sessions::measure),
    row("oneshot", CpuPlacement::OneCpu, "haft -p with a model that answers at once, against the least client", oneshot::measure),
    row("screen", CpuPlacement::AllCpus, "the interactive mode: from a key to the screen beside 100,000 messages", screen::measure),
];

/// haft beside other agents. Not one of the rows, because what it finds depends on what is installed.
pub(crate) const PEERS: &BenchmarkRow =
    &row("peers", CpuPlacement::AllCpus, "haft beside the agents on the PATH", peers::measure);

const fn row(
    name: &'static str,
    place: CpuPlacement,
    about: &'static str,
    measure: MeasureFn,
) -> BenchmarkRow {
    BenchmarkRow { name, about, place, measure, gate: None }
}

/// The rows' names and what they are about, a line each.
pub(crate) fn list() -> String {
    ROWS.iter().map(|row| format!("  {:<14} {}\n", row.name, row.about)).collect()
}

/// Runs rows one after the other; each is printed and saved as soon as it is done, and the page is made anew.
pub(crate) fn run(rows: &[&BenchmarkRow], effort: EffortLevel) -> Result<()> {
    let (processors, machine) = (Processors::new()?, MachineDescription::read());
    let folder = report::reports_dir()?;
    let order: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
    println!("{machine}\n");
    for row in rows {
        let report = row.report(row.measure, &processors, &machine, effort)?;
        println!("{report}");
        report.save(&folder)?;
        page::write_page(&folder, &order)?;
    }
    println!("{}", folder.join(page::FILE).display());
    Ok(())
}

impl BenchmarkRow {
    const fn with_gate(mut self, gate: MeasureFn) -> Self {
        self.gate = Some(gate);
        self
    }

    /// True if some lines are steady on a busy machine.
    pub(crate) fn is_gated(&self) -> bool {
        self.gate.is_some()
    }

    /// Returns the gated lines of a row; None where there are none.
    pub(crate) fn measure_gated(
        &self,
        processors: &Processors,
        machine: &MachineDescription,
        effort: EffortLevel,
    ) -> Option<Result<Report>> {
        Some(self.report(self.gate?, processors, machine, effort))
    }

    fn report(
        &self,
        measure: MeasureFn,
        processors: &Processors,
        machine: &MachineDescription,
        effort: EffortLevel,
    ) -> Result<Report> {
        let before = SystemLoad::load_average();
        let setting = match self.place {
            CpuPlacement::OneCpu => RunConditions { cpus: processors.pin()?, real_time: false },
            CpuPlacement::AllCpus => RunConditions { cpus: processors.unpin()?, real_time: false },
            CpuPlacement::AllCpusFirst => {
                RunConditions { cpus: processors.unpin()?, real_time: processors.go_first() }
            }
        };
        let mut report = Report::new(self.name, self.about, effort, machine.clone(), setting);
        let outcome = measure(&mut report).with_context(|| format!("row {}", self.name));
        if setting.real_time {
            processors.go_with_others()?;
        }
        outcome?;
        report.load = SystemLoad { before, after: SystemLoad::load_average() };
        Ok(report)
    }
}
