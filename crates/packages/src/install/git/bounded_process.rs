//! Runs a program with limits on its time and on the data that it writes below one directory.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::timeouts::CLONE_LOOK;

/// The size of the end of its standard error that is kept, in bytes.
const KEPT_WORDS: usize = 16 * 1024;

#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessLimits {
    pub(super) time: Duration,
    /// The total size of all files.
    pub(super) bytes: u64,
    pub(super) entries: usize,
}

#[derive(Debug)]
pub(super) enum ProcessEnd {
    /// The program ended by itself, with this standard error.
    Exited(ExitStatus, String),
    Killed(String),
}

/// Runs a program until it ends or exceeds its limits below `dir`; then it and all its child processes are killed.
pub(super) fn run(mut command: Command, dir: &Path, bounds: ProcessLimits) -> io::Result<ProcessEnd> {
    let start = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    set_process_group(&mut command);
    let mut group = KillOnDropChild(command.spawn()?);
    let said = Arc::new(Mutex::new(Vec::new()));
    let silent = collect_stderr(group.0.stderr.take(), Arc::clone(&said));
    let words = || {
        let said = said.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&said).into_owned()
    };
    loop {
        match silent.recv_timeout(CLONE_LOOK) {
            Err(RecvTimeoutError::Disconnected) => return Ok(ProcessEnd::Exited(group.0.wait()?, words())),
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
        }
        // A helper that outlives the program, for example ssh, may keep the pipe open.
        if let Some(status) = group.0.try_wait()? {
            return Ok(ProcessEnd::Exited(status, words()));
        }
        if start.elapsed() > bounds.time {
            return Ok(ProcessEnd::Killed(format!("it took longer than {} s", bounds.time.as_secs())));
        }
        if let Some(excess) = exceeded_limit(dir, bounds) {
            return Ok(ProcessEnd::Killed(excess));
        }
    }
}

/// Keeps the end of the output. The receiver is disconnected once all writers have closed the pipe.
fn collect_stderr(pipe: Option<impl Read + Send + 'static>, said: Arc<Mutex<Vec<u8>>>) -> Receiver<()> {
    let (speaks, silent) = channel();
    std::thread::spawn(move || {
        let _speaks = speaks;
        let mut piece = [0; 4096];
        let mut pipe = pipe.into_iter();
        let Some(mut pipe) = pipe.next() else { return };
        while let Ok(count @ 1..) = pipe.read(&mut piece) {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.extend_from_slice(piece.get(..count).unwrap_or_default());
            if said.len() > 2 * KEPT_WORDS {
                let first = said.len() - KEPT_WORDS;
                said.drain(..first);
            }
        }
    });
    silent
}

/// Returns the limit that a directory exceeds. Files that were deleted in between do not count.
fn exceeded_limit(dir: &Path, bounds: ProcessLimits) -> Option<String> {
    let (mut entries, mut bytes) = (0, 0);
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            entries += 1;
            match entry.metadata() {
                Ok(data) if data.is_dir() => dirs.push(entry.path()),
                Ok(data) => bytes += data.len(),
                Err(_) => {}
            }
            if entries > bounds.entries {
                return Some(format!("it wrote more than {} files", bounds.entries));
            }
            if bytes > bounds.bytes {
                return Some(format!("it wrote more than {} MiB", bounds.bytes / (1024 * 1024)));
            }
        }
    }
    None
}

/// A program in a process group of its own, which is killed on drop.
struct KillOnDropChild(Child);

#[cfg(unix)]
fn set_process_group(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0);
}

#[cfg(not(unix))]
fn set_process_group(_: &mut Command) {}

impl Drop for KillOnDropChild {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw) {
            // An error means that no process is left.
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    const BOUNDS: ProcessLimits =
        ProcessLimits { time: haft_test_support::PATIENCE, bytes: 1 << 20, entries: 20 };

    #[expect(clippy::disallowed_methods, reason = "the test runs a program that exceeds the limits")]
    fn ended(script: &str, dir: &Path, bounds: ProcessLimits) -> ProcessEnd {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(dir);
        run(command, dir, bounds).unwrap()
    }

    #[track_caller]
    fn check(script: &str, bounds: ProcessLimits, expect: &str) {
        let dir = tempfile::tempdir().unwrap();
        match ended(script, dir.path(), bounds) {
            ProcessEnd::Killed(why) => assert_eq!(why, expect),
            ProcessEnd::Exited(status, said) => panic!("{status}: {said}"),
        }
    }

    #[test]
    fn kills_program_that_writes_too_much() {
        check("cat /dev/zero > big", BOUNDS, "it wrote more than 1 MiB");
        check("i=0; while :; do i=$((i+1)); : > $i; done", BOUNDS, "it wrote more than 20 files");
        check("mkdir -p a/b; cat /dev/zero > a/b/big & wait", BOUNDS, "it wrote more than 1 MiB");
    }

    #[test]
    fn kills_slow_program_with_its_children() {
        // On a busy machine, the first limits are too short for the program to start anything.
        for seconds in [1, 5, 25, 100] {
            let dir = tempfile::tempdir().unwrap();
            let script = "sleep 600 & echo $! > pid; echo working >&2; wait";
            let ended =
                ended(script, dir.path(), ProcessLimits { time: Duration::from_secs(seconds), ..BOUNDS });
            let expect = format!("it took longer than {seconds} s");
            assert!(matches!(&ended, ProcessEnd::Killed(why) if *why == expect), "{ended:?}");
            let pid = std::fs::read_to_string(dir.path().join("pid")).unwrap_or_default();
            if !pid.is_empty() {
                let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
                assert!(!stat.contains(") S "), "its child still runs: {stat}");
                return;
            }
        }
        panic!("the program never started its child");
    }

    #[test]
    fn keeps_end_of_standard_error() {
        let dir = tempfile::tempdir().unwrap();
        let script = "yes 0123456789 | head -n 20000 >&2; echo the end >&2; exit 3";
        let ended = ended(script, dir.path(), BOUNDS);
        let ProcessEnd::Exited(status, said) = ended else { panic!("{ended:?}") };
        assert_eq!(status.code(), Some(3));
        assert!(said.ends_with("the end\n") && said.len() <= 2 * KEPT_WORDS, "{} bytes", said.len());
    }

    #[test]
    fn does_not_wait_for_left_over_helper() {
        let dir = tempfile::tempdir().unwrap();
        let ended = ended("(trap '' HUP; sleep 600) & echo said >&2", dir.path(), BOUNDS);
        assert!(matches!(&ended, ProcessEnd::Exited(status, _) if status.success()), "{ended:?}");
    }
}
