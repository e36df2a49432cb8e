//! Calls of an extension to the host: under the gates of others, within the grant, and not after the end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use haft_core::Agent;
use haft_core::error::TurnErrorKind;
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
use haft_host::{ExtensionToolSource, Host, ServiceReach};
use haft_packages::{ExtensionSpec, LaunchPlan, Permissions};
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_test_support::FakePeer;
use serde_json::{Value, json};

use crate::agent::Agency;
use crate::support::{Events, brisk, builder, config, fault, program, spec};

/// Tools that record their calls. A call with the path `slow` ends when it is cancelled, and one with the
/// path `stuck` never.
#[derive(Clone, Default)]
struct Tools(Arc<Mutex<Vec<String>>>);

struct Fake {
    name: &'static str,
    log: Tools,
}

impl Tools {
    fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl ExtensionToolSource for Tools {
    fn tools(&self, reach: &ServiceReach) -> Result<Vec<Arc<dyn Tool>>, String> {
        if let Some(within) = &reach.within {
            self.note(format!("within {:?} {:?}", within.read, within.write));
        }
        let fake = |name| -> Arc<dyn Tool> { Arc::new(Fake { name, log: self.clone() }) };
        Ok(["read", "write", "edit", "bash"].map(fake).into())
    }
}

#[async_trait]
impl Tool for Fake {
    fn spec(&self) -> Arc<ToolSpec> {
        let schema = r#"{"type":"object","properties":{"path":{"type":"string"}}}"#;
        Arc::new(ToolSpec::new(self.name, "").with_schema(RawJson::parse(schema).unwrap()))
    }

    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        self.log.note(format!("{} {}", call.name, call.args));
        let dropped = Dropped { name: self.name, log: self.log.clone() };
        if call.args.as_str().contains("slow") {
            context.cancel.cancelled().await;
            self.log.note(format!("{} cancelled", call.name));
            std::mem::forget(dropped);
            return ToolOutput::error("cancelled");
        }
        if call.args.as_str().contains("stuck") {
            std::future::pending().await
        }
        std::mem::forget(dropped);
        ToolOutput::text("done")
    }
}

/// Records a call that was dropped.
struct Dropped {
    name: &'static str,
    log: Tools,
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.log.note(format!("{} dropped", self.name));
    }
}

/// Returns a host with one extension in memory, and an agent.
async fn serving(frames: impl IntoIterator<Item = Value>) -> (Host, Agent, FakePeer, Events, Tools) {
    let (events, tools) = (Events::default(), Tools::default());
    let (mut peer, reader, writer) = FakePeer::pair();
    let start = builder(&events).services(Arc::new(tools.clone())).streams("notes", reader, writer).start();
    let (host, ()) = tokio::join!(start, peer.greet("notes", frames));
    let agent = Agency::new(&host, []).into_agent();
    host.serve(agent.tool_runner());
    (host, agent, peer, events, tools)
}

/// The same with an extension that has these capabilities and is a gate for all tools.
async fn serving_guarded(
    frames: impl IntoIterator<Item = Value>,
    capability: &str,
) -> (Host, Agent, [FakePeer; 2], Events, Tools) {
    let (events, tools) = (Events::default(), Tools::default());
    let (mut peer, reader, writer) = FakePeer::pair();
    let builder = builder(&events).services(Arc::new(tools.clone())).streams("notes", reader, writer);
    let (mut guard, reader, writer) = FakePeer::pair();
    let start = builder.streams("guard", reader, writer).start();
    let greet = async {
        guard.send(json!({"type": "hello", "name": "guard", "capabilities": [capability]})).await;
        let ack = guard.expect("hello_ack").await;
        assert!(ack["capabilities"].as_array().unwrap().contains(&json!("host_services")));
        guard.send(json!({"type": "subscribe", "intercept": ["tool_call"]})).await;
        guard.send(json!({"type": "ready"})).await;
    };
    let (host, (), ()) = tokio::join!(start, peer.greet("notes", frames), greet);
    let agent = Agency::new(&host, []).into_agent();
    host.serve(agent.tool_runner());
    (host, agent, [peer, guard], events, tools)
}

fn host_call(id: &str, call: &str, args: Value) -> Value {
    json!({"type": "host_call", "id": id, "call": call, "args": args})
}

async fn result(peer: &mut FakePeer) -> Value {
    peer.expect("host_result").await
}

#[tokio::test(start_paused = true)]
async fn host_call_is_reported_but_not_in_transcript() {
    let (_host, agent, mut peer, events, tools) = serving([]).await;
    peer.send(host_call("c1", "write", json!({"path": "a"}))).await;
    let done = result(&mut peer).await;
    assert_eq!(done, json!({"type":"host_result","id":"c1","content":[{"type":"text","text":"done"}]}));
    peer.send(host_call("c2", "exec", json!({"path": 5}))).await;
    let unfit = result(&mut peer).await;
    assert_eq!((&unfit["code"], &unfit["is_error"]), (&json!("invalid_args"), &json!(true)));
    assert_eq!(tools.all(), [r#"write {"path":"a"}"#]);
    assert!(agent.messages().is_empty());
    let told: Vec<String> = events.all().iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    {"type":"host_call_start","id":"host-1","extension":"notes","name":"write","args":{"path":"a"}}
    {"type":"host_call_end","id":"host-1","extension":"notes","name":"write","is_error":false,"content":[{"type":"text","text":"done"}]}
    "#);
}

/// The tool receives all arguments, and a slow reader of events need not hold them.
#[tokio::test(start_paused = true)]
async fn reports_only_beginning_of_long_call() {
    let (_host, _agent, mut peer, events, tools) = serving([]).await;
    let long = "x".repeat(900_000);
    peer.send(host_call("c1", "write", json!({"path": "a", "content": long}))).await;
    assert!(result(&mut peer).await.get("code").is_none());
    assert!(tools.all().concat().len() > 900_000);
    let told: usize = events.all().iter().map(|event| serde_json::to_string(event).unwrap().len()).sum();
    assert!((512..2048).contains(&told), "{told}");
}

/// The calling extension is also a gate for `write`: it is not queried, but the other gate is.
#[tokio::test(start_paused = true)]
async fn gates_of_others_decide_about_host_call() {
    let intercept = json!({"type": "subscribe", "intercept": ["tool_call"]});
    let (_host, _agent, [mut peer, mut guard], events, tools) = serving_guarded([intercept], "ping").await;
    peer.send(host_call("c1", "exec", json!({"path": "a"}))).await;
    let question = guard.expect("event_intercept").await;
    assert_eq!(question["tool_name"], "bash");
    assert_eq!(question["tool_args"], json!({"path": "a"}));
    assert!(question.get("caller").is_none(), "{question}");
    guard.answer(&question, "event_intercept_response", json!({"block": true, "reason": "no"})).await;
    let refused = result(&mut peer).await;
    assert_eq!((&refused["code"], &refused["by"]), (&json!("blocked"), &json!("guard")));
    assert_eq!(refused["content"][0]["text"], "no");
    assert_eq!(tools.all(), Vec::<String>::new());
    // The gate rewrites the arguments of another call.
    peer.send(host_call("c2", "write", json!({"path": "a"}))).await;
    let question = guard.expect("event_intercept").await;
    guard.answer(&question, "event_intercept_response", json!({"modified_args": {"path": "b"}})).await;
    assert!(result(&mut peer).await.get("code").is_none());
    assert_eq!(tools.all(), [r#"write {"path":"b"}"#]);
    // The gate does not answer, so the call is blocked.
    peer.send(host_call("c3", "write", json!({"path": "a"}))).await;
    guard.expect("event_intercept").await;
    assert_eq!(result(&mut peer).await["code"], "blocked");
    assert_eq!(events.faults(), [fault("guard", "hook_timeout")]);
    assert_eq!(tools.all().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn capable_gate_receives_caller_of_host_call() {
    let (_host, _agent, [mut peer, mut guard], ..) = serving_guarded([], "host_services").await;
    peer.send(host_call("c1", "edit", json!({"path": "a"}))).await;
    let question = guard.expect("event_intercept").await;
    assert_eq!(question["caller"], "notes");
}

#[tokio::test(start_paused = true)]
async fn cancels_hanging_call_after_thirty_seconds() {
    let (_host, _agent, mut peer, _, tools) = serving([]).await;
    for path in ["slow", "stuck"] {
        let begun = tokio::time::Instant::now();
        peer.send(host_call("c1", "edit", json!({"path": path}))).await;
        assert_eq!(result(&mut peer).await["code"], "timed_out");
        let took = begun.elapsed();
        assert!(took >= Duration::from_secs(30) && took <= Duration::from_secs(32), "{took:?}");
    }
    assert_eq!(tools.all().last().unwrap(), "edit dropped");
}

/// Cancelled by the extension, and by its end.
#[tokio::test(start_paused = true)]
async fn cancels_call_of_cancelled_query() {
    let (_host, _agent, mut peer, _, tools) = serving([]).await;
    peer.send(host_call("c1", "exec", json!({"path": "slow"}))).await;
    until(&tools, 1).await;
    peer.send(json!({"type": "host_call_cancel", "id": "c1"})).await;
    result(&mut peer).await;
    assert_eq!(tools.all().last().unwrap(), "bash cancelled");
    peer.send(host_call("c2", "exec", json!({"path": "slow"}))).await;
    until(&tools, 3).await;
    drop(peer);
    until(&tools, 4).await;
    assert_eq!(tools.all().last().unwrap(), "bash cancelled");
}

/// A call for a query of the run ends with the run; a call outside any query continues.
#[tokio::test(start_paused = true)]
async fn cancelled_run_cancels_its_host_calls() {
    let tool = json!({"type": "register_tool", "name": "work", "schema": {"type": "object"}});
    let intercept = json!({"type": "subscribe", "intercept": ["turn_start"]});
    let (host, _agent, mut peer, _, tools) = serving([tool, intercept]).await;
    peer.send(host_call("own", "exec", json!({"path": "slow"}))).await;
    until(&tools, 1).await;
    let agency = Agency::new(&host, [("work", json!({}))]);
    host.serve(agency.agent().tool_runner());
    for kind in ["turn_start", "tool_call"] {
        let run = agency.start();
        let cancel = run.cancellation_token();
        let (ran, ()) = tokio::join!(agency.finish(run), async {
            if kind == "tool_call" {
                let question = peer.expect("event_intercept").await;
                peer.answer(&question, "event_intercept_response", json!({"block": false})).await;
                peer.expect("tool_call").await;
            } else {
                peer.expect("event_intercept").await;
            }
            let before = tools.all().len();
            peer.send(host_call(kind, "exec", json!({"path": "slow"}))).await;
            until(&tools, before + 1).await;
            cancel.cancel();
            let ended = result(&mut peer).await;
            assert_eq!((&ended["id"], &ended["code"]), (&json!(kind), &json!("cancelled")));
        });
        assert_eq!(ran.outcome.unwrap_err().kind, TurnErrorKind::Aborted);
    }
    let ended = tools.all().iter().filter(|note| note.ends_with("cancelled")).count();
    assert_eq!(ended, 2, "{:?}", tools.all());
    peer.send(json!({"type": "host_call_cancel", "id": "own"})).await;
    assert_eq!(result(&mut peer).await["id"], "own");
}

async fn until(tools: &Tools, notes: usize) {
    while tools.all().len() < notes {
        // sleep: virtual time
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn rejects_calls_without_services_or_agent() {
    let (_host, mut peer, _events) = crate::support::host_with("notes", []).await;
    peer.send(host_call("c1", "read", json!({}))).await;
    assert_eq!(result(&mut peer).await["code"], "unavailable");
    let (_host, agent, mut peer, ..) = serving([]).await;
    drop(agent);
    peer.send(host_call("c1", "read", json!({}))).await;
    assert_eq!(result(&mut peer).await["code"], "unavailable");
}

/// Makes two calls and stores the answers in the file `results`.
const SCRIPT: &str = r#"
printf '%s\n' '{"type":"hello","name":"ext","capabilities":["host_services"]}'; read -r ack
printf '%s\n' '{"type":"ready"}'
for call in read read write; do
    printf '%s\n' '{"type":"host_call","id":"1","call":"'$call'","args":{"path":"a"}}'
    read -r line; printf '%s\n' "$line" >> results
done
mv results done
while read -r line; do case $line in *shutdown*) exit 0;; esac; done"#;

/// A call without a grant is denied and reported once.
#[tokio::test]
async fn extension_has_only_granted_services() {
    let dir = tempfile::tempdir().unwrap();
    let permissions =
        json!({"host": ["fs.write"], "fs": {"read": ["/somewhere"], "write": ["$WORKSPACE/out"]}});
    let permissions: Permissions = serde_json::from_value(permissions).unwrap();
    let launch =
        LaunchPlan::Process { program: program(&["sh"]), args: vec!["-c".to_owned(), SCRIPT.to_owned()] };
    let spec = ExtensionSpec { permissions: Some(permissions), ..spec("ext", dir.path(), launch) };
    let (events, tools, mut config) = (Events::default(), Tools::default(), config());
    (config.timeouts, config.cwd) = (brisk(), "/place".into());
    let host =
        Host::builder(config).events(events.sink()).specs(vec![spec]).services(Arc::new(tools.clone()));
    let host = host.start().await;
    let agent = Agency::new(&host, []).into_agent();
    host.serve(agent.tool_runner());
    let results = dir.path().join("done");
    crate::support::eventually(|| results.exists()).await;
    let results = std::fs::read_to_string(results).unwrap();
    insta::assert_snapshot!(results, @r#"
    {"type":"host_result","id":"1","content":[{"type":"text","text":"extension ext must not use read through haft: the permission fs.read is not granted"}],"is_error":true,"code":"permission_denied","permission":"fs.read"}
    {"type":"host_result","id":"1","content":[{"type":"text","text":"extension ext must not use read through haft: the permission fs.read is not granted"}],"is_error":true,"code":"permission_denied","permission":"fs.read"}
    {"type":"host_result","id":"1","content":[{"type":"text","text":"done"}]}
    "#);
    let expect = [r#"within ["/somewhere"] ["/place", "/place/out"]"#, r#"write {"path":"a"}"#];
    assert_eq!(tools.all(), expect);
    assert_eq!(events.faults(), [fault("ext", "permission_denied")]);
    let asked = |event: &AgentEvent| matches!(event, AgentEvent::HostCallStart { .. });
    assert_eq!(events.all().iter().filter(|event| asked(event)).count(), 1);
    host.shutdown().await;
}
