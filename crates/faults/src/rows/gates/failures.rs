//! T-26: a failing gate, with and without a person.

use std::time::Duration;

use anyhow::{Result, ensure};
use futures::future::try_join_all;
use haft_host::GateChoice;
use serde_json::{Value, json};

use super::call_steps;
use crate::defense::{Defense, take_down};
use crate::misbehavior::{INJECT, Injection, InjectionMoment, Misbehavior};
use crate::row::{CASE, EVIL, ExpectedFaults, FaultCase, FaultRow};
use crate::rows::protocol::line;
use crate::world::{HaftHome, World, WorldSetup};

/// A deadline that must pass.
const SHORT: Duration = Duration::from_millis(500);

/// A deadline that must pass, but only after the wrong answer.
const ANSWERED: Duration = Duration::from_secs(5);

pub(crate) const ROWS: &[FaultRow] = &[FaultRow {
    id: "T-26",
    title: "a gate that times out, crashes, answers garbage, is stopped, or crashes again and again",
    cases: &[
        with_person(Misbehavior::Fault("hang-intercept"), TIMEOUTS),
        without_person(Misbehavior::Fault("hang-intercept"), TIMEOUTS),
        FaultCase {
            evil: Misbehavior::Fault("hang-approve"),
            expect: TIMEOUTS,
            setup: |setup| setup.config.timeouts.approval = SHORT,
            play: |world| Box::pin(asks_person_and_stops(world)),
            ..CASE
        },
        with_answer_deadline(with_person(Misbehavior::Fault("exit-in-call"), EXITED), false),
        with_answer_deadline(without_person(Misbehavior::Fault("exit-in-call"), EXITED), true),
        with_answer_deadline(with_person(Misbehavior::Fault("abort-in-call"), EXITED), false),
        with_answer_deadline(without_person(Misbehavior::Fault("abort-in-call"), EXITED), true),
        with_long_deadlines(with_person(answers_with(|| answer(r#""block":"false""#)), ERRORS), false),
        with_long_deadlines(without_person(answers_with(|| answer(r#""block":"false""#)), ERRORS), true),
        with_long_deadlines(with_person(answers_with(|| answer(r#""error":"no disk""#)), ERRORS), false),
        with_long_deadlines(without_person(answers_with(|| answer(r#""error":"no disk""#)), ERRORS), true),
        with_person(answers_with(|| line("allow!")), GARBAGE),
        without_person(answers_with(|| line("allow!")), GARBAGE),
        with_person(answers_with(truncated_answer), GARBAGE),
        without_person(answers_with(truncated_answer), GARBAGE),
        with_answer_deadline(with_person(Misbehavior::Fault("wrong-kind"), WRONG_KIND), false),
        with_answer_deadline(without_person(Misbehavior::Fault("wrong-kind"), WRONG_KIND), true),
        // The host stops the extension in the middle of the session.
        with_answer_deadline(with_person(answers_with(|| vec![b'x'; 2 * 1024 * 1024]), STOPPED), false),
        with_answer_deadline(without_person(answers_with(|| vec![b'x'; 2 * 1024 * 1024]), STOPPED), true),
        crash_loop(false),
        crash_loop(true),
        FaultCase {
            evil: Misbehavior::Fault("hang-intercept"),
            expect: &[(EVIL, "hook_timeout"); 4],
            setup: set_short_deadline,
            play: |world| Box::pin(restarts_gate_once(world)),
            ..CASE
        },
        FaultCase {
            evil: Misbehavior::Fault("hang-intercept"),
            expect: TIMEOUTS,
            setup: set_short_deadline,
            play: |world| Box::pin(continues_without_gate(world)),
            ..CASE
        },
        FaultCase {
            evil: Misbehavior::Fault("hang-intercept"),
            play: |world| Box::pin(cancelled_turn_runs_no_tool(world)),
            ..CASE
        },
        FaultCase { play: |world| Box::pin(exits_with_status_3(world)), ..CASE },
    ],
    undefend: Some(|_| take_down(Defense::GatesFailClosed)),
}];

const TIMEOUTS: ExpectedFaults = &[(EVIL, "hook_timeout"); 3];
const ERRORS: ExpectedFaults = &[(EVIL, "hook_error"); 3];
const EXITED: ExpectedFaults = &[(EVIL, "exited")];
const STOPPED: ExpectedFaults = &[(EVIL, "frame_too_long")];
const CRASH_LOOP: ExpectedFaults =
    &[(EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "crash_loop")];
const GARBAGE: ExpectedFaults =
    &[(EVIL, "frame_not_json"), (EVIL, "hook_timeout"), (EVIL, "hook_timeout"), (EVIL, "hook_timeout")];
const WRONG_KIND: ExpectedFaults = &[
    (EVIL, "frame_invalid"),
    (EVIL, "frame_invalid"),
    (EVIL, "frame_invalid"),
    (EVIL, "hook_timeout"),
    (EVIL, "hook_timeout"),
    (EVIL, "hook_timeout"),
];

/// Injects these bytes instead of every answer.
const fn answers_with(bytes: fn() -> Vec<u8>) -> Misbehavior {
    Misbehavior::Inject(Injection {
        at: InjectionMoment::Gate,
        bytes,
        instead: true,
        times: u32::MAX,
        ..INJECT
    })
}

fn answer(fields: &str) -> Vec<u8> {
    line(format_args!(r#"{{"type":"event_intercept_response","id":"$ID",{fields}}}"#))
}

fn truncated_answer() -> Vec<u8> {
    line(r#"{"type":"event_intercept_response","id":"$ID","block":fal"#)
}

const fn with_person(evil: Misbehavior, expect: ExpectedFaults) -> FaultCase {
    FaultCase {
        evil,
        expect,
        setup: set_short_deadline,
        play: |world| Box::pin(asks_person_and_stops(world)),
        ..CASE
    }
}

const fn without_person(evil: Misbehavior, expect: ExpectedFaults) -> FaultCase {
    FaultCase {
        evil,
        expect,
        setup: short_and_headless,
        play: |world| Box::pin(stops_without_person(world)),
        ..CASE
    }
}

/// Sets a deadline that passes only after the first call has failed.
const fn with_answer_deadline(case: FaultCase, headless: bool) -> FaultCase {
    let setup: fn(&mut WorldSetup) = match headless {
        false => |setup| setup.config.timeouts.intercept = ANSWERED,
        true => |setup| {
            setup.config.timeouts.intercept = ANSWERED;
            setup.headless = true;
        },
    };
    FaultCase { setup, ..case }
}

/// Sets deadlines that do not pass.
const fn with_long_deadlines(case: FaultCase, headless: bool) -> FaultCase {
    FaultCase { setup: if headless { |setup| setup.headless = true } else { |_| {} }, ..case }
}

const fn crash_loop(headless: bool) -> FaultCase {
    FaultCase {
        evil: Misbehavior::Fault("exit-in-call"),
        expect: CRASH_LOOP,
        setup: if headless { crashing_and_headless } else { set_short_restarts },
        play: |world| Box::pin(stops_after_crash_loop(world)),
        ..CASE
    }
}

fn set_short_deadline(setup: &mut WorldSetup) {
    setup.config.timeouts.intercept = SHORT;
}

fn short_and_headless(setup: &mut WorldSetup) {
    set_short_deadline(setup);
    setup.headless = true;
}

fn set_short_restarts(setup: &mut WorldSetup) {
    setup.config.timeouts.restarts.first_pause = Duration::from_millis(20);
    setup.config.timeouts.restarts.longest_pause = Duration::from_millis(20);
}

fn crashing_and_headless(setup: &mut WorldSetup) {
    set_short_restarts(setup);
    setup.headless = true;
}

fn probe_calls(count: usize) -> Value {
    call_steps(&vec![("probe", json!({})); count])
}

/// Checks that three calls fail and are blocked, and that the third failure ends the run.
async fn stops_after_three(world: &World) -> Result<()> {
    let played = world.prompt(&probe_calls(4)).await?;
    ensure!(played.ran.is_empty(), "the tool ran with {:?}", played.ran);
    let by: Vec<&str> = played.blocked.iter().map(|(by, _)| by.as_str()).collect();
    ensure!(by == [EVIL; 3], "{by:?} blocked: {:?}", played.blocked);
    let Err(error) = &played.outcome else { anyhow::bail!("the run did not end") };
    ensure!(error.contains("keeps failing"), "the run ended with {error:?}");
    Ok(())
}

async fn asks_person_and_stops(world: &mut World) -> Result<()> {
    stops_after_three(world).await?;
    ensure!(
        world.screen.gate_questions() == 1,
        "the person was asked {} times",
        world.screen.gate_questions()
    );
    world.settle().await
}

async fn stops_without_person(world: &mut World) -> Result<()> {
    stops_after_three(world).await?;
    ensure!(world.screen.gate_questions() == 0, "a person was asked in a run without one");
    world.settle().await
}

async fn stops_after_crash_loop(world: &mut World) -> Result<()> {
    // A plain tool call crashes the extension as well, before the gate reaches its failure limit.
    for crash in 1..=5 {
        let there = || {
            let state = world.state(EVIL);
            state.is_ok_and(|state| matches!(state, haft_host::ExtensionState::Ready))
        };
        world.wait_until("the extension is ready", there).await?;
        ensure!(world.call(json!({})).await?.is_error, "the call with crash {crash} succeeded");
        world.wait_until("the extension has exited", || world.events.faults().len() >= crash).await?;
    }
    stops_after_three(world).await?;
    world.settle().await
}

/// The person chooses to restart the extension; if that does not help, the person is not asked again.
async fn restarts_gate_once(world: &mut World) -> Result<()> {
    world.screen.answer(GateChoice::Restart);
    let played = world.prompt(&probe_calls(4)).await?;
    ensure!(played.ran.is_empty() && played.blocked.len() == 4, "the tool ran with {:?}", played.ran);
    ensure!(
        world.screen.gate_questions() == 1,
        "the person was asked {} times",
        world.screen.gate_questions()
    );
    ensure!(played.outcome.is_ok(), "the run ended with {:?}", played.outcome);
    world.settle().await
}

/// The person continues without the gate: the current call stays blocked, and the next calls run.
async fn continues_without_gate(world: &mut World) -> Result<()> {
    world.screen.answer(GateChoice::ContinueWithout);
    let played = world.prompt(&probe_calls(5)).await?;
    ensure!(played.blocked.len() == 3 && played.ran.len() == 2, "{:?}, {:?}", played.blocked, played.ran);
    ensure!(
        world.screen.gate_questions() == 1,
        "the person was asked {} times",
        world.screen.gate_questions()
    );
    ensure!(world.events.of_type("gate_off").len() == 1, "no event reports that the gate is off");
    world.settle().await
}

async fn cancelled_turn_runs_no_tool(world: &mut World) -> Result<()> {
    let asked = || world.marks().iter().any(|mark| mark == "hang-intercept");
    let played = world.prompt_until(&probe_calls(1), asked).await?;
    ensure!(played.ran.is_empty(), "the tool ran with {:?}", played.ran);
    ensure!(played.outcome.is_err(), "the run did not end");
    ensure!(world.screen.gate_questions() == 0, "a cancelled question was counted as a failure");
    Ok(())
}

/// The whole program without a person: its exit status gives the reason, and the tool never runs.
async fn exits_with_status_3(world: &mut World) -> Result<()> {
    let faults = ["hang-intercept", "exit-in-call", "abort-in-call", "bad-types", "wrong-kind"];
    let touch = |name: &str| json!({"command": format!("touch {name}")});
    let runs = faults.into_iter().map(async |fault| {
        let steps = call_steps(&vec![("bash", touch("ran")); 4]);
        let home = HaftHome::new(world, fault, fault, &steps)?;
        let ended = home.run_piped(home.prompt_args(&["-p", "go"])).await?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        ensure!(ended.status.code() == Some(3), "{fault}: haft ended with {}: {said}", ended.status);
        ensure!(said.contains("keeps failing"), "{fault}: haft printed {said:?}");
        ensure!(!home.work_dir().join("ran").exists(), "{fault}: the tool ran");
        Ok(())
    });
    try_join_all(runs).await?;
    Ok(())
}
