//! Resources that a case leaves on the machine: processes, open files, memory.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::heap::live_bytes;

/// The interval between two checks.
const LOOK: Duration = Duration::from_millis(50);

/// A limit for the heap growth of a case, including one-time allocations. Rows about memory compare rounds, see
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

    /// Checks U5: waits until the resources are released.
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
            // sleep: between two checks
            tokio::time::sleep(LOOK).await;
        }
        let grown = live_bytes().saturating_sub(self.heap);
        ensure!(grown < RUNAWAY, "the heap grew by {grown} bytes");
        Ok(())
    }
}

/// Returns the bytes that this process has read so far, from any source; `None` if the system does not count them.
pub(crate) fn bytes_read() -> Option<u64> {
    let counts = fs::read_to_string("/proc/self/io").ok()?;
    counts.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok())
}

/// Returns the processes that have a row's tag in their environment, without zombies and without processes that end
/// during the search.
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

/// Returns the number of open files of this process.
pub(crate) fn open_files() -> Result<usize> {
    Ok(fs::read_dir("/proc/self/fd").context("read /proc/self/fd")?.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_read_bytes() {
        let before = bytes_read();
        let mut file = fs::File::open(std::env::current_exe().unwrap()).unwrap();
        let length = std::io::copy(&mut file, &mut std::io::sink()).unwrap();
        let read = before.zip(bytes_read()).map(|(before, after)| after - before);
        assert!(read.is_none_or(|read| read >= length), "{read:?} of {length}");
    }
}
