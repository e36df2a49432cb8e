//! Collects the output of a command: its end in memory, all of it on the disk if it is long, and pieces for progress
//! reports.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::SystemTime;

use haft_core::TextFilter;
use haft_core::truncate::{self, MAX_BYTES, TruncationLimits};
use tempfile::NamedTempFile;

use super::private;
use crate::environment::{FullOutput, RunEnd, RunReport};
use crate::results::clear_results;

/// The maximum size of a progress piece in bytes.
const MAX_PIECE: usize = 8 * 1024;

/// The number of bytes that are kept: the byte before the shown part tells if that begins a line.
const KEPT: usize = MAX_BYTES + 1;

/// The maximum number of bytes on the disk, so that endless output cannot fill it.
const MAX_FULL: u64 = 64 * 1024 * 1024;

/// The number of bytes that are filtered and written together, up to the end of a line. A longer line is cut.
const FILTERED: usize = 256 * 1024;

/// The directory for long output, and the filter that removes secrets from it.
#[derive(Debug, Clone)]
pub(super) struct ScratchDir {
    pub(super) place: ScratchPlace,
    pub(super) filter: Option<TextFilter>,
}

/// The location of long output.
#[derive(Debug, Clone)]
pub(super) enum ScratchPlace {
    /// A directory that the caller cleans up.
    Given(PathBuf),
    /// A private directory, from which old files are removed here.
    Own(PathBuf),
}

impl ScratchDir {
    /// Creates the directory if it is missing; only its owner can access it. Blocks.
    fn prepare(&self) -> io::Result<&Path> {
        match &self.place {
            ScratchPlace::Given(dir) => {
                private::create_dir_if_missing(dir)?;
                Ok(dir)
            }
            ScratchPlace::Own(dir) => {
                private::create_private_dir(dir)?;
                clear_results(dir, SystemTime::now());
                Ok(dir)
            }
        }
    }
}

/// Collects output as it arrives.
pub(super) struct OutputCollector {
    /// The last bytes of the output, more than are shown.
    tail: Vec<u8>,
    lines: u64,
    bytes: u64,
    ends_in_line: bool,
    scratch: ScratchDir,
    spill: Option<SpillFile>,
    pending: Vec<u8>,
    skipped: bool,
}

impl OutputCollector {
    /// Creates a collector. Long output goes to a new file in `scratch`.
    pub(super) fn new(scratch: &ScratchDir) -> Self {
        Self {
            tail: Vec::new(),
            lines: 0,
            bytes: 0,
            ends_in_line: false,
            scratch: scratch.clone(),
            spill: None,
            pending: Vec::new(),
            skipped: false,
        }
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.lines += line_ends(piece);
        self.ends_in_line = piece.last().is_some_and(|&last| last != b'\n');
        self.tail.extend_from_slice(piece);
        self.pending.extend_from_slice(piece);
        self.spill_piece(piece);
        // The buffer is twice as large as needed, so that bytes are moved rarely.
        if self.tail.len() > 2 * MAX_BYTES {
            self.tail.drain(..self.tail.len() - KEPT);
        }
        if self.pending.len() > MAX_PIECE {
            self.pending.drain(..self.pending.len() - MAX_PIECE);
            self.skipped = true;
        }
    }

    /// Returns the output since the last call, up to a whole character; empty if there is none.
    pub(super) fn take_piece(&mut self) -> String {
        let whole = self.pending.len() - incomplete_suffix_len(&self.pending);
        let piece: Vec<u8> = self.pending.drain(..whole).collect();
        let text = String::from_utf8_lossy(&piece);
        match std::mem::take(&mut self.skipped) {
            true => format!("[…]\n{text}"),
            false => text.into_owned(),
        }
    }

    pub(super) fn has_piece(&self) -> bool {
        self.pending.len() > incomplete_suffix_len(&self.pending)
    }

    pub(super) fn finish(mut self, end: RunEnd, background: bool) -> RunReport {
        let lines = self.line_count();
        let text = String::from_utf8_lossy(&self.tail);
        let tail = truncate::tail(&text, TruncationLimits::default());
        let cut = !tail.is_whole();
        let tail = tail.text.to_owned();
        if cut {
            // Replaced bytes are longer in the result than in the output.
            self.start_spill();
        }
        let full = self.spill.and_then(SpillFile::finish);
        RunReport {
            end,
            tail,
            lines,
            bytes: self.bytes,
            cut,
            full,
            background,
            created: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// Returns the number of lines, including an unfinished one.
    fn line_count(&self) -> u64 {
        self.lines + u64::from(self.ends_in_line)
    }

    /// Writes a piece to the disk, once the output is too long for a result.
    fn spill_piece(&mut self, piece: &[u8]) {
        match &mut self.spill {
            Some(spill) => spill.push(piece),
            None => {
                let limits = TruncationLimits::default();
                if self.tail.len() > limits.bytes || self.line_count() > limits.lines as u64 {
                    self.start_spill();
                }
            }
        }
    }

    /// Writes all output so far to the disk, unless that was done already.
    fn start_spill(&mut self) {
        if self.spill.is_none() {
            let mut spill = SpillFile::start(&self.scratch);
            spill.push(&self.tail);
            self.spill = Some(spill);
        }
    }
}

/// A file that is written on a separate thread, so that a slow disk does not block the agent. [`MAX_FULL`] limits the
/// bytes that wait.
struct SpillFile {
    pieces: mpsc::Sender<Vec<u8>>,
    /// Returns the file and the number of bytes in it.
    writer: JoinHandle<io::Result<(NamedTempFile, u64)>>,
    room: u64,
}

impl SpillFile {
    fn start(scratch: &ScratchDir) -> Self {
        let (pieces, queue) = mpsc::channel::<Vec<u8>>();
        let scratch = scratch.clone();
        let writer = std::thread::spawn(move || {
            let dir = scratch.prepare()?;
            // Readable only for its owner; deleted unless it is kept at the end.
            let file = tempfile::Builder::new().prefix("haft-bash-").suffix(".log").tempfile_in(dir)?;
            let mut writer = FilteredWriter { file, written: 0, filter: scratch.filter, waiting: Vec::new() };
            for piece in queue {
                writer.push(&piece)?;
            }
            writer.write_waiting(usize::MAX)?;
            Ok((writer.file, writer.written))
        });
        Self { pieces, writer, room: MAX_FULL }
    }

    fn push(&mut self, piece: &[u8]) {
        let fitting = piece.get(..usize::try_from(self.room).unwrap_or(usize::MAX)).unwrap_or(piece);
        self.room -= fitting.len() as u64;
        if !fitting.is_empty() {
            // Sending fails only if the writer has failed, which `finish` reports.
            self.pieces.send(fitting.to_vec()).ok();
        }
    }

    fn finish(self) -> Option<FullOutput> {
        drop(self.pieces);
        let written = self.writer.join().ok()?;
        let kept = written.and_then(|(file, bytes)| Ok((file.keep().map_err(|error| error.error)?.1, bytes)));
        match kept {
            Ok((path, bytes)) => Some(FullOutput { path, bytes }),
            Err(error) => {
                tracing::warn!(%error, "cannot store the complete output of a command");
                None
            }
        }
    }
}

/// Removes secrets from output while it is written.
struct FilteredWriter {
    file: NamedTempFile,
    written: u64,
    filter: Option<TextFilter>,
    /// The bytes that are not filtered yet.
    waiting: Vec<u8>,
}

impl FilteredWriter {
    fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        self.waiting.extend_from_slice(piece);
        if self.filter.is_some() && self.waiting.len() <= FILTERED {
            return Ok(());
        }
        let line_end = self.waiting.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        self.write_waiting(line_end.unwrap_or(usize::MAX))
    }

    /// Writes the first bytes that wait. Output without secrets stays as it is, also if it is not text.
    fn write_waiting(&mut self, length: usize) -> io::Result<()> {
        let rest = self.waiting.split_off(length.min(self.waiting.len()));
        let block = std::mem::replace(&mut self.waiting, rest);
        let filtered = self.filter.as_ref().and_then(|filter| filter.apply(&String::from_utf8_lossy(&block)));
        let block = filtered.map_or(block, String::into_bytes);
        self.written += block.len() as u64;
        self.file.as_file_mut().write_all(&block)
    }
}

fn line_ends(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// Returns the number of bytes at the end that begin an incomplete character.
fn incomplete_suffix_len(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last() {
        // An invalid part at the very end may be an incomplete character.
        Some(chunk)
            if chunk.invalid().len() < 4
                && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none()) =>
        {
            chunk.invalid().len()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(dir: impl Into<PathBuf>) -> ScratchDir {
        ScratchDir { place: ScratchPlace::Given(dir.into()), filter: None }
    }

    #[test]
    fn cleans_up_only_its_own_directory() {
        use std::time::Duration;
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("own");
        let keep = |bytes: &[u8]| {
            let scratch = ScratchDir { place: ScratchPlace::Own(dir.clone()), filter: None };
            let mut spill = SpillFile::start(&scratch);
            spill.push(bytes);
            spill.finish().map(|full| full.path)
        };
        let old = keep(b"old").unwrap();
        let file = std::fs::File::options().write(true).open(&old).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(8 * 24 * 60 * 60)).unwrap();
        let new = keep(b"new").unwrap();
        assert!(!old.exists() && keep(b"newer").unwrap().exists() && new.exists());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |mode| std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
            mode(0o777);
            assert_eq!(keep(b"nothing"), None);
        }
    }

    #[test]
    fn pieces_end_with_whole_characters() {
        let mut collector = OutputCollector::new(&given("/nowhere"));
        let euro = "a€".as_bytes();
        collector.push(&euro[..2]);
        assert_eq!(collector.take_piece(), "a");
        assert!(!collector.has_piece());
        collector.push(&euro[2..]);
        assert_eq!(collector.take_piece(), "€");
        collector.push(b"\xff");
        assert_eq!(collector.take_piece(), "\u{fffd}");
        collector.push(&vec![b'x'; MAX_PIECE + 1]);
        let piece = collector.take_piece();
        assert!(piece.starts_with("[…]\nxx") && piece.len() < MAX_PIECE + 10);
    }

    #[test]
    fn counts_unfinished_line() {
        let mut collector = OutputCollector::new(&given("/nowhere"));
        collector.push(b"a\nb");
        let collected = collector.finish(RunEnd::Exited(0), false);
        assert_eq!((collected.lines, collected.bytes, collected.tail.as_str()), (2, 3, "a\nb"));
        assert_eq!(collected.full, None);
    }

    #[test]
    fn writes_to_disk_only_above_the_result_limit() {
        let dir = tempfile::tempdir().unwrap();
        let mut collector = OutputCollector::new(&given(dir.path()));
        collector.push(&vec![b'x'; MAX_BYTES]);
        assert_eq!(collector.finish(RunEnd::Exited(0), false).full, None);
        let mut collector = OutputCollector::new(&given(dir.path()));
        collector.push(&vec![b'x'; MAX_BYTES]);
        collector.push(b"y");
        let collected = collector.finish(RunEnd::Exited(0), false);
        let full = std::fs::read(collected.full.unwrap().path).unwrap();
        assert_eq!(full.len(), MAX_BYTES + 1);
        assert!(collected.tail.ends_with("xy"));
    }

    #[test]
    fn long_output_begins_with_a_whole_line() {
        let dir = tempfile::tempdir().unwrap();
        // Long enough to exceed the byte limit, which does not fall on the beginning of a line.
        let line = format!("{}\n", "x".repeat(60));
        let output = line.repeat(5_000);
        for size in [7, 1000, output.len()] {
            let mut collector = OutputCollector::new(&given(dir.path()));
            output.as_bytes().chunks(size).for_each(|piece| collector.push(piece));
            let collected = collector.finish(RunEnd::Exited(0), false);
            assert!(collected.cut && collected.tail.starts_with(&line), "{size}: {:.70}", collected.tail);
        }
    }

    #[test]
    fn stores_output_that_grows_by_replaced_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let binary = vec![0xff; MAX_BYTES - 1];
        let mut collector = OutputCollector::new(&given(dir.path()));
        collector.push(&binary);
        let collected = collector.finish(RunEnd::Exited(0), false);
        assert!(collected.cut && collected.tail.len() <= MAX_BYTES);
        assert_eq!(std::fs::read(collected.full.unwrap().path).unwrap(), binary);
    }

    #[test]
    fn stored_output_is_filtered_and_private() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("results");
        let filter = TextFilter::new(|text| text.contains("key=1").then(|| text.replace("key=1", "key=?")));
        let scratch = ScratchDir { place: ScratchPlace::Given(dir.clone()), filter: Some(filter) };
        let store = |output: &[u8], size: usize| {
            let mut spill = SpillFile::start(&scratch);
            output.chunks(size).for_each(|piece| spill.push(piece));
            let full = spill.finish().unwrap();
            let stored = std::fs::read(full.path).unwrap();
            assert_eq!(stored.len() as u64, full.bytes);
            stored
        };
        let output = format!("{}\nkey=1\n", "x".repeat(99)).repeat(FILTERED / 40);
        let expect = output.replace("key=1", "key=?");
        for size in [7919, output.len()] {
            assert_eq!(store(output.as_bytes(), size), expect.as_bytes(), "{size}");
        }
        let binary = [0xff; FILTERED * 2 + 1];
        assert_eq!(store(&binary, 1000), binary);
        assert_eq!(store(b"key=1", 2), b"key=?");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn limits_bytes_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        let mut spill = SpillFile::start(&given(dir.path()));
        spill.room = 3;
        spill.push(b"ab");
        spill.push(b"cd");
        spill.push(b"ef");
        assert_eq!(spill.room, 0);
        assert_eq!(std::fs::read(spill.finish().unwrap().path).unwrap(), b"abc");
    }
}
