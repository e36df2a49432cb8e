//! The fixtures cover every frame and every hook, and fit both the schema and the types.

use std::collections::BTreeSet;

use haft_protocol::codec::{DecodedFrame, FrameSet, decode, encode};
use haft_protocol::ext::{ExtensionFrame, HostFrame, InterceptKind, LifecycleEvent};
use serde_json::Value;

pub(crate) const HOST: &str = include_str!("../../fixtures/host.jsonl");
pub(crate) const EXTENSION: &str = include_str!("../../fixtures/extension.jsonl");

#[track_caller]
fn check<F: FrameSet + schemars::JsonSchema>(lines: &str) {
    let schema = jsonschema::validator_for(schemars::schema_for!(F).as_value()).unwrap();
    let mut kinds = BTreeSet::new();
    for line in lines.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        if let Err(error) = schema.validate(&value) {
            panic!("{error}: {line}");
        }
        let Ok(DecodedFrame::Known(frame)) = decode::<F>(line.as_bytes()) else { panic!("not read: {line}") };
        kinds.insert(frame.kind());
        let again: Value = serde_json::from_str(&encode(&frame).unwrap()).unwrap();
        assert_eq!(again, value);
    }
    assert_eq!(kinds, F::KINDS.iter().copied().collect(), "frames without a fixture");
}

#[test]
fn host_fixtures_match_types_and_schema() {
    check::<HostFrame>(HOST);
}

#[test]
fn extension_fixtures_match_types_and_schema() {
    check::<ExtensionFrame>(EXTENSION);
}

/// Returns the `event`s of all lines of a kind.
fn events(kind: &str) -> BTreeSet<String> {
    let frames = HOST.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    frames
        .filter(|frame| frame["type"] == kind)
        .filter_map(|frame| frame["event"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn every_hook_has_a_fixture() {
    assert_eq!(
        events("event_intercept"),
        InterceptKind::ALL.iter().map(|kind| kind.name().to_owned()).collect()
    );
}

#[test]
fn every_event_has_a_fixture() {
    let lifecycle: BTreeSet<_> = LifecycleEvent::NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert!(events("event").is_superset(&lifecycle));
}
