//! Events that the host waits for, with real processes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use haft_core::session::Session;
use haft_host::{Host, HostConfig};
use haft_packages::{ExtensionSpec, LaunchPlan};
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{SessionShutdownReason, SessionStartReason};
use haft_protocol::ids::ExtensionName;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agent::Agency;
use crate::support::{Events, brisk, config, eventually, fault, program, spec};

/// Waits for all events. Records the begin of each handler, and its end after a moment.
const WAITER: &str = r#"
import json, os, sys, time
name, silent = sys.argv[1], sys.argv[2]
events = ["session_start", "session_shutdown", "agent_start", "agent_end", "turn_end", "message_start", "tool_end"]
def emit(frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()
def record(text):
    with open(name + ".seen", "a") as seen:
        seen.write(text + "\n")
emit({"type":"hello","name":name,"capabilities":["events_2"]})
emit({"type":"subscribe","intercept":[{"event":event,"role":"wait"} for event in events]})
emit({"type":"ready"})
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        about = {key: value for key, value in frame.items() if key not in ("type", "id", "duration_ms", "session_id")}
        if frame["event"] == silent:
            record("ignored " + silent)
            continue
        record("begin " + json.dumps(about))
        time.sleep(0.02)  # sleep: a host that does not wait goes on meanwhile
        record("end " + frame["event"])
        emit({"type":"event_intercept_response","id":frame["id"]})
    elif frame["type"] == "shutdown":
        break
"#;

struct WaitingHost {
    host: Host,
    events: Events,
    dir: TempDir,
}

impl WaitingHost {
    /// Starts a host with one extension, which never answers the event `silent`.
    async fn start(silent: &str, change: impl FnOnce(&mut HostConfig)) -> Self {
        let (dir, events, mut config) = (tempfile::tempdir().unwrap(), Events::default(), config());
        config.timeouts = brisk();
        change(&mut config);
        let specs = vec![waiter("waiter", silent, dir.path())];
        let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
        Self { host, events, dir }
    }

    fn seen(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join("waiter.seen")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn waiter(name: &str, silent: &str, dir: &Path) -> ExtensionSpec {
    let args = ["-c", WAITER, name, silent].map(str::to_owned).to_vec();
    spec(name, dir, LaunchPlan::Process { program: program(&["python3"]), args })
}

fn begin(about: Value) -> String {
    let text = about.to_string().replace("\":", "\": ").replace(",\"", ", \"");
    format!("begin {text}")
}

#[tokio::test]
async fn run_waits_for_each_event() {
    let fixture = WaitingHost::start("", |_| {}).await;
    let agency = Agency::new(&fixture.host, [("bash", json!({"command": "ls"}))]);
    fixture.host.session_start(Some(agency.agent().session()));
    let ran = agency.run().await;
    assert_eq!(ran.outcome, Ok(()));
    fixture.host.shutdown().await;
    let mut expect = Vec::new();
    let mut add = |about: Value| {
        expect.push(begin(about.clone()));
        expect.push(format!("end {}", about["event"].as_str().unwrap()));
    };
    add(json!({"event": "session_start", "reason": "startup"}));
    add(json!({"event": "agent_start"}));
    add(json!({"event": "message_start", "role": "user"}));
    add(json!({"event": "message_start", "role": "assistant"}));
    add(json!({"event": "tool_end", "tool_id": "t1", "tool_name": "bash"}));
    add(json!({"event": "turn_end", "stop": "tool_use"}));
    add(json!({"event": "message_start", "role": "assistant"}));
    add(json!({"event": "turn_end", "stop": "end"}));
    add(json!({"event": "agent_end"}));
    add(json!({"event": "session_shutdown", "reason": "quit"}));
    assert_eq!(fixture.seen(), expect);
    assert_eq!(fixture.events.faults(), []);
}

#[tokio::test]
async fn missing_answer_passes_with_one_fault() {
    let fixture = WaitingHost::start("turn_end", |config| {
        config.timeouts.intercept = Duration::from_millis(300);
    })
    .await;
    let ran = Agency::new(&fixture.host, []).run().await;
    assert_eq!(ran.outcome, Ok(()));
    assert!(matches!(ran.events.last(), Some(AgentEvent::Done)));
    assert_eq!(fixture.events.faults(), [fault("waiter", "hook_timeout")]);
    assert!(fixture.seen().contains(&"end agent_end".to_owned()), "{:?}", fixture.seen());
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn restarted_extension_is_told_the_session_start_as_reload() {
    let fixture = WaitingHost::start("", |_| {}).await;
    let session = Session::in_memory("/srv/app".as_ref());
    let previous = Path::new("/s/before.jsonl");
    fixture.host.session_started(&session, SessionStartReason::Fork, Some(previous));
    eventually(|| fixture.seen().len() == 2).await;
    fixture.host.restart(&ExtensionName::new("waiter")).await.unwrap();
    eventually(|| fixture.seen().len() == 6).await;
    fixture.host.shutdown_for(SessionShutdownReason::New).await;
    assert_eq!(
        fixture.seen(),
        [
            begin(json!({"event": "session_start", "reason": "fork", "previous_path": "/s/before.jsonl"})),
            "end session_start".to_owned(),
            begin(json!({"event": "session_shutdown", "reason": "reload"})),
            "end session_shutdown".to_owned(),
            begin(json!({"event": "session_start", "reason": "reload"})),
            "end session_start".to_owned(),
            begin(json!({"event": "session_shutdown", "reason": "new"})),
            "end session_shutdown".to_owned(),
        ]
    );
}
