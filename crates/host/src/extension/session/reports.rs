//! What is passed on how often: one extension that says the same for ever must not fill the screen, nor keep
//! whoever shows it from everything else.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::fault::FaultCode;
use crate::timeouts::NOTE_WINDOW;

/// Reports of one code by one connection, for mistakes that repeat with different details.
const REPEATED: u32 = 20;

/// Unknown frame types that are told apart.
const UNKNOWN_TYPES: usize = 32;

/// Notes that one extension shows within [`NOTE_WINDOW`].
pub(super) const NOTE_BURST: u32 = 64;

/// What becomes of one more note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admitted {
    /// It is shown.
    Yes,
    /// It is not, and it is the first one in this window.
    FirstTooMany,
    /// It is not.
    No,
}

/// Counts what was reported. Its memory is bounded by the number of codes.
#[derive(Debug, Default)]
pub(super) struct Reports {
    counts: BTreeMap<FaultCode, u32>,
    unknown_types: BTreeSet<String>,
    unknown_type_at: Option<Instant>,
    /// When the window of notes began, and how many came in it.
    notes_since: Option<Instant>,
    notes: u32,
    /// Whether a note may be on the screen.
    noted: bool,
}

impl Reports {
    /// Counts one fault and says whether it is reported.
    pub(super) fn admit(&mut self, code: FaultCode) -> bool {
        let count = self.counts.entry(code).or_default();
        *count = count.saturating_add(1);
        *count <= allowance(code)
    }

    /// Counts one frame of an unknown type and says whether it is reported: once a type, and not too often.
    pub(super) fn admit_unknown_type(&mut self, kind: &str, pause: Duration, now: Instant) -> bool {
        let paused = self.unknown_type_at.is_some_and(|at| now < at + pause);
        if paused || self.unknown_types.len() >= UNKNOWN_TYPES || !self.unknown_types.insert(kind.to_owned())
        {
            return false;
        }
        self.unknown_type_at = Some(now);
        true
    }

    /// Counts one note and says whether it is shown.
    pub(super) fn admit_note(&mut self, now: Instant) -> Admitted {
        if self.notes_since.is_none_or(|since| now >= since + NOTE_WINDOW) {
            self.notes_since = Some(now);
            self.notes = 0;
        }
        self.notes = self.notes.saturating_add(1);
        if self.notes <= NOTE_BURST {
            self.noted = true;
            return Admitted::Yes;
        }
        if self.notes == NOTE_BURST + 1 { Admitted::FirstTooMany } else { Admitted::No }
    }

    /// The notes are taken back; says whether there can be any.
    pub(super) fn take_notes(&mut self) -> bool {
        std::mem::take(&mut self.noted)
    }

    /// How often this happened.
    pub(super) fn count(&self, code: FaultCode) -> u32 {
        self.counts.get(&code).copied().unwrap_or_default()
    }
}

fn allowance(code: FaultCode) -> u32 {
    match code {
        FaultCode::FrameNotUtf8
        | FaultCode::FrameNotJson
        | FaultCode::FrameNotObject
        | FaultCode::FrameTooDeep
        | FaultCode::FrameDuplicateKey
        | FaultCode::UnknownId
        | FaultCode::DuplicateResponse => 1,
        FaultCode::SpawnFailed
        | FaultCode::HelloTimeout
        | FaultCode::HelloInvalid
        | FaultCode::FrameTooLong
        | FaultCode::FrameUnknownType
        | FaultCode::FrameInvalid
        | FaultCode::LateResponse
        | FaultCode::WriteStalled
        | FaultCode::CallTimeout
        | FaultCode::HookTimeout
        | FaultCode::HookError
        | FaultCode::Exited
        | FaultCode::CrashLoop
        | FaultCode::RegisterRejected
        | FaultCode::ResultRejected
        | FaultCode::HiddenText => REPEATED,
    }
}
