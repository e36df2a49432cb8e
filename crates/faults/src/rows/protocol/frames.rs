//! P-14 to P-20: JSON that is no frame, or not the one it seems.

use std::time::Duration;

use anyhow::{Result, ensure};
use haft_protocol::limits::MAX_DEPTH;
use serde_json::json;

use super::line;
use super::lines::bad_line;
use crate::defence::{Defence, take_down};
use crate::evil::{Evil, Moment, instead};
use crate::row::{CASE, Case, EVIL, Faults, Row};
use crate::world::{Setup, World};

/// The time that a call waits for an answer that never comes.
const SHORT: Duration = Duration::from_millis(500);

const TOO_DEEP: Faults = &[(EVIL, "frame_too_deep")];
const DUPLICATE: Faults = &[(EVIL, "frame_duplicate_key")];
const INVALID: Faults = &[(EVIL, "frame_invalid")];
const NOT_OBJECT: Faults = &[(EVIL, "frame_not_object")];
const HOOK_ERROR: Faults = &[(EVIL, "hook_error")];

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "P-14",
        title: "nested 64, 65 and 100,000 deep",
        cases: &[
            bad_line(&[], || nested(MAX_DEPTH)),
            bad_line(TOO_DEEP, || nested(MAX_DEPTH + 1)),
            bad_line(TOO_DEEP, || nested(100_000)),
        ],
        undefend: Some(|setup| setup.config.limits.max_depth = 1_000_000),
    },
    Row {
        id: "P-15",
        title: "a key twice: in the frame, in arguments, spelt differently",
        cases: &[
            bad_line(DUPLICATE, || line(r#"{"type":"notify","message":"a","message":"b"}"#)),
            bad_line(DUPLICATE, || line(r#"{"type":"notify","message":"a","t\u0079pe":"ready"}"#)),
            refused(|| line(r#"{"type":"event_intercept_response","id":"$ID","block":true,"block":false}"#)),
            refused(|| {
                line(r#"{"type":"event_intercept_response","id":"$ID","modified_args":{"a":1,"\u0061":2}}"#)
            }),
        ],
        undefend: Some(|_| take_down(Defence::DuplicateKeys)),
    },
    Row {
        id: "P-16",
        title: "numbers that not everybody reads alike",
        cases: &[
            bad_line(INVALID, || line(r#"{"type":"notify","message":"a","number":1e400}"#)),
            bad_line(&[(EVIL, "frame_not_json")], || line(r#"{"type":"notify","message":"a","number":NaN}"#)),
            bad_line(&[(EVIL, "frame_not_json")], || {
                line(r#"{"type":"notify","message":"a","number":-Infinity}"#)
            }),
            refused(|| line(r#"{"type":"event_intercept_response","id":"$ID","modified_args":{"a":1e400}}"#)),
            Case {
                evil: instead(Moment::Gate, || {
                    line(format_args!(
                        r#"{{"type":"event_intercept_response","id":"$ID","modified_args":{EXACT}}}"#
                    ))
                }),
                play: |world| Box::pin(keeps_every_digit(world)),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defence::StrictFrames)),
    },
    Row {
        id: "P-17",
        title: "fields of wrong types",
        cases: &[
            bad_line(INVALID, || line(r#"{"type":"register_tool","name":7,"description":"","schema":{}}"#)),
            bad_line(INVALID, || line(r#"{"type":"subscribe","events":"turn_start"}"#)),
            bad_line(INVALID, || line(r#"{"type":"tool_result","id":null}"#)),
            bad_line(INVALID, || line(r#"{"type":"tool_result","id":{}}"#)),
            failed_call(|| line(r#"{"type":"tool_result","id":"$ID","content":"a string"}"#)),
            failed_call(|| line(r#"{"type":"tool_result","id":"$ID","content":{}}"#)),
            failed_call(|| line(r#"{"type":"tool_result","id":"$ID","content":[7]}"#)),
            failed_call(|| line(r#"{"type":"tool_result","id":"$ID","is_error":"no"}"#)),
            refused(|| line(r#"{"type":"event_intercept_response","id":"$ID","modified_args":[1]}"#)),
            refused(|| line(r#"{"type":"event_intercept_response","id":"$ID","modified_args":"{}"}"#)),
            Case {
                evil: instead(Moment::Tool, || line(r#"{"type":"tool_result","id":7}"#)),
                expect: &[(EVIL, "frame_invalid"), (EVIL, "call_timeout")],
                setup: short_calls,
                play: |world| Box::pin(times_out(world)),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defence::StrictFrames)),
    },
    Row {
        id: "P-18",
        title: "an array, a string, a number, null as a frame",
        cases: &[
            bad_line(NOT_OBJECT, || line(r#"["hello","evil"]"#)),
            bad_line(NOT_OBJECT, || line(r#""hello""#)),
            bad_line(NOT_OBJECT, || line("7")),
            bad_line(NOT_OBJECT, || line("null")),
        ],
        undefend: Some(|_| take_down(Defence::StrictFrames)),
    },
    Row {
        id: "P-19",
        title: "an unknown type, an unknown field",
        cases: &[
            bad_line(&[(EVIL, "frame_unknown_type")], || line(r#"{"type":"later","x":1}"#)),
            bad_line(&[], || line(r#"{"type":"notify","message":"a","later":[1,{"x":null}]}"#)),
        ],
        undefend: Some(|_| take_down(Defence::UnknownTypes)),
    },
    Row {
        id: "P-20",
        title: "a thousand unknown types",
        cases: &[Case {
            evil: Evil::Fault("many-unknown-types"),
            expect: &[(EVIL, "frame_unknown_type")],
            play: |world| Box::pin(world.goes_on()),
            ..CASE
        }],
        undefend: Some(|setup| setup.config.timeouts.unknown_type_pause = Duration::ZERO),
    },
];

/// Integers that a double cannot hold, and a zero with a sign.
const EXACT: &str = r#"{"a":9007199254740993,"b":18446744073709551615,"c":-0,"d":0.1}"#;

/// The guard answers with this; the call is blocked, because it is no answer.
pub(crate) const fn refused(bytes: fn() -> Vec<u8>) -> Case {
    let evil = instead(Moment::Gate, bytes);
    Case { evil, expect: HOOK_ERROR, play: |world| Box::pin(world.blocks_at_once("makes no sense")), ..CASE }
}

/// The tool answers with this; the call fails at once, because it is no answer.
const fn failed_call(bytes: fn() -> Vec<u8>) -> Case {
    let evil = instead(Moment::Tool, bytes);
    Case { evil, expect: INVALID, play: |world| Box::pin(world.fails("makes no sense")), ..CASE }
}

/// A note with a field so deep, the frame itself counted.
fn nested(depth: usize) -> Vec<u8> {
    let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
    line(format_args!(r#"{{"type":"notify","message":"a","deep":{open}{close}}}"#))
}

fn short_calls(setup: &mut Setup) {
    setup.config.timeouts.tool_call = SHORT;
}

async fn times_out(world: &mut World) -> Result<()> {
    let asked = world.call(json!({})).await?;
    ensure!(asked.is_error && asked.text.contains("did not answer"), "the tool says {:?}", asked.text);
    world.settle().await
}

async fn keeps_every_digit(world: &mut World) -> Result<()> {
    let gated = world.gate(json!({})).await?;
    ensure!(gated.ran_with.as_deref() == Some(EXACT), "the tool ran with {:?}", gated.ran_with);
    world.settle().await
}
