//! P-14 to P-20: JSON that is not a frame, or an ambiguous one.

use std::time::Duration;

use anyhow::{Result, ensure};
use haft_protocol::limits::MAX_DEPTH;
use serde_json::json;

use super::line;
use super::lines::bad_line;
use crate::defense::{Defense, take_down};
use crate::misbehavior::{InjectionMoment, Misbehavior, inject_instead};
use crate::row::{CASE, EVIL, ExpectedFaults, FaultCase, FaultRow};
use crate::world::{World, WorldSetup};

/// The deadline of a call that is never answered.
const SHORT: Duration = Duration::from_millis(500);

const TOO_DEEP: ExpectedFaults = &[(EVIL, "frame_too_deep")];
const DUPLICATE: ExpectedFaults = &[(EVIL, "frame_duplicate_key")];
const INVALID: ExpectedFaults = &[(EVIL, "frame_invalid")];
const NOT_OBJECT: ExpectedFaults = &[(EVIL, "frame_not_object")];
const HOOK_ERROR: ExpectedFaults = &[(EVIL, "hook_error")];

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "P-14",
        title: "nested 64, 65 and 100,000 deep",
        cases: &[
            bad_line(&[], || nested_frame(MAX_DEPTH)),
            bad_line(TOO_DEEP, || nested_frame(MAX_DEPTH + 1)),
            bad_line(TOO_DEEP, || nested_frame(100_000)),
        ],
        undefend: Some(|setup| setup.config.limits.max_depth = 1_000_000),
    },
    FaultRow {
        id: "P-15",
        title: "a duplicate key: in the frame, in arguments, with escapes",
        cases: &[
            bad_line(DUPLICATE, || line(r#"{"type":"notify","message":"a","message":"b"}"#)),
            bad_line(DUPLICATE, || line(r#"{"type":"notify","message":"a","t\u0079pe":"ready"}"#)),
            refused_answer_case(|| {
                line(r#"{"type":"event_intercept_response","id":"$ID","block":true,"block":false}"#)
            }),
            refused_answer_case(|| {
                line(r#"{"type":"event_intercept_response","id":"$ID","modified_args":{"a":1,"\u0061":2}}"#)
            }),
        ],
        undefend: Some(|_| take_down(Defense::DuplicateKeys)),
    },
    FaultRow {
        id: "P-16",
        title: "numbers that JSON readers interpret differently",
        cases: &[
            bad_line(INVALID, || line(r#"{"type":"notify","message":"a","number":1e400}"#)),
            bad_line(&[(EVIL, "frame_not_json")], || line(r#"{"type":"notify","message":"a","number":NaN}"#)),
            bad_line(&[(EVIL, "frame_not_json")], || {
                line(r#"{"type":"notify","message":"a","number":-Infinity}"#)
            }),
            refused_answer_case(|| {
                line(r#"{"type":"event_intercept_response","id":"$ID","modified_args":{"a":1e400}}"#)
            }),
            FaultCase {
                evil: inject_instead(InjectionMoment::Gate, || {
                    line(format_args!(
                        r#"{{"type":"event_intercept_response","id":"$ID","modified_args":{EXACT}}}"#
                    ))
                }),
                play: |world| Box::pin(keeps_every_digit(world)),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::StrictFrames)),
    },
    FaultRow {
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
            refused_answer_case(|| {
                line(r#"{"type":"event_intercept_response","id":"$ID","modified_args":[1]}"#)
            }),
            refused_answer_case(|| {
                line(r#"{"type":"event_intercept_response","id":"$ID","modified_args":"{}"}"#)
            }),
            FaultCase {
                evil: inject_instead(InjectionMoment::Tool, || line(r#"{"type":"tool_result","id":7}"#)),
                expect: &[(EVIL, "frame_invalid"), (EVIL, "call_timeout")],
                setup: short_calls,
                play: |world| Box::pin(times_out(world)),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::StrictFrames)),
    },
    FaultRow {
        id: "P-18",
        title: "an array, a string, a number, null as a frame",
        cases: &[
            bad_line(NOT_OBJECT, || line(r#"["hello","evil"]"#)),
            bad_line(NOT_OBJECT, || line(r#""hello""#)),
            bad_line(NOT_OBJECT, || line("7")),
            bad_line(NOT_OBJECT, || line("null")),
        ],
        undefend: Some(|_| take_down(Defense::StrictFrames)),
    },
    FaultRow {
        id: "P-19",
        title: "an unknown type, an unknown field",
        cases: &[
            bad_line(&[(EVIL, "frame_unknown_type")], || line(r#"{"type":"later","x":1}"#)),
            bad_line(&[], || line(r#"{"type":"notify","message":"a","later":[1,{"x":null}]}"#)),
        ],
        undefend: Some(|_| take_down(Defense::UnknownTypes)),
    },
    FaultRow {
        id: "P-20",
        title: "a thousand unknown types",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("many-unknown-types"),
            expect: &[(EVIL, "frame_unknown_type")],
            play: |world| Box::pin(world.expect_working()),
            ..CASE
        }],
        undefend: Some(|setup| setup.config.timeouts.unknown_type_pause = Duration::ZERO),
    },
];

/// Integers that a double cannot represent, and a negative zero.
const EXACT: &str = r#"{"a":9007199254740993,"b":18446744073709551615,"c":-0,"d":0.1}"#;

/// Returns a case in which the guard's answer is invalid and the call is blocked.
pub(crate) const fn refused_answer_case(bytes: fn() -> Vec<u8>) -> FaultCase {
    let evil = inject_instead(InjectionMoment::Gate, bytes);
    FaultCase {
        evil,
        expect: HOOK_ERROR,
        play: |world| Box::pin(world.expect_block_at_once("sent an invalid answer")),
        ..CASE
    }
}

/// Returns a case in which the tool's answer is invalid and the call fails at once.
const fn failed_call(bytes: fn() -> Vec<u8>) -> FaultCase {
    let evil = inject_instead(InjectionMoment::Tool, bytes);
    FaultCase {
        evil,
        expect: INVALID,
        play: |world| Box::pin(world.expect_failure("sent an invalid answer")),
        ..CASE
    }
}

/// Returns a note with a field of this depth, including the frame itself.
fn nested_frame(depth: usize) -> Vec<u8> {
    let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
    line(format_args!(r#"{{"type":"notify","message":"a","deep":{open}{close}}}"#))
}

fn short_calls(setup: &mut WorldSetup) {
    setup.config.timeouts.tool_call = SHORT;
}

async fn times_out(world: &mut World) -> Result<()> {
    let asked = world.call(json!({})).await?;
    ensure!(asked.is_error && asked.text.contains("did not answer"), "the tool answered {:?}", asked.text);
    world.settle().await
}

async fn keeps_every_digit(world: &mut World) -> Result<()> {
    let gated = world.call_gated_tool(json!({})).await?;
    ensure!(gated.ran_with.as_deref() == Some(EXACT), "the tool ran with {:?}", gated.ran_with);
    world.settle().await
}
