//! T-26: a gate that fails, with a person and without.

use std::time::Duration;

use anyhow::{Result, ensure};
use futures::future::try_join_all;
use haft_host::GateChoice;
use serde_json::{Value, json};

use super::calls;
use crate::defence::{Defence, take_down};
use crate::evil::{Evil, INJECT, Inject, Moment};
use crate::row::{CASE, Case, EVIL, Faults, Row};
use crate::rows::protocol::line;
use crate::world::{Home, Setup, World};

/// A deadline that must pass.
const SHORT: Duration = Duration::from_millis(500);

/// A deadline that must pass, but not before the wrong answer is there.
const ANSWERED: Duration = Duration::from_secs(5);

pub(crate) const ROWS: &[Row] = &[Row {
    id: "T-26",
    title: "a gate that times out, crashes, answers garbage, is stopped, or crashes again and again",
    cases: &[
        with_person(Evil::Fault("hang-intercept"), TIMEOUTS),
        alone(Evil::Fault("hang-intercept"), TIMEOUTS),
        answered(with_person(Evil::Fault("exit-in-call"), EXITED), false),
        answered(alone(Evil::Fault("exit-in-call"), EXITED), true),
        answered(with_person(Evil::Fault("abort-in-call"), EXITED), false),
        answered(alone(Evil::Fault("abort-in-call"), EXITED), true),
        in_time(with_person(says(|| answer(r#""block":"false""#)), ERRORS), false),
        in_time(alone(says(|| answer(r#""block":"false""#)), ERRORS), true),
        in_time(with_person(says(|| answer(r#""error":"no disk""#)), ERRORS), false),
        in_time(alone(says(|| answer(r#""error":"no disk""#)), ERRORS), true),
        with_person(says(|| line("allow!")), GARBAGE),
        alone(says(|| line("allow!")), GARBAGE),
        with_person(says(truncated), GARBAGE),
        alone(says(truncated), GARBAGE),
        answered(with_person(Evil::Fault("wrong-kind"), WRONG_KIND), false),
        answered(alone(Evil::Fault("wrong-kind"), WRONG_KIND), true),
        // The host stops it in the middle of the session.
        answered(with_person(says(|| vec![b'x'; 2 * 1024 * 1024]), STOPPED), false),
        answered(alone(says(|| vec![b'x'; 2 * 1024 * 1024]), STOPPED), true),
        crash_loop(false),
        crash_loop(true),
        Case {
            evil: Evil::Fault("hang-intercept"),
            expect: &[(EVIL, "hook_timeout"); 4],
            setup: short,
            play: |world| Box::pin(starts_again_once(world)),
            ..CASE
        },
        Case {
            evil: Evil::Fault("hang-intercept"),
            expect: TIMEOUTS,
            setup: short,
            play: |world| Box::pin(goes_on_without(world)),
            ..CASE
        },
        Case {
            evil: Evil::Fault("hang-intercept"),
            play: |world| Box::pin(a_cancelled_turn_runs_nothing(world)),
            ..CASE
        },
        Case { play: |world| Box::pin(ends_with_three(world)), ..CASE },
    ],
    undefend: Some(|_| take_down(Defence::GatesFailClosed)),
}];

const TIMEOUTS: Faults = &[(EVIL, "hook_timeout"); 3];
const ERRORS: Faults = &[(EVIL, "hook_error"); 3];
const EXITED: Faults = &[(EVIL, "exited")];
const STOPPED: Faults = &[(EVIL, "frame_too_long")];
const CRASH_LOOP: Faults =
    &[(EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "crash_loop")];
const GARBAGE: Faults =
    &[(EVIL, "frame_not_json"), (EVIL, "hook_timeout"), (EVIL, "hook_timeout"), (EVIL, "hook_timeout")];
const WRONG_KIND: Faults = &[
    (EVIL, "frame_invalid"),
    (EVIL, "frame_invalid"),
    (EVIL, "frame_invalid"),
    (EVIL, "hook_timeout"),
    (EVIL, "hook_timeout"),
    (EVIL, "hook_timeout"),
];

/// Always these bytes instead of an answer.
const fn says(bytes: fn() -> Vec<u8>) -> Evil {
    Evil::Inject(Inject { at: Moment::Gate, bytes, instead: true, times: u32::MAX, ..INJECT })
}

fn answer(fields: &str) -> Vec<u8> {
    line(format_args!(r#"{{"type":"event_intercept_response","id":"$ID",{fields}}}"#))
}

fn truncated() -> Vec<u8> {
    line(r#"{"type":"event_intercept_response","id":"$ID","block":fal"#)
}

const fn with_person(evil: Evil, expect: Faults) -> Case {
    Case { evil, expect, setup: short, play: |world| Box::pin(is_asked_and_stops(world)), ..CASE }
}

const fn alone(evil: Evil, expect: Faults) -> Case {
    Case { evil, expect, setup: short_and_headless, play: |world| Box::pin(stops_alone(world)), ..CASE }
}

/// Gives the case a deadline that does not pass before the first call has failed, and passes for the further ones.
const fn answered(case: Case, headless: bool) -> Case {
    let setup: fn(&mut Setup) = match headless {
        false => |setup| setup.config.timeouts.intercept = ANSWERED,
        true => |setup| {
            setup.config.timeouts.intercept = ANSWERED;
            setup.headless = true;
        },
    };
    Case { setup, ..case }
}

/// Gives the case deadlines that do not pass.
const fn in_time(case: Case, headless: bool) -> Case {
    Case { setup: if headless { |setup| setup.headless = true } else { |_| {} }, ..case }
}

const fn crash_loop(headless: bool) -> Case {
    Case {
        evil: Evil::Fault("exit-in-call"),
        expect: CRASH_LOOP,
        setup: if headless { crashing_and_headless } else { crashing },
        play: |world| Box::pin(is_broken_for_good(world)),
        ..CASE
    }
}

fn short(setup: &mut Setup) {
    setup.config.timeouts.intercept = SHORT;
}

fn short_and_headless(setup: &mut Setup) {
    short(setup);
    setup.headless = true;
}

fn crashing(setup: &mut Setup) {
    setup.config.timeouts.restarts.first_pause = Duration::from_millis(20);
    setup.config.timeouts.restarts.longest_pause = Duration::from_millis(20);
}

fn crashing_and_headless(setup: &mut Setup) {
    crashing(setup);
    setup.headless = true;
}

fn probes(count: usize) -> Value {
    calls(&vec![("probe", json!({})); count])
}

/// Three calls fail, each is blocked, and the third one ends the run, whatever the model still wants.
async fn stops(world: &World) -> Result<()> {
    let played = world.prompt(&probes(4)).await?;
    ensure!(played.ran.is_empty(), "it ran with {:?}", played.ran);
    let by: Vec<&str> = played.blocked.iter().map(|(by, _)| by.as_str()).collect();
    ensure!(by == [EVIL; 3], "{by:?} blocked: {:?}", played.blocked);
    let Err(error) = &played.outcome else { anyhow::bail!("the run goes on") };
    ensure!(error.contains("keeps failing"), "the run ends with {error:?}");
    Ok(())
}

async fn is_asked_and_stops(world: &mut World) -> Result<()> {
    stops(world).await?;
    ensure!(world.screen.asked() == 1, "the person was asked {} times", world.screen.asked());
    world.settle().await
}

async fn stops_alone(world: &mut World) -> Result<()> {
    stops(world).await?;
    ensure!(world.screen.asked() == 0, "somebody was asked, and nobody is there");
    world.settle().await
}

async fn is_broken_for_good(world: &mut World) -> Result<()> {
    // A plain tool call crashes it, too, so that the gate's patience is not used up before.
    for crash in 1..=5 {
        let there = || {
            let state = world.state(EVIL);
            state.is_ok_and(|state| matches!(state, haft_host::ExtensionState::Ready))
        };
        world.until("it is ready", there).await?;
        ensure!(world.call(json!({})).await?.is_error, "crash {crash} is a success");
        world.until("it is gone", || world.events.faults().len() >= crash).await?;
    }
    stops(world).await?;
    world.settle().await
}

/// The person wants it to be started again; when that does not help, nobody asks a second time.
async fn starts_again_once(world: &mut World) -> Result<()> {
    world.screen.answer(GateChoice::Restart);
    let played = world.prompt(&probes(4)).await?;
    ensure!(played.ran.is_empty() && played.blocked.len() == 4, "it ran with {:?}", played.ran);
    ensure!(world.screen.asked() == 1, "the person was asked {} times", world.screen.asked());
    ensure!(played.outcome.is_ok(), "the run ends with {:?}", played.outcome);
    world.settle().await
}

/// The person goes on without it: the call that it was asked about stays blocked, and the next ones run.
async fn goes_on_without(world: &mut World) -> Result<()> {
    world.screen.answer(GateChoice::ContinueWithout);
    let played = world.prompt(&probes(5)).await?;
    ensure!(played.blocked.len() == 3 && played.ran.len() == 2, "{:?}, {:?}", played.blocked, played.ran);
    ensure!(world.screen.asked() == 1, "the person was asked {} times", world.screen.asked());
    ensure!(world.events.of("gate_off").len() == 1, "nobody says that it is off");
    world.settle().await
}

async fn a_cancelled_turn_runs_nothing(world: &mut World) -> Result<()> {
    let asked = || world.marks().iter().any(|mark| mark == "hang-intercept");
    let played = world.prompt_until(&probes(1), asked).await?;
    ensure!(played.ran.is_empty(), "it ran with {:?}", played.ran);
    ensure!(played.outcome.is_err(), "the run goes on");
    ensure!(world.screen.asked() == 0, "a cancelled question is a failure");
    Ok(())
}

/// The program itself, without a person: its status says why it ended, and the tool never ran.
async fn ends_with_three(world: &mut World) -> Result<()> {
    let faults = ["hang-intercept", "exit-in-call", "abort-in-call", "bad-types", "wrong-kind"];
    let touch = |name: &str| json!({"command": format!("touch {name}")});
    let runs = faults.into_iter().map(async |fault| {
        let steps = calls(&vec![("bash", touch("ran")); 4]);
        let home = Home::new(world, fault, fault, &steps)?;
        let ended = home.piped(home.run(&["-p", "go"])).await?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        ensure!(ended.status.code() == Some(3), "{fault}: it ends with {}: {said}", ended.status);
        ensure!(said.contains("keeps failing"), "{fault}: it says {said:?}");
        ensure!(!home.work().join("ran").exists(), "{fault}: the tool ran");
        Ok(())
    });
    try_join_all(runs).await?;
    Ok(())
}
