//! Ctrl-C: the run ends, and nothing that it started is left.

#![cfg(unix)]

use std::process::Command;

use haft_test_support::model_server::{AnswerFault, Scenario};
use serde_json::json;

use super::running::eventually;
use super::scene::{Scene, bash};

/// Marks its own process, and its leaving.
const WITNESS: &str = r#"
emit("ready")
mark(f"pid {os.getpid()}")
for frame in frames():
    pass
mark("left")
"#;

/// The processes that were marked, as soon as there are so many.
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

/// True if a process runs; one that nobody has buried yet does not.
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
fn a_model_that_hangs_is_left() {
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
    assert!(scene.marks().contains(&"left".to_owned()), "the extension was asked to leave");
    assert!(eventually(|| scene.server.disconnects() == 1));
    check_gone(&pids);
}

#[test]
fn a_tool_that_runs_is_killed_with_all_it_started() {
    let command = r#"echo "pid $$" >> "$MARKS"; sleep 600 & echo "pid $!" >> "$MARKS"; wait"#;
    let scene = Scene::new(vec![bash("t1", command)]).python("witness", WITNESS);
    let running = scene.start(&["-p", "go"], None);
    let pids = pids(&scene, 3);
    running.interrupt();
    running.wait().expect(130);
    check_gone(&pids);
}

#[test]
fn an_extension_that_never_says_hello_is_not_waited_for() {
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
fn a_flood_of_notes_does_not_hide_it() {
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
fn the_second_leaves_nothing_behind_although_an_extension_does_not_leave() {
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

/// What ends haft itself, and gives it no time for anything.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_haft_leaves_no_process_of_an_extension() {
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
