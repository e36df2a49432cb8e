//! The lines that wait to be written to one extension, oldest first, within two limits. Pure.
//!
//! Events may be lost: beyond their limit, the oldest events are dropped. Every other line must arrive, or is
//! refused before it is added. The two limits are independent.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::Bytes;
use haft_protocol::codec;
use haft_protocol::ext::{EventGap, HostFrame, Limits};

use super::event::EventRun;

/// The maximum number of waiting lines other than events.
const MAX_KEPT: usize = 4096;

/// The number of waiting frames of a mirror beyond which it continues only before a line that must arrive.
const MAX_MIRROR: usize = 4;

/// The maximum size of waiting events in bytes: the capacity of four full pipes.
const EVENT_BYTES: usize = 256 * 1024;

#[derive(Debug, Clone, Copy, Default)]
struct QueueLoad {
    lines: usize,
    bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    /// The line with this number of the session, which must arrive.
    Kept(u64),
    Events(usize),
    /// A frame of the mirror, which must arrive.
    Mirror,
    /// A placeholder for this number of lost events. Its text is written when the line is due.
    Gap(u64),
}

#[derive(Debug)]
struct QueuedLine {
    text: Bytes,
    kind: LineKind,
}

/// The waiting lines of one extension.
#[derive(Debug)]
pub(super) struct WaitingLines {
    lines: VecDeque<QueuedLine>,
    left: usize,
    kept: QueueLoad,
    events: QueueLoad,
    mirror: QueueLoad,
    /// True if a gap may have no text yet.
    has_gaps: bool,
    /// True if the extension receives the number of lost events.
    pub(super) reports_gaps: bool,
    max_kept_bytes: usize,
    max_events: QueueLoad,
}

impl WaitingLines {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            lines: VecDeque::new(),
            left: 0,
            kept: QueueLoad::default(),
            events: QueueLoad::default(),
            mirror: QueueLoad::default(),
            has_gaps: false,
            reports_gaps: false,
            max_kept_bytes: limits.max_result_line,
            max_events: QueueLoad { lines: limits.queue_frames, bytes: limits.queue_bytes },
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.kept.bytes + self.events.bytes + self.mirror.bytes
    }

    /// True if the mirror may continue before a line needs it.
    pub(super) fn has_room_for_mirror(&self) -> bool {
        self.mirror.lines < MAX_MIRROR
    }

    /// Adds a frame of the mirror.
    pub(super) fn push_mirror(&mut self, text: Bytes) {
        self.mirror.add(1, text.len());
        self.lines.push_back(QueuedLine { text, kind: LineKind::Mirror });
    }

    /// Returns the unwritten bytes of the first line, and true if other bytes of it were written already.
    pub(super) fn first_line_progress(&self) -> (usize, bool) {
        let rest = self.lines.front().map_or(0, |line| line.text.len() - self.left);
        (rest, self.left > 0)
    }

    /// True if a line that must arrive may be added. A line of any size fits when no such line waits: the
    /// session refuses lines beyond the frame limit.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        self.kept.lines < MAX_KEPT && (self.kept.lines == 0 || self.kept.bytes + bytes <= self.max_kept_bytes)
    }

    /// Adds a line that must arrive.
    pub(super) fn push_kept(&mut self, number: u64, text: Bytes) {
        self.kept.add(1, text.len());
        self.lines.push_back(QueuedLine { text, kind: LineKind::Kept(number) });
    }

    /// Adds events and drops the oldest ones beyond the limit. Returns the number of lost events.
    pub(super) fn push_events(&mut self, EventRun { text, events }: EventRun) -> usize {
        if text.is_empty() {
            self.push_gap(events as u64);
            return events;
        }
        self.events.add(events, text.len());
        self.lines.push_back(QueuedLine { text, kind: LineKind::Events(events) });
        let mut dropped = 0;
        while self.events.bytes > EVENT_BYTES {
            match self.drop_oldest() {
                0 => break,
                events => dropped += events,
            }
        }
        dropped
    }

    /// Records lost events behind all other lines.
    pub(super) fn push_gap(&mut self, events: u64) {
        if !self.reports_gaps {
            return;
        }
        if self.lines.back_mut().is_none_or(|line| !line.widen_gap(events)) {
            self.lines.push_back(QueuedLine::new_gap(events));
            self.has_gaps = true;
        }
    }

    /// Marks the first bytes of the first line as written.
    pub(super) fn mark_begun(&mut self, left: usize) {
        self.left = left;
    }

    pub(super) fn fill_slices<'a>(&'a mut self, parts: &mut [IoSlice<'a>]) -> usize {
        if self.has_gaps {
            self.lines.iter_mut().for_each(QueuedLine::write_gap);
            self.has_gaps = false;
        }
        let mut used = 0;
        for (part, line) in parts.iter_mut().zip(&self.lines) {
            let from = if used == 0 { self.left } else { 0 };
            *part = IoSlice::new(line.text.get(from..).unwrap_or_default());
            used += 1;
        }
        used
    }

    /// Removes the written bytes. Returns the number of the last completely written numbered line, if any.
    pub(super) fn advance(&mut self, mut written: usize) -> Option<u64> {
        let mut number = None;
        while let Some(line) = self.lines.front() {
            let len = line.text.len();
            let rest = len - self.left;
            if written < rest {
                self.left += written;
                break;
            }
            match line.kind {
                LineKind::Kept(of) => {
                    number = Some(of);
                    self.kept.remove(1, len);
                }
                LineKind::Events(events) => self.events.remove(events, len),
                LineKind::Mirror => self.mirror.remove(1, len),
                LineKind::Gap(_) => {}
            }
            written -= rest;
            self.left = 0;
            self.lines.pop_front();
        }
        number
    }

    /// Drops the oldest events, but keeps the number that the limits promise. Returns the number of dropped
    /// events.
    fn drop_oldest(&mut self) -> usize {
        // A partly written line must be finished.
        let begun = usize::from(self.left > 0);
        let oldest = self.lines.iter().enumerate().skip(begun).find_map(|(at, line)| match line.kind {
            LineKind::Events(events) => Some((at, events, line.text.len())),
            LineKind::Kept(_) | LineKind::Mirror | LineKind::Gap(_) => None,
        });
        let Some((at, events, bytes)) = oldest else { return 0 };
        let promised = self.events.lines - events >= self.max_events.lines
            || self.events.bytes - bytes >= self.max_events.bytes;
        if !promised {
            return 0;
        }
        self.events.remove(events, bytes);
        let before = at.checked_sub(1).and_then(|before| self.lines.get_mut(before));
        if !self.reports_gaps || before.is_some_and(|line| line.widen_gap(events as u64)) {
            self.lines.remove(at);
        } else if let Some(line) = self.lines.get_mut(at) {
            *line = QueuedLine::new_gap(events as u64);
            self.has_gaps = true;
        }
        events
    }
}

impl QueuedLine {
    fn new_gap(events: u64) -> Self {
        Self { text: Bytes::new(), kind: LineKind::Gap(events) }
    }

    /// Adds events to a gap. Returns false if the line is not a gap or its text is already written.
    fn widen_gap(&mut self, events: u64) -> bool {
        let is_unwritten = self.text.is_empty();
        match &mut self.kind {
            LineKind::Gap(lost) if is_unwritten => {
                *lost += events;
                true
            }
            LineKind::Gap(_) | LineKind::Kept(_) | LineKind::Mirror | LineKind::Events(_) => false,
        }
    }

    fn write_gap(&mut self) {
        if let LineKind::Gap(lost) = self.kind
            && self.text.is_empty()
        {
            // A blank line has no meaning.
            let text = codec::encode(&HostFrame::EventGap(EventGap { lost }));
            self.text = text.unwrap_or_else(|_| "\n".to_owned()).into();
        }
    }
}

impl QueueLoad {
    fn add(&mut self, lines: usize, bytes: usize) {
        self.lines += lines;
        self.bytes += bytes;
    }

    fn remove(&mut self, lines: usize, bytes: usize) {
        self.lines -= lines;
        self.bytes -= bytes;
    }
}

#[cfg(test)]
mod tests;
