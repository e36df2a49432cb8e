//! One log file for each extension, with its standard error and the host's messages about it.
//!
//! All sizes are bounded: the file, with one rotation; the rate of an extension's output; and the tail in
//! memory for the exit report.

use std::collections::VecDeque;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use haft_packages::file_name::safe_file_name;
use haft_protocol::ext::Limits;
use haft_protocol::ids::ExtensionName;

use crate::timeouts::LOG_WINDOW;
use crate::wire::fault::{ExtensionFailure, PRINTED};

/// The size of the output tail that is kept for the exit report.
const TAIL_BYTES: usize = 4 * 1024;

const TAIL_LINES: usize = 20;

/// Returns the path of an extension's log: `ext-<name>.log`, always inside `dir` for every name.
pub fn log_path(dir: &Path, name: &ExtensionName) -> PathBuf {
    dir.join(format!("ext-{}.log", safe_file_name(name.as_str())))
}

/// Opens a log file for appending, and creates it and its directory if needed. Only the user can read
/// them, because logs quote conversations; a file or directory that others can read is corrected.
///
/// # Errors
/// The file or the directory cannot be created.
pub fn open_log(path: &Path) -> io::Result<File> {
    let dir = path.parent().unwrap_or_else(|| Path::new("."));
    let mut builder = fs::DirBuilder::new();
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    builder.recursive(true).create(dir)?;
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let is_open = |data: &fs::Metadata| data.permissions().mode() & 0o077 != 0;
        if fs::metadata(dir).is_ok_and(|data| is_open(&data)) {
            fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
        }
        if is_open(&file.metadata()?) {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(file)
}

/// The log of one extension. Without a directory, only the tail is kept.
#[derive(Debug)]
pub(crate) struct ExtensionLog {
    inner: Mutex<LogWriter>,
}

#[derive(Debug)]
struct LogWriter {
    path: Option<PathBuf>,
    /// The size at which a log is rotated; one older log is kept.
    longest: u64,
    /// The bytes of an extension that are written within one [`LOG_WINDOW`]; the rest is counted.
    burst: usize,
    file: Option<File>,
    opened: bool,
    length: u64,
    tail: VecDeque<u8>,
    window: Option<Instant>,
    in_window: usize,
    dropped: usize,
}

impl ExtensionLog {
    /// Creates the log of an extension in `dir`. The first line opens or creates the file. A failure is
    /// reported by `tracing` and does not prevent the start.
    pub(crate) fn new(dir: Option<&Path>, name: &ExtensionName, limits: &Limits) -> Self {
        let path = dir.map(|dir| log_path(dir, name));
        let inner = LogWriter {
            path,
            longest: limits.max_log as u64,
            burst: limits.stderr_per_second,
            file: None,
            opened: false,
            length: 0,
            tail: VecDeque::new(),
            window: None,
            in_window: 0,
            dropped: 0,
        };
        Self { inner: Mutex::new(inner) }
    }

    pub(crate) fn log_host_line(&self, text: impl fmt::Display) {
        self.with_writer(|inner| {
            // Without a file, no formatting is needed.
            if inner.path.is_some() {
                inner.append(host_line(&text.to_string()).as_bytes());
            }
        });
    }

    /// Logs a failure without its quote of this log, which precedes it.
    pub(crate) fn log_failure(&self, ExtensionFailure { code, message }: &ExtensionFailure) {
        let tail = self.tail();
        let quoted = message.strip_suffix(&tail).and_then(|rest| rest.strip_suffix(PRINTED));
        self.log_host_line(format_args!("{code}: {}", quoted.unwrap_or(message)));
    }

    /// Logs a host line that an extension can cause without end.
    pub(crate) fn log_limited(&self, text: &str, now: Instant) {
        self.with_writer(|inner| inner.append_limited(host_line(text).as_bytes(), now));
    }

    /// Logs bytes from standard error. Returns true if more output would be stored now.
    pub(crate) fn log_stderr(&self, bytes: &[u8], now: Instant) -> bool {
        self.with_writer(|inner| {
            inner.append_stderr(bytes, now);
            inner.in_window < inner.burst
        })
    }

    /// Logs the last line of the host; the extension prints nothing after it.
    pub(crate) fn log_last(&self, text: &str) {
        self.with_writer(|inner| {
            inner.report_dropped();
            inner.append(host_line(text).as_bytes());
        });
    }

    /// Clears the tail for a new process: earlier output belongs to the previous process.
    pub(crate) fn clear_tail(&self) {
        self.with_writer(|inner| inner.tail.clear());
    }

    pub(crate) fn tail(&self) -> String {
        let bytes = self.with_writer(|inner| inner.tail.iter().copied().collect::<Vec<u8>>());
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.trim_end().lines().collect();
        lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default().join("\n")
    }

    fn with_writer<R>(&self, f: impl FnOnce(&mut LogWriter) -> R) -> R {
        f(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn host_line(text: &str) -> String {
    format!("[haft] {}\n", text.replace('\n', "\n[haft] "))
}

impl LogWriter {
    fn reopen_file(&mut self) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let file = open_log(path)?;
        self.length = file.metadata()?.len();
        self.file = Some(file);
        Ok(())
    }

    fn append_stderr(&mut self, bytes: &[u8], now: Instant) {
        self.tail.extend(bytes.iter().skip(bytes.len().saturating_sub(TAIL_BYTES)));
        let excess = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess);
        self.append_limited(bytes, now);
    }

    /// Appends the part that fits into the window, and counts the rest.
    fn append_limited(&mut self, bytes: &[u8], now: Instant) {
        if self.window.is_none_or(|start| now >= start + LOG_WINDOW) {
            self.window = Some(now);
            self.in_window = 0;
            self.report_dropped();
        }
        let room = self.burst.saturating_sub(self.in_window);
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.in_window += taken.len();
        self.dropped += bytes.len() - taken.len();
        self.append(taken);
    }

    fn report_dropped(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            self.append(format!("\n[haft] {dropped} bytes dropped: too much output at once\n").as_bytes());
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        if let Err(error) = self.try_append(bytes) {
            tracing::warn!(%error, path = ?self.path, "cannot write the extension log");
            self.file = None;
            self.path = None;
        }
    }

    fn try_append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !std::mem::replace(&mut self.opened, true) {
            self.reopen_file()?;
        }
        let added = bytes.len() as u64;
        if self.length + added > self.longest
            && let Some(path) = &self.path
        {
            self.file = None;
            fs::rename(path, path.with_extension("log.1"))?;
            self.reopen_file()?;
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(bytes)?;
        self.length += added;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::fault::FaultCode;
    use haft_protocol::limits::{MAX_LOG, STDERR_PER_SECOND};
    use std::time::Duration;

    #[test]
    fn log_path_stays_in_directory() {
        let path = log_path(Path::new("/logs"), &ExtensionName::new("../weather"));
        assert_eq!(path.parent(), Some(Path::new("/logs")));
        assert!(path.display().to_string().starts_with("/logs/ext-_.._weather-"), "{}", path.display());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_logs() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("logs");
        let name = ExtensionName::new("x");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for earlier in [None, Some((0o755, 0o644))] {
            if let Some((of_dir, of_file)) = earlier {
                fs::set_permissions(log_path(&dir, &name), fs::Permissions::from_mode(of_file)).unwrap();
                fs::set_permissions(&dir, fs::Permissions::from_mode(of_dir)).unwrap();
            }
            ExtensionLog::new(Some(&dir), &name, &Limits::default()).log_last("gone");
            assert_eq!((mode(&dir), mode(&log_path(&dir, &name))), (0o700, 0o600));
        }
    }

    #[test]
    fn drops_and_counts_flood_within_file_limit() {
        let dir = tempfile::tempdir().unwrap();
        let name = ExtensionName::new("flood");
        let log = ExtensionLog::new(Some(dir.path()), &name, &Limits::default());
        let start = Instant::now();
        for second in 0..60 {
            for _ in 0..100 {
                log.log_stderr(&[b'x'; 4096], start + Duration::from_secs(second));
            }
        }
        log.log_last("the end");
        let path = log_path(dir.path(), &name);
        let (new, old) =
            (fs::read_to_string(&path).unwrap(), fs::read(path.with_extension("log.1")).unwrap());
        assert!(new.len() <= MAX_LOG && old.len() <= MAX_LOG);
        assert!(new.contains("bytes dropped"));
        assert!(new.ends_with("[haft] the end\n"));
    }

    /// Checks the log after this many bytes within one second.
    #[track_caller]
    fn check_second(printed: usize, dropped: &str) {
        let dir = tempfile::tempdir().unwrap();
        let name = ExtensionName::new("x");
        let log = ExtensionLog::new(Some(dir.path()), &name, &Limits::default());
        log.log_stderr(&vec![b'x'; printed], Instant::now());
        log.log_last("gone");
        let text = fs::read_to_string(log_path(dir.path(), &name)).unwrap();
        assert_eq!(text.trim_start_matches('x'), format!("{dropped}[haft] gone\n"));
    }

    #[test]
    fn reports_dropped_bytes_at_end() {
        check_second(STDERR_PER_SECOND, "");
        check_second(STDERR_PER_SECOND + 1, "\n[haft] 1 bytes dropped: too much output at once\n");
    }

    #[test]
    fn rotates_long_log() {
        let dir = tempfile::tempdir().unwrap();
        let name = ExtensionName::new("x");
        let limits = Limits { max_log: 16, ..Limits::default() };
        let log = ExtensionLog::new(Some(dir.path()), &name, &limits);
        let moved = || log_path(dir.path(), &name).with_extension("log.1").exists();
        log.log_stderr(&[b'x'; 16], Instant::now());
        assert!(!moved());
        log.log_stderr(b"x", Instant::now());
        assert!(moved());
    }

    #[test]
    fn limits_host_lines_about_flood() {
        let dir = tempfile::tempdir().unwrap();
        let name = ExtensionName::new("flood");
        let (log, now) = (ExtensionLog::new(Some(dir.path()), &name, &Limits::default()), Instant::now());
        for _ in 0..10_000 {
            log.log_limited("frame_not_json: line is not JSON", now);
        }
        log.log_host_line("the end");
        let text = fs::read_to_string(log_path(dir.path(), &name)).unwrap();
        assert!(text.len() < STDERR_PER_SECOND + 100, "{}", text.len());
        assert!(text.ends_with("[haft] the end\n"));
    }

    #[test]
    fn failure_does_not_repeat_logged_output() {
        let dir = tempfile::tempdir().unwrap();
        let name = ExtensionName::new("x");
        let log = ExtensionLog::new(Some(dir.path()), &name, &Limits::default());
        let failed =
            |message: String| log.log_failure(&ExtensionFailure { code: FaultCode::Exited, message });
        failed("exited with status 1".into());
        log.log_stderr(b"Traceback:\n  boom\n", Instant::now());
        failed(format!("exited with status 3{PRINTED}{}", log.tail()));
        failed(format!("said{PRINTED}what it did not"));
        let text = fs::read_to_string(log_path(dir.path(), &name)).unwrap();
        insta::assert_snapshot!(text, @"
        [haft] exited: exited with status 1
        Traceback:
          boom
        [haft] exited: exited with status 3
        [haft] exited: said; it printed: what it did not
        ");
    }

    #[test]
    fn tail_keeps_last_lines() {
        let log = ExtensionLog::new(None, &ExtensionName::new("x"), &Limits::default());
        for line in 0..1000 {
            log.log_stderr(format!("line {line}\n").as_bytes(), Instant::now());
        }
        let tail = log.tail();
        assert!(tail.ends_with("line 999"));
        assert_eq!(tail.lines().count(), TAIL_LINES);
        log.clear_tail();
        assert_eq!(log.tail(), "");
    }
}
