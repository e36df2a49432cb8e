//! The counted code paths.

use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use haft_core::chain::{ChainStep, ToolChain};
use haft_core::hooks::{HookRole, ToolDecision};
use haft_host::LineFramer;
use haft_protocol::RawJson;
use haft_protocol::codec::{self, DecodedFrame, FrameSet};
use haft_protocol::ext::{ExtensionFrame, HostFrame};
use haft_protocol::limits::MAX_RESULT_LINE;

use crate::peers;

/// A code path whose instructions are counted.
pub(crate) struct CountedPath {
    pub(super) name: &'static str,
    /// The number of repetitions; large enough to hide differences between runs.
    pub(super) times: u64,
    /// Prepares the path, then runs it `times` times.
    go: fn(u64) -> Result<()>,
}

pub(super) const PATHS: &[CountedPath] = &[
    CountedPath {
        name: "decode intercept, 200 B",
        times: 2_000,
        go: |times| decode::<HostFrame>(&intercept_frame(2), times),
    },
    CountedPath {
        name: "decode intercept, 4 KB",
        times: 1_000,
        go: |times| decode::<HostFrame>(&intercept_frame(150), times),
    },
    CountedPath {
        name: "decode response",
        times: 2_000,
        go: |times| decode::<ExtensionFrame>(RESPONSE, times),
    },
    CountedPath {
        name: "decode result, 1 MB",
        times: 3,
        go: |times| decode::<ExtensionFrame>(&result(1 << 20), times),
    },
    CountedPath {
        name: "encode intercept, 200 B",
        times: 2_000,
        go: |times| encode(&intercept_frame(2), times),
    },
    CountedPath { name: "frame 1,000 lines", times: 20, go: split_frames },
    CountedPath { name: "chain of 5 hooks", times: 1_000, go: run_chain },
    CountedPath { name: "SDK, one question", times: MOST_QUESTIONS, go: answer_questions },
];

/// Runs the path of that name `times` times.
pub(crate) fn run_path(name: &str, times: &str) -> Result<()> {
    let path =
        PATHS.iter().find(|path| path.name == name).with_context(|| format!("unknown path: {name}"))?;
    (path.go)(times.parse().context("parse the number of repetitions")?)
}

const RESPONSE: &str = r#"{"type":"event_intercept_response","id":"12345"}"#;

/// The largest number of questions for an extension.
const MOST_QUESTIONS: u64 = 1_000;

/// Returns a question whose arguments contain `pieces` pieces of 26 bytes.
fn intercept_frame(pieces: usize) -> String {
    let content = "fn main() { println!(1); }".repeat(pieces);
    format!(
        r#"{{"type":"event_intercept","id":"12345","event":"tool_call","tool_id":"toolu_01AbCdEfGh","tool_name":"write","tool_args":{{"path":"src/main.rs","content":"{content}"}}}}"#
    )
}

/// Returns a result with `bytes` bytes of source code.
fn result(bytes: usize) -> String {
    let text = r#"    let line = input.next()?;\n\tsay(\"a word\", line);\n"#;
    let text = text.repeat(bytes / text.len());
    format!(r#"{{"type":"tool_result","id":"7","content":[{{"type":"text","text":"{text}"}}]}}"#)
}

fn decode<F: FrameSet>(line: &str, times: u64) -> Result<()> {
    for _ in 0..times {
        let frame = codec::decode_with_limit::<F>(black_box(line.as_bytes()), MAX_RESULT_LINE)?;
        ensure!(matches!(black_box(frame), DecodedFrame::Known(_)), "{line} is not a frame");
    }
    Ok(())
}

fn encode(line: &str, times: u64) -> Result<()> {
    let DecodedFrame::Known(frame) = codec::decode::<HostFrame>(line.as_bytes())? else { return Ok(()) };
    let mut buffer = Vec::with_capacity(line.len() + 1);
    for _ in 0..times {
        buffer.clear();
        codec::encode_into(black_box(&frame), &mut buffer)?;
        black_box(&buffer);
    }
    Ok(())
}

fn split_frames(times: u64) -> Result<()> {
    let lines = format!("{RESPONSE}\n").repeat(1_000);
    let mut framer = LineFramer::default();
    for _ in 0..times {
        let mut found = 0;
        // The most that one read of a pipe returns.
        for piece in black_box(lines.as_bytes()).chunks(64 * 1024) {
            framer.space().extend_from_slice(piece);
            found += std::iter::from_fn(|| framer.next(MAX_RESULT_LINE)).map(black_box).count();
        }
        ensure!(found == 1_000, "{found} lines");
    }
    Ok(())
}

fn run_chain(times: u64) -> Result<()> {
    let args = RawJson::parse(r#"{"path":"src/main.rs","content":"fn main() {}"}"#)?;
    let roles = [HookRole::Ordered, HookRole::Ordered, HookRole::Gate, HookRole::Gate, HookRole::Gate];
    for _ in 0..times {
        let mut chain = ToolChain::new("write", args.clone(), roles);
        loop {
            match chain.step() {
                ChainStep::Ask(hook) => drop(chain.answer(hook, "hook", ToolDecision::Allow).is_some()),
                ChainStep::AskAll(hooks) => {
                    for hook in hooks {
                        chain.answer(hook, "hook", ToolDecision::Allow);
                    }
                }
                ChainStep::Check { .. } => chain.resolve_check(Ok(Vec::new())),
                ChainStep::Done(outcome) => {
                    black_box(outcome);
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Asks a guard made with the SDK over streams in memory.
fn answer_questions(times: u64) -> Result<()> {
    let opening = concat!(
        r#"{"type":"hello_ack","protocol_version":1,"zot_version":"","provider":"","model":"","cwd":""}"#,
        "\n"
    );
    let question = intercept_frame(2) + "\n";
    // The preparation is the same for any number of questions.
    let all = opening.to_owned() + &question.repeat(usize::try_from(MOST_QUESTIONS)?);
    let asked = opening.len() + question.len() * usize::try_from(times)?;
    let input = all.as_bytes().get(..asked).context("more questions are asked than prepared")?;
    let mut output = Vec::with_capacity(1 << 20);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(peers::guard_extension().serve_on(input, &mut output))?;
    let answers = output.windows(RESPONSE_TYPE.len()).filter(|text| *text == RESPONSE_TYPE).count();
    ensure!(u64::try_from(answers)? == times, "{answers} answers to {times} questions");
    Ok(())
}

const RESPONSE_TYPE: &[u8] = b"event_intercept_response";
