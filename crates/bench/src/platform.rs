//! What only the operating system can do or say: one CPU for everybody, CPU time, memory of a process.

#[cfg(target_os = "linux")]
pub(crate) use linux::{cpu_time, pin, resident_bytes};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{cpu_time, pin, resident_bytes};

#[cfg(target_os = "linux")]
mod linux {
    use anyhow::{Context, Result};
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use rustix::time::{ClockId, clock_gettime};

    /// Keeps this process, and every child it starts from here on, on the last CPU it may use. Returns its number.
    pub(crate) fn pin() -> Result<usize> {
        let allowed = sched_getaffinity(None).context("read the CPU affinity")?;
        let cpu = (0..CpuSet::MAX_CPU).rfind(|&cpu| allowed.is_set(cpu)).context("no CPU to run on")?;
        let mut one = CpuSet::new();
        one.set(cpu);
        sched_setaffinity(None, &one).context("pin to one CPU")?;
        Ok(cpu)
    }

    /// Seconds of CPU that this process has used; children do not count.
    #[expect(clippy::cast_precision_loss, reason = "a benchmark takes less than 2^53 seconds")]
    pub(crate) fn cpu_time() -> f64 {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    }

    /// Memory of a process that is resident, in bytes.
    pub(crate) fn resident_bytes(process: u32) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"))
            .context("read the memory of a process")?;
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
        let kilobytes: f64 = kilobytes.context("no VmRSS")?.trim().parse().context("read VmRSS")?;
        Ok(kilobytes * 1024.0)
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use anyhow::{Result, bail};

    pub(crate) fn pin() -> Result<usize> {
        bail!("benchmarks need Linux: without one CPU for everybody their ratios say nothing")
    }

    pub(crate) fn cpu_time() -> f64 {
        0.0
    }

    pub(crate) fn resident_bytes(_process: u32) -> Result<f64> {
        bail!("the memory of a process is read on Linux only")
    }
}
