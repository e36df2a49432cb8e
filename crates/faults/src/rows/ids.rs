//! Group I: ids, and the questions that answers belong to.

use std::time::Duration;

use anyhow::{Result, ensure};
use futures::future::join_all;
use serde_json::json;

use crate::defense::{Defense, take_down};
use crate::misbehavior::{InjectionMoment, Misbehavior, inject, inject_instead, misbehaving_spec};
use crate::row::{CASE, EVIL, FaultCase, FaultRow};
use crate::rows::protocol::frames::refused_answer_case;
use crate::rows::protocol::line;
use crate::world::{World, WorldSetup};

/// A deadline that must pass.
const SHORT: Duration = Duration::from_millis(500);

/// A deadline that must pass, but only after the wrong answer.
const ANSWERED: Duration = Duration::from_secs(5);

/// The number of calls that are open at the same time.
const AT_ONCE: usize = 64;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "I-01",
        title: "answers an unknown question",
        cases: &[FaultCase {
            evil: inject(InjectionMoment::Tool, || line(r#"{"type":"tool_result","id":"nobody-asked"}"#)),
            expect: &[(EVIL, "unknown_id")],
            play: |world| Box::pin(world.expect_answer("ok")),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defense::StrayAnswers)),
    },
    FaultRow {
        id: "I-02",
        title: "answers twice",
        cases: &[
            FaultCase {
                evil: Misbehavior::Fault("answer-twice"),
                expect: &[(EVIL, "duplicate_response")],
                play: |world| Box::pin(world.expect_answer("ok")),
                ..CASE
            },
            FaultCase {
                // The first answer refuses, the second allows.
                evil: inject(InjectionMoment::Gate, || {
                    line(
                        r#"{"type":"event_intercept_response","id":"$ID","block":true,"reason":"the first"}"#,
                    )
                }),
                expect: &[(EVIL, "duplicate_response")],
                play: |world| Box::pin(world.expect_block("the first")),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::StrayAnswers)),
    },
    FaultRow {
        id: "I-03",
        title: "answers after the deadline",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("answer-late"),
            expect: &[(EVIL, "call_timeout")],
            setup: |setup| setup.config.timeouts.tool_call = SHORT,
            play: |world| Box::pin(comes_too_late(world)),
            ..CASE
        }],
        undefend: Some(|setup| setup.config.timeouts.tool_call = SHORT * 100),
    },
    FaultRow {
        id: "I-04",
        title: "answers another extension's question with a known id",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("answer-others"),
            expect: &[(EVIL, "unknown_id")],
            setup: with_victim,
            play: |world| Box::pin(cannot_answer_for_others(world)),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defense::StrayAnswers)),
    },
    FaultRow {
        id: "I-05",
        title: "64 calls at the same time, answered in reverse",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("answer-in-reverse"),
            play: |world| Box::pin(gets_its_own_answer(world)),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defense::UniqueIds)),
    },
    FaultRow {
        id: "I-06",
        title: "answers with the frame for another kind of question",
        cases: &[
            FaultCase {
                evil: Misbehavior::Fault("wrong-kind"),
                expect: &[(EVIL, "frame_invalid"), (EVIL, "hook_timeout")],
                setup: |setup| setup.config.timeouts.intercept = ANSWERED,
                play: |world| Box::pin(world.expect_block("did not answer within 5 s")),
                ..CASE
            },
            FaultCase {
                evil: Misbehavior::Fault("wrong-kind"),
                expect: &[(EVIL, "frame_invalid"), (EVIL, "call_timeout")],
                setup: |setup| setup.config.timeouts.tool_call = ANSWERED,
                play: |world| Box::pin(world.expect_failure("did not answer within 5 s")),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::AnswerKinds)),
    },
    FaultRow {
        id: "I-07",
        title: "an answer with two verdicts, or without a valid one",
        cases: &[
            refused_answer_case(|| line(r#"{"type":"event_intercept_response","id":"$ID","error":"boom"}"#)),
            FaultCase {
                evil: inject_instead(InjectionMoment::Gate, || {
                    line(
                        r#"{"type":"event_intercept_response","id":"$ID","block":true,"modified_args":{"a":1}}"#,
                    )
                }),
                play: |world| Box::pin(world.expect_block("refused by extension evil")),
                ..CASE
            },
            FaultCase {
                evil: inject_instead(InjectionMoment::Command, || {
                    line(r#"{"type":"command_response","id":"$ID","action":"teleport"}"#)
                }),
                expect: &[(EVIL, "frame_invalid")],
                play: |world| Box::pin(command_fails(world)),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::GatesFailClosed)),
    },
    FaultRow {
        id: "I-08",
        title: "an intercept's answer without an intercept",
        cases: &[FaultCase {
            evil: inject(InjectionMoment::Ready, || {
                line(r#"{"type":"event_intercept_response","id":"1","block":false}"#)
            }),
            expect: &[(EVIL, "unknown_id")],
            play: |world| Box::pin(world.expect_working()),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defense::StrayAnswers)),
    },
    FaultRow {
        id: "I-09",
        title: "sends the host its own frames",
        cases: &[
            forged_frame_case(|| {
                line(r#"{"type":"hello_ack","protocol_version":1,"provider":"evil","model":"m","cwd":"/"}"#)
            }),
            forged_frame_case(|| {
                line(r#"{"type":"tool_call","id":"1","name":"bash","args":{"command":"true"}}"#)
            }),
            forged_frame_case(|| line(r#"{"type":"event_intercept","id":"1","event":"tool_call"}"#)),
            forged_frame_case(|| line(r#"{"type":"shutdown"}"#)),
        ],
        undefend: Some(|_| take_down(Defense::UnknownTypes)),
    },
    FaultRow {
        id: "I-10",
        title: "an almost valid verdict",
        cases: &[
            verdict_case(|| verdict_of(r#""block":"false""#)),
            verdict_case(|| verdict_of(r#""block":"true""#)),
            verdict_case(|| verdict_of(r#""block":"""#)),
            verdict_case(|| verdict_of(r#""block":0"#)),
            verdict_case(|| verdict_of(r#""block":1"#)),
            verdict_case(|| verdict_of(r#""block":0.0"#)),
            verdict_case(|| verdict_of(r#""block":null"#)),
            verdict_case(|| verdict_of(r#""block":[]"#)),
            verdict_case(|| verdict_of(r#""block":{}"#)),
            verdict_case(|| verdict_of(r#""block":[false]"#)),
            verdict_case(|| verdict_of(r#""block":"Allow""#)),
            verdict_case(|| verdict_of(r#""block":false,"modified_args":null"#)),
        ],
        undefend: Some(|_| take_down(Defense::GatesFailClosed)),
    },
    FaultRow {
        id: "I-11",
        title: "progress of a call that is over, unknown, or of another kind",
        cases: &[
            FaultCase {
                evil: inject(InjectionMoment::Tool, || line(r#"{"type":"progress","id":"nobody-asked"}"#)),
                expect: &[(EVIL, "unknown_id")],
                play: |world| Box::pin(world.expect_answer("ok")),
                ..CASE
            },
            FaultCase {
                evil: inject_instead(InjectionMoment::Tool, || {
                    let answer =
                        r#"{"type":"tool_result","id":"$ID","content":[{"type":"text","text":"ok"}]}"#;
                    [line(answer), line(r#"{"type":"progress","id":"$ID"}"#)].concat()
                }),
                expect: &[(EVIL, "unknown_id")],
                play: |world| Box::pin(world.expect_answer("ok")),
                ..CASE
            },
            FaultCase {
                evil: inject(InjectionMoment::Gate, || line(r#"{"type":"progress","id":"$ID"}"#)),
                expect: &[(EVIL, "frame_invalid")],
                play: |world| Box::pin(world.expect_allow()),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::StrayAnswers)),
    },
];

const fn forged_frame_case(bytes: fn() -> Vec<u8>) -> FaultCase {
    let (evil, expect) = (inject(InjectionMoment::Ready, bytes), &[(EVIL, "frame_unknown_type")]);
    FaultCase { evil, expect, play: |world| Box::pin(world.expect_working()), ..CASE }
}

const fn verdict_case(bytes: fn() -> Vec<u8>) -> FaultCase {
    refused_answer_case(bytes)
}

fn verdict_of(fields: &str) -> Vec<u8> {
    line(format_args!(r#"{{"type":"event_intercept_response","id":"$ID",{fields}}}"#))
}

/// Adds an extension that writes its question ids to a file.
fn with_victim(setup: &mut WorldSetup) {
    setup.set_env("HAFT_LEAK", setup.dir.join("leak").display().to_string());
    setup.add(misbehaving_spec(setup, "leak", "victim"));
}

async fn comes_too_late(world: &mut World) -> Result<()> {
    let asked = world.in_time("the call", world.call(json!({}))).await??;
    ensure!(
        asked.is_error && asked.text.contains("did not answer within 0.5 s"),
        "the tool answered {:?}",
        asked.text
    );
    world.release()?;
    world.wait_until("the late answer is logged", || world.log_of(EVIL).contains("late_response")).await?;
    world.settle().await
}

async fn cannot_answer_for_others(world: &mut World) -> Result<()> {
    let forge = async {
        world.wait_until("the victim is asked", || world.dir.join("leak").exists()).await?;
        let asked = world.call(json!({})).await;
        world.release()?;
        asked
    };
    let (victim, evil) = tokio::join!(world.call_tool("victim_tool", json!({})), forge);
    let (victim, evil) = (victim?, evil?);
    ensure!(victim.text == "the truth", "the victim's call returned {:?}", victim.text);
    ensure!(evil.text == "ok", "the extension's own call returned {:?}", evil.text);
    world.settle().await
}

async fn gets_its_own_answer(world: &mut World) -> Result<()> {
    let calls = (0..AT_ONCE).map(|number| world.call(json!({"of": AT_ONCE, "number": number})));
    for (number, asked) in join_all(calls).await.into_iter().enumerate() {
        let asked = asked?;
        ensure!(asked.text == number.to_string(), "call {number} returned {:?}", asked.text);
    }
    world.settle().await
}

async fn command_fails(world: &mut World) -> Result<()> {
    let outcome = world.command("evil", "").await;
    ensure!(outcome.is_err(), "the command returned {outcome:?}");
    world.settle().await
}
