//! Runs each program of `src/bin` and compares its output. Compiles the first guesses of newcomers.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod first_guesses;

use std::process::Command;

/// Runs a program, and checks its success and its output.
#[track_caller]
fn check(program: &str, expect: &[&str]) {
    assert_eq!(run_program(program).lines().collect::<Vec<_>>(), expect);
}

/// Runs a program, checks its success, and returns its output.
#[track_caller]
fn run_program(program: &str) -> String {
    successful_output(&mut command(program))
}

#[expect(clippy::disallowed_methods, reason = "the programs of this package are what is tested")]
fn command(program: &str) -> Command {
    Command::new(program)
}

#[track_caller]
fn successful_output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{}: {errors}", output.status);
    assert_eq!(errors, "");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn structured_output_is_corrected() {
    check(env!("CARGO_BIN_EXE_structured-output"), &["***** A sturdy pot."]);
}

#[test]
fn stream_prints_its_answer() {
    check(env!("CARGO_BIN_EXE_stream"), &["An agent is a model, tools, and a loop around both."]);
}

#[test]
fn typed_tool_answers_the_model() {
    check(env!("CARGO_BIN_EXE_typed-tool"), &["I looked: spoons: not sold here."]);
}

#[test]
fn ask_person_denies_a_call() {
    let expect = [
        r#"order {"item":"teapots"}? yes"#,
        r#"order {"item":"elephants"}? no"#,
        "The last answer was: not allowed",
    ];
    check(env!("CARGO_BIN_EXE_ask-person"), &expect);
}

#[test]
fn session_is_continued_and_copied() {
    let expect = ["Hello, Ada!", "You are Ada.", "Nobody told me.", "4 and 3 messages"];
    check(env!("CARGO_BIN_EXE_persist-resume-fork"), &expect);
}

#[test]
fn sub_agent_answers_its_caller() {
    check(env!("CARGO_BIN_EXE_sub-agent"), &["The reviewer says: Five syllables are missing."]);
}

#[test]
fn cancelled_token_stops_the_run() {
    check(env!("CARGO_BIN_EXE_cancel"), &["stopped"]);
}

/// Returns the number of lines of code between the lines `// begin` and `// end`.
fn marked_lines(source: &str) -> usize {
    let mut marked = false;
    let is_marked = |line: &&str| {
        marked = (marked || *line == "// begin") && *line != "// end";
        marked && !line.is_empty() && !line.starts_with("//")
    };
    source.lines().map(str::trim).filter(is_marked).count()
}

#[test]
fn common_tasks_take_few_lines() {
    let programs = [
        ("stream", include_str!("../../src/bin/stream.rs"), 6),
        ("typed-tool", include_str!("../../src/bin/typed-tool.rs"), 5),
        ("ask-person", include_str!("../../src/bin/ask-person.rs"), 8),
        ("persist-resume-fork", include_str!("../../src/bin/persist-resume-fork.rs"), 6),
        ("sub-agent", include_str!("../../src/bin/sub-agent.rs"), 3),
        ("cancel", include_str!("../../src/bin/cancel.rs"), 3),
        ("configured-agent", include_str!("../../src/bin/configured-agent.rs"), 3),
    ];
    for (name, source, limit) in programs {
        let lines = marked_lines(source);
        assert!((1..=limit).contains(&lines), "{name}: {lines} lines; the limit is {limit}");
    }
}

#[test]
fn custom_model_answers_prompts() {
    let expect = ["You said 5 words.", "You said 2 words.", "4 messages with house/counter-1"];
    check(env!("CARGO_BIN_EXE_custom-model"), &expect);
}

#[test]
fn own_model_calls_a_tool() {
    check(env!("CARGO_BIN_EXE_calling-model"), &["teapots: In stock: 7.", "cups: In stock: 4."]);
}

#[test]
fn sessions_are_kept_in_an_own_store() {
    let expect = ["Hello, Ada!", "You are Ada.", "ada: 4 messages", "copy: 1 messages"];
    check(env!("CARGO_BIN_EXE_own-store"), &expect);
}

#[test]
fn many_agents_run_in_one_process() {
    let printed = run_program(env!("CARGO_BIN_EXE_many-agents"));
    assert!(printed.starts_with("500 agents: 500 answers\none agent: "), "{printed}");
}

#[test]
fn every_hook_is_asked() {
    let expect = [
        "on_input",
        "prompt: Answer briefly: What time is it?",
        "before_agent_start: 1 block",
        "before_turn: 1",
        "before_model_request: 1 messages",
        "after_model_response: 1 block",
        "before_tool_execute: clock",
        "approve_tool: clock",
        "after_tool_execute: clock",
        "before_turn: 2",
        "before_model_request: 3 messages",
        "after_model_response: 1 block",
        "before_assistant_message: It is noon.",
        "before_settle: It is noon.",
        "before_turn: 1",
        "before_model_request: 5 messages",
        "after_model_response: 1 block",
        "before_assistant_message: Noon.",
        "before_settle: Noon.",
        "on_wait_point: the run ends",
        "observe: done",
        "before_compact: 8 entries",
        "compacted",
    ];
    check(env!("CARGO_BIN_EXE_every-hook"), &expect);
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
fn extensions_of_each_chat_know_their_session() {
    let printed = run_program(env!("CARGO_BIN_EXE_extensions"));
    let lines: Vec<_> = printed.lines().collect();
    let [note, recap, first, first_note, second, second_note, answers @ ..] = lines.as_slice() else {
        panic!("too few lines: {printed}");
    };
    assert_eq!([*note, *recap], ["/note: Write a note", "/recap: Summarize the notes"]);
    assert_eq!(*first_note, format!("logbook: 1 in {first}"));
    assert_eq!(*second_note, format!("logbook: 1 in {second}"));
    assert_ne!(first, second);
    assert_eq!(*answers, ["You noted: buy tea.", "You noted: sell tea."]);
}

#[test]
fn agent_has_the_settings_of_the_user() {
    let home = tempfile::tempdir().unwrap();
    let script = home.path().join("script.json");
    std::fs::write(&script, r#"{"steps": [{"say": [{"call": {"name": "ls", "args": {}}}]}]}"#).unwrap();
    let config = format!("provider = \"scripted\"\nmodel = {script:?}\nmax_steps = 1\n");
    std::fs::write(home.path().join("config.toml"), config).unwrap();
    let output = successful_output(
        command(env!("CARGO_BIN_EXE_configured-agent")).env_clear().env("HAFT_HOME", home.path()),
    );
    let expect = [
        "model: scripted/script",
        "tools: read, edit, write, grep, find, ls",
        "stopped after 1 steps (the step limit); raise the limit or split the task",
    ];
    assert_eq!(output.lines().collect::<Vec<_>>(), expect);
}

#[test]
fn several_agents_answer() {
    let expect = ["Old pond. A frog leaps in. The sound of water.", "Tea: it is warm."];
    check(env!("CARGO_BIN_EXE_several-agents"), &expect);
}
