//! Extensions that crash once, repeatedly, or many at a time, and panics of their task in the host.

use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Result, ensure};
use haft_host::ExtensionState;
use serde_json::json;

use crate::defense::{Defense, take_down};
use crate::misbehavior::{InjectionMoment, Misbehavior, inject, misbehaving_spec};
use crate::row::{CASE, EVIL, FaultCase, FaultRow};
use crate::rows::protocol::hello::{node_fault, python_fault};
use crate::rows::protocol::line;
use crate::world::{FATAL_TITLE, World, WorldSetup};

/// The number of crashes that make a crash loop.
const LOOP: usize = 5;

/// The number of extensions that may start at the same time.
const AT_ONCE: usize = 2;

const CRASH_LOOP: &[(&str, &str)] =
    &[(EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "crash_loop")];

/// The extension exits during a question about a tool call.
const EXITS: FaultCase =
    crash_case("exit-in-call", |world| Box::pin(world.expect_block_at_once("exited with status")));

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "L-01",
        title: "crashes while its tool is called",
        cases: &[
            crash_case("exit-in-call", |world| {
                Box::pin(fails_the_call(world, "exited with status 3; it printed: panic: boom"))
            }),
            crash_case("abort-in-call", |world| Box::pin(fails_the_call(world, "was killed by signal 6"))),
            crash_case("segv-in-call", |world| Box::pin(fails_the_call(world, "was killed by signal 11"))),
        ],
        undefend: Some(|_| take_down(Defense::ExitStatus)),
    },
    FaultRow {
        id: "L-02",
        title: "crashes while it is asked about a tool call",
        cases: &[
            EXITS,
            crash_case("segv-in-call", |world| {
                Box::pin(world.expect_block_at_once("was killed by signal 11"))
            }),
            // The same fault in other languages, whose tracebacks differ.
            FaultCase { evil: python_fault("exit-in-call"), ..EXITS },
            FaultCase { evil: node_fault("exit-in-call"), ..EXITS },
        ],
        undefend: Some(|_| take_down(Defense::GatesFailClosed)),
    },
    FaultRow {
        id: "L-03",
        title: "crashes repeatedly",
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
        title: "many extensions crash repeatedly at the same time",
        cases: &[FaultCase {
            setup: |setup| {
                restart_soon(setup);
                let many = if setup.mode.full { 100 } else { 12 };
                (0..many).for_each(|number| setup.add(misbehaving_spec(setup, "slow-start", &name(number))));
                setup.config.start_at_once = NonZeroUsize::new(AT_ONCE).unwrap_or(NonZeroUsize::MIN);
                // Only `hello` frees the slot of a starting extension.
                setup.config.timeouts.start_turn = setup.config.timeouts.hello;
            },
            play: |world| Box::pin(limits_concurrent_starts(world)),
            ..CASE
        }],
        undefend: Some(|setup| {
            setup.config.start_at_once = NonZeroUsize::new(1_000).unwrap_or(NonZeroUsize::MIN)
        }),
    },
    FaultRow {
        id: "L-05",
        title: "exits by itself when it is idle",
        cases: &[
            FaultCase {
                evil: Misbehavior::Fault("leave-once"),
                setup: |setup| setup.specs.iter_mut().for_each(|spec| spec.lifecycle.on_demand = true),
                play: |world| Box::pin(restarts_on_demand(world)),
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
            // The trace of the panic is not needed.
            setup: |_| std::panic::set_hook(Box::new(|_| {})),
            play: |world| Box::pin(reports_panic_and_stops(world)),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defense::PanicsCount)),
    },
];

const fn crash_case(fault: &'static str, play: crate::row::CaseScript) -> FaultCase {
    FaultCase { evil: Misbehavior::Fault(fault), expect: &[(EVIL, "exited")], play, ..CASE }
}

/// Shortens the pauses between restarts.
fn restart_soon(setup: &mut WorldSetup) {
    let restarts = &mut setup.config.timeouts.restarts;
    (restarts.first_pause, restarts.longest_pause) = (Duration::from_millis(10), Duration::from_millis(40));
}

fn name(number: usize) -> String {
    format!("ext{number}")
}

/// Checks that the call fails with this text, and that the tools and commands remain and fail with it as well.
async fn fails_the_call(world: &World, why: &str) -> Result<()> {
    world.expect_failure(why).await?;
    ensure!(world.host.commands().iter().any(|command| command.name == "evil"), "the command is not listed");
    let mut states = world.host.statuses().into_iter();
    let tools = states.find(|status| status.name.as_str() == EVIL).map(|status| status.tools);
    ensure!(tools.is_some_and(|tools| tools == ["evil_tool"]), "the tool is not listed");
    ensure!(
        matches!(world.state(EVIL)?, ExtensionState::Restarting { .. }),
        "the extension is {:?}",
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
    ensure!(matches!(state, ExtensionState::Failed { .. }), "the extension is {state:?}");
    let starts = world.marks().len();
    ensure!(starts == LOOP, "the extension was started {starts} times");
    world.expect_failure("is no longer restarted automatically").await?;
    world.expect_block_at_once("is no longer restarted automatically").await
}

async fn limits_concurrent_starts(world: &mut World) -> Result<()> {
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

/// Checks that the exit is not a fault, and that the next question restarts the extension.
async fn restarts_on_demand(world: &mut World) -> Result<()> {
    world
        .wait_until("the extension has exited", || {
            world.state(EVIL).is_ok_and(|state| state == ExtensionState::Idle)
        })
        .await?;
    world.expect_answer("ok").await?;
    ensure!(world.state(EVIL)? == ExtensionState::Ready, "the extension is {:?}", world.state(EVIL)?);
    world.expect_allow().await
}

async fn reports_panic_and_stops(world: &mut World) -> Result<()> {
    world.expect_report("exited", "its task panicked").await?;
    world.expect_failure("its task panicked").await?;
    world.expect_block_at_once("its task panicked").await?;
    let seen = world.screen.drawings();
    ensure!(seen.iter().any(|seen| seen == "evil is gone"), "the front end received {seen:?}");
    Ok(())
}
