//! H-01 to H-05: process hooks that decide about tool calls and fail, and ways to bypass them.

use std::time::Duration;

use anyhow::{Result, ensure};
use haft_host::ExtensionState;
use haft_packages::LaunchPlan;
use serde_json::json;

use super::{APPROVE, BEFORE, add_hook, change_hooks, hook_case, hurried_case, shorten_deadlines};
use crate::defense::{Defense, take_down};
use crate::misbehavior::{hook_spec, misbehaving_spec};
use crate::row::{CASE, EVIL, ExpectedFaults, FaultCase, FaultRow};
use crate::rows::gates::call_steps;
use crate::world::{World, WorldSetup};

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "H-01",
        title: "a `before_tool` hook times out, exits, or answers garbage, an error, wrong types or other words",
        cases: &[
            late_case(BEFORE, "hang"),
            late_case(BEFORE, "say-garbage"),
            FaultCase { play: |world| Box::pin(answers_too_late(world)), ..late_case(BEFORE, "late") },
            late_case(BEFORE, "stop"),
            bad_answer_case(BEFORE, "garbage"),
            bad_answer_case(BEFORE, "wrong-types"),
            bad_answer_case(BEFORE, "unknown-action"),
            bad_answer_case(BEFORE, "typo"),
            bad_answer_case(BEFORE, "only-reason"),
            bad_answer_case(BEFORE, "contradiction"),
            bad_answer_case(BEFORE, "error"),
            bad_answer_case(BEFORE, "key-twice"),
            dead_hook_case(BEFORE, "exit", |world| {
                Box::pin(world.expect_block_at_once("exited with status 3"))
            }),
            dead_hook_case(BEFORE, "abort", |world| {
                Box::pin(world.expect_block_at_once("killed by signal 6"))
            }),
            dead_hook_case(BEFORE, "half-a-line", |world| Box::pin(world.expect_block_at_once("unfinished"))),
            stalled_case(),
        ],
        undefend: Some(open_gates),
    },
    FaultRow {
        id: "H-02",
        title: "an `approve_tool` hook times out, exits, or answers garbage, an error or nothing",
        cases: &[
            late_case(APPROVE, "hang"),
            late_case(APPROVE, "say-garbage"),
            bad_answer_case(APPROVE, "garbage"),
            bad_answer_case(APPROVE, "wrong-types"),
            bad_answer_case(APPROVE, "error"),
            bad_answer_case(APPROVE, "key-twice"),
            dead_hook_case(APPROVE, "exit", |world| {
                Box::pin(world.expect_block_at_once("tool approval hook \"evil\" failed"))
            }),
            dead_hook_case(APPROVE, "half-a-line", |world| Box::pin(world.expect_block_at_once("failed"))),
        ],
        undefend: Some(open_gates),
    },
    FaultRow {
        id: "H-03",
        title: "a hook never starts, never answers hello, or answers it with garbage",
        cases: &[
            FaultCase {
                setup: add_missing,
                expect: &[(EVIL, "spawn_failed")],
                play: |world| Box::pin(is_missing(world)),
                notices_alone: true,
                ..CASE
            },
            failed_start_case("hang", "hello_timeout", |world| {
                Box::pin(world.expect_block("did not answer hook.hello"))
            }),
            failed_start_case("garbage", "hello_invalid", |world| {
                Box::pin(world.expect_block("the result is not an object"))
            }),
            failed_start_case("error", "hello_invalid", |world| Box::pin(world.expect_block("no disk"))),
            failed_start_case("exit", "exited", |world| Box::pin(world.expect_block("exited with status 3"))),
        ],
        undefend: Some(open_gates),
    },
    FaultRow {
        id: "H-04",
        title: "a hook crashes repeatedly",
        cases: &[
            FaultCase {
                setup: restart_soon,
                ..hook_case("exit", "greeted", CRASH_LOOP, |world| Box::pin(stays_down(world)))
            },
            FaultCase {
                setup: restart_soon,
                ..hook_case("exit", BEFORE, THREE, |world| Box::pin(ends_the_run(world)))
            },
        ],
        undefend: Some(|setup| setup.config.timeouts.restarts.window = Duration::ZERO),
    },
    FaultRow {
        id: "H-05",
        title: "a hook answers instead of a guarded tool",
        cases: &[
            FaultCase {
                setup: with_guard,
                ..hook_case("respond", BEFORE, &[], |world| Box::pin(asks_guard(world)))
            },
            denied_case("deny", &[], |world| Box::pin(is_denied(world))),
            denied_case("exit", &[("judge", "exited")], |world| Box::pin(is_denied(world))),
            FaultCase {
                setup: |setup| {
                    with_judge(setup, "deny");
                    change_hooks(setup, |hook| hook.vouches.extend(["probe".to_owned()]));
                },
                ..hook_case("respond", BEFORE, &[], |world| Box::pin(user_trust_replaces_approval(world)))
            },
        ],
        undefend: Some(|setup| {
            take_down(Defense::ResponseApproval);
            setup.specs.retain(|spec| spec.name.as_str() != "guard");
        }),
    },
];

/// A deadline that must pass, but only after the hook has started.
const STARTED: Duration = Duration::from_secs(10);

const CRASH_LOOP: ExpectedFaults =
    &[(EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "crash_loop")];

/// The number of failures of a gate that end a run.
const THREE: ExpectedFaults = &[(EVIL, "exited"); 3];

/// Removes the defense and shortens the deadlines. Without the defense the turn continues and asks a failed hook again,
/// which would take too long with the usual deadlines.
fn open_gates(setup: &mut WorldSetup) {
    take_down(Defense::GatesFailClosed);
    shorten_deadlines(setup);
}

/// Returns a case that blocks when the deadline passes.
const fn late_case(point: &'static str, fault: &'static str) -> FaultCase {
    let expect = &[(EVIL, "hook_timeout")];
    FaultCase { notices_alone: true, ..hurried_case(fault, point, expect, |world| Box::pin(is_late(world))) }
}

/// Returns a case that blocks as soon as the hook has answered.
const fn bad_answer_case(point: &'static str, fault: &'static str) -> FaultCase {
    let expect = &[(EVIL, "hook_error")];
    FaultCase {
        notices_alone: true,
        ..hook_case(fault, point, expect, |world| Box::pin(world.expect_block_at_once("evil")))
    }
}

const fn dead_hook_case(point: &'static str, fault: &'static str, play: crate::row::CaseScript) -> FaultCase {
    FaultCase { notices_alone: true, ..hook_case(fault, point, &[(EVIL, "exited")], play) }
}

const fn failed_start_case(
    fault: &'static str,
    code: &'static str,
    play: crate::row::CaseScript,
) -> FaultCase {
    let expect: ExpectedFaults = match code.as_bytes() {
        b"hello_timeout" => &[(EVIL, "hello_timeout")],
        b"hello_invalid" => &[(EVIL, "hello_invalid")],
        _ => &[(EVIL, "exited")],
    };
    // Hooks that answer have enough time.
    let setup: fn(&mut WorldSetup) = match code.as_bytes() {
        b"hello_timeout" => |setup: &mut WorldSetup| setup.hello_within(STARTED),
        _ => |_: &mut WorldSetup| {},
    };
    FaultCase { notices_alone: true, setup, ..hook_case(fault, "hook.hello", expect, play) }
}

/// Returns a case in which more than a pipe holds is written to a hook that never reads after hello.
const fn stalled_case() -> FaultCase {
    FaultCase {
        setup: |setup| {
            shorten_deadlines(setup);
            setup.config.timeouts.write_stall = super::SHORT;
        },
        notices_alone: true,
        ..hook_case("never-read", "greeted", &[(EVIL, "write_stalled")], |world| Box::pin(is_stalled(world)))
    }
}

async fn is_late(world: &mut World) -> Result<()> {
    let gated = world.call_gated_tool(json!({})).await?;
    ensure!(gated.ran_with.is_none(), "the tool ran with {:?}", gated.ran_with);
    let known = ["did not answer within", "tool approval hook \"evil\" timed out"];
    ensure!(known.iter().any(|text| gated.result.contains(text)), "the model received {:?}", gated.result);
    world.settle().await
}

async fn answers_too_late(world: &mut World) -> Result<()> {
    is_late(world).await?;
    world.release()?;
    world.settle().await
}

async fn is_stalled(world: &mut World) -> Result<()> {
    let gated = world.call_gated_tool(json!({"content": "x".repeat(200 * 1024)})).await?;
    ensure!(gated.ran_with.is_none(), "the tool ran");
    ensure!(gated.result.contains("does not read its input"), "the model received {:?}", gated.result);
    world.settle().await
}

fn add_missing(setup: &mut WorldSetup) {
    let spec = hook_spec(setup, EVIL, vec!["no-such-program-anywhere".to_owned()]);
    let spec = spec.expect("the hook's questions are known");
    assert!(matches!(spec.launch, LaunchPlan::Impossible { .. }), "the missing program is installed");
    setup.add(spec);
}

async fn is_missing(world: &mut World) -> Result<()> {
    world.mark("missing")?;
    world.expect_block_at_once("no program named no-such-program-anywhere").await
}

/// Shortens the pauses between restarts.
fn restart_soon(setup: &mut WorldSetup) {
    let restarts = &mut setup.config.timeouts.restarts;
    (restarts.first_pause, restarts.longest_pause) = (Duration::from_millis(10), Duration::from_millis(40));
}

async fn stays_down(world: &mut World) -> Result<()> {
    world.expect_block("evil, which must approve this").await?;
    world.expect_report("crash_loop", "is no longer restarted automatically").await?;
    let state = world.state(EVIL)?;
    ensure!(matches!(state, ExtensionState::Failed { .. }), "the hook is {state:?}");
    let starts = world.marks().len();
    ensure!(starts == CRASH_LOOP.len(), "the hook was started {starts} times");
    world.expect_block_at_once("is no longer restarted automatically").await
}

/// Checks that each of three calls kills the hook and is blocked, and that the third one ends the run.
async fn ends_the_run(world: &mut World) -> Result<()> {
    let played = world.prompt(&call_steps(&vec![("probe", json!({})); 4])).await?;
    ensure!(played.ran.is_empty(), "the tool ran with {:?}", played.ran);
    ensure!(played.blocked.len() == THREE.len(), "{:?}", played.blocked);
    ensure!(played.outcome.is_err_and(|error| error.contains("keeps failing")), "the run did not end");
    world.settle().await
}

/// Adds an extension of the native dialect, which blocks calls with DENIED.
fn with_guard(setup: &mut WorldSetup) {
    setup.specs.insert(1, misbehaving_spec(setup, "guard", "guard"));
}

/// Adds another hook, which is asked for its approval.
fn with_judge(setup: &mut WorldSetup, fault: &str) {
    add_hook(setup, fault, APPROVE, "judge");
}

const fn denied_case(fault: &'static str, expect: ExpectedFaults, play: crate::row::CaseScript) -> FaultCase {
    let setup: fn(&mut WorldSetup) = match fault.as_bytes() {
        b"exit" => |setup: &mut WorldSetup| with_judge(setup, "exit"),
        _ => |setup: &mut WorldSetup| with_judge(setup, "deny"),
    };
    FaultCase { notices_alone: true, setup, ..hook_case("respond", BEFORE, expect, play) }
}

async fn asks_guard(world: &mut World) -> Result<()> {
    let steps = call_steps(&[("probe", json!({"command": "DENIED"})), ("probe", json!({"command": "ls"}))]);
    let played = world.prompt(&steps).await?;
    ensure!(played.ran.is_empty(), "the tool ran with {:?}", played.ran);
    let asked = world.marks().iter().filter(|mark| *mark == "guard").count();
    ensure!(asked == 2, "the guard was asked {asked} times instead of twice");
    ensure!(played.results == ["refused: DENIED", "from the hook"], "the results are {:?}", played.results);
    ensure!(played.synthetic == [EVIL], "the results are marked as synthetic by {:?}", played.synthetic);
    Ok(())
}

async fn is_denied(world: &mut World) -> Result<()> {
    let played = world.prompt(&call_steps(&[("probe", json!({}))])).await?;
    ensure!(played.ran.is_empty(), "the tool ran with {:?}", played.ran);
    let by: Vec<&str> = played.blocked.iter().map(|(by, _)| by.as_str()).collect();
    ensure!(by == ["judge"] && played.synthetic.is_empty(), "{by:?} blocked: {:?}", played.results);
    ensure!(
        played.results.iter().all(|result| result.starts_with("Tool execution denied by approval hook")),
        "the model received {:?}",
        played.results
    );
    world.settle().await
}

/// Checks that the user's trust replaces approvals but not gates.
async fn user_trust_replaces_approval(world: &mut World) -> Result<()> {
    let played = world.prompt(&call_steps(&[("probe", json!({}))])).await?;
    ensure!(played.results == ["from the hook"], "the model received {:?}", played.results);
    ensure!(!world.marks().iter().any(|mark| mark == "deny"), "the judge was asked");
    Ok(())
}
