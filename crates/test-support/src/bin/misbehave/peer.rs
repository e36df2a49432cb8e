//! The extension's side of the connection: what it sends and receives, and its marks.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::exit;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A time longer than any test.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(600);

/// The interval between two checks for a file.
const LOOK: Duration = Duration::from_millis(5);

/// The number of transcript lines that are kept, and the length of each: enough to see the cause of a failure.
const TRANSCRIPT_LINES: u32 = 2_000;
const TRANSCRIPT_WIDTH: usize = 400;

/// One connection to a host.
pub(crate) struct ExtensionPeer {
    pub(crate) fault: &'static str,
    pub(crate) name: String,
    /// The number of received events; a canary counts only those sent for it.
    pub(crate) events: u64,
    /// The questions that wait for their answer.
    pub(crate) kept: Vec<Value>,
    transcript: Option<std::fs::File>,
    written: u32,
}

impl ExtensionPeer {
    pub(crate) fn new(fault: &'static str, name: &str) -> Self {
        let transcript = std::env::var_os("HAFT_TRANSCRIPT").and_then(|dir| {
            let path = std::path::Path::new(&dir).join(format!("frames-{name}.txt"));
            OpenOptions::new().create(true).append(true).open(path).ok()
        });
        Self { fault, name: name.to_owned(), events: 0, kept: Vec::new(), transcript, written: 0 }
    }

    /// Sends a frame.
    pub(crate) fn send_frame(&mut self, frame: &Value) {
        self.send_bytes(format!("{frame}\n").as_bytes());
    }

    /// Sends bytes unchanged.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.note(">", bytes);
        let mut out = std::io::stdout().lock();
        // A closed pipe means that the host is gone, and this process will end soon.
        if out.write_all(bytes).and_then(|()| out.flush()).is_err() {
            exit(0);
        }
    }

    /// Records a received line.
    pub(crate) fn note_received(&mut self, line: &str) {
        self.note("<", line.as_bytes());
    }

    /// Writes to the log.
    #[expect(
        clippy::unused_self,
        clippy::print_stderr,
        reason = "standard error is the log, standard output is the connection"
    )]
    pub(crate) fn log(&mut self, text: &str) {
        eprintln!("{text}");
    }

    /// Records that something happened, for the test.
    pub(crate) fn mark(&mut self, what: &str) {
        let Ok(path) = std::env::var("HAFT_MARKER") else { return };
        let file = OpenOptions::new().create(true).append(true).open(path);
        // One write per mark lets two processes share the file.
        let line = format!("{what}\n");
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the marker can be written");
    }

    /// Saves the event count for the process that replaces this one after a reload.
    pub(crate) fn save_event_count(&self) {
        let Some(path) = Self::event_count_path() else { return };
        let file = OpenOptions::new().create(true).append(true).open(path);
        let line = format!("{}\n", self.events);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the count can be written");
    }

    /// Returns the number of events received by this process and its predecessors.
    pub(crate) fn events_in_all(&self) -> u64 {
        let before =
            Self::event_count_path().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        self.events + before.lines().filter_map(|line| line.parse::<u64>().ok()).sum::<u64>()
    }

    fn event_count_path() -> Option<std::path::PathBuf> {
        Some(std::path::Path::new(&std::env::var_os("HAFT_TRANSCRIPT")?).join("canary-events"))
    }

    /// Blocks for longer than any test.
    #[expect(clippy::unused_self, reason = "describes an action of the extension")]
    pub(crate) fn hang(&mut self) -> ! {
        loop {
            // sleep: part of the fault
            std::thread::sleep(FOR_EVER);
        }
    }

    /// Waits until the test creates the file `release` next to the file that `HAFT_MARKER` names. This fixes the order
    /// of events on a slow machine.
    #[expect(clippy::unused_self, reason = "describes an action of the extension")]
    pub(crate) fn wait_until_released(&mut self) {
        let marker = std::env::var_os("HAFT_MARKER").expect("HAFT_MARKER names a file");
        let release = std::path::PathBuf::from(marker).with_file_name("release");
        let start = Instant::now();
        while !release.exists() && start.elapsed() < FOR_EVER {
            // sleep: between two checks
            std::thread::sleep(LOOK);
        }
    }

    fn note(&mut self, direction: &str, bytes: &[u8]) {
        let Some(file) = &mut self.transcript else { return };
        if self.written >= TRANSCRIPT_LINES {
            return;
        }
        self.written += 1;
        let start = bytes.get(..TRANSCRIPT_WIDTH).unwrap_or(bytes);
        let text = start.escape_ascii();
        // The transcript only helps with debugging, so errors are ignored.
        _ = writeln!(file, "{direction} {text} ({} bytes)", bytes.len());
    }
}

/// Returns `HAFT_COUNT`, a number of repetitions or a size, or the default.
pub(crate) fn count(default: u64) -> u64 {
    env_number("HAFT_COUNT", default)
}

fn env_number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
