//! P-01 to P-05 and P-23: the beginning of a connection.

use std::time::Duration;

use anyhow::{Result, ensure};
use haft_host::ExtensionState;

use super::line;
use crate::defence::{Defence, take_down};
use crate::evil::{Evil, Moment, inject, instead};
use crate::oracle::tagged;
use crate::row::{CASE, Case, EVIL, Row};
use crate::world::{Setup, World};

/// A deadline that must pass.
const SHORT: Duration = Duration::from_millis(500);

/// One that never does.
const FOR_EVER: Duration = Duration::from_secs(600);

/// A deadline that must pass, but not before the extension runs: interpreters take their time on a busy machine.
const STARTED: Duration = Duration::from_secs(10);

/// Processes of the canary and its guard.
const CANARY: usize = 2;

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "P-01",
        title: "never says hello",
        cases: &[
            silent(Evil::Fault("silent")),
            silent(python("silent")),
            silent(node("silent")),
            waited_for(Evil::Fault("silent")),
            waited_for(python("silent")),
            waited_for(node("silent")),
        ],
        undefend: Some(for_ever),
    },
    Row {
        id: "P-02",
        title: "says hello after the deadline",
        cases: &[Case {
            evil: Evil::Fault("late-hello"),
            expect: &[(EVIL, "hello_timeout")],
            setup: |setup| setup.hello_within(STARTED),
            play: |world| Box::pin(says_hello_too_late(world)),
            ..CASE
        }],
        undefend: Some(for_ever),
    },
    Row {
        id: "P-03",
        title: "another frame first, hello twice, another name",
        cases: &[
            Case {
                evil: instead(Moment::Start, || line(r#"{"type":"ready"}"#)),
                expect: &[(EVIL, "hello_invalid")],
                play: |world| Box::pin(stays_out(world)),
                ..CASE
            },
            Case {
                evil: inject(Moment::Greeted, || line(r#"{"type":"hello","name":"evil","version":"2"}"#)),
                expect: &[(EVIL, "frame_invalid")],
                play: |world| Box::pin(world.answers("ok")),
                ..CASE
            },
            Case {
                evil: instead(Moment::Start, || line(r#"{"type":"hello","name":"canary","version":"1"}"#)),
                expect: &[(EVIL, "hello_invalid")],
                play: |world| Box::pin(world.answers("ok")),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defence::FirstFrame)),
    },
    Row {
        id: "P-04",
        title: "a protocol version that nobody speaks",
        cases: &[
            version(|| hello_of("0")),
            version(|| hello_of("999")),
            version(|| hello_of("\"1\"")),
            version(|| hello_of("1.5")),
        ],
        undefend: Some(|_| take_down(Defence::ProtocolVersion)),
    },
    Row {
        id: "P-05",
        title: "exits before hello, and says why on stderr",
        cases: &[
            exits(
                "exit-before-hello",
                |setup| setup.env("HAFT_COUNT", "0"),
                |world| Box::pin(world.reports("exited", "status 0; it printed: usage: misbehave")),
            ),
            exits(
                "exit-before-hello",
                |setup| setup.env("HAFT_COUNT", "1"),
                |world| Box::pin(world.reports("exited", "status 1; it printed: usage: misbehave")),
            ),
            exits("signal-before-hello", |_| {}, |world| Box::pin(world.reports("exited", "signal 6"))),
        ],
        undefend: Some(|_| take_down(Defence::ExitStatus)),
    },
    Row {
        id: "P-23",
        title: "prints on stdout what is no frame",
        cases: &[
            prints(Evil::Fault("garbage")),
            prints(python("garbage")),
            prints(node("garbage")),
            prints(inject(Moment::Start, || "npm notice\n".repeat(20).into_bytes())),
            Case {
                evil: inject(Moment::Start, || "npm notice\n".repeat(50).into_bytes()),
                expect: &[(EVIL, "frame_not_json"), (EVIL, "hello_invalid")],
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defence::ReportedOnce)),
    },
];

/// The faults that are repeated in another language, without an SDK.
pub(crate) const fn python(fault: &'static str) -> Evil {
    let text = include_str!("../../scripts/evil.py");
    Evil::Script { programs: &["python3", "python"], text, fault }
}

/// The same.
pub(crate) const fn node(fault: &'static str) -> Evil {
    let text = include_str!("../../scripts/evil.js");
    Evil::Script { programs: &["node", "nodejs"], text, fault }
}

/// Its deadline passes.
const fn silent(evil: Evil) -> Case {
    let expect = &[(EVIL, "hello_timeout")];
    let setup = |setup: &mut Setup| {
        setup.hello_within(STARTED);
        setup.config.timeouts.shutdown_grace = SHORT;
    };
    Case { evil, expect, setup, ..CASE }
}

/// Its deadline does not pass for as long as the row lasts, and nobody waits for it.
const fn waited_for(evil: Evil) -> Case {
    let setup = |setup: &mut Setup| {
        setup.start_impatiently();
        setup.hello_within(FOR_EVER);
        setup.config.timeouts.shutdown_grace = SHORT;
    };
    Case { evil, setup, play: |world| Box::pin(undelayed(world)), ..CASE }
}

const fn version(bytes: fn() -> Vec<u8>) -> Case {
    let expect = &[(EVIL, "version_mismatch")];
    let evil = instead(Moment::Start, bytes);
    Case { evil, expect, play: |world| Box::pin(stays_out(world)), ..CASE }
}

const fn exits(fault: &'static str, setup: fn(&mut Setup), play: crate::row::Play) -> Case {
    Case { evil: Evil::Fault(fault), expect: &[(EVIL, "exited")], setup, play, ..CASE }
}

const fn prints(evil: Evil) -> Case {
    let expect = &[(EVIL, "frame_not_json")];
    Case { evil, expect, play: |world| Box::pin(is_told_where_logs_go(world)), ..CASE }
}

fn hello_of(version: &str) -> Vec<u8> {
    line(format_args!(r#"{{"type":"hello","name":"evil","version":"1","protocol_version":{version}}}"#))
}

fn for_ever(setup: &mut Setup) {
    setup.start_impatiently();
    setup.hello_within(FOR_EVER);
}

/// The others are ready, and whoever starts the host does not wait for its hello: the first time not longer than the
/// start's own patience, and then, because it is remembered who was slow, not even that.
async fn undelayed(world: &mut World) -> Result<()> {
    world.until_expected().await?;
    world.at_once("the start", world.started_in)?;
    let again = world.start_again(|config| config.timeouts.start_patience = FOR_EVER);
    world.at_once("the next start", world.in_time("the next start", again).await?)
}

async fn says_hello_too_late(world: &mut World) -> Result<()> {
    world.until_fault("hello_timeout").await?;
    world.release()?;
    stays_out(world).await
}

/// It is ended, and nothing it says before it is gone counts.
async fn stays_out(world: &mut World) -> Result<()> {
    world.until_expected().await?;
    world.until("it is gone", || tagged(&world.tag).len() <= CANARY).await?;
    let state = world.state(EVIL)?;
    ensure!(matches!(state, ExtensionState::Failed { .. }), "it is {state:?}");
    let tools: Vec<_> = world.host.tools().iter().map(|tool| tool.spec().name.clone()).collect();
    ensure!(!tools.iter().any(|tool| tool == "evil_tool"), "it offers {tools:?}");
    Ok(())
}

async fn is_told_where_logs_go(world: &mut World) -> Result<()> {
    world.reports("frame_not_json", "write logs to stderr").await?;
    world.answers("ok").await?;
    world.allows().await
}
