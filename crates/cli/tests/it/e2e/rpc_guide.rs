//! The programs of `docs/rpc.md` and `docs/rpc-protocol.md`, unmodified, and the commands that they show.

#![cfg(unix)]

use std::process::{Command, Stdio};

use haft_protocol::rpc::{BOUNDS, read_request};
use serde_json::{Value, json};

use super::running::{Ran, Running};
use super::scene::Scene;

const GUIDE: &str = include_str!("../../../../../docs/rpc.md");
const PROTOCOL: &str = include_str!("../../../../../docs/rpc-protocol.md");

/// Returns the blocks of this language, in order.
fn blocks(text: &'static str, language: &str) -> Vec<&'static str> {
    let begins = text.split("```").skip(1).step_by(2);
    begins.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

/// Runs a program of the page with `haft` on the path and a configured model, as the page requires.
#[expect(clippy::disallowed_methods, reason = "the program that is tested")]
fn run(steps: &Value, program: &[&str]) -> Ran {
    let scene = Scene::scripted(steps);
    let bin = scene.world.project().with_file_name("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_haft"), bin.join("haft")).unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).current_dir(scene.world.project()).env_clear();
    command.env("PATH", format!("{}:{path}", bin.display())).env("HAFT_HOME", scene.world.home());
    let flags = scene.command(&[]);
    let flags: Vec<_> = flags.get_args().collect();
    command.env("HAFT_PROVIDER", flags[1]).env("HAFT_MODEL", flags[3]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running::start(command, None).wait()
}

/// A model that lists files once and reports the largest one.
fn model() -> Value {
    json!([
        {"when": {"contains": "are here"}, "say": [{"text": "I look."}, {"call": {"name": "ls", "args": {}}}], "chunk": 3},
        {"when": {"contains": "list the files"}, "say": [{"text": "None."}], "chunk": 3},
        {"when": {"last_role": "tool"}, "say": [{"text": " None."}]},
        {"when": {"contains": "largest"}, "say": [{"text": "There is none."}]},
    ])
}

#[test]
fn runs_shell_example() {
    let ran = run(&model(), &["bash", "-c", blocks(GUIDE, "sh")[0]]);
    ran.expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("I look. None.", ""));
}

#[test]
fn runs_python_example() {
    let program = blocks(GUIDE, "python")[0];
    let ran = run(&model(), &["python3", "-c", program]);
    ran.expect(0);
    let expect = "I look.\n[ls {}]\n None.\nThere is none.\n";
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), (expect, ""));
    let failing = json!([
        {"say": [], "error": {"kind": "rejected", "message": "no such thing"}},
        {"say": [{"text": "There is none."}]},
    ]);
    let ran = run(&failing, &["python3", "-c", program]);
    assert_eq!(ran.stdout, "failed: no such thing\n\nThere is none.\n", "{}", ran.stderr);
}

#[test]
fn runs_token_example() {
    let ran = run(&json!([]), &["python3", "-c", blocks(GUIDE, "python")[1]]);
    ran.expect(0);
    assert_eq!(ran.stdout, "True\n");
    assert_eq!(blocks(GUIDE, "python").len(), 2, "every program has its test");
    assert_eq!(blocks(GUIDE, "sh").len(), 1, "every program has its test");
}

#[test]
fn runs_smallest_client_of_reference() {
    let [program] = blocks(PROTOCOL, "python")[..] else { panic!("every program has its test") };
    let ran = run(&model(), &["python3", "-c", program]);
    ran.expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("None.", ""));
}

#[test]
fn commands_of_guide_exist() {
    let shown = blocks(GUIDE, "json").into_iter().flat_map(str::lines);
    let sent = blocks(GUIDE, "").into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix("> "));
    let commands: Vec<&str> = shown.chain(sent).collect();
    assert!(commands.len() > 10, "{commands:?}");
    for line in commands {
        let read = read_request(line.as_bytes(), BOUNDS);
        assert!(read.is_ok(), "{line}: {read:?}");
    }
}
