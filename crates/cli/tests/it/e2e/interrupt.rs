//! Ctrl-C ends the run and all processes that it started.

#![cfg(unix)]

use std::process::Command;

use haft_test_support::model_server::{AnswerFault, Scenario};
use serde_json::json;

use super::running::eventually;
use super::scene::{Scene, bash};

/// Marks its process, and its end.
const WITNESS: &str = r#"
emit("ready")
mark(f"pid {os.getpid()}")
for frame in frames():
    pass
mark("left")
"#;

/// Returns the marked processes, as soon as their number is reached.
#[track_caller]
fn pids(scene: &Scene, count: usize) -> Vec<String> {
    let mut pids = Vec::new();
    let found = eventually(|| {
        let marks = scene.marks();
        pids = marks.iter().filter_map(|mark| mark.strip_prefix("pid ")).map(str::to_owned).collect();
        pids.len() == count
    });
    assert!(found, "{:?}", scene.marks());
    pids
}

/// True if a process runs; zombies do not count.
#[expect(clippy::disallowed_methods, reason = "looks for processes as a person would")]
fn runs(pid: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap().stdout;
    state.first().is_some_and(|state| *state != b'Z')
}

#[track_caller]
fn check_gone(pids: &[String]) {
    assert!(eventually(|| !pids.iter().any(|pid| runs(pid))), "still there: {pids:?}");
}

#[test]
fn leaves_hanging_model() {
    let scene =
        Scene::new(vec![Scenario::text("I begin").fault(AnswerFault::Hang)]).python("witness", WITNESS);
    let running = scene.start(&["--json", "go"], None);
    let pids = pids(&scene, 1);
    assert!(eventually(|| scene.server.requests().len() == 1));
    running.interrupt();
    let ran = running.wait();
    ran.expect(130);
    assert_eq!(ran.of("turn_end")[0]["stop"], json!("aborted"));
    assert_eq!(ran.events().last().unwrap()["type"], "done");
    assert!(scene.marks().contains(&"left".to_owned()), "the extension received a shutdown");
    assert!(eventually(|| scene.server.disconnects() == 1));
    check_gone(&pids);
}

#[test]
fn kills_running_tool_with_its_children() {
    let command = r#"echo "pid $$" >> "$MARKS"; sleep 600 & echo "pid $!" >> "$MARKS"; wait"#;
    let scene = Scene::new(vec![bash("t1", command)]).python("witness", WITNESS);
    let running = scene.start(&["-p", "go"], None);
    let pids = pids(&scene, 3);
    running.interrupt();
    running.wait().expect(130);
    check_gone(&pids);
}

#[test]
fn does_not_wait_for_extension_without_hello() {
    let scene = Scene::new(vec![]);
    let dir = scene.world.extension("mute", r#"{"name":"mute","exec":"./mute.sh"}"#);
    let script =
        "#!/bin/sh\necho \"pid $$\" >> \"$MARKS\"\nsleep 600 &\necho \"pid $!\" >> \"$MARKS\"\nwait\n";
    std::fs::write(dir.join("mute.sh"), script).unwrap();
    std::fs::set_permissions(dir.join("mute.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let scene = scene.with(dir);
    scene.grant("mute", "MARKS");
    let running = scene.start(&["-p", "go"], None);
    let pids = pids(&scene, 2);
    running.interrupt();
    running.wait().expect(130);
    check_gone(&pids);
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn handles_interrupt_during_flood_of_notes() {
    let flood = r#"
emit("ready")
mark(f"pid {os.getpid()}")
while True:
    emit("notify", message="flood")
"#;
    let scene = Scene::new(vec![Scenario::text("I begin").fault(AnswerFault::Hang)]).python("flood", flood);
    let running = scene.start(&["-p", "go"], None);
    let pids = pids(&scene, 1);
    assert!(eventually(|| scene.server.requests().len() == 1));
    running.interrupt();
    running.wait().expect(130);
    check_gone(&pids);
}

#[test]
fn second_interrupt_kills_extension_that_does_not_end() {
    let stubborn = r#"
import time
emit("ready")
mark(f"pid {os.getpid()}")
for frame in frames():
    pass
mark("asked")
time.sleep(600)  # sleep: longer than the test
"#;
    let scene =
        Scene::new(vec![Scenario::text("I begin").fault(AnswerFault::Hang)]).python("stubborn", stubborn);
    let running = scene.start(&["-p", "go"], None);
    let pids = pids(&scene, 1);
    assert!(eventually(|| scene.server.requests().len() == 1));
    running.interrupt();
    assert!(eventually(|| scene.marks().contains(&"asked".to_owned())));
    running.interrupt();
    running.wait().expect(130);
    check_gone(&pids);
}

/// The signal kills haft itself, without any cleanup.
/// The launcher of a command ends all its processes, also those in a session of their own.
#[cfg(target_os = "linux")]
#[test]
fn killed_haft_leaves_no_command() {
    let command = r#"echo "pid $$" >> "$MARKS"; setsid sleep 600 & echo "pid $!" >> "$MARKS"; wait"#;
    let scene = Scene::new(vec![bash("t1", command)]);
    let running = scene.start(&["-p", "go"], None);
    let pids = pids(&scene, 2);
    running.kill();
    check_gone(&pids);
}

#[cfg(target_os = "linux")]
#[test]
fn killed_haft_leaves_no_extension_process() {
    let body = r#"
import signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
stubborn = "trap '' TERM; echo pid $$ >> '%s'; sleep 600" % MARKS
subprocess.Popen(["sh", "-c", stubborn], stdin=subprocess.DEVNULL, start_new_session=True)
emit("ready")
mark(f"pid {os.getpid()}")
time.sleep(600)  # sleep: longer than the test
"#;
    let scene = Scene::new(vec![Scenario::text("I begin").fault(AnswerFault::Hang)]).python("stubborn", body);
    let running = scene.start(&["-p", "go"], None);
    let pids = pids(&scene, 2);
    running.kill();
    check_gone(&pids);
}
