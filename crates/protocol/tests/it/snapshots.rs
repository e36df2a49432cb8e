//! The exact bytes of every frame. Shell extensions match them, so a change here is a change of the
//! protocol.

use std::collections::BTreeSet;

use haft_protocol::codec::{FrameSet, encode};
use insta::assert_snapshot;

use crate::samples;

/// Returns the lines of the frames, after a check that every kind occurs.
#[track_caller]
fn lines<F: FrameSet>(frames: &[F]) -> String {
    let kinds: BTreeSet<_> = frames.iter().map(F::kind).collect();
    assert_eq!(kinds, F::KINDS.iter().copied().collect(), "frames without a sample");
    frames.iter().map(|frame| encode(frame).unwrap()).collect()
}

#[test]
fn host_frames_serialize_as_documented_lines() {
    assert_snapshot!(lines(&samples::host()));
}

#[test]
fn extension_frames_serialize_as_documented_lines() {
    assert_snapshot!(lines(&samples::extension()));
}
