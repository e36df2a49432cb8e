//! The content of a session as extensions mirror it, and the frames for a mirror that has a part of it. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use haft_core::json_shape::{ShapeLimits, check_shape};
use haft_core::session::entry::{SessionEntry, SessionHeader};
use haft_core::session::{EntryId, EntryLineLimits, SessionChange};
use haft_protocol::ext::{EntriesFrame, HostFrame, Limits, MirrorPart, StateFrame};
use haft_protocol::{RawJson, codec};

use crate::session::mirror_parts::MirrorParts;

/// The size in bytes at which a frame ends and the next one continues it, so that a long session does not occupy
/// the pipe with one line.
const FRAME_BYTES: usize = 256 * 1024;

/// The place of one mirror: what it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct MirrorPlace {
    parts: MirrorParts,
    /// The number of the newest change in its state.
    state: u64,
    entries: EntriesPlace,
}

impl MirrorPlace {
    pub(crate) fn new(parts: MirrorParts) -> Self {
        Self { parts, ..Self::default() }
    }
}

/// The entries that a mirror has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct EntriesPlace {
    /// Changes when all entries are replaced. Zero before the entries are known.
    content: u64,
    entries: usize,
    leaf: Option<EntryId>,
    /// The number of the change to the header.
    header: u64,
}

/// The content of the session. Changes are published together, so that mirrors at the same place get the same
/// frame, which is encoded once.
#[derive(Debug)]
pub(super) struct MirrorLog {
    limits: EntryLineLimits,
    /// The number of the newest change.
    seq: u64,
    session: String,
    state: StateFrame,
    /// The newest change of each part of the state.
    changed: [u64; MirrorPart::ALL.len()],
    header: Option<RawJson>,
    entries: Vec<Arc<SessionEntry>>,
    end: EntriesPlace,
    /// The number of the recorded session: changes of another one do not count.
    recording: u64,
    /// Changes that came while the entries were read.
    early: Option<Vec<SessionChange>>,
    published: u64,
    published_end: EntriesPlace,
    /// The frames since the last publication, by the place before them.
    frames: HashMap<MirrorPlace, (MirrorPlace, Bytes)>,
}

impl MirrorLog {
    pub(super) fn new(limits: &Limits) -> Self {
        let limits = EntryLineLimits {
            // The rest is for the frame around the entry.
            bytes: limits.max_result_line.saturating_sub(1024),
            depth: limits.max_depth.saturating_sub(2),
            // A value without a comma, such as the last number of a list, is not counted there.
            values: limits.max_nodes / 2,
        };
        Self {
            limits,
            seq: 0,
            session: String::new(),
            state: StateFrame::default(),
            changed: [0; MirrorPart::ALL.len()],
            header: None,
            entries: Vec::new(),
            end: EntriesPlace::default(),
            recording: 0,
            early: None,
            published: 0,
            published_end: EntriesPlace::default(),
            frames: HashMap::new(),
        }
    }

    /// Takes the state of the session. Only the parts that differ are new, or all parts under another id. A part
    /// that does not fit into a frame is absent.
    pub(super) fn set_state(&mut self, mut state: StateFrame) {
        // The header is newer than an id that was read before it.
        let is_recorded = self.header.is_some();
        if is_recorded {
            state.session.clone_from(&self.session);
        }
        let is_other = self.state.session != state.session;
        let seq = self.seq + 1;
        for &part in MirrorPart::ALL {
            if !is_other && !is_different(part, &self.state, &state) {
                continue;
            }
            if !self.fits_frame(part, &state) {
                copy_part(part, &StateFrame::default(), &mut state);
                tracing::warn!(%part, "a part of the session is too large for mirrors");
            }
            if let Some(changed) = self.changed.get_mut(part as usize) {
                *changed = seq;
                self.seq = seq;
            }
        }
        if !is_recorded {
            self.session.clone_from(&state.session);
        }
        self.state = state;
    }

    /// True if all parts of this size fit into one frame together.
    fn fits_frame(&self, part: MirrorPart, state: &StateFrame) -> bool {
        let mut frame = StateFrame::default();
        copy_part(part, state, &mut frame);
        let Ok(text) = codec::encode(&HostFrame::from(frame)) else { return false };
        let (parts, EntryLineLimits { bytes, depth, values }) = (MirrorPart::ALL.len(), self.limits);
        // The tools may have half of a frame; the other parts share the rest.
        let share = if part == MirrorPart::Tools { 2 } else { 2 * parts };
        let shape = ShapeLimits { depth: depth + 2, values: values / share };
        text.len() <= bytes / share && check_shape(text.as_bytes(), shape).is_ok()
    }

    /// Begins to read the entries of a session, whose changes have the returned number. They wait until
    /// [`finish_reading`](Self::finish_reading).
    pub(super) fn begin_reading(&mut self) -> u64 {
        self.early = Some(Vec::new());
        self.recording += 1;
        self.recording
    }

    /// Takes the entries that were read, and then the changes that came meanwhile.
    pub(super) fn finish_reading(
        &mut self,
        header: &SessionHeader,
        leaf: Option<EntryId>,
        entries: Vec<Arc<SessionEntry>>,
    ) {
        let content = self.end.content + 1;
        self.end = EntriesPlace { content, entries: entries.len(), leaf, ..self.end };
        self.entries = entries;
        self.set_header(header);
        let number = self.recording;
        self.early.take().into_iter().flatten().for_each(|change| self.add_change(number, change));
        // The published entries are no longer there.
        self.publish_changes();
    }

    /// Takes a change of the session with this number.
    pub(super) fn add_change(&mut self, number: u64, change: SessionChange) {
        if number != self.recording {
            return;
        }
        if let Some(early) = &mut self.early {
            return early.push(change);
        }
        self.seq += 1;
        match change {
            SessionChange::Appended(entry) => {
                self.end.leaf = Some(entry.id);
                self.entries.push(entry);
                self.end.entries = self.entries.len();
            }
            SessionChange::LeafMoved(leaf) => self.end.leaf = leaf,
            // The frames have the header and the entries of now, so the published ones must be the same.
            SessionChange::HeaderChanged(header) => {
                self.set_header(&header);
                self.publish_changes();
            }
            SessionChange::Cleared => {
                self.entries.clear();
                self.end = EntriesPlace { content: self.end.content + 1, entries: 0, leaf: None, ..self.end };
                self.publish_changes();
            }
        }
    }

    fn set_header(&mut self, header: &SessionHeader) {
        self.seq += 1;
        self.end.header = self.seq;
        self.session = header.id.to_string();
        self.header = header.to_line().ok().and_then(|line| to_json(&line));
    }

    /// Forgets the encoded frames, which nearly all mirrors have.
    pub(super) fn forget_frames(&mut self) {
        self.frames.clear();
    }

    /// Makes all changes visible to mirrors.
    pub(super) fn publish_changes(&mut self) {
        if self.published != self.seq {
            (self.published, self.published_end) = (self.seq, self.end);
            self.frames.clear();
        }
    }

    /// Returns the next frame for a mirror at this place, and moves the place behind it; `None` if the mirror has
    /// everything that was published.
    pub(super) fn next_frame(&mut self, place: &mut MirrorPlace) -> Option<Bytes> {
        if let Some((to, frame)) = self.frames.get(place) {
            *place = *to;
            return Some(frame.clone());
        }
        let from = *place;
        let frame = self.state_frame(place).or_else(|| self.entries_frame(place))?;
        // An empty line has no meaning. Frames of these types can always be encoded.
        let text = Bytes::from(codec::encode(&frame).unwrap_or_else(|_| "\n".to_owned()));
        self.frames.insert(from, (*place, text.clone()));
        Some(text)
    }

    fn new_parts(&self, place: &MirrorPlace) -> impl Iterator<Item = MirrorPart> {
        let parts = MirrorPart::ALL.iter().copied().zip(self.changed);
        let (MirrorPlace { parts: wanted, state, .. }, published) = (*place, self.published);
        let is_new = move |part, changed| changed > state && changed <= published && wanted.contains(part);
        parts.filter(move |(part, changed)| is_new(*part, *changed)).map(|(part, _)| part)
    }

    fn has_new_entries(&self, place: &MirrorPlace) -> bool {
        place.parts.contains(MirrorPart::Entries) && place.entries != self.published_end
    }

    fn state_frame(&self, place: &mut MirrorPlace) -> Option<HostFrame> {
        let mut frame =
            StateFrame { seq: self.published, session: self.session.clone(), ..StateFrame::default() };
        let mut is_new = false;
        for part in self.new_parts(place) {
            copy_part(part, &self.state, &mut frame);
            is_new = true;
        }
        place.state = self.published;
        is_new.then(|| frame.into())
    }

    fn entries_frame(&self, place: &mut MirrorPlace) -> Option<HostFrame> {
        if !self.has_new_entries(place) {
            return None;
        }
        let (had, end) = (place.entries, self.published_end);
        let reset = had.content != end.content;
        let from = if reset { 0 } else { had.entries };
        let (append, to) = self.lines_between(from, end.entries);
        let is_new_header = reset || had.header != end.header;
        let more = to < end.entries && to > from;
        place.entries = EntriesPlace { entries: to, leaf: if more { None } else { end.leaf }, ..end };
        let leaf = place.entries.leaf.map(|leaf| leaf.to_string());
        let header = self.header.clone().filter(|_| is_new_header);
        let session = self.session.clone();
        Some(EntriesFrame { seq: self.published, session, reset, header, append, leaf, more }.into())
    }

    /// Returns the lines of entries from this one on that fit into a frame, and the entry after them.
    fn lines_between(&self, from: usize, end: usize) -> (Vec<RawJson>, usize) {
        let (mut lines, mut bytes, mut to) = (Vec::new(), 0, from);
        for entry in self.entries.get(from..end).unwrap_or_default() {
            let line = entry.to_line_within(self.limits).ok().and_then(|line| to_json(&line));
            let len = line.as_ref().map_or(0, |line| line.as_str().len());
            if bytes > 0 && bytes + len > FRAME_BYTES {
                break;
            }
            bytes += len;
            to += 1;
            lines.extend(line);
        }
        (lines, to)
    }
}

/// Returns a line of the session file as JSON. A line of an unknown type stands as it was read.
fn to_json(line: &[u8]) -> Option<RawJson> {
    RawJson::parse(std::str::from_utf8(line).ok()?.trim_end()).ok()
}

/// True if this part differs. Entries are no part of the state.
fn is_different(part: MirrorPart, one: &StateFrame, other: &StateFrame) -> bool {
    match part {
        MirrorPart::Entries => false,
        MirrorPart::Model => one.provider != other.provider || one.model != other.model,
        MirrorPart::Thinking => one.thinking != other.thinking,
        MirrorPart::Busy => one.busy != other.busy,
        MirrorPart::Queue => one.queue != other.queue,
        MirrorPart::Context => one.context != other.context,
        MirrorPart::Name => one.name != other.name,
        MirrorPart::Tags => one.tags != other.tags,
        MirrorPart::Tools => one.tools != other.tools,
    }
}

fn copy_part(part: MirrorPart, from: &StateFrame, to: &mut StateFrame) {
    match part {
        MirrorPart::Entries => {}
        MirrorPart::Model => {
            to.provider.clone_from(&from.provider);
            to.model.clone_from(&from.model);
        }
        MirrorPart::Thinking => to.thinking = from.thinking,
        MirrorPart::Busy => to.busy = from.busy,
        MirrorPart::Queue => to.queue.clone_from(&from.queue),
        MirrorPart::Context => to.context = from.context,
        MirrorPart::Name => to.name.clone_from(&from.name),
        MirrorPart::Tags => to.tags.clone_from(&from.tags),
        MirrorPart::Tools => to.tools.clone_from(&from.tools),
    }
}

#[cfg(test)]
mod tests;
