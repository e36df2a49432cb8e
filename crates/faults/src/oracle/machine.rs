//! What a case leaves behind on the machine: processes, open files, memory.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// More memory than a case takes on any machine, in KiB, with everything that is made once, kept by the allocator or
/// mapped. Rows about memory compare rounds, see [`Growth`].
const RUNAWAY: u64 = 256 * 1024;

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
    pub(crate) async fn compare(&self, tag: &str, patience: Duration) -> Result<()> {
        let start = Instant::now();
        loop {
            let (left, files) = (tagged(tag), open_files()?);
            if left.is_empty() && files <= self.files {
                break;
            }
            if start.elapsed() > patience {
                bail!("processes {left:?} are left, and {files} files are open instead of {}", self.files);
            }
            // sleep: between two looks
            tokio::time::sleep(LOOK).await;
        }
        let grown = memory("VmRSS")?.saturating_sub(self.memory);
        ensure!(grown < RUNAWAY, "memory grew by {grown} KiB");
        Ok(())
    }
}

/// Growth of this process's memory over rounds of the same work. The first round is not counted: it pays for everything
/// that is made once.
pub(crate) struct Growth {
    after_first: u64,
}

impl Growth {
    /// To be called when the first round is over.
    pub(crate) fn after_first_round() -> Result<Self> {
        Ok(Self { after_first: memory("VmRSS")? })
    }

    /// To be called when `rounds` further ones are over, each of which may have added `each` KiB.
    pub(crate) fn check(&self, rounds: u64, each: u64) -> Result<()> {
        let grown = memory("VmRSS")?.saturating_sub(self.after_first);
        ensure!(
            grown < rounds * each,
            "after the first round memory grew by {grown} KiB in {rounds} further ones, more than {each} each"
        );
        Ok(())
    }
}

/// Bytes that this process has read so far, from wherever. `None` where the system does not count them.
pub(crate) fn bytes_read() -> Option<u64> {
    let counts = fs::read_to_string("/proc/self/io").ok()?;
    counts.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_further_rounds_keep_is_noticed() {
        let growth = Growth::after_first_round().unwrap();
        growth.check(2, 16 * 1024).unwrap();
        let kept = vec![1_u8; 64 * 1024 * 1024];
        let error = growth.check(2, 16 * 1024).unwrap_err().to_string();
        assert!(error.contains("in 2 further ones"), "{error}");
        assert_eq!(kept.last(), Some(&1));
    }

    #[test]
    fn bytes_that_are_read_are_counted() {
        let before = bytes_read();
        let mut file = fs::File::open(std::env::current_exe().unwrap()).unwrap();
        // Not kept: another test of this process watches its memory.
        let length = std::io::copy(&mut file, &mut std::io::sink()).unwrap();
        let read = before.zip(bytes_read()).map(|(before, after)| after - before);
        assert!(read.is_none_or(|read| read >= length), "{read:?} of {length}");
    }
}
