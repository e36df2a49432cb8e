//! Runs each program of `src/bin` and compares its output.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::process::Command;

/// Runs a program, and checks its success and its output.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "the programs of this package are what is tested")]
fn check(program: &str, expect: &[&str]) {
    let output = Command::new(program).output().unwrap();
    let (printed, errors) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{}: {errors}", output.status);
    assert_eq!(printed.lines().collect::<Vec<_>>(), expect);
    assert_eq!(errors, "");
}

#[test]
fn structured_output_is_corrected() {
    check(env!("CARGO_BIN_EXE_structured-output"), &["***** A sturdy pot."]);
}

#[test]
fn minimal_prints_its_answer() {
    check(env!("CARGO_BIN_EXE_minimal"), &["An agent is a model, tools, and a loop around both."]);
}

#[test]
fn custom_tool_answers_the_model() {
    check(env!("CARGO_BIN_EXE_custom-tool"), &["I looked: teapots: 12 left."]);
}

#[test]
fn custom_model_answers_prompts() {
    let expect = ["You said 5 words.", "You said 2 words.", "4 messages with house/counter-1"];
    check(env!("CARGO_BIN_EXE_custom-model"), &expect);
}

#[test]
fn hooks_block_a_call() {
    let expect = [
        "dice: 4",
        "blocked by one-roll",
        "dice failed: one roll is enough",
        "A 4, and then, […]: one roll is enough",
    ];
    check(env!("CARGO_BIN_EXE_hooks"), &expect);
}

#[test]
fn extension_answers_a_tool_call() {
    let expect = [
        "py-guide says: One request to the model and the tool calls in its answer.",
        "A step? One request to the model and the tool calls in its answer.",
    ];
    check(env!("CARGO_BIN_EXE_extensions"), &expect);
}

#[test]
fn several_agents_answer() {
    let expect = ["Old pond. A frog leaps in. The sound of water.", "Tea: it is warm."];
    check(env!("CARGO_BIN_EXE_several-agents"), &expect);
}
