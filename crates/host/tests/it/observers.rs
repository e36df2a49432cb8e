//! Observers as processes: they receive events in order and by filter. Readers lose nothing, and the others
//! receive the number of lost events.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::hooks::Observer;
use haft_core::session::Session;
use haft_host::{DiscoveredExtensions, ExtensionState, Host, HostConfig};
use haft_packages::{ExtensionSpec, LaunchPlan};
use haft_protocol::RawJson;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use haft_protocol::message::StopCause;
use haft_test_support::PATIENCE;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Events, blocked, brisk, call, config, eventually, fault, program, spec, state};

/// Records every received line, once a file named `go` exists.
const WATCHER: &str = r#"
import json, os, sys, time
name, events = sys.argv[1], json.loads(sys.argv[2])
def emit(frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()
second = ["events_2"] if name.startswith("new") else []
emit({"type":"hello","name":name,"capabilities":["event_gap", "ping"] + second})
emit({"type":"subscribe","events":events})
emit({"type":"ready"})
while not os.path.exists(name + ".go"):
    time.sleep(0.005)  # sleep: looks for the file again
with open(name + ".seen", "w") as seen:
    for line in sys.stdin:
        seen.write(line)
        seen.flush()
        frame = json.loads(line)
        if frame["type"] == "ping":
            emit({"type":"pong","id":frame["id"]})
        elif frame["type"] == "shutdown":
            break
        elif frame["type"] == "event_intercept":
            emit({"type":"event_intercept_response","id":frame["id"],"block":True,"reason":"no"})
        elif frame.get("step") == 40 and name.startswith("new"):
            emit({"type":"subscribe","replace":True,"events":["tool_end"]})
        elif frame.get("step") == 50 and name == "late":
            emit({"type":"subscribe","intercept":["tool_call"]})
"#;

/// A host with a fixed set of observers, as in one prompt.
struct ObserverHost {
    host: Host,
    observers: Vec<Arc<dyn Observer>>,
    events: Events,
    dir: TempDir,
}

impl ObserverHost {
    async fn start(watchers: &[(&str, Value)], change: impl FnOnce(&mut HostConfig)) -> Self {
        let (dir, events, mut config) = (tempfile::tempdir().unwrap(), Events::default(), config());
        config.timeouts = brisk();
        // An observer reads all events before the end, however long that takes.
        config.timeouts.shutdown_grace = PATIENCE;
        config.logs = Some(dir.path().to_owned());
        change(&mut config);
        let specs = watchers.iter().map(|(name, events)| watcher(name, events, dir.path())).collect();
        let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
        for (name, _) in watchers {
            assert_eq!(state(&host, name), ExtensionState::Ready, "{:?}", events.all());
        }
        let observers = host.hook_source().hooks().observers;
        Self { host, observers, events, dir }
    }

    fn tell(&self, event: &AgentEvent) {
        self.observers.iter().for_each(|observer| observer.observe(event));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Lets an observer read.
    fn go(&self, name: &str) {
        fs::write(self.file(&format!("{name}.go")), "").unwrap();
    }

    fn seen(&self, name: &str) -> Vec<Value> {
        let lines = fs::read_to_string(self.file(&format!("{name}.seen"))).unwrap_or_default();
        // The last line may be half written at this moment.
        let whole = lines.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the steps that an observer received, in order.
    fn steps(&self, name: &str) -> Vec<u64> {
        self.seen(name).iter().filter_map(|frame| frame["step"].as_u64()).collect()
    }

    fn dropped(&self, name: &str) -> usize {
        let states = self.host.statuses();
        states.iter().find(|status| status.name.as_str() == name).unwrap().events_dropped
    }

    async fn until(&self, done: impl Fn(&Self) -> bool) {
        eventually(|| done(self)).await;
    }
}

fn watcher(name: &str, events: &Value, dir: &Path) -> ExtensionSpec {
    let args = ["-c", WATCHER, name, &events.to_string()].map(str::to_owned).to_vec();
    spec(name, dir, LaunchPlan::Process { program: program(&["python3"]), args })
}

fn all() -> Value {
    json!(["session_start", "turn_start", "tool_call", "turn_end"])
}

fn step(step: u32) -> AgentEvent {
    AgentEvent::TurnStart { step }
}

fn large() -> AgentEvent {
    AgentEvent::TurnEnd { stop: StopCause::End, error: Some("x".repeat(1_000)) }
}

#[tokio::test]
async fn observers_receive_watched_events_before_shutdown() {
    let bash = json!([{"event": "tool_call", "tools": ["bash"]}, "turn_end"]);
    let fixture = ObserverHost::start(&[("all", all()), ("twin", all()), ("bash", bash)], |_| {}).await;
    ["all", "twin", "bash"].iter().for_each(|name| fixture.go(name));
    fixture.host.session_start(None);
    for number in 0..300 {
        fixture.tell(&step(number));
        let tool = if number % 3 == 0 { "bash" } else { "read" };
        fixture.tell(&AgentEvent::ToolCall {
            id: ToolCallId::new("t"),
            name: tool.into(),
            args: RawJson::empty_object(),
        });
        // Some events are sent in batches, others one by one.
        if number % 7 == 0 {
            tokio::task::yield_now().await;
        }
    }
    fixture.tell(&AgentEvent::TurnEnd { stop: StopCause::End, error: None });
    fixture.host.shutdown().await;
    for name in ["all", "twin"] {
        let seen = fixture.seen(name);
        let kinds = [&seen[0]["type"], &seen[1]["event"], &seen[602]["event"], &seen[603]["type"]];
        assert_eq!(kinds, ["hello_ack", "session_start", "turn_end", "shutdown"], "{name}");
        assert_eq!(fixture.steps(name), (0..300).collect::<Vec<u64>>());
        assert_eq!(seen.len(), 604);
    }
    let tools: Vec<Value> = fixture.seen("bash").iter().map(|frame| frame["tool_name"].clone()).collect();
    assert_eq!(tools.iter().filter(|tool| **tool == "bash").count(), 100);
    assert_eq!(tools.len(), 103, "hello_ack, 100 calls, turn_end, shutdown");
    assert_eq!(fixture.events.faults(), []);
}

#[tokio::test]
async fn new_gate_receives_earlier_events_before_query() {
    let fixture = ObserverHost::start(&[("late", all()), ("other", all())], |_| {}).await;
    ["late", "other"].iter().for_each(|name| fixture.go(name));
    for number in 0..60 {
        fixture.tell(&step(number));
        tokio::task::yield_now().await;
    }
    fixture.until(|fixture| !fixture.host.hook_source().hooks().before_tool_execute.is_empty()).await;
    for number in 60..200 {
        fixture.tell(&step(number));
        tokio::task::yield_now().await;
    }
    let blocks = blocked(&fixture.host, &call("bash", json!({}))).await;
    assert_eq!(blocks, Some(("late".to_owned(), "no".to_owned())));
    assert_eq!(fixture.steps("late"), (0..200).collect::<Vec<u64>>(), "all events precede the query");
    for number in 200..250 {
        fixture.tell(&step(number));
    }
    fixture.host.shutdown().await;
    for name in ["late", "other"] {
        assert_eq!(fixture.steps(name), (0..250).collect::<Vec<u64>>(), "{name}");
        assert_eq!(fixture.seen(name).last().unwrap()["type"], "shutdown");
    }
    assert_eq!(fixture.events.faults(), []);
}

#[tokio::test]
async fn unreading_observer_receives_number_of_lost_events() {
    let fixture = ObserverHost::start(&[("live", all()), ("slow", all())], |_| {}).await;
    fixture.go("live");
    let told = 2_000;
    for number in 0..told {
        fixture.tell(&large());
        fixture.tell(&step(number));
        // The running observer keeps up with the log.
        if number % 50 == 0 {
            fixture.until(|fixture| fixture.steps("live").last() == Some(&u64::from(number))).await;
        }
    }
    assert_eq!(fixture.dropped("live"), 0);
    assert!(fixture.dropped("slow") > 2_000, "{}", fixture.dropped("slow"));
    assert_eq!(state(&fixture.host, "slow"), ExtensionState::Ready);
    fixture.go("slow");
    fixture.until(|fixture| fixture.steps("slow").last() == Some(&u64::from(told - 1))).await;
    fixture.host.shutdown().await;
    assert_eq!(fixture.steps("live"), (0..u64::from(told)).collect::<Vec<u64>>());
    let seen = fixture.seen("slow");
    let dropped = fixture.dropped("slow");
    let lost: u64 = seen.iter().filter_map(|frame| frame["lost"].as_u64()).sum();
    let events = seen.iter().filter(|frame| frame["type"] == "event").count();
    assert_eq!(usize::try_from(lost).unwrap(), dropped);
    assert_eq!(events + dropped, 2 * told as usize);
    let log = fs::read_to_string(fixture.file("ext-slow.log")).unwrap();
    assert!(
        log.contains("events_dropped: the extension does not read") && log.contains("events were dropped"),
        "{log}"
    );
    assert_eq!(fixture.events.faults(), []);
}

#[tokio::test]
async fn ends_stalled_observer_and_restarts_events() {
    let change = |config: &mut HostConfig| config.timeouts.write_stall = Duration::from_secs(2);
    let fixture = ObserverHost::start(&[("live", all()), ("dead", all())], change).await;
    fixture.go("live");
    for number in 0..100 {
        fixture.tell(&large());
        fixture.tell(&step(number));
        // The running observer never has more to read than a pipe holds.
        if number % 20 == 0 {
            fixture.until(|fixture| fixture.steps("live").last() == Some(&u64::from(number))).await;
        }
    }
    fixture.until(|fixture| matches!(state(&fixture.host, "dead"), ExtensionState::Restarting { .. })).await;
    assert_eq!(fixture.events.faults(), [fault("dead", "write_stalled")]);
    fixture.go("dead");
    fixture.host.restart(&ExtensionName::new("dead")).await.unwrap();
    fixture.host.wait_until_settled().await;
    for number in 100..200 {
        fixture.tell(&step(number));
        tokio::task::yield_now().await;
    }
    fixture.host.shutdown().await;
    assert_eq!(fixture.steps("live"), (0..200).collect::<Vec<u64>>());
    assert_eq!(fixture.steps("dead"), (100..200).collect::<Vec<u64>>());
}

#[tokio::test]
async fn only_old_extension_receives_events_during_reload() {
    let dir = tempfile::tempdir().unwrap();
    let watching =
        |file| ExtensionSpec { name: ExtensionName::new("w"), ..watcher(file, &all(), dir.path()) };
    // sleep: looks for the file again
    let script = "echo '{\"type\":\"hello\",\"name\":\"slow\"}'; while [ ! -e slow.go ]; do sleep 0.02; done; \
                  echo '{\"type\":\"ready\"}'; cat >/dev/null";
    let args = vec!["-c".to_owned(), script.to_owned()];
    let slow = spec("slow", dir.path(), LaunchPlan::Process { program: program(&["sh"]), args });
    let rounds: Vec<DiscoveredExtensions> =
        vec![vec![watching("old")].into(), vec![watching("new"), slow].into()];
    let rounds = Mutex::new(rounds.into_iter());
    let source = move || rounds.lock().unwrap().next().unwrap_or_default();
    let (events, mut config) = (Events::default(), config());
    config.timeouts = brisk();
    let host = Host::builder(config).events(events.sink()).source(source).start().await;
    let fixture = ObserverHost { observers: host.hook_source().hooks().observers, host, events, dir };
    ["old", "new"].iter().for_each(|name| fixture.go(name));
    fixture.tell(&step(0));

    let reload = tokio::spawn({
        let host = fixture.host.clone();
        async move { host.reload().await }
    });
    fixture.until(|fixture| fixture.seen("new").iter().any(|frame| frame["type"] == "hello_ack")).await;
    for number in 1..=20 {
        fixture.tell(&step(number));
        tokio::task::yield_now().await;
    }
    fixture.go("slow");
    assert_eq!(reload.await.unwrap().ready, 2);
    fixture.host.hook_source().hooks().observers.iter().for_each(|observer| observer.observe(&step(30)));
    fixture.host.shutdown().await;
    assert_eq!(fixture.steps("old"), (0..=20).collect::<Vec<u64>>());
    assert_eq!(fixture.steps("new"), [30]);
}

#[tokio::test]
async fn pings_silent_observer() {
    let change = |config: &mut HostConfig| config.timeouts.ping = Duration::from_millis(50);
    let fixture = ObserverHost::start(&[("live", all())], change).await;
    fixture.go("live");
    let pings = || fixture.seen("live").iter().filter(|frame| frame["type"] == "ping").count();
    // A sign of life may cross an event and count for it, so the test sends more than one event.
    let mut told = 0;
    while pings() < 3 {
        fixture.tell(&step(told));
        told += 1;
        // sleep: longer than the silence before a ping; repeated until enough pings were sent
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    fixture.host.shutdown().await;
    assert_eq!(fixture.steps("live"), (0..u64::from(told)).collect::<Vec<u64>>());
    assert_eq!(fixture.events.faults(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_events_keep_order_per_sender() {
    const EMITTERS: u64 = 4;
    const EVENTS: u64 = 300;
    let fixture = &ObserverHost::start(&[("late", all()), ("other", all())], |_| {}).await;
    ["late", "other"].iter().for_each(|name| fixture.go(name));
    let emit = |emitter: u64| {
        for number in 0..EVENTS {
            let told = emitter * 1_000 + number;
            fixture.tell(&step(u32::try_from(told).unwrap()));
            // Few enough events wait at any time that none is dropped.
            while number % 25 == 24 && !fixture.steps("late").contains(&told) {
                std::thread::yield_now();
            }
        }
    };
    std::thread::scope(|scope| (0..EMITTERS).for_each(|emitter| _ = scope.spawn(move || emit(emitter))));
    fixture.host.shutdown().await;
    for name in ["late", "other"] {
        let steps = fixture.steps(name);
        for emitter in 0..EMITTERS {
            let arrived =
                steps.iter().copied().filter(|step| step / 1_000 == emitter).map(|step| step % 1_000);
            assert_eq!(arrived.collect::<Vec<u64>>(), (0..EVENTS).collect::<Vec<_>>(), "{name} of {emitter}");
        }
    }
    assert_eq!(fixture.events.faults(), []);
}

fn tool_end(duration_ms: u64) -> AgentEvent {
    AgentEvent::ToolEnd { id: ToolCallId::new("t"), name: "bash".into(), duration_ms }
}

#[tokio::test]
async fn each_extension_receives_events_in_the_form_that_it_announced() {
    let names = json!(["turn_start", "tool_end", "ext_notify"]);
    let fixture = ObserverHost::start(&[("old", names.clone()), ("new", names)], |_| {}).await;
    ["old", "new"].iter().for_each(|name| fixture.go(name));
    let session = Session::in_memory("/srv/app".as_ref());
    fixture.host.session_start(Some(&session));
    for event in [step(1), AgentEvent::TextDelta { delta: "he".into() }, tool_end(12)] {
        fixture.tell(&event);
    }
    fixture.host.shutdown().await;
    let events = |name| {
        let frames = fixture.seen(name).into_iter().filter(|frame| frame["type"] == "event");
        frames.map(|frame| frame.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(events("old"), [r#"{"type":"event","event":"turn_start","step":1}"#]);
    let id = session.id();
    assert_eq!(
        events("new"),
        [
            format!(r#"{{"type":"event","event":"turn_start","step":1,"session":"{id}"}}"#),
            format!(
                r#"{{"type":"event","event":"tool_end","id":"t","name":"bash","duration_ms":12,"session":"{id}"}}"#
            ),
        ]
    );
}

#[tokio::test]
async fn subscription_that_replaces_removes_the_earlier_ones() {
    let fixture = ObserverHost::start(&[("new", json!(["turn_start"]))], |_| {}).await;
    fixture.go("new");
    fixture.tell(&step(40));
    // The new subscription applies once the host has read it.
    let replaced = |fixture: &ObserverHost| {
        fixture.tell(&tool_end(1));
        fixture.seen("new").iter().any(|frame| frame["event"] == "tool_end")
    };
    fixture.until(replaced).await;
    fixture.tell(&step(41));
    fixture.tell(&tool_end(2));
    fixture.host.shutdown().await;
    assert_eq!(fixture.steps("new"), [40]);
    assert_eq!(fixture.seen("new").iter().rev().nth(1).unwrap()["duration_ms"], 2);
}

/// Sends a note for each note that it receives.
const ECHO: &str = r#"
import json, sys
name = sys.argv[1]
def emit(frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()
emit({"type":"hello","name":name,"capabilities":["events_2"]})
emit({"type":"subscribe","events":["ext_notify"]})
emit({"type":"ready"})
if name == "speaker":
    emit({"type":"notify","level":"info","message":"from speaker"})
for line in sys.stdin:
    frame = json.loads(line)
    if frame.get("event") == "ext_notify" and name == "echo":
        emit({"type":"notify","level":"info","message":"heard " + frame["extension"]})
    elif frame["type"] == "shutdown":
        break
"#;

#[tokio::test]
async fn extension_receives_notes_of_others_but_not_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let (events, mut config) = (Events::default(), config());
    config.timeouts = brisk();
    let specs = ["echo", "speaker"].map(|name| {
        let args = ["-c", ECHO, name].map(str::to_owned).to_vec();
        spec(name, dir.path(), LaunchPlan::Process { program: program(&["python3"]), args })
    });
    let host = Host::builder(config).events(events.sink()).specs(specs.to_vec()).start().await;
    let speaker = ExtensionName::new("speaker");
    let notes = || {
        let all = events.all();
        let texts = all.into_iter().filter_map(|event| {
            if let AgentEvent::ExtNotify { message, .. } = event { Some(message) } else { None }
        });
        texts.collect::<Vec<_>>()
    };
    // The first note may precede the subscription of the other extension.
    eventually(|| notes().iter().any(|note| note == "from speaker")).await;
    host.restart(&speaker).await.unwrap();
    eventually(|| notes().iter().any(|note| note == "heard speaker")).await;
    host.shutdown().await;
    assert!(!notes().iter().any(|note| note == "heard echo"), "{:?}", notes());
}
