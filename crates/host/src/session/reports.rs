//! Limits of repeated reports: an extension that repeats a fault must not flood the screen or block the front
//! end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use haft_protocol::defense::{Defense, is_up};

use crate::wire::fault::FaultCode;

/// The maximum number of reports of one code by one connection, for faults with varying details.
const MAX_REPEATED: u32 = 20;

const MAX_UNKNOWN_TYPES: usize = 32;

/// Counts the reports. Its memory is bounded by the number of codes.
#[derive(Debug, Default)]
pub(super) struct ReportLimiter {
    counts: BTreeMap<FaultCode, u32>,
    unknown_types: BTreeSet<String>,
    unknown_type_at: Option<Instant>,
    /// The number of tools and commands beyond the limit, and true if it was reported.
    surplus: (u32, bool),
    noted: bool,
}

impl ReportLimiter {
    pub(super) fn admit(&mut self, code: FaultCode) -> bool {
        let count = self.counts.entry(code).or_default();
        *count = count.saturating_add(1);
        *count <= report_limit(code) || !is_up(Defense::ReportedOnce)
    }

    /// Counts one frame of an unknown type; returns true if it is reported: once for each type, and not too
    /// often.
    pub(super) fn admit_unknown_type(&mut self, kind: &str, pause: Duration, now: Instant) -> bool {
        let paused = self.unknown_type_at.is_some_and(|at| now < at + pause);
        if paused
            || self.unknown_types.len() >= MAX_UNKNOWN_TYPES
            || !self.unknown_types.insert(kind.to_owned())
        {
            return false;
        }
        self.unknown_type_at = Some(now);
        true
    }

    pub(super) fn mark_noted(&mut self) {
        self.noted = true;
    }

    /// Counts a registration beyond the limit.
    pub(super) fn count_surplus(&mut self) {
        self.surplus.0 = self.surplus.0.saturating_add(1);
    }

    /// Takes the number of surplus registrations, once.
    pub(super) fn take_surplus(&mut self) -> Option<u32> {
        let (count, was_reported) = &mut self.surplus;
        (*count > 0 && !std::mem::replace(was_reported, *count > 0)).then_some(*count)
    }

    /// Returns a summary of the suppressed reports.
    pub(super) fn summary(&self) -> Option<String> {
        let unreported = self.counts.iter().filter(|(code, count)| **count > report_limit(**code));
        let all: Vec<String> = unreported.map(|(code, count)| format!("{code} {count} times")).collect();
        (!all.is_empty()).then(|| format!("in all: {}", all.join(", ")))
    }

    /// Records that all notes were removed; returns true if there may have been any.
    pub(super) fn take_notes(&mut self) -> bool {
        std::mem::take(&mut self.noted)
    }

    pub(super) fn junk_count(&self) -> u32 {
        JUNK.iter().filter_map(|code| self.counts.get(code)).sum()
    }
}

/// The codes of lines that are not frames.
const JUNK: [FaultCode; 5] = [
    FaultCode::FrameNotUtf8,
    FaultCode::FrameNotJson,
    FaultCode::FrameNotObject,
    FaultCode::FrameTooDeep,
    FaultCode::FrameDuplicateKey,
];

fn report_limit(code: FaultCode) -> u32 {
    let is_said_once = matches!(code, FaultCode::UnknownId | FaultCode::DuplicateResponse);
    if is_said_once || JUNK.contains(&code) { 1 } else { MAX_REPEATED }
}
