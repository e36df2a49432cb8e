//! Where and how something was measured, for whoever reads the figures later.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The machine and what ran on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MachineDescription {
    /// The processor, as it calls itself.
    pub(crate) cpu: String,
    /// The number of processors.
    pub(crate) cpus: usize,
    pub(crate) kernel: String,
    /// The compiler that built this.
    pub(crate) rustc: String,
    /// haft's version.
    pub(crate) haft: String,
}

/// Where a row ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunConditions {
    /// On how many processors, children included.
    pub(crate) cpus: usize,
    /// True if before all programs that are not (`SCHED_FIFO`).
    pub(crate) real_time: bool,
}

/// The load of the machine: programs that ran or wanted to, over the last minute.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct SystemLoad {
    pub(crate) before: f64,
    pub(crate) after: f64,
}

impl MachineDescription {
    /// Reads the facts; unknown ones are "unknown".
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
    /// The load average of the last minute; 0 where it cannot be read.
    pub(crate) fn load_average() -> f64 {
        let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
    }
}

/// Now, in UTC.
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
            Self { cpus, real_time: true } => write!(f, "on {cpus} CPUs, before all other programs"),
            Self { cpus, real_time: false } => write!(f, "on {cpus} CPUs, beside all other programs"),
        }
    }
}

impl fmt::Display for SystemLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "load {:.1} to {:.1}", self.before, self.after)
    }
}
