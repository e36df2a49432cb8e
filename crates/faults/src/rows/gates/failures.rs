//! T-26: a gate that fails, with a person and without.

use std::time::Duration;

use anyhow::{Result, ensure};
use futures::future::try_join_all;
use haft_host::GateChoice;
use serde_json::{Value, json};

use super::call_steps;
use crate::defence::{Defence, take_down};
use crate::evil::{INJECT, Injection, InjectionMoment, Misbehavior};
use crate::row::{CASE, EVIL, ExpectedFaults, FaultCase, FaultRow};
use crate::rows::protocol::line;
use crate::world::{HaftHome, World, WorldSetup};

/// A deadline that must pass.
const SHORT: Duration = Duration::from_millis(500);

/// A deadline that must pass, but not before the wrong answer is there.
const ANSWERED: Duration = Duration::from_secs(5);

pub(crate) const ROWS: &[FaultRow] = &[FaultRow {
    id: "T-26",
    title: "a gate that times out, crashes, answers garbage, is stopped, or crashes again and again",
    cases: &[
        with_person(Misbehavior::Fault("hang-intercept"), TIMEOUTS),
        without_person(Misbehavior::Fault("hang-intercept"), TIMEOUTS),
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
        // The host stops it in the middle of the session.
        with_answer_deadline(with_person(answers_with(|| vec![b'x'; 2 * 1024 * 1024]), STOPPED), false),
        with_answer_deadline(without_person(answers_with(|| vec![b'x'; 2 * 1024 * 1024]), STOPPED), true),
        crash_loop(false),
        crash_loop(true),
        FaultCase {
            evil: Misbehavior::Fault("hang-intercept"),
            expect: &[(EVIL, "hook_timeout"); 4],
            setup: set_short_deadline,
            play: |world| Box::pin(starts_again_once(world)),
            ..CASE
        },
        FaultCase {
            evil: Misbehavior::Fault("hang-intercept"),
            expect: TIMEOUTS,
            setup: set_short_deadline,
            play: |world| Box::pin(goes_on_without(world)),
            ..CASE
        },
        FaultCase {
            evil: Misbehavior::Fault("hang-intercept"),
            play: |world| Box::pin(a_cancelled_turn_runs_nothing(world)),
            ..CASE
        },
        FaultCase { play: |world| Box::pin(ends_with_three(world)), ..CASE },
    ],
    undefend: Some(|_| take_down(Defence::GatesFailClosed)),
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

/// Always these bytes instead of an answer.
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
        play: |world| Box::pin(is_asked_and_stops(world)),
        ..CASE
    }
}

const fn without_person(evil: Misbehavior, expect: ExpectedFaults) -> FaultCase {
    FaultCase { evil, expect, setup: short_and_headless, play: |world| Box::pin(stops_alone(world)), ..CASE }
}

/// Gives the case a deadline that does not pass before the first call has failed, and passes for the further ones.
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

/// Gives the case deadlines that do not pass.
const fn with_long_deadlines(case: FaultCase, headless: bool) -> FaultCase {
    FaultCase { setup: if headless { |setup| setup.headless = true } else { |_| {} }, ..case }
}

const fn crash_loop(headless: bool) -> FaultCase {
    FaultCase {
        evil: Misbehavior::Fault("exit-in-call"),
        expect: CRASH_LOOP,
        setup: if headless { crashing_and_headless } else { set_short_restarts },
        play: |world| Box::pin(is_broken_for_good(world)),
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

/// Three calls fail, each is blocked, and the third one ends the run, whatever the model still wants.
async fn stops_after_three(world: &World) -> Result<()> {
    let played = world.prompt(&probe_calls(4)).await?;
    ensure!(played.ran.is_empty(), "it ran with {:?}", played.ran);
    let by: Vec<&str> = played.blocked.iter().map(|(by, _)| by.as_str()).collect();
    ensure!(by == [EVIL; 3], "{by:?} blocked: {:?}", played.blocked);
    let Err(error) = &played.outcome else { anyhow::bail!("the run goes on") };
    ensure!(error.contains("keeps failing"), "the run ends with {error:?}");
    Ok(())
}

async fn is_asked_and_stops(world: &mut World) -> Result<()> {
    stops_after_three(world).await?;
    ensure!(
        world.screen.gate_questions() == 1,
        "the person was asked {} times",
        world.screen.gate_questions()
    );
    world.settle().await
}

async fn stops_alone(world: &mut World) -> Result<()> {
    stops_after_three(world).await?;
    ensure!(world.screen.gate_questions() == 0, "somebody was asked, and nobody is there");
    world.settle().await
}

async fn is_broken_for_good(world: &mut World) -> Result<()> {
    // A plain tool call crashes it, too, so that the gate's patience is not used up before.
    for crash in 1..=5 {
        let there = || {
            let state = world.state(EVIL);
            state.is_ok_and(|state| matches!(state, haft_host::ExtensionState::Ready))
        };
        world.wait_until("it is ready", there).await?;
        ensure!(world.call(json!({})).await?.is_error, "crash {crash} is a success");
        world.wait_until("it is gone", || world.events.faults().len() >= crash).await?;
    }
    stops_after_three(world).await?;
    world.settle().await
}

/// The person wants it to be started again; when that does not help, nobody asks a second time.
async fn starts_again_once(world: &mut World) -> Result<()> {
    world.screen.answer(GateChoice::Restart);
    let played = world.prompt(&probe_calls(4)).await?;
    ensure!(played.ran.is_empty() && played.blocked.len() == 4, "it ran with {:?}", played.ran);
    ensure!(
        world.screen.gate_questions() == 1,
        "the person was asked {} times",
        world.screen.gate_questions()
    );
    ensure!(played.outcome.is_ok(), "the run ends with {:?}", played.outcome);
    world.settle().await
}

/// The person goes on without it: the call that it was asked about stays blocked, and the next ones run.
async fn goes_on_without(world: &mut World) -> Result<()> {
    world.screen.answer(GateChoice::ContinueWithout);
    let played = world.prompt(&probe_calls(5)).await?;
    ensure!(played.blocked.len() == 3 && played.ran.len() == 2, "{:?}, {:?}", played.blocked, played.ran);
    ensure!(
        world.screen.gate_questions() == 1,
        "the person was asked {} times",
        world.screen.gate_questions()
    );
    ensure!(world.events.of_type("gate_off").len() == 1, "nobody says that it is off");
    world.settle().await
}

async fn a_cancelled_turn_runs_nothing(world: &mut World) -> Result<()> {
    let asked = || world.marks().iter().any(|mark| mark == "hang-intercept");
    let played = world.prompt_until(&probe_calls(1), asked).await?;
    ensure!(played.ran.is_empty(), "it ran with {:?}", played.ran);
    ensure!(played.outcome.is_err(), "the run goes on");
    ensure!(world.screen.gate_questions() == 0, "a cancelled question is a failure");
    Ok(())
}

/// The program itself, without a person: its status says why it ended, and the tool never ran.
async fn ends_with_three(world: &mut World) -> Result<()> {
    let faults = ["hang-intercept", "exit-in-call", "abort-in-call", "bad-types", "wrong-kind"];
    let touch = |name: &str| json!({"command": format!("touch {name}")});
    let runs = faults.into_iter().map(async |fault| {
        let steps = call_steps(&vec![("bash", touch("ran")); 4]);
        let home = HaftHome::new(world, fault, fault, &steps)?;
        let ended = home.run_piped(home.prompt_args(&["-p", "go"])).await?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        ensure!(ended.status.code() == Some(3), "{fault}: it ends with {}: {said}", ended.status);
        ensure!(said.contains("keeps failing"), "{fault}: it says {said:?}");
        ensure!(!home.work_dir().join("ran").exists(), "{fault}: the tool ran");
        Ok(())
    });
    try_join_all(runs).await?;
    Ok(())
}
