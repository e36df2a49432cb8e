//! The benchmark rows: one file for each row, and one line in this list.

mod chain;
mod counters;
mod fanout;
mod hooks;
mod intercept;
mod lazy;
mod memory;
mod mirror;
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

/// Measures a row and fills its report.
type MeasureFn = fn(&mut Report) -> Result<()>;

/// A benchmark row.
#[derive(Debug)]
pub(crate) struct BenchmarkRow {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    place: CpuPlacement,
    measure: MeasureFn,
    /// Measures only the lines that are steady enough for a check. `None` if the row has no such lines.
    gate: Option<MeasureFn>,
}

/// The processors on which a row and all its children run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CpuPlacement {
    /// One processor. This is steady and shows the cost of code and system calls.
    OneCpu,
    /// All processors, for rows about parallel work. This is steady on an idle machine only.
    AllCpus,
    /// All processors, with real-time priority if the system allows it.
    AllCpusFirst,
}

/// Every row, in the order of execution.
#[rustfmt::skip]
pub(crate) const ROWS: &[BenchmarkRow] = &[
    row("intercept", CpuPlacement::OneCpu, "asking an extension, compared with a bare pipe", intercept::measure).with_gate(intercept::measure_gated),
    row("intercept-all", CpuPlacement::AllCpusFirst, "asking an extension on all CPUs", intercept::measure_free),
    row("chain", CpuPlacement::OneCpu, "several extensions and one call, compared with bare pipes", chain::measure).with_gate(chain::measure_gated),
    row("chain-all", CpuPlacement::AllCpusFirst, "several extensions and one call on all CPUs", chain::measure_free),
    row("hooks", CpuPlacement::OneCpu, "calls and events for process hooks, compared with bare pipes", hooks::measure),
    row("counters", CpuPlacement::OneCpu, "system calls of asking an extension, compared with a bare pipe", counters::measure),
    row("fanout", CpuPlacement::OneCpu, "2,000 events to 100 extensions, compared with plain writes", fanout::measure).with_gate(fanout::measure_gated),
    row("beside", CpuPlacement::AllCpusFirst, "asking an extension while 100 others receive events", fanout::beside::measure),
    row("mirror", CpuPlacement::OneCpu, "10,000 entries to 64 copies of a session, compared with one copy", mirror::measure_copies),
    row("results", CpuPlacement::OneCpu, "long results of a tool, compared with reading the bytes", results::measure).with_gate(results::measure_allocations),
    row("start", CpuPlacement::OneCpu, "starting 1 to 1,000 extensions, compared with bare processes", start::measure),
    row("lazy", CpuPlacement::OneCpu, "starting lazy extensions, compared with reading their manifests", lazy::measure),
    row("spawn", CpuPlacement::OneCpu, "starting an extension from a large program and a small one", spawn::measure).with_gate(spawn::measure),
    row("sandbox", CpuPlacement::OneCpu, "starting a program with and without a sandbox", sandbox::measure),
    row("process", CpuPlacement::OneCpu, "haft's start and memory, compared with an empty program", process::measure),
    row("memory", CpuPlacement::OneCpu, "memory of the host for each live extension", memory::measure),
    row("stream", CpuPlacement::OneCpu, "a panel drawn 20,000 times a second: wake-ups of the host", stream::measure).with_gate(stream::measure_gated),
    row("sessions", CpuPlacement::OneCpu, "reading the entries of a session, and resuming a long session", sessions::measure).with_gate(sessions::measure),
    row("oneshot", CpuPlacement::OneCpu, "haft -p with an instant model, compared with a minimal client", oneshot::measure),
    row("screen", CpuPlacement::AllCpus, "the interactive mode: key-to-screen time with 100,000 messages", screen::measure),
];

/// The comparison of haft with other agents. It is separate from the rows, because it depends on the installed agents.
pub(crate) const PEERS: &BenchmarkRow =
    &row("peers", CpuPlacement::AllCpus, "haft compared with the agents on the PATH", peers::measure);

const fn row(
    name: &'static str,
    place: CpuPlacement,
    about: &'static str,
    measure: MeasureFn,
) -> BenchmarkRow {
    BenchmarkRow { name, about, place, measure, gate: None }
}

/// Returns the rows' names and descriptions, one line each.
pub(crate) fn list() -> String {
    ROWS.iter().map(|row| format!("  {:<14} {}\n", row.name, row.about)).collect()
}

/// Runs the rows one after the other. Each report is printed and saved when it is ready, and the page is rewritten.
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

    /// True if the row has gated lines.
    pub(crate) fn is_gated(&self) -> bool {
        self.gate.is_some()
    }

    /// Measures the gated lines of a row; returns `None` if it has none.
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
