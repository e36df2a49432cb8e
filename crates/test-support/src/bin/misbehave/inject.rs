//! `misbehave inject`: writes bytes from a file at a moment that the file names, for faults that consist of bytes
//! alone.
//!
//! `HAFT_INJECT` names a directory. It holds a `plan.json` such as `{"at": "tool", "instead": true, "chunk": 1,
//! "length": 0, "times": 3}`:
//!
//! - `at`: the moment
//! - `instead`: true to omit the usual answer
//! - `chunk`: the number of bytes in one write, 0 for all
//! - `length`: the length of the line without its newline, 0 for no padding
//! - `times`: the largest number of repetitions
//!
//! The file `bytes` holds the bytes. `$ID` is replaced by the id of the question, and `$PAD` by as many `x` as the
//! length requires.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::fault::{AfterFault, FaultMoment, FaultSpec};
use crate::peer::ExtensionPeer;

pub(crate) const FAULTS: &[FaultSpec] = &[FaultSpec { name: "inject", at: FaultMoment::Inject, act: inject }];

/// The placeholder for the id of the question.
const ID: &[u8] = b"$ID";

/// The placeholder for the padding.
const PAD: &[u8] = b"$PAD";

static DONE: AtomicU64 = AtomicU64::new(0);

/// True if the plan names this moment and its repetitions are not used up.
pub(crate) fn is_due(at: FaultMoment) -> bool {
    let plan = read_plan();
    let due = match plan["at"].as_str() {
        Some("start") => at == FaultMoment::Start,
        Some("greeted") => at == FaultMoment::Greeted,
        Some("registered") => at == FaultMoment::Registered,
        Some("ready") => at == FaultMoment::Acknowledged,
        Some("tool") => at == FaultMoment::Tool,
        Some("gate") => at == FaultMoment::Gate,
        Some("command") => at == FaultMoment::Command,
        other => panic!("plan.json names the moment {other:?}"),
    };
    due && DONE.fetch_add(1, Ordering::Relaxed) < plan["times"].as_u64().unwrap_or(1)
}

fn inject(peer: &mut ExtensionPeer, frame: &Value) -> AfterFault {
    let plan = read_plan();
    let bytes = fs::read(dir().join("bytes")).expect("the bytes to inject can be read");
    let bytes = fill_placeholder(&bytes, ID, frame["id"].as_str().unwrap_or_default().as_bytes());
    let length = usize::try_from(plan["length"].as_u64().unwrap_or_default()).unwrap_or_default();
    let missing = (length + PAD.len() + 1).saturating_sub(bytes.len());
    let bytes = fill_placeholder(&bytes, PAD, &vec![b'x'; missing]);
    match plan["chunk"].as_u64().unwrap_or_default() {
        0 => peer.send_bytes(&bytes),
        size => bytes.chunks(usize::try_from(size).unwrap_or(1)).for_each(|piece| peer.send_bytes(piece)),
    }
    if plan["instead"] == true { AfterFault::SkipAnswer } else { AfterFault::Continue }
}

fn fill_placeholder(bytes: &[u8], place: &[u8], with: &[u8]) -> Vec<u8> {
    let mut filled = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(place.len()).position(|piece| piece == place) {
        let (before, after) = rest.split_at(at);
        filled.extend_from_slice(before);
        filled.extend_from_slice(with);
        rest = after.get(place.len()..).unwrap_or_default();
    }
    filled.extend_from_slice(rest);
    filled
}

fn read_plan() -> Value {
    let text = fs::read(dir().join("plan.json")).expect("the plan to inject can be read");
    serde_json::from_slice(&text).expect("the plan to inject is JSON")
}

fn dir() -> PathBuf {
    std::env::var_os("HAFT_INJECT").expect("HAFT_INJECT names a directory").into()
}
