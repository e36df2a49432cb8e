//! The clients of `examples/rpc`, in Python, Node and shell, with the real program.

#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::{Value, json};

use super::running::{Ran, Running};
use super::scene::Scene;

/// The clients, each with its command.
const CLIENTS: [(&str, &str); 3] =
    [("python3", "python/client.py"), ("node", "node/client.mjs"), ("bash", "shell/client.sh")];

/// Returns the command of a client with these prompts and flags.
fn words(scene: &Scene, client: (&str, &str), prompts: &[&str]) -> Vec<String> {
    let (program, file) = client;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rpc").join(file);
    let flags = scene.command(&[]);
    let flags = flags.get_args().map(|flag| flag.to_str().unwrap());
    let words = [program, file.to_str().unwrap()].into_iter().chain(prompts.iter().copied()).chain(flags);
    words.map(str::to_owned).collect()
}

/// Returns the environment of a client.
fn environment(scene: &Scene) -> Vec<(&'static str, PathBuf)> {
    let path = std::env::var_os("PATH").unwrap().into();
    vec![("PATH", path), ("HAFT", env!("CARGO_BIN_EXE_haft").into()), ("HAFT_HOME", scene.world.home())]
}

/// Runs a client without a terminal, and returns its outcome.
#[expect(clippy::disallowed_methods, reason = "the program that is tested")]
fn run(scene: &Scene, client: (&str, &str), prompts: &[&str]) -> Ran {
    let words = words(scene, client, prompts);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(scene.world.project()).env_clear().envs(environment(scene));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running::start(command, None).wait()
}

/// Runs a client on a terminal, and returns its outcome and output. `typed` is sent as soon as any output appears.
fn run_on_terminal(
    scene: &Scene,
    client: (&str, &str),
    prompt: &str,
    typed: &[(&str, &str)],
) -> (u32, String) {
    let pair = native_pty_system().openpty(PtySize { rows: 24, cols: 200, ..PtySize::default() }).unwrap();
    let words = words(scene, client, &[prompt]).into_iter().map(Into::into);
    let mut command = CommandBuilder::from_argv(words.collect());
    command.env_clear();
    environment(scene).into_iter().for_each(|(name, value)| command.env(name, value));
    command.cwd(scene.world.project());
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut writer = pair.master.take_writer().unwrap();
    let (mut seen, mut typed, mut piece) = (Vec::new(), typed.iter(), [0; 1024]);
    let mut next = typed.next();
    // Reading from a terminal whose program has ended is an error.
    while let Ok(length @ 1..) = reader.read(&mut piece) {
        seen.extend_from_slice(&piece[..length]);
        if let Some((_, keys)) = next.filter(|(what, _)| String::from_utf8_lossy(&seen).contains(what)) {
            writer.write_all(keys.as_bytes()).unwrap();
            next = typed.next();
        }
    }
    (child.wait().unwrap().exit_code(), String::from_utf8_lossy(&seen).replace("\r\n", "\n"))
}

/// A model that lists files and reports them.
fn looks() -> Value {
    let call = json!({"name": "ls", "args": {}});
    json!([
        {"say": [{"text": "I look."}, {"call": call}], "chunk": 3, "usage": {"input": 100, "output": 10}},
        {"say": [{"text": "Here is \u{1b}[31m{{last_tool_result}}"}], "chunk": 5, "usage": {"input": 120, "output": 20}},
    ])
}

/// A model that runs a command.
fn runs(command: &str) -> Value {
    let call = json!({"name": "bash", "args": {"command": command}});
    json!([
        {"say": [{"text": "I try."}, {"call": call}]},
        {"when": {"contains": "in German"}, "say": [{"text": "Fertig."}]},
        {"say": [{"text": "bash said: {{last_tool_result}}"}]},
    ])
}

#[track_caller]
fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn shows_answer_and_tool_calls() {
    for client in CLIENTS {
        let scene = Scene::scripted(&looks());
        std::fs::write(scene.world.project().join("a.txt"), "").unwrap();
        let ran = run(&scene, client, &["what is here?"]);
        ran.expect(0);
        // Control sequences do not reach the terminal.
        assert_eq!(ran.stdout, "I look.\nHere is \u{fffd}[31ma.txt\n\n", "{client:?}");
        contains(&ran.stderr, &["* ls {}\n", "220 tokens in, 30 out"]);
    }
}

#[test]
fn failed_run_is_error() {
    for client in CLIENTS {
        let error = json!({"kind": "rejected", "message": "no such thing"});
        let scene = Scene::scripted(&json!([{"say": [{"text": "I begin."}], "error": error}]));
        let ran = run(&scene, client, &["go"]);
        ran.expect(1);
        assert_eq!(ran.stdout.trim_end(), "I begin.", "{client:?}");
        contains(&ran.stderr, &["haft: no such thing\n"]);
    }
}

#[test]
fn refused_command_is_error() {
    for client in CLIENTS {
        let scene = Scene::scripted(&looks());
        let ran = run(&scene, client, &[""]);
        ran.expect(1);
        assert_eq!(ran.stdout, "", "{client:?}");
        contains(&ran.stderr, &["haft: the message is empty"]);
    }
}

#[test]
fn reports_failed_start_with_exit_code() {
    for client in CLIENTS {
        let scene = Scene::scripted(&looks());
        let ran = run(&scene, client, &["go", "--no-such-flag"]);
        ran.expect(2);
        contains(&ran.stderr, &["--no-such-flag"]);
    }
}

#[test]
fn denies_without_person() {
    for client in CLIENTS {
        let scene = Scene::scripted(&runs("touch ran"));
        let ran = run(&scene, client, &["go"]);
        ran.expect(0);
        assert_eq!(ran.stdout, "I try.\nbash said: the user denied the call\n", "{client:?}");
        contains(&ran.stderr, &["? Run bash?", "touch ran"]);
        assert!(!scene.world.project().join("ran").exists(), "{client:?}");
    }
}

#[test]
fn person_allows_call() {
    for client in CLIENTS {
        let scene = Scene::scripted(&runs("touch ran; echo done"));
        let (code, seen) = run_on_terminal(&scene, client, "go", &[("? Run bash?", "y\n")]);
        assert_eq!(code, 0, "{seen}");
        contains(&seen, &["bash said: done\n"]);
        assert!(scene.world.project().join("ran").exists(), "{seen}");
    }
}

#[test]
fn person_refuses_call() {
    for client in CLIENTS {
        let scene = Scene::scripted(&runs("touch ran"));
        let (code, seen) = run_on_terminal(&scene, client, "go", &[("? Run bash?", "no\n")]);
        assert_eq!(code, 0, "{seen}");
        contains(&seen, &["bash said: the user denied the call\n"]);
        assert!(!scene.world.project().join("ran").exists(), "{seen}");
    }
}

#[test]
fn ctrl_c_stops_run_but_not_haft() {
    for client in CLIENTS {
        let scene = Scene::scripted(&runs("touch ran"));
        let (code, seen) = run_on_terminal(&scene, client, "go", &[("? Run bash?", "\x03")]);
        assert_eq!(code, 130, "{seen}");
        assert!(!seen.contains("stopping"), "haft heard it, too: {seen}");
        assert!(!seen.contains("bash said"), "{seen}");
        assert!(!scene.world.project().join("ran").exists(), "{seen}");
    }
}

#[test]
fn sends_lines_typed_during_run() {
    // The command cannot know that both lines were sent. On a busy machine, the first attempts may be too short.
    let is_told = [1, 5, 25].into_iter().any(|seconds| {
        // sleep: both lines are sent in the meantime, or the next attempt takes longer
        let scene = Scene::scripted(&runs(&format!("sleep {seconds}")));
        let (code, seen) = run_on_terminal(&scene, CLIENTS[0], "go", &[("? Run bash?", "y\nin German\n")]);
        assert_eq!(code, 0, "{seen}");
        seen.contains("Fertig.")
    });
    assert!(is_told);
}

#[test]
fn several_prompts_form_one_conversation() {
    let steps = json!([
        {"when": {"contains": "one"}, "say": [{"text": "First."}]},
        {"when": {"contains": "two"}, "say": [{"text": "Second."}]},
    ]);
    let scene = Scene::scripted(&steps);
    let ran = run(&scene, CLIENTS[1], &["one", "two", "--record"]);
    ran.expect(0);
    assert_eq!(ran.stdout, "First.\nSecond.\n");
    let listed = scene.world.haft(&["session", "list", "--json"]);
    assert_eq!(listed.stdout.lines().count(), 1, "{listed:?}");
    contains(&listed.stdout, &["\"messages\":4"]);
}
