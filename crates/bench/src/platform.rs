//! Facts of the operating system: pinning to one CPU, CPU time, memory of a process.

#[cfg(target_os = "linux")]
pub(crate) use linux::{
    Processors, allow_many_files, children_usage, cpu_time, kill_group, now, own_group, private_bytes,
    resident_bytes, wake_up_count,
};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{
    Processors, allow_many_files, children_usage, cpu_time, kill_group, now, own_group, private_bytes,
    resident_bytes, wake_up_count,
};

#[cfg(target_os = "linux")]
mod linux {
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use anyhow::{Context, Result};
    use haft_launch::find_program;
    use nix::sys::resource::{UsageWho, getrusage};
    use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, setrlimit};
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use rustix::time::{ClockId, clock_gettime};

    use crate::children::ChildProgram;

    /// The processors that this program may use.
    pub(crate) struct Processors {
        all: CpuSet,
        last: usize,
    }

    impl Processors {
        pub(crate) fn new() -> Result<Self> {
            let all = sched_getaffinity(None).context("read the CPU affinity")?;
            let last = (0..CpuSet::MAX_CPU).rfind(|&cpu| all.is_set(cpu)).context("no CPU is available")?;
            Ok(Self { all, last })
        }

        /// Pins this thread, and all children started later, to the last processor. Returns the number of processors in
        /// use.
        pub(crate) fn pin(&self) -> Result<usize> {
            let mut one = CpuSet::new();
            one.set(self.last);
            sched_setaffinity(None, &one).context("pin to one CPU")?;
            Ok(1)
        }

        /// Undoes [`Self::pin`]. Returns the number of processors in use.
        pub(crate) fn unpin(&self) -> Result<usize> {
            sched_setaffinity(None, &self.all).context("undo the pin to one CPU")?;
            Ok(self.all.count().try_into()?)
        }

        /// Gives this thread, and all children started later, real-time priority. Returns true if the system allowed
        /// it, which needs a privilege and `chrt`.
        pub(crate) fn go_first(&self) -> bool {
            reschedule(&["-f", "-p", "1"]).is_ok()
        }

        /// Undoes [`Self::go_first`].
        pub(crate) fn go_with_others(&self) -> Result<()> {
            reschedule(&["-o", "-p", "0"])
        }
    }

    /// Runs the program `chrt`, because the system call needs unsafe code.
    fn reschedule(how: &[&str]) -> Result<()> {
        let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
        ChildProgram {
            path: find_program("chrt")?,
            args: how.iter().copied().chain([&*thread]).map(str::to_owned).collect(),
        }
        .run()
    }

    /// Returns the seconds of CPU that this process has used, without its children.
    #[expect(clippy::cast_precision_loss, reason = "a benchmark takes less than 2^53 seconds")]
    pub(crate) fn cpu_time() -> f64 {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    }

    /// Makes the command start in a process group of its own.
    pub(crate) fn own_group(command: &mut Command) {
        command.process_group(0);
    }

    /// Kills a process group if it still exists.
    pub(crate) fn kill_group(leader: u32) {
        if let Some(leader) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    /// Returns seconds on a clock that all processes share.
    #[expect(clippy::cast_precision_loss, reason = "a machine runs for less than 2^53 seconds")]
    pub(crate) fn now() -> f64 {
        let time = clock_gettime(ClockId::Monotonic);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    }

    /// Returns the CPU seconds and the largest memory in bytes of all children that have been waited for, including
    /// their children.
    #[expect(clippy::cast_precision_loss, reason = "both are less than 2^53")]
    pub(crate) fn children_usage() -> std::io::Result<(f64, f64)> {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        let cpu = [usage.user_time(), usage.system_time()]
            .map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
            .into_iter()
            .sum();
        Ok((cpu, usage.max_rss() as f64 * 1024.0))
    }

    /// Returns the number of times that threads of this process waited and were woken.
    #[expect(clippy::cast_precision_loss, reason = "a benchmark wakes less than 2^53 times")]
    pub(crate) fn wake_up_count() -> Result<f64> {
        let usage = getrusage(UsageWho::RUSAGE_SELF).context("count the wakes of this process")?;
        Ok(usage.voluntary_context_switches() as f64)
    }

    /// Returns the resident memory of a process in bytes.
    pub(crate) fn resident_bytes(process: u32) -> Result<f64> {
        read_memory_field(process, "status", "VmRSS:")
    }

    /// Returns the memory that a process does not share and has written to, in bytes.
    pub(crate) fn private_bytes(process: u32) -> Result<f64> {
        read_memory_field(process, "smaps_rollup", "Private_Dirty:")
    }

    fn read_memory_field(process: u32, file: &str, field: &str) -> Result<f64> {
        let file = format!("/proc/{process}/{file}");
        let text = std::fs::read_to_string(&file).with_context(|| format!("read {file}"))?;
        let kilobytes = text.lines().find_map(|line| line.strip_prefix(field)?.strip_suffix("kB"));
        let kilobytes: f64 = kilobytes.with_context(|| format!("no {field} in {file}"))?.trim().parse()?;
        Ok(kilobytes * 1024.0)
    }

    /// Raises the limit on open files to the maximum; each extension needs three.
    pub(crate) fn allow_many_files() -> Result<()> {
        let most = getrlimit(Resource::Nofile).maximum;
        setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).context("allow more open files")
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use anyhow::{Result, bail};

    pub(crate) struct Processors;

    impl Processors {
        pub(crate) fn new() -> Result<Self> {
            bail!("benchmarks need Linux, which can pin all processes to one CPU")
        }

        pub(crate) fn pin(&self) -> Result<usize> {
            Ok(1)
        }

        pub(crate) fn unpin(&self) -> Result<usize> {
            Ok(1)
        }

        pub(crate) fn go_first(&self) -> bool {
            false
        }

        pub(crate) fn go_with_others(&self) -> Result<()> {
            Ok(())
        }
    }

    pub(crate) fn cpu_time() -> f64 {
        0.0
    }

    pub(crate) fn own_group(_command: &mut std::process::Command) {}

    pub(crate) fn kill_group(_leader: u32) {}

    pub(crate) fn now() -> f64 {
        0.0
    }

    pub(crate) fn children_usage() -> std::io::Result<(f64, f64)> {
        Err(std::io::Error::other("the resource usage of children is available on Linux only"))
    }

    pub(crate) fn wake_up_count() -> Result<f64> {
        bail!("wakes are counted on Linux only")
    }

    pub(crate) fn resident_bytes(_process: u32) -> Result<f64> {
        bail!("the memory of a process is read on Linux only")
    }

    pub(crate) fn private_bytes(_process: u32) -> Result<f64> {
        bail!("the memory of a process is read on Linux only")
    }

    pub(crate) fn allow_many_files() -> Result<()> {
        Ok(())
    }
}
