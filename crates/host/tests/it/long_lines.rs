//! Long lines are decoded outside the thread that all extensions share, which does not change any order.

use std::sync::mpsc;
use std::time::Duration;

#[cfg(unix)]
use haft_host::{ExtensionState, Host, log_path};
use haft_packages::LaunchPlan;
use haft_protocol::event::AgentEvent;
#[cfg(unix)]
use haft_protocol::ids::ExtensionName;
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::support::{Events, execute, fault, host_with, host_with_two, state, text};
#[cfg(unix)]
use crate::support::{config, program, spec};

/// The length from which a line is decoded on another thread on any machine: 2 MiB with one processor.
const LONG: usize = 2 * 1024 * 1024 + 1;

fn register(name: &str) -> Value {
    json!({"type": "register_tool", "name": name, "description": "", "schema": {"type": "object"}})
}

fn note(text: &str) -> Value {
    json!({"type": "notify", "message": text})
}

/// Returns a result with one visible text and many other bytes.
fn long(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}, {"type": "none", "data": "x".repeat(LONG)}]})
}

/// Returns the beginnings of all notes.
fn notes(events: &Events) -> Vec<String> {
    let beginning = |event| {
        let AgentEvent::ExtNotify { message, .. } = event else { return None };
        Some(message.chars().take(6).collect())
    };
    events.all().into_iter().filter_map(beginning).collect()
}

#[tokio::test(start_paused = true)]
async fn keeps_order_after_long_line() {
    let (host, mut peer, events) = host_with("ext", [register("t")]).await;
    let say = async {
        let question = peer.expect("tool_call").await;
        for round in 1..=3 {
            peer.send(note(&format!("long {round} {}", "x".repeat(LONG)))).await;
            peer.send(note(&format!("note {round}"))).await;
            // Not a frame, and reported in order.
            peer.send_raw(format!("{}\n", "y".repeat(LONG)).as_bytes()).await;
        }
        peer.answer(&question, "tool_result", long("done")).await;
        peer.send(note("last one")).await;
        peer.send_raw(b"\n").await;
    };
    let (output, ()) = tokio::join!(execute(&host, "t", json!({})), say);
    assert!(text(&output).starts_with("done"), "{output:?}");
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(notes(&events), ["long 1", "note 1", "long 2", "note 2", "long 3", "note 3", "last o"]);
    assert_eq!(events.faults().first(), Some(&fault("ext", "frame_not_json")));
    assert_eq!(state(&host, "ext"), ExtensionState::Ready);
}

#[tokio::test(start_paused = true)]
async fn accepts_long_result_before_exit() {
    for end in ["\n", ""] {
        let (host, mut peer, _events) = host_with("ext", [register("t")]).await;
        let say = async {
            let question = peer.expect("tool_call").await;
            let mut line = json!({"type": "tool_result", "id": question["id"]});
            line.as_object_mut().unwrap().extend(long("done").as_object().unwrap().clone());
            peer.send_raw(format!("{line}{end}").as_bytes()).await;
            drop(peer);
        };
        let (output, ()) = tokio::join!(execute(&host, "t", json!({})), say);
        assert!(text(&output).starts_with("done"), "{end:?}: {output:?}");
        host.shutdown().await;
    }
}

/// Returns a runtime whose only blocking thread is busy until the sender is dropped.
fn held() -> (Runtime, mpsc::Sender<()>) {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let (release, held) = mpsc::channel::<()>();
    runtime.spawn_blocking(move || held.recv().unwrap_err());
    (runtime, release)
}

/// Advances the time, which does not advance by itself while a thread works.
async fn pass(seconds: u32) {
    for _ in 0..seconds {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(Duration::from_secs(1)).await;
    }
}

/// Answers with a long line, which is not decoded before the thread is free.
async fn answer_long(peer: &mut FakePeer) {
    let question = peer.expect("tool_call").await;
    peer.answer(&question, "tool_result", long("long")).await;
}

#[test]
fn queries_others_while_long_line_is_decoded() {
    let (runtime, release) = held();
    runtime.block_on(async {
        let (host, [mut slow, mut quick], events) =
            host_with_two(("slow", [register("long")]), ("quick", [register("short")])).await;
        let other = async {
            answer_long(&mut slow).await;
            let reply = async {
                let question = quick.expect("tool_call").await;
                quick.answer(&question, "tool_result", json!({"content": []})).await;
            };
            let (output, ()) = tokio::join!(execute(&host, "short", json!({})), reply);
            assert!(!output.is_error, "{output:?}");
            drop(release);
        };
        let (output, ()) = tokio::join!(execute(&host, "long", json!({})), other);
        assert!(text(&output).starts_with("long"), "{output:?}");
        assert_eq!(events.faults(), []);
    });
}

#[test]
fn deadline_applies_while_long_line_is_decoded() {
    let (runtime, release) = held();
    runtime.block_on(async {
        let (host, mut peer, events) = host_with("ext", [register("t")]).await;
        let hold = async {
            answer_long(&mut peer).await;
            pass(60).await;
        };
        let (output, ()) = tokio::join!(execute(&host, "t", json!({})), hold);
        assert!(text(&output).contains("did not answer"), "{output:?}");
        assert_eq!(events.faults(), [fault("ext", "call_timeout")]);
        drop(release);
        // The answer still counts, and the next one is received.
        let reply = async {
            let question = peer.expect("tool_call").await;
            peer.answer(&question, "tool_result", json!({"content": []})).await;
        };
        let (output, ()) = tokio::join!(execute(&host, "t", json!({})), reply);
        assert!(!output.is_error, "{output:?}");
        assert_eq!(events.faults(), [fault("ext", "call_timeout")]);
    });
}

#[test]
fn stops_extension_while_long_line_is_decoded() {
    let (runtime, release) = held();
    runtime.block_on(async {
        let (host, mut peer, _events) = host_with("ext", [register("t")]).await;
        let stop = async {
            answer_long(&mut peer).await;
            tokio::join!(host.shutdown(), pass(10));
            assert_eq!(state(&host, "ext"), ExtensionState::Stopped);
        };
        let (output, ()) = tokio::join!(execute(&host, "t", json!({})), stop);
        assert!(text(&output).contains("is being stopped"), "{output:?}");
        drop(release);
    });
}

/// Writes a long line and many bytes after it, and exits: immediately, or with `after` while a child writes
/// on.
#[cfg(unix)]
const LAST_WORDS: &str = r#"
import json, os, sys
done, when = sys.argv[1:]
say = lambda **frame: sys.stdout.write(json.dumps(frame) + "\n")
say(type="hello", name="ext")
say(type="ready")
sys.stdout.flush()
parent = os.getpid()
if when == "after" and os.fork():
    os._exit(0)
while when == "after" and os.getppid() == parent:
    pass
for text in ["long 1" + "x" * 300 * 1024, "note 1" + "x" * 200 * 1024, "note 2" + "x" * 200 * 1024, "last o"]:
    say(type="notify", message=text)
sys.stdout.flush()
open(done, "w").close()
"#;

#[cfg(unix)]
#[test]
#[expect(clippy::print_stderr, reason = "a skipped test reports this")]
fn handles_lines_after_slow_long_line_of_exited_process() {
    if std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1) {
        eprintln!("SKIP: with one processor, a line that fits into a pipe is read at once");
        return;
    }
    for when in ["before", "after"] {
        let (runtime, release) = held();
        runtime.block_on(async {
            let (dir, events, mut config) = (tempfile::tempdir().unwrap(), Events::default(), config());
            config.logs = Some(dir.path().to_owned());
            let log = log_path(dir.path(), &ExtensionName::new("ext"));
            let done = dir.path().join("done");
            let args = ["-c", LAST_WORDS, done.to_str().unwrap(), when].map(str::to_owned).to_vec();
            let ext = spec("ext", dir.path(), LaunchPlan::Process { program: program(&["python3"]), args });
            let host = Host::builder(config).events(events.sink()).specs(vec![ext]).start().await;
            while !std::fs::read_to_string(&log).unwrap().contains("exited with status 0") || !done.exists() {
                tokio::task::yield_now().await;
            }
            // Everything is in the pipe. A runtime that is never idle needs some turns to read the first
            // line.
            for _ in 0..4096 {
                tokio::task::yield_now().await;
            }
            pass(2).await;
            assert_eq!(notes(&events), [""; 0], "the first line is being decoded");
            drop(release);
            while events.faults().is_empty() {
                tokio::task::yield_now().await;
            }
            assert_eq!(notes(&events), ["long 1", "note 1", "note 2", "last o"]);
            assert_eq!(events.faults(), [fault("ext", "exited")]);
            drop(host);
        });
    }
}
