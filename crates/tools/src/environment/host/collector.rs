//! The output of a command: the end in memory, the whole on the disk when it is long, pieces for whoever watches.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::SystemTime;

use haft_core::truncate::{self, MAX_BYTES, TruncationLimits};
use tempfile::NamedTempFile;

use super::private;
use crate::environment::{FullOutput, RunEnd, RunReport};
use crate::results::clear_results;

/// The size of a piece of progress when output comes faster than it is shown.
const MAX_PIECE: usize = 8 * 1024;

/// The size of the end that is kept: by the byte before what is shown it is known whether that begins a line.
const KEPT: usize = MAX_BYTES + 1;

/// The most that is written to the disk: a command that never stops writing must not fill it.
const MAX_FULL: u64 = 64 * 1024 * 1024;

/// Where long output goes.
#[derive(Debug, Clone)]
pub(super) enum ScratchDir {
    /// A directory that somebody else looks after.
    Given(PathBuf),
    /// A directory of the user's, from which old files are removed here.
    Own(PathBuf),
}

impl ScratchDir {
    /// Makes the directory if it is missing. Blocks.
    fn prepare(&self) -> io::Result<&Path> {
        match self {
            Self::Given(dir) => {
                std::fs::create_dir_all(dir)?;
                Ok(dir)
            }
            Self::Own(dir) => {
                private::create_private_dir(dir)?;
                clear_results(dir, SystemTime::now());
                Ok(dir)
            }
        }
    }
}

/// Takes output as it comes.
pub(super) struct OutputCollector {
    /// The last bytes, more than are shown, unless there are fewer.
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
    /// Long output goes to a new file in `scratch`.
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
        // Room for as much again, so that bytes are moved once in a while and not at every piece.
        if self.tail.len() > 2 * MAX_BYTES {
            self.tail.drain(..self.tail.len() - KEPT);
        }
        if self.pending.len() > MAX_PIECE {
            self.pending.drain(..self.pending.len() - MAX_PIECE);
            self.skipped = true;
        }
    }

    /// The output since the last call that ends with a whole character; empty when there is none.
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
            // Bytes that are not UTF-8 take more room when they are shown than they took in the output.
            self.start_spill();
        }
        let full = self.spill.and_then(SpillFile::finish);
        RunReport { end, tail, lines, bytes: self.bytes, cut, full, background }
    }

    /// Lines so far, one that has not ended included.
    fn line_count(&self) -> u64 {
        self.lines + u64::from(self.ends_in_line)
    }

    /// Nothing goes to the disk until there is more than a result can hold; then all of it does.
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

    /// Puts all there was so far on the disk, unless it is there already.
    fn start_spill(&mut self) {
        if self.spill.is_none() {
            let mut spill = SpillFile::start(&self.scratch);
            spill.push(&self.tail);
            self.spill = Some(spill);
        }
    }
}

/// A file that is written by a thread of its own, so that a slow disk holds nobody up. What waits for the disk is
/// bounded by what is written in all, [`MAX_FULL`].
struct SpillFile {
    pieces: mpsc::Sender<Vec<u8>>,
    writer: JoinHandle<io::Result<NamedTempFile>>,
    room: u64,
}

impl SpillFile {
    fn start(scratch: &ScratchDir) -> Self {
        let (pieces, queue) = mpsc::channel::<Vec<u8>>();
        let scratch = scratch.clone();
        let writer = std::thread::spawn(move || {
            let dir = scratch.prepare()?;
            // Readable for its owner alone; gone again unless it is kept at the end.
            let mut file = tempfile::Builder::new().prefix("haft-bash-").suffix(".log").tempfile_in(dir)?;
            for piece in queue {
                file.as_file_mut().write_all(&piece)?;
            }
            Ok(file)
        });
        Self { pieces, writer, room: MAX_FULL }
    }

    fn push(&mut self, piece: &[u8]) {
        let fitting = piece.get(..usize::try_from(self.room).unwrap_or(usize::MAX)).unwrap_or(piece);
        self.room -= fitting.len() as u64;
        if !fitting.is_empty() {
            // Refused only when the writer has failed, which `finish` finds out.
            self.pieces.send(fitting.to_vec()).ok();
        }
    }

    fn finish(self) -> Option<FullOutput> {
        drop(self.pieces);
        let written = self.writer.join().ok()?;
        match written.and_then(|file| file.keep().map_err(|error| error.error)) {
            Ok((_, path)) => Some(FullOutput { path, bytes: MAX_FULL - self.room }),
            Err(error) => {
                tracing::warn!(%error, "long output not kept");
                None
            }
        }
    }
}

fn line_ends(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// The number of bytes at the end that are the beginning of a character.
fn incomplete_suffix_len(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last() {
        // A chunk's invalid part at the very end may be a character that is still on its way.
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
        ScratchDir::Given(dir.into())
    }

    #[test]
    fn a_directory_of_its_own_is_swept_and_others_have_no_part_in_it() {
        use std::time::Duration;
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("own");
        let keep = |bytes: &[u8]| {
            let mut spill = SpillFile::start(&ScratchDir::Own(dir.clone()));
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
    fn lines_are_counted_with_an_unfinished_one() {
        let mut collector = OutputCollector::new(&given("/nowhere"));
        collector.push(b"a\nb");
        let collected = collector.finish(RunEnd::Exited(0), false);
        assert_eq!((collected.lines, collected.bytes, collected.tail.as_str()), (2, 3, "a\nb"));
        assert_eq!(collected.full, None);
    }

    #[test]
    fn what_fits_a_result_never_reaches_the_disk_and_one_more_does() {
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
        // Long enough for the limit of bytes to be the one that counts; no line begins where it lies.
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
    fn bytes_that_grow_when_they_are_shown_are_kept_whole() {
        let dir = tempfile::tempdir().unwrap();
        let binary = vec![0xff; MAX_BYTES - 1];
        let mut collector = OutputCollector::new(&given(dir.path()));
        collector.push(&binary);
        let collected = collector.finish(RunEnd::Exited(0), false);
        assert!(collected.cut && collected.tail.len() <= MAX_BYTES);
        assert_eq!(std::fs::read(collected.full.unwrap().path).unwrap(), binary);
    }

    #[test]
    fn the_disk_is_not_filled() {
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
