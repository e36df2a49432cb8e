//! What an author error is reported how often: one printing extension must not fill the screen.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::fault::FaultCode;

/// Reports of one code by one connection, for mistakes that repeat with different details.
const REPEATED: u32 = 20;

/// Unknown frame types that are told apart.
const UNKNOWN_TYPES: usize = 32;

/// Counts what was reported. Its memory is bounded by the number of codes.
#[derive(Debug, Default)]
pub(super) struct Reports {
    counts: BTreeMap<FaultCode, u32>,
    unknown_types: BTreeSet<String>,
    unknown_type_at: Option<Instant>,
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
        | FaultCode::RegisterRejected
        | FaultCode::ResultRejected => REPEATED,
    }
}
