//! P-01 to P-05 and P-23: the start of a connection.

use std::time::Duration;

use anyhow::{Result, ensure};
use haft_host::ExtensionState;

use super::line;
use crate::defense::{Defense, take_down};
use crate::misbehavior::{InjectionMoment, Misbehavior, inject, inject_instead};
use crate::oracle::tagged_processes;
use crate::row::{CASE, EVIL, FaultCase, FaultRow};
use crate::world::{World, WorldSetup};

/// A deadline that must pass.
const SHORT: Duration = Duration::from_millis(500);

/// A deadline that does not pass.
const FOR_EVER: Duration = Duration::from_secs(600);

/// A deadline that must pass, but only after the extension has started; interpreters start slowly on a busy machine.
const STARTED: Duration = Duration::from_secs(10);

/// The number of processes of the canary and its guardian.
const CANARY: usize = 2;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "P-01",
        title: "never sends hello",
        cases: &[
            silent_case(Misbehavior::Fault("silent")),
            silent_case(python_fault("silent")),
            silent_case(node_fault("silent")),
            waited_for_case(Misbehavior::Fault("silent")),
            waited_for_case(python_fault("silent")),
            waited_for_case(node_fault("silent")),
        ],
        undefend: Some(wait_forever),
    },
    FaultRow {
        id: "P-02",
        title: "sends hello after the deadline",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("late-hello"),
            expect: &[(EVIL, "hello_timeout")],
            setup: |setup| setup.hello_within(STARTED),
            play: |world| Box::pin(ignores_late_hello(world)),
            ..CASE
        }],
        undefend: Some(wait_forever),
    },
    FaultRow {
        id: "P-03",
        title: "another frame first, hello twice, another name",
        cases: &[
            FaultCase {
                evil: inject_instead(InjectionMoment::Start, || line(r#"{"type":"ready"}"#)),
                expect: &[(EVIL, "hello_invalid")],
                play: |world| Box::pin(is_ended_and_ignored(world)),
                ..CASE
            },
            FaultCase {
                evil: inject(InjectionMoment::Greeted, || {
                    line(r#"{"type":"hello","name":"evil","version":"2"}"#)
                }),
                expect: &[(EVIL, "frame_invalid")],
                play: |world| Box::pin(world.expect_answer("ok")),
                ..CASE
            },
            FaultCase {
                evil: inject_instead(InjectionMoment::Start, || {
                    line(r#"{"type":"hello","name":"canary","version":"1"}"#)
                }),
                expect: &[(EVIL, "hello_invalid")],
                play: |world| Box::pin(world.expect_answer("ok")),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::FirstFrame)),
    },
    FaultRow {
        id: "P-04",
        title: "an unknown protocol version",
        cases: &[
            version_case(|| hello_of("0")),
            version_case(|| hello_of("999")),
            version_case(|| hello_of("\"1\"")),
            version_case(|| hello_of("1.5")),
        ],
        undefend: Some(|_| take_down(Defense::ProtocolVersion)),
    },
    FaultRow {
        id: "P-05",
        title: "exits before hello, with the reason on stderr",
        cases: &[
            exit_case(
                "exit-before-hello",
                |setup| setup.set_env("HAFT_COUNT", "0"),
                |world| Box::pin(world.expect_report("exited", "status 0; it printed: usage: misbehave")),
            ),
            exit_case(
                "exit-before-hello",
                |setup| setup.set_env("HAFT_COUNT", "1"),
                |world| Box::pin(world.expect_report("exited", "status 1; it printed: usage: misbehave")),
            ),
            exit_case(
                "signal-before-hello",
                |_| {},
                |world| Box::pin(world.expect_report("exited", "signal 6")),
            ),
        ],
        undefend: Some(|_| take_down(Defense::ExitStatus)),
    },
    FaultRow {
        id: "P-23",
        title: "prints lines that are not frames on stdout",
        cases: &[
            print_case(Misbehavior::Fault("garbage")),
            print_case(python_fault("garbage")),
            print_case(node_fault("garbage")),
            print_case(inject(InjectionMoment::Start, || "npm notice\n".repeat(20).into_bytes())),
            FaultCase {
                evil: inject(InjectionMoment::Start, || "npm notice\n".repeat(50).into_bytes()),
                expect: &[(EVIL, "frame_not_json"), (EVIL, "hello_invalid")],
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::ReportedOnce)),
    },
];

/// The fault in Python without an SDK.
pub(crate) const fn python_fault(fault: &'static str) -> Misbehavior {
    let text = include_str!("../../scripts/evil.py");
    Misbehavior::Script { programs: &["python3", "python"], text, fault }
}

/// The fault in JavaScript without an SDK.
pub(crate) const fn node_fault(fault: &'static str) -> Misbehavior {
    let text = include_str!("../../scripts/evil.js");
    Misbehavior::Script { programs: &["node", "nodejs"], text, fault }
}

/// Returns a case whose deadline for `hello` passes.
const fn silent_case(evil: Misbehavior) -> FaultCase {
    let expect = &[(EVIL, "hello_timeout")];
    let setup = |setup: &mut WorldSetup| {
        setup.hello_within(STARTED);
        setup.config.timeouts.shutdown_grace = SHORT;
    };
    FaultCase { evil, expect, setup, ..CASE }
}

/// Returns a case whose deadline for `hello` does not pass, and for which no start waits.
const fn waited_for_case(evil: Misbehavior) -> FaultCase {
    let setup = |setup: &mut WorldSetup| {
        setup.start_impatiently();
        setup.hello_within(FOR_EVER);
        setup.config.timeouts.shutdown_grace = SHORT;
    };
    FaultCase { evil, setup, play: |world| Box::pin(start_is_undelayed(world)), ..CASE }
}

const fn version_case(bytes: fn() -> Vec<u8>) -> FaultCase {
    let expect = &[(EVIL, "version_mismatch")];
    let evil = inject_instead(InjectionMoment::Start, bytes);
    FaultCase { evil, expect, play: |world| Box::pin(is_ended_and_ignored(world)), ..CASE }
}

const fn exit_case(
    fault: &'static str,
    setup: fn(&mut WorldSetup),
    play: crate::row::CaseScript,
) -> FaultCase {
    FaultCase { evil: Misbehavior::Fault(fault), expect: &[(EVIL, "exited")], setup, play, ..CASE }
}

const fn print_case(evil: Misbehavior) -> FaultCase {
    let expect = &[(EVIL, "frame_not_json")];
    FaultCase { evil, expect, play: |world| Box::pin(suggests_stderr(world)), ..CASE }
}

fn hello_of(version: &str) -> Vec<u8> {
    line(format_args!(r#"{{"type":"hello","name":"evil","version":"1","protocol_version":{version}}}"#))
}

fn wait_forever(setup: &mut WorldSetup) {
    setup.start_impatiently();
    setup.hello_within(FOR_EVER);
}

/// Checks that the other extensions are ready and that the start does not wait for a silent one. The first start waits
/// up to the start's own limit; later starts do not wait, because the host remembers slow extensions.
async fn start_is_undelayed(world: &mut World) -> Result<()> {
    world.wait_for_expected().await?;
    world.at_once("the start", world.started_in)?;
    let again = world.start_again(|config| config.timeouts.start_patience = FOR_EVER);
    world.at_once("the next start", world.in_time("the next start", again).await?)
}

async fn ignores_late_hello(world: &mut World) -> Result<()> {
    world.wait_for_fault("hello_timeout").await?;
    world.release()?;
    is_ended_and_ignored(world).await
}

/// Checks that the extension is ended, and that its later output is ignored.
async fn is_ended_and_ignored(world: &mut World) -> Result<()> {
    world.wait_for_expected().await?;
    world.wait_until("the extension has ended", || tagged_processes(&world.tag).len() <= CANARY).await?;
    let state = world.state(EVIL)?;
    ensure!(matches!(state, ExtensionState::Failed { .. }), "the extension is {state:?}");
    let tools: Vec<_> = world.host.tools().iter().map(|tool| tool.spec().name.clone()).collect();
    ensure!(!tools.iter().any(|tool| tool == "evil_tool"), "the extension offers {tools:?}");
    Ok(())
}

async fn suggests_stderr(world: &mut World) -> Result<()> {
    world.expect_report("frame_not_json", "write logs to stderr").await?;
    world.expect_answer("ok").await?;
    world.expect_allow().await
}
