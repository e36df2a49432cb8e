//! P-06 to P-13, P-21 and P-22: bytes and lines.

use std::time::Duration;

use anyhow::{Result, ensure};
use haft_protocol::limits::{MAX_LINE, MAX_RESULT_LINE};

use super::line;
use crate::defense::{Defense, take_down};
use crate::misbehavior::{INJECT, Injection, InjectionMoment, Misbehavior, inject, inject_instead};
use crate::oracle::{HeapGrowth, peak_bytes};
use crate::row::{CASE, EVIL, ExpectedFaults, FaultCase, FaultRow};
use crate::world::World;

/// The length of an endless line, in MiB.
const ENDLESS: (u64, u64) = (128, 2048);

/// The memory in bytes that may remain of each endless line: an eighth of the part that is read.
const KEPT: u64 = MAX_LINE as u64 / 8;

/// The memory in bytes that the heap may grow while such lines are read.
const HELD: usize = MAX_LINE * 8;

/// The number of endless lines after the first one.
const ROUNDS: (u64, u64) = (5, 50);

/// The time for which a line may be incomplete.
const SHORT: Duration = Duration::from_secs(1);

const NOT_UTF8: ExpectedFaults = &[(EVIL, "frame_not_utf8")];
const NOT_JSON: ExpectedFaults = &[(EVIL, "frame_not_json")];
const INVALID: ExpectedFaults = &[(EVIL, "frame_invalid")];

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "P-06",
        title: "a line without an end",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("endless-line"),
            expect: &[(EVIL, "frame_too_long")],
            setup: |setup| {
                let length = if setup.mode.full { ENDLESS.1 } else { ENDLESS.0 };
                setup.set_env("HAFT_COUNT", length.to_string());
            },
            play: |world| Box::pin(ends_endless_line(world)),
            ..CASE
        }],
        undefend: Some(|setup| setup.config.limits.max_line = usize::MAX / 2),
    },
    FaultRow {
        id: "P-07",
        title: "a line as long as allowed, and one byte longer",
        cases: &[
            FaultCase { evil: note_of(MAX_LINE), play: |world| Box::pin(world.expect_answer("ok")), ..CASE },
            FaultCase { evil: note_of(MAX_LINE + 1), expect: &[(EVIL, "frame_too_long")], ..CASE },
            FaultCase {
                evil: result_of(MAX_RESULT_LINE),
                play: |world| Box::pin(world.expect_answer("ok")),
                ..CASE
            },
            FaultCase {
                evil: result_of(MAX_RESULT_LINE + 1),
                expect: &[(EVIL, "frame_too_long")],
                play: |world| Box::pin(world.expect_failure("longer than")),
                ..CASE
            },
        ],
        undefend: Some(|setup| setup.config.limits.max_line += 1),
    },
    FaultRow {
        id: "P-08",
        title: "single bytes with pauses, and never a newline",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("slow-line"),
            expect: &[(EVIL, "unresponsive")],
            setup: |setup| setup.config.timeouts.partial_line = SHORT,
            ..CASE
        }],
        undefend: Some(|setup| setup.config.timeouts.partial_line = SHORT * 600),
    },
    FaultRow {
        id: "P-09",
        title: "ends in the middle of a frame",
        cases: &[
            FaultCase {
                evil: Misbehavior::Fault("half-line"),
                expect: &[(EVIL, "exited")],
                play: |world| Box::pin(world.expect_block_at_once("bytes of an unfinished frame")),
                ..CASE
            },
            FaultCase {
                evil: Misbehavior::Fault("half-line"),
                expect: &[(EVIL, "exited")],
                play: |world| Box::pin(world.expect_failure("bytes of an unfinished frame")),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::ExitStatus)),
    },
    FaultRow {
        id: "P-10",
        title: "invalid UTF-8, an overlong form, UTF-16, a byte order mark",
        cases: &[
            bad_line(NOT_UTF8, || b"{\"type\":\"notify\",\"message\":\"\xff\"}\n".to_vec()),
            bad_line(NOT_UTF8, || b"{\"type\":\"notify\",\"message\":\"\xc0\xaf\"}\n".to_vec()),
            bad_line(NOT_JSON, || b"{\0\"\0t\0y\0p\0e\0\"\0}\0\n".to_vec()),
            bad_line(NOT_JSON, || line("\u{feff}{\"type\":\"ready\"}")),
        ],
        undefend: Some(|_| take_down(Defense::StrictFrames)),
    },
    FaultRow {
        id: "P-11",
        title: "NUL bytes in a frame and between frames",
        cases: &[
            bad_line(NOT_JSON, || b"{\"type\":\"notify\",\"message\":\"\0\"}\n".to_vec()),
            bad_line(NOT_JSON, || b"\0\0\0\0\n".to_vec()),
        ],
        undefend: Some(|_| take_down(Defense::StrictFrames)),
    },
    FaultRow {
        id: "P-12",
        title: "U+0000 and lone surrogates in names, ids and text",
        cases: &[
            bad_line(INVALID, || line(r#"{"type":"register_tool","name":"\ud800","description":""}"#)),
            bad_line(INVALID, || line(r#"{"type":"register_tool","name":"a\u0000","description":""}"#)),
            bad_line(INVALID, || line(r#"{"type":"tool_result","id":"\udc00"}"#)),
            FaultCase {
                evil: inject_instead(InjectionMoment::Tool, || {
                    line(r#"{"type":"tool_result","id":"$ID","content":[{"type":"text","text":"a\ud800b"}]}"#)
                }),
                play: |world| Box::pin(world.expect_answer("a\u{fffd}b")),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::MendedNames)),
    },
    FaultRow {
        id: "P-13",
        title: "CRLF, blank lines, spaces, U+2028 and U+0085 in strings",
        cases: &[FaultCase {
            evil: inject_instead(InjectionMoment::Tool, || {
                let text = "a\u{2028}b\u{85}c";
                let blank = "\r\n\n   \r\n";
                let frame = r#"{"type":"tool_result","id":"$ID","content":[{"type":"text","text":""#;
                format!("{blank}  {frame}{text}\"}}]}} \r\n{blank}").into_bytes()
            }),
            play: |world| Box::pin(world.expect_answer("a\u{2028}b\u{85}c")),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defense::BlankLines)),
    },
    FaultRow {
        id: "P-21",
        title: "two frames on one line, and garbage after a frame",
        cases: &[
            bad_line(NOT_JSON, || line(r#"{"type":"ready"}{"type":"ready"}"#)),
            bad_line(NOT_JSON, || line(r#"{"type":"ready"} and so on"#)),
        ],
        undefend: Some(|_| take_down(Defense::StrictFrames)),
    },
    FaultRow {
        id: "P-22",
        title: "a thousand frames in one write, one frame in many writes",
        cases: &[
            FaultCase {
                evil: Misbehavior::Fault("thousand-in-one-write"),
                play: |world| Box::pin(world.expect_answer("the thousandth")),
                ..CASE
            },
            FaultCase {
                evil: Misbehavior::Inject(Injection {
                    at: InjectionMoment::Tool,
                    bytes: || {
                        line(r#"{"type":"tool_result","id":"$ID","content":[{"type":"text","text":"bits"}]}"#)
                    },
                    instead: true,
                    chunk: 1,
                    ..INJECT
                }),
                play: |world| Box::pin(world.expect_answer("bits")),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::Reassembly)),
    },
];

/// Returns a case with one rejected line, after which everything continues.
pub(super) const fn bad_line(expect: ExpectedFaults, bytes: fn() -> Vec<u8>) -> FaultCase {
    FaultCase {
        evil: inject(InjectionMoment::Ready, bytes),
        expect,
        play: |world| Box::pin(world.expect_working()),
        ..CASE
    }
}

/// Injects a note whose line has this many bytes.
const fn note_of(length: usize) -> Misbehavior {
    let bytes = || line(r#"{"type":"notify","level":"info","message":"$PAD"}"#);
    Misbehavior::Inject(Injection { at: InjectionMoment::Ready, bytes, length, ..INJECT })
}

/// Injects a tool result whose line has this many bytes.
const fn result_of(length: usize) -> Misbehavior {
    let bytes =
        || line(r#"{"type":"tool_result","id":"$ID","content":[{"type":"text","text":"ok"}],"pad":"$PAD"}"#);
    Misbehavior::Inject(Injection { at: InjectionMoment::Tool, bytes, length, instead: true, ..INJECT })
}

/// Checks that the extension is ended long before the line is complete. Memory never holds more than a few lines of the
/// allowed length, and keeps nothing of this one.
async fn ends_endless_line(world: &mut World) -> Result<()> {
    let before = peak_bytes();
    one_line(world).await?;
    let (growth, rounds) = (HeapGrowth::after_first_round(), world.amount(ROUNDS.0, ROUNDS.1));
    for round in 1..=rounds {
        world.host.reload().await;
        world.also.push((EVIL.to_owned(), "frame_too_long"));
        let reported = || world.events.faults().len() as u64 == round;
        world.wait_until("the last round is over", reported).await?;
        one_line(world).await?;
    }
    let higher = peak_bytes() - before;
    ensure!(higher < HELD, "the heap grew by {higher} bytes");
    world.wait_until_freed(&growth, rounds, KEPT).await
}

async fn one_line(world: &World) -> Result<()> {
    let outcome = world.command("evil", "").await;
    ensure!(outcome.is_err(), "the command returned {outcome:?}");
    world.wait_for_expected().await?;
    let marks = world.marks();
    ensure!(!marks.iter().any(|mark| mark.contains("read to the end")), "the whole line was read");
    Ok(())
}
