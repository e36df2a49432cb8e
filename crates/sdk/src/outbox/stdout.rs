//! Writes to stdout from any thread. A writer thread, started when needed, writes the bytes that
//! stdout does not accept at once.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use tokio::time::Instant;

use super::FrameOutbox;
use crate::logging::log;
use crate::platform;
use crate::timeouts::FAREWELL;

/// The writer to stdout; see the module documentation.
#[derive(Debug)]
pub(super) struct StdoutWriter {
    file: File,
    /// True if a write without room returns instead of waiting, so that any thread may try.
    at_once: bool,
    state: Mutex<StdoutState>,
    changed: Condvar,
    broken: AtomicBool,
}

#[derive(Debug, Default)]
struct StdoutState {
    /// The bytes that stdout has not accepted yet. Later lines are appended here.
    backlog: Vec<u8>,
    writing: bool,
    /// True if the thread must check the panels.
    alarm: bool,
    /// True after the end of the connection: the backlog is written, and no more lines are
    /// accepted.
    closed: bool,
    failure: Option<io::Error>,
    thread: Option<JoinHandle<()>>,
}

impl StdoutWriter {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self::from_file(platform::stdout()?))
    }

    /// Creates a writer. Other processes may share the mode of the handle (stderr, or the parent),
    /// and their writes must not fail. Only for a pipe can this function open a separate
    /// non-blocking handle.
    fn from_file(file: File) -> Self {
        let alone = Some(&file).filter(|file| platform::is_pipe(file)).map(platform::without_blocking);
        let (file, at_once) = match alone {
            Some(Ok(alone)) => (alone, true),
            Some(Err(_)) | None => (file, false),
        };
        let (state, changed, broken) = (Mutex::default(), Condvar::new(), AtomicBool::new(false));
        Self { file, at_once, state, changed, broken }
    }

    /// Writes lines, or leaves them to the thread. Never waits for room.
    pub(super) fn send(&self, lines: &[u8], outbox: &FrameOutbox) {
        let mut state = self.state();
        if state.closed || self.broken.load(Ordering::Relaxed) {
            return;
        }
        let free = self.at_once && state.backlog.is_empty() && !state.writing;
        match if free { self.try_write(lines) } else { Ok(0) } {
            Ok(written) if written == lines.len() => return,
            Ok(written) => state.backlog.extend_from_slice(lines.get(written..).unwrap_or_default()),
            Err(error) => self.record_failure(&mut state, error),
        }
        self.wake_writer(&mut state, outbox);
    }

    /// Makes the thread draw panels when they are due.
    pub(super) fn set_alarm(&self, outbox: &FrameOutbox) {
        let mut state = self.state();
        if !state.closed {
            state.alarm = true;
            self.wake_writer(&mut state, outbox);
        }
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    pub(super) fn finish(&self) -> io::Result<()> {
        let thread = self.state().thread.take();
        // A panic of the thread can no longer be reported.
        thread.into_iter().for_each(|thread| drop(thread.join()));
        self.check()
    }

    pub(super) fn check(&self) -> io::Result<()> {
        if !self.broken.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(self.state().failure.take().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into()))
    }

    /// Runs the writer thread. `show_panels` sends due contents and returns the time of the next
    /// one.
    pub(super) fn write_all(&self, show_panels: impl Fn() -> Option<Instant>) {
        loop {
            // Called before the state is locked, because it sends.
            let due = show_panels();
            let mut state = self.state();
            if !(state.alarm || state.closed || self.broken.load(Ordering::Relaxed))
                && state.backlog.is_empty()
            {
                state = self.wait(state, due);
            }
            if self.broken.load(Ordering::Relaxed) {
                return self.wait_for_close_or_exit(state);
            }
            state.alarm = false;
            if state.backlog.is_empty() {
                if state.closed {
                    return;
                }
                continue;
            }
            let backlog = mem::take(&mut state.backlog);
            state.writing = true;
            drop(state);
            let written = self.write_fully(&backlog);
            let mut state = self.state();
            state.writing = false;
            if let Err(error) = written {
                self.record_failure(&mut state, error);
            }
        }
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, StdoutState>,
        due: Option<Instant>,
    ) -> MutexGuard<'a, StdoutState> {
        match due {
            Some(due) => {
                let time = due.saturating_duration_since(Instant::now());
                self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Waits after a write error. The reading thread notices a lost host by itself when it reads;
    /// while it waits for a silent host, no event wakes it.
    fn wait_for_close_or_exit(&self, state: MutexGuard<'_, StdoutState>) {
        let waited = self.changed.wait_timeout_while(state, FAREWELL, |state| !state.closed);
        let (state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            let cause = state.failure.as_ref().map_or_else(String::new, io::Error::to_string);
            log(format_args!("stopped: connection to the host failed: {cause}"));
            process::exit(1);
        }
    }

    fn wake_writer(&self, state: &mut StdoutState, outbox: &FrameOutbox) {
        if state.thread.is_none() {
            let outbox = outbox.clone();
            let spawned =
                thread::Builder::new().name("stdout".to_owned()).spawn(move || outbox.write_stdout());
            match spawned {
                Ok(thread) => state.thread = Some(thread),
                Err(error) => self.record_failure(state, error),
            }
        }
        self.changed.notify_all();
    }

    fn record_failure(&self, state: &mut StdoutState, error: io::Error) {
        state.failure = Some(error);
        state.backlog = Vec::new();
        self.broken.store(true, Ordering::Relaxed);
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match (&self.file).write(bytes) {
            Err(error) if is_retryable(&error) => Ok(0),
            written => written,
        }
    }

    fn write_fully(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match (&self.file).write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    platform::wait_writable(&self.file)?
                }
                Err(error) if is_retryable(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, StdoutState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_retryable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::{PipeReader, Read};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use super::super::OutputTarget;
    use super::*;

    /// More bytes than a pipe or a socket holds.
    const MORE: usize = 1024 * 1024;

    fn outbox(file: impl Into<OwnedFd>) -> FrameOutbox {
        FrameOutbox::new(OutputTarget::Stdout(StdoutWriter::from_file(File::from(file.into()))))
    }

    fn pipe() -> (PipeReader, FrameOutbox) {
        let (reader, writer) = io::pipe().unwrap();
        (reader, outbox(writer))
    }

    fn stdout(outbox: &FrameOutbox) -> &StdoutWriter {
        match &outbox.0.way {
            OutputTarget::Stdout(stdout) => stdout,
            OutputTarget::Queue(_) => panic!("this outbox writes to a file"),
        }
    }

    fn has_thread(outbox: &FrameOutbox) -> bool {
        stdout(outbox).state().thread.is_some()
    }

    /// Sends frames, and reads the output to its end.
    #[track_caller]
    fn check(mut reader: impl Read + Send + 'static, outbox: FrameOutbox, lines: &[&str], expect: &str) {
        let reading = thread::spawn(move || {
            let mut out = String::new();
            reader.read_to_string(&mut out).map(|_| out)
        });
        lines.iter().for_each(|line| outbox.send_line((*line).to_owned()));
        outbox.close();
        outbox.send_line("too late\n".to_owned());
        outbox.finish().unwrap();
        drop(outbox);
        let out = reading.join().unwrap().unwrap();
        assert!(out == expect, "{} bytes instead of {}", out.len(), expect.len());
    }

    #[test]
    fn lines_are_written_complete_and_in_order() {
        let long = format!("{}\n", "x".repeat(MORE));
        for lines in [&["1\n", "2\n"][..], &["1\n", &long, "2\n", &long, "3\n"]] {
            let (reader, outbox) = pipe();
            check(reader, outbox, lines, &lines.concat());
            let (reader, writer) = UnixStream::pair().unwrap();
            check(reader, self::outbox(writer), lines, &lines.concat());
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn non_blocking_mode_is_not_shared() {
        let (mut reader, writer) = io::pipe().unwrap();
        // Simulates a stderr that shares one open file with stdout.
        let mut shared = writer.try_clone().unwrap();
        let outbox = outbox(writer);
        outbox.send_line("1\n".to_owned());
        assert!(!has_thread(&outbox));
        let long = vec![b'x'; MORE];
        let writing = thread::spawn(move || shared.write_all(&long));
        let mut out = vec![0; MORE + 2];
        reader.read_exact(&mut out).unwrap();
        writing.join().unwrap().unwrap();
    }

    #[test]
    fn write_that_fits_the_pipe_needs_no_thread() {
        let (mut reader, outbox) = pipe();
        for _ in 0..100 {
            outbox.send_line("1\n".to_owned());
            reader.read_exact(&mut [0; 2]).unwrap();
        }
        assert!(!has_thread(&outbox));
        outbox.close();
        outbox.finish().unwrap();
    }

    #[test]
    fn slow_reader_blocks_no_sender() {
        let (mut reader, outbox) = pipe();
        let long = format!("{}\n", "x".repeat(MORE));
        outbox.send_line(long.clone());
        outbox.send_line("1\n".to_owned());
        assert!(has_thread(&outbox));
        let mut out = vec![0; long.len() + 2];
        reader.read_exact(&mut out).unwrap();
        assert!(out.starts_with(long.as_bytes()) && out.ends_with(b"1\n"));
    }

    #[test]
    fn closed_pipe_is_reported_once() {
        let (reader, outbox) = pipe();
        drop(reader);
        outbox.check().unwrap();
        outbox.send_line("1\n".to_owned());
        assert_eq!(outbox.check().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        outbox.send_line("2\n".to_owned());
        outbox.close();
        assert_eq!(outbox.finish().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn thread_draws_due_panels() {
        let (reader, outbox) = pipe();
        let mut lines = io::BufRead::lines(io::BufReader::new(reader));
        let mut next = || lines.next().unwrap().unwrap();
        let render = |line: &str| outbox.render(haft_protocol::ext::Panel::new("p").lines([line]).into());
        render("first");
        assert!(next().contains("first") && !has_thread(&outbox));
        (0..1000).for_each(|number| render(&number.to_string()));
        render("last");
        while !next().contains("last") {}
    }
}
