//! Extensions that crash: once, again and again, many at a time; or their task in the host does.

use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Result, ensure};
use haft_host::ExtensionState;
use serde_json::json;

use crate::defence::{Defence, take_down};
use crate::evil::{InjectionMoment, Misbehavior, inject, misbehaving_spec};
use crate::row::{CASE, EVIL, FaultCase, FaultRow};
use crate::rows::protocol::hello::{node_fault, python_fault};
use crate::rows::protocol::line;
use crate::world::{FATAL_TITLE, World, WorldSetup};

/// Crashes that are a loop.
const LOOP: usize = 5;

/// The number that may be starting at once in the row about that.
const AT_ONCE: usize = 2;

const CRASH_LOOP: &[(&str, &str)] =
    &[(EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "crash_loop")];

/// Exits in a question about a tool call.
const EXITS: FaultCase =
    crash_case("exit-in-call", |world| Box::pin(world.expect_block_at_once("exited with status")));

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "L-01",
        title: "crashes while its tool is called",
        cases: &[
            crash_case("exit-in-call", |world| {
                Box::pin(ends_the_call(world, "exited with status 3; it printed: panic: boom"))
            }),
            crash_case("abort-in-call", |world| Box::pin(ends_the_call(world, "was killed by signal 6"))),
            crash_case("segv-in-call", |world| Box::pin(ends_the_call(world, "was killed by signal 11"))),
        ],
        undefend: Some(|_| take_down(Defence::ExitStatus)),
    },
    FaultRow {
        id: "L-02",
        title: "crashes while it is asked about a tool call",
        cases: &[
            EXITS,
            crash_case("segv-in-call", |world| {
                Box::pin(world.expect_block_at_once("was killed by signal 11"))
            }),
            // The same in other languages, whose own tracebacks differ.
            FaultCase { evil: python_fault("exit-in-call"), ..EXITS },
            FaultCase { evil: node_fault("exit-in-call"), ..EXITS },
        ],
        undefend: Some(|_| take_down(Defence::GatesFailClosed)),
    },
    FaultRow {
        id: "L-03",
        title: "crashes again and again",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("crash-when-ready"),
            expect: CRASH_LOOP,
            setup: restart_soon,
            play: |world| Box::pin(stays_down(world)),
            ..CASE
        }],
        undefend: Some(|setup| setup.config.timeouts.restarts.window = Duration::ZERO),
    },
    FaultRow {
        id: "L-04",
        title: "many crash again and again at the same time",
        cases: &[FaultCase {
            setup: |setup| {
                restart_soon(setup);
                let many = if setup.mode.full { 100 } else { 12 };
                (0..many).for_each(|number| setup.add(misbehaving_spec(setup, "slow-start", &name(number))));
                setup.config.start_at_once = NonZeroUsize::new(AT_ONCE).unwrap_or(NonZeroUsize::MIN);
                // Only hello ends a turn at the gate.
                setup.config.timeouts.start_turn = setup.config.timeouts.hello;
            },
            play: |world| Box::pin(start_a_few_at_a_time(world)),
            ..CASE
        }],
        undefend: Some(|setup| {
            setup.config.start_at_once = NonZeroUsize::new(1_000).unwrap_or(NonZeroUsize::MIN)
        }),
    },
    FaultRow {
        id: "L-05",
        title: "leaves by itself when it has nothing to do",
        cases: &[
            FaultCase {
                evil: Misbehavior::Fault("leave-once"),
                setup: |setup| setup.specs.iter_mut().for_each(|spec| spec.lifecycle.on_demand = true),
                play: |world| Box::pin(comes_back(world)),
                ..CASE
            },
            FaultCase {
                evil: Misbehavior::Fault("leave-once"),
                expect: &[(EVIL, "exited")],
                play: |world| Box::pin(world.expect_report("exited", "exited with status 0")),
                ..CASE
            },
        ],
        undefend: Some(|setup| setup.specs.iter_mut().for_each(|spec| spec.lifecycle.on_demand = false)),
    },
    FaultRow {
        id: "L-12",
        title: "its task in the host panics",
        cases: &[FaultCase {
            evil: inject(InjectionMoment::Ready, || {
                line(json!({"type": "panel_render", "panel_id": "p", "title": FATAL_TITLE, "lines": []}))
            }),
            expect: &[(EVIL, "exited")],
            // A trace of a panic is of no use to anybody here.
            setup: |_| std::panic::set_hook(Box::new(|_| {})),
            play: |world| Box::pin(is_reported_and_gone(world)),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defence::PanicsCount)),
    },
];

const fn crash_case(fault: &'static str, play: crate::row::CaseScript) -> FaultCase {
    FaultCase { evil: Misbehavior::Fault(fault), expect: &[(EVIL, "exited")], play, ..CASE }
}

/// Pauses that a row has the time for.
fn restart_soon(setup: &mut WorldSetup) {
    let restarts = &mut setup.config.timeouts.restarts;
    (restarts.first_pause, restarts.longest_pause) = (Duration::from_millis(10), Duration::from_millis(40));
}

fn name(number: usize) -> String {
    format!("ext{number}")
}

/// The call fails with this; what it offered is still there, and says so, too.
async fn ends_the_call(world: &World, why: &str) -> Result<()> {
    world.expect_failure(why).await?;
    ensure!(world.host.commands().iter().any(|command| command.name == "evil"), "its command is not listed");
    let mut states = world.host.statuses().into_iter();
    let tools = states.find(|status| status.name.as_str() == EVIL).map(|status| status.tools);
    ensure!(tools.is_some_and(|tools| tools == ["evil_tool"]), "its tool is not listed");
    ensure!(
        matches!(world.state(EVIL)?, ExtensionState::Restarting { .. }),
        "it is {:?}",
        world.state(EVIL)?
    );
    Ok(())
}

async fn stays_down(world: &mut World) -> Result<()> {
    world
        .expect_report(
            "crash_loop",
            "is no longer restarted automatically; last failure: exited with status 3",
        )
        .await?;
    let state = world.state(EVIL)?;
    ensure!(matches!(state, ExtensionState::Failed { .. }), "it is {state:?}");
    let starts = world.marks().len();
    ensure!(starts == LOOP, "it was started {starts} times");
    world.expect_failure("is no longer restarted automatically").await?;
    world.expect_block_at_once("is no longer restarted automatically").await
}

async fn start_a_few_at_a_time(world: &mut World) -> Result<()> {
    let many = world.amount(12, 100);
    for name in (0..many).map(name) {
        world.also.extend((1..LOOP).map(|_| (name.clone(), "exited")));
        world.also.push((name, "crash_loop"));
    }
    world.wait_until("all stay down", || world.events.faults().len() >= many * LOOP).await?;
    let (mut starting, mut most) = (0_usize, 0);
    for mark in world.marks() {
        match mark.as_str() {
            "starts" => starting += 1,
            "has started" => starting = starting.saturating_sub(1),
            _ => {}
        }
        most = most.max(starting);
    }
    ensure!(most <= AT_ONCE, "{most} were starting at the same time");
    Ok(())
}

/// Checks that this is no fault, and that the next question starts it again.
async fn comes_back(world: &mut World) -> Result<()> {
    world
        .wait_until("it has left", || world.state(EVIL).is_ok_and(|state| state == ExtensionState::Idle))
        .await?;
    world.expect_answer("ok").await?;
    ensure!(world.state(EVIL)? == ExtensionState::Ready, "it is {:?}", world.state(EVIL)?);
    world.expect_allow().await
}

async fn is_reported_and_gone(world: &mut World) -> Result<()> {
    world.expect_report("exited", "its task panicked").await?;
    world.expect_failure("its task panicked").await?;
    world.expect_block_at_once("its task panicked").await?;
    let seen = world.screen.drawings();
    ensure!(seen.iter().any(|seen| seen == "evil is gone"), "the front end was told {seen:?}");
    Ok(())
}
