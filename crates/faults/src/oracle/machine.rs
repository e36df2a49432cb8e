//! What a case leaves behind on the machine: processes, open files, memory.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// In which every process of a case has to be gone.
const GONE: Duration = Duration::from_secs(3);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// What memory may grow by, in KiB.
const GROWTH: u64 = 32 * 1024;

/// What this process held before a case.
pub(crate) struct Baseline {
    files: usize,
    memory: u64,
}

impl Baseline {
    pub(crate) fn take() -> Result<Self> {
        Ok(Self { files: open_files()?, memory: memory("VmRSS")? })
    }

    /// U5.
    pub(crate) async fn compare(&self, tag: &str) -> Result<()> {
        let start = Instant::now();
        loop {
            let (left, files) = (tagged(tag), open_files()?);
            if left.is_empty() && files <= self.files {
                break;
            }
            if start.elapsed() > GONE {
                bail!("processes {left:?} are left, and {files} files are open instead of {}", self.files);
            }
            tokio::time::sleep(LOOK).await;
        }
        let grown = memory("VmRSS")?.saturating_sub(self.memory);
        ensure!(grown < GROWTH, "memory grew by {grown} KiB");
        Ok(())
    }
}

/// Processes that carry a row's tag in their environment. Those that end meanwhile are not among them, nor are those
/// that are dead and not yet waited for by whoever adopted them.
pub(crate) fn tagged(tag: &str) -> Vec<i32> {
    let wanted = format!("HAFT_FAULT_TAG={tag}");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes())
    })
    .collect()
}

/// A line of `/proc/self/status`, in KiB.
pub(crate) fn memory(line: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("read /proc/self/status")?;
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    let number = found.and_then(|text| text.split_whitespace().next()).and_then(|text| text.parse().ok());
    number.with_context(|| format!("/proc/self/status has no {line}"))
}

/// Descriptors that this process has open.
pub(crate) fn open_files() -> Result<usize> {
    Ok(fs::read_dir("/proc/self/fd").context("read /proc/self/fd")?.count())
}
