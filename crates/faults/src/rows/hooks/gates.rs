//! H-01 to H-05: hooks that decide about calls of tools and fail, and ways past them.

use std::time::Duration;

use anyhow::{Result, ensure};
use haft_host::ExtensionState;
use haft_packages::Launch;
use serde_json::json;

use super::{APPROVE, BEFORE, beside, each, hook, hurried, hurry};
use crate::defence::{Defence, take_down};
use crate::evil::{hook_spec, misbehaving};
use crate::row::{CASE, Case, EVIL, Faults, Row};
use crate::rows::gates::calls;
use crate::world::{Setup, World};

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "H-01",
        title: "a hook that is asked before a tool: times out, dies, answers garbage, an error, wrong types",
        cases: &[
            late(BEFORE, "hang"),
            late(BEFORE, "say-garbage"),
            Case { play: |world| Box::pin(answers_too_late(world)), ..late(BEFORE, "late") },
            late(BEFORE, "stop"),
            bad(BEFORE, "garbage"),
            bad(BEFORE, "wrong-types"),
            bad(BEFORE, "unknown-action"),
            bad(BEFORE, "error"),
            bad(BEFORE, "key-twice"),
            dead(BEFORE, "exit", |world| Box::pin(world.blocks_at_once("exited with status 3"))),
            dead(BEFORE, "abort", |world| Box::pin(world.blocks_at_once("ended by signal 6"))),
            dead(BEFORE, "half-a-line", |world| Box::pin(world.blocks_at_once("unfinished"))),
            stalled(),
        ],
        undefend: Some(open_gates),
    },
    Row {
        id: "H-02",
        title: "a hook that approves calls: times out, dies, answers garbage, an error, nothing",
        cases: &[
            late(APPROVE, "hang"),
            late(APPROVE, "say-garbage"),
            bad(APPROVE, "garbage"),
            bad(APPROVE, "wrong-types"),
            bad(APPROVE, "error"),
            bad(APPROVE, "key-twice"),
            dead(APPROVE, "exit", |world| {
                Box::pin(world.blocks_at_once("tool approval hook \"evil\" failed"))
            }),
            dead(APPROVE, "half-a-line", |world| Box::pin(world.blocks_at_once("failed"))),
        ],
        undefend: Some(open_gates),
    },
    Row {
        id: "H-03",
        title: "a hook that never starts, never answers hello, or answers it with garbage",
        cases: &[
            Case {
                setup: add_missing,
                expect: &[(EVIL, "spawn_failed")],
                play: |world| Box::pin(is_missing(world)),
                notices_alone: true,
                ..CASE
            },
            unborn("hang", "hello_timeout", |world| Box::pin(world.blocks("did not answer hook.hello"))),
            unborn("garbage", "hello_invalid", |world| Box::pin(world.blocks("its result is no object"))),
            unborn("error", "hello_invalid", |world| Box::pin(world.blocks("no disk"))),
            unborn("exit", "exited", |world| Box::pin(world.blocks("exited with status 3"))),
        ],
        undefend: Some(open_gates),
    },
    Row {
        id: "H-04",
        title: "a hook that crashes again and again",
        cases: &[
            Case {
                setup: restart_soon,
                ..hook("exit", "greeted", CRASH_LOOP, |world| Box::pin(stays_down(world)))
            },
            Case {
                setup: restart_soon,
                ..hook("exit", BEFORE, THREE, |world| Box::pin(ends_the_run(world)))
            },
        ],
        undefend: Some(|setup| setup.config.timeouts.restarts.window = Duration::ZERO),
    },
    Row {
        id: "H-05",
        title: "a hook that answers in the place of a tool that others guard",
        cases: &[
            Case {
                setup: with_guard,
                ..hook("respond", BEFORE, &[], |world| Box::pin(the_guard_is_asked(world)))
            },
            denied("deny", &[], |world| Box::pin(is_denied(world))),
            denied("exit", &[("judge", "exited")], |world| Box::pin(is_denied(world))),
            Case {
                setup: |setup| {
                    with_judge(setup, "deny");
                    each(setup, |hook| hook.vouches.extend(["probe".to_owned()]));
                },
                ..hook("respond", BEFORE, &[], |world| Box::pin(the_user_vouches(world)))
            },
        ],
        undefend: Some(|setup| {
            take_down(Defence::ResponseApproval);
            setup.specs.retain(|spec| spec.name.as_str() != "guard");
        }),
    },
];

/// A deadline that must pass, but not before the hook runs.
const STARTED: Duration = Duration::from_secs(10);

const CRASH_LOOP: Faults =
    &[(EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "crash_loop")];

/// As often as a gate may fail in a run.
const THREE: Faults = &[(EVIL, "exited"); 3];

/// A turn that goes on asks again, also one that is gone; nobody has the time to wait for that.
fn open_gates(setup: &mut Setup) {
    take_down(Defence::GatesFailClosed);
    hurry(setup);
}

/// Blocks when its time is up.
const fn late(point: &'static str, fault: &'static str) -> Case {
    let expect = &[(EVIL, "hook_timeout")];
    Case { notices_alone: true, ..hurried(fault, point, expect, |world| Box::pin(is_late(world))) }
}

/// Blocks as soon as it has answered.
const fn bad(point: &'static str, fault: &'static str) -> Case {
    let expect = &[(EVIL, "hook_error")];
    Case { notices_alone: true, ..hook(fault, point, expect, |world| Box::pin(world.blocks_at_once("evil"))) }
}

const fn dead(point: &'static str, fault: &'static str, play: crate::row::Play) -> Case {
    Case { notices_alone: true, ..hook(fault, point, &[(EVIL, "exited")], play) }
}

const fn unborn(fault: &'static str, code: &'static str, play: crate::row::Play) -> Case {
    let expect: Faults = match code.as_bytes() {
        b"hello_timeout" => &[(EVIL, "hello_timeout")],
        b"hello_invalid" => &[(EVIL, "hello_invalid")],
        _ => &[(EVIL, "exited")],
    };
    // Those that answer have the time that they need.
    let setup: fn(&mut Setup) = match code.as_bytes() {
        b"hello_timeout" => |setup: &mut Setup| setup.hello_within(STARTED),
        _ => |_: &mut Setup| {},
    };
    Case { notices_alone: true, setup, ..hook(fault, "hook.hello", expect, play) }
}

/// More than a pipe takes is written to one that reads nothing after hello.
const fn stalled() -> Case {
    Case {
        setup: |setup| {
            hurry(setup);
            setup.config.timeouts.write_stall = super::SHORT;
        },
        notices_alone: true,
        ..hook("never-read", "greeted", &[(EVIL, "write_stalled")], |world| Box::pin(is_stalled(world)))
    }
}

async fn is_late(world: &mut World) -> Result<()> {
    let gated = world.gate(json!({})).await?;
    ensure!(gated.ran_with.is_none(), "the tool ran all the same, with {:?}", gated.ran_with);
    let known = ["did not answer within", "tool approval hook \"evil\" timed out"];
    ensure!(known.iter().any(|text| gated.result.contains(text)), "the model is told {:?}", gated.result);
    world.settle().await
}

async fn answers_too_late(world: &mut World) -> Result<()> {
    is_late(world).await?;
    world.release()?;
    world.settle().await
}

async fn is_stalled(world: &mut World) -> Result<()> {
    let gated = world.gate(json!({"content": "x".repeat(200 * 1024)})).await?;
    ensure!(gated.ran_with.is_none(), "the tool ran all the same");
    ensure!(gated.result.contains("does not read its input"), "the model is told {:?}", gated.result);
    world.settle().await
}

fn add_missing(setup: &mut Setup) {
    let spec = hook_spec(setup, EVIL, vec!["no-such-program-anywhere".to_owned()]);
    let spec = spec.expect("what it is asked has names");
    assert!(matches!(spec.launch, Launch::Impossible { .. }), "somebody has installed it");
    setup.add(spec);
}

async fn is_missing(world: &mut World) -> Result<()> {
    world.mark("missing")?;
    world.blocks_at_once("no program named no-such-program-anywhere").await
}

/// Pauses that a row has the time for.
fn restart_soon(setup: &mut Setup) {
    let restarts = &mut setup.config.timeouts.restarts;
    (restarts.first_pause, restarts.longest_pause) = (Duration::from_millis(10), Duration::from_millis(40));
}

async fn stays_down(world: &mut World) -> Result<()> {
    world.blocks("evil decides about this").await?;
    world.reports("crash_loop", "is not started again by itself").await?;
    let state = world.state(EVIL)?;
    ensure!(matches!(state, ExtensionState::Failed { .. }), "it is {state:?}");
    let starts = world.marks().len();
    ensure!(starts == CRASH_LOOP.len(), "it was started {starts} times");
    world.blocks_at_once("is not started again by itself").await
}

/// Each of three calls kills it, each is blocked, and the third one ends the run.
async fn ends_the_run(world: &mut World) -> Result<()> {
    let played = world.prompt(&calls(&vec![("probe", json!({})); 4])).await?;
    ensure!(played.ran.is_empty(), "it ran with {:?}", played.ran);
    ensure!(played.blocked.len() == THREE.len(), "{:?}", played.blocked);
    ensure!(played.outcome.is_err_and(|error| error.contains("keeps failing")), "the run goes on");
    world.settle().await
}

/// An extension of the native dialect beside the hook, which refuses what contains DENIED.
fn with_guard(setup: &mut Setup) {
    setup.specs.insert(1, misbehaving(setup, "guard", "guard"));
}

/// Another hook, which is asked for its approval.
fn with_judge(setup: &mut Setup, fault: &str) {
    beside(setup, fault, APPROVE, "judge");
}

const fn denied(fault: &'static str, expect: Faults, play: crate::row::Play) -> Case {
    let setup: fn(&mut Setup) = match fault.as_bytes() {
        b"exit" => |setup: &mut Setup| with_judge(setup, "exit"),
        _ => |setup: &mut Setup| with_judge(setup, "deny"),
    };
    Case { notices_alone: true, setup, ..hook("respond", BEFORE, expect, play) }
}

async fn the_guard_is_asked(world: &mut World) -> Result<()> {
    let steps = calls(&[("probe", json!({"command": "DENIED"})), ("probe", json!({"command": "ls"}))]);
    let played = world.prompt(&steps).await?;
    ensure!(played.ran.is_empty(), "it ran with {:?}", played.ran);
    let asked = world.marks().iter().filter(|mark| *mark == "guard").count();
    ensure!(asked == 2, "the guard was asked {asked} times instead of twice");
    ensure!(played.results == ["refused: DENIED", "from the hook"], "it says {:?}", played.results);
    ensure!(played.synthetic == [EVIL], "it is said to be synthetic by {:?}", played.synthetic);
    Ok(())
}

async fn is_denied(world: &mut World) -> Result<()> {
    let played = world.prompt(&calls(&[("probe", json!({}))])).await?;
    ensure!(played.ran.is_empty(), "it ran with {:?}", played.ran);
    let by: Vec<&str> = played.blocked.iter().map(|(by, _)| by.as_str()).collect();
    ensure!(by == ["judge"] && played.synthetic.is_empty(), "{by:?} blocked: {:?}", played.results);
    ensure!(
        played.results.iter().all(|result| result.starts_with("Tool execution denied by approval hook")),
        "the model is told {:?}",
        played.results
    );
    world.settle().await
}

/// Checks that a user's trust replaces approvals, and no gate.
async fn the_user_vouches(world: &mut World) -> Result<()> {
    let played = world.prompt(&calls(&[("probe", json!({}))])).await?;
    ensure!(played.results == ["from the hook"], "the model is told {:?}", played.results);
    ensure!(!world.marks().iter().any(|mark| mark == "deny"), "the judge was asked");
    Ok(())
}
