//! The machine and the conditions of a measurement, for later readers of the figures.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The machine and the software on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MachineDescription {
    /// The processor's model name.
    pub(crate) cpu: String,
    /// The number of processors.
    pub(crate) cpus: usize,
    pub(crate) kernel: String,
    /// The compiler of this build.
    pub(crate) rustc: String,
    /// The version of haft.
    pub(crate) haft: String,
}

/// The conditions that a row ran under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunConditions {
    /// The number of processors, also for children.
    pub(crate) cpus: usize,
    /// True if the row ran before all programs without real-time priority (`SCHED_FIFO`).
    pub(crate) real_time: bool,
}

/// The load of the machine: the average number of running or runnable programs over the last minute.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct SystemLoad {
    pub(crate) before: f64,
    pub(crate) after: f64,
}

impl MachineDescription {
    /// Reads the facts; a fact that cannot be read is "unknown".
    pub(crate) fn read() -> Self {
        let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let (processors, kernel) = (file("/proc/cpuinfo"), file("/proc/sys/kernel/osrelease"));
        let cpu = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Self {
            cpu: cpu.map_or("unknown", |(_, name)| name.trim()).to_owned(),
            cpus: processors.lines().filter(|line| line.starts_with("processor")).count(),
            kernel: format!("Linux {}", kernel.trim()),
            rustc: env!("HAFT_BENCH_RUSTC").to_owned(),
            haft: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl SystemLoad {
    /// Returns the load average of the last minute, or 0 if it cannot be read.
    pub(crate) fn load_average() -> f64 {
        let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
    }
}

/// Returns the current time in UTC.
pub(crate) fn utc_timestamp() -> String {
    format!("{:.0}", jiff::Timestamp::now())
}

impl fmt::Display for MachineDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, cpus, kernel, rustc, haft } = self;
        write!(f, "haft {haft}, {rustc}, {kernel}, {cpus} x {cpu}")
    }
}

impl fmt::Display for RunConditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { cpus: 1, .. } => f.write_str("on one CPU"),
            Self { cpus, real_time: true } => write!(f, "on {cpus} CPUs, with real-time priority"),
            Self { cpus, real_time: false } => write!(f, "on {cpus} CPUs, with normal priority"),
        }
    }
}

impl fmt::Display for SystemLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "load {:.1} to {:.1}", self.before, self.after)
    }
}
