//! Extensions that crash: once, again and again, many at a time; or their task in the host does.

use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Result, ensure};
use haft_host::ExtensionState;
use serde_json::json;

use crate::defence::{Defence, take_down};
use crate::evil::{Evil, Moment, inject, misbehaving};
use crate::row::{CASE, Case, EVIL, Row};
use crate::rows::protocol::hello::{node, python};
use crate::rows::protocol::line;
use crate::world::{FATAL_TITLE, Setup, World};

/// Crashes that are a loop.
const LOOP: usize = 5;

/// The number that may be starting at once in the row about that.
const AT_ONCE: usize = 2;

const CRASH_LOOP: &[(&str, &str)] =
    &[(EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "exited"), (EVIL, "crash_loop")];

/// Exits in a question about a tool call.
const EXITS: Case = crashes("exit-in-call", |world| Box::pin(world.blocks_at_once("exited with status")));

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "L-01",
        title: "crashes while its tool is called",
        cases: &[
            crashes("exit-in-call", |world| {
                Box::pin(ends_the_call(world, "exited with status 3; it printed: panic: boom"))
            }),
            crashes("abort-in-call", |world| Box::pin(ends_the_call(world, "was ended by signal 6"))),
            crashes("segv-in-call", |world| Box::pin(ends_the_call(world, "was ended by signal 11"))),
        ],
        undefend: Some(|_| take_down(Defence::ExitStatus)),
    },
    Row {
        id: "L-02",
        title: "crashes while it is asked about a tool call",
        cases: &[
            EXITS,
            crashes("segv-in-call", |world| Box::pin(world.blocks_at_once("was ended by signal 11"))),
            // The same in other languages, whose own tracebacks differ.
            Case { evil: python("exit-in-call"), ..EXITS },
            Case { evil: node("exit-in-call"), ..EXITS },
        ],
        undefend: Some(|_| take_down(Defence::GatesFailClosed)),
    },
    Row {
        id: "L-03",
        title: "crashes again and again",
        cases: &[Case {
            evil: Evil::Fault("crash-when-ready"),
            expect: CRASH_LOOP,
            setup: restart_soon,
            play: |world| Box::pin(stays_down(world)),
            ..CASE
        }],
        undefend: Some(|setup| setup.config.timeouts.restarts.window = Duration::ZERO),
    },
    Row {
        id: "L-04",
        title: "many crash again and again at the same time",
        cases: &[Case {
            setup: |setup| {
                restart_soon(setup);
                let many = if setup.mode.full { 100 } else { 12 };
                (0..many).for_each(|number| setup.add(misbehaving(setup, "slow-start", &name(number))));
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
    Row {
        id: "L-05",
        title: "leaves by itself when it has nothing to do",
        cases: &[
            Case {
                evil: Evil::Fault("leave-once"),
                setup: |setup| setup.specs.iter_mut().for_each(|spec| spec.lifecycle.on_demand = true),
                play: |world| Box::pin(comes_back(world)),
                ..CASE
            },
            Case {
                evil: Evil::Fault("leave-once"),
                expect: &[(EVIL, "exited")],
                play: |world| Box::pin(world.reports("exited", "exited with status 0")),
                ..CASE
            },
        ],
        undefend: Some(|setup| setup.specs.iter_mut().for_each(|spec| spec.lifecycle.on_demand = false)),
    },
    Row {
        id: "L-12",
        title: "its task in the host panics",
        cases: &[Case {
            evil: inject(Moment::Ready, || {
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

const fn crashes(fault: &'static str, play: crate::row::Play) -> Case {
    Case { evil: Evil::Fault(fault), expect: &[(EVIL, "exited")], play, ..CASE }
}

/// Pauses that a row has the time for.
fn restart_soon(setup: &mut Setup) {
    let restarts = &mut setup.config.timeouts.restarts;
    (restarts.first_pause, restarts.longest_pause) = (Duration::from_millis(10), Duration::from_millis(40));
}

fn name(number: usize) -> String {
    format!("ext{number}")
}

/// The call fails with this; what it offered is still there, and says so, too.
async fn ends_the_call(world: &World, why: &str) -> Result<()> {
    world.fails(why).await?;
    ensure!(world.host.commands().iter().any(|command| command.name == "evil"), "its command is not listed");
    let mut states = world.host.states().into_iter();
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
        .reports("crash_loop", "is not started again by itself; the last time it exited with status 3")
        .await?;
    let state = world.state(EVIL)?;
    ensure!(matches!(state, ExtensionState::Failed { .. }), "it is {state:?}");
    let starts = world.marks().len();
    ensure!(starts == LOOP, "it was started {starts} times");
    world.fails("is not started again by itself").await?;
    world.blocks_at_once("is not started again by itself").await
}

async fn start_a_few_at_a_time(world: &mut World) -> Result<()> {
    let many = world.amount(12, 100);
    for name in (0..many).map(name) {
        world.also.extend((1..LOOP).map(|_| (name.clone(), "exited")));
        world.also.push((name, "crash_loop"));
    }
    world.until("all stay down", || world.events.faults().len() >= many * LOOP).await?;
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
    world.until("it has left", || world.state(EVIL).is_ok_and(|state| state == ExtensionState::Idle)).await?;
    world.answers("ok").await?;
    ensure!(world.state(EVIL)? == ExtensionState::Ready, "it is {:?}", world.state(EVIL)?);
    world.allows().await
}

async fn is_reported_and_gone(world: &mut World) -> Result<()> {
    world.reports("exited", "its task panicked").await?;
    world.fails("its task panicked").await?;
    world.blocks_at_once("its task panicked").await?;
    let seen = world.screen.seen();
    ensure!(seen.iter().any(|seen| seen == "evil is gone"), "the front end was told {seen:?}");
    Ok(())
}
