//! Traces that a case leaves on the machine: processes, open files, memory.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::heap::live_bytes;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// More bytes than a case leaves on the heap, with everything that is made once. Rows about memory compare rounds, see
/// [`HeapGrowth`](super::HeapGrowth).
const RUNAWAY: usize = 64 << 20;

/// The resources of this process before a case.
pub(crate) struct ResourceBaseline {
    files: usize,
    heap: usize,
}

impl ResourceBaseline {
    pub(crate) fn take() -> Result<Self> {
        Ok(Self { files: open_files()?, heap: live_bytes() })
    }

    /// U5.
    pub(crate) async fn compare(&self, tag: &str, patience: Duration) -> Result<()> {
        let start = Instant::now();
        loop {
            let (left, files) = (tagged_processes(tag), open_files()?);
            if left.is_empty() && files <= self.files {
                break;
            }
            if start.elapsed() > patience {
                bail!("processes {left:?} are left, and {files} files are open instead of {}", self.files);
            }
            // sleep: between two looks
            tokio::time::sleep(LOOK).await;
        }
        let grown = live_bytes().saturating_sub(self.heap);
        ensure!(grown < RUNAWAY, "the heap grew by {grown} bytes");
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
pub(crate) fn tagged_processes(tag: &str) -> Vec<i32> {
    let wanted = format!("HAFT_FAULT_TAG={tag}");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes())
    })
    .collect()
}

/// Descriptors that this process has open.
pub(crate) fn open_files() -> Result<usize> {
    Ok(fs::read_dir("/proc/self/fd").context("read /proc/self/fd")?.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_read_are_counted() {
        let before = bytes_read();
        let mut file = fs::File::open(std::env::current_exe().unwrap()).unwrap();
        let length = std::io::copy(&mut file, &mut std::io::sink()).unwrap();
        let read = before.zip(bytes_read()).map(|(before, after)| after - before);
        assert!(read.is_none_or(|read| read >= length), "{read:?} of {length}");
    }
}
