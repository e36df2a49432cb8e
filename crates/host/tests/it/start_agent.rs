//! `HostBuilder::start_agent`: an agent with the extensions of its own host.

use haft_core::{Agent, BuildError};
use haft_host::Host;
use haft_test_support::FakePeer;
use serde_json::{Value, json};

use crate::agent::{Bash, silent_model};
use crate::support::{Events, builder, eventually};

fn tool(name: &str) -> Value {
    json!({"type": "register_tool", "name": name, "description": "Does it.", "schema": {"type": "object"}})
}

/// Starts an agent that has `bash`, with an extension that watches the session and has these tools.
async fn start(events: &Events, tools: &[&str]) -> (Agent, Host, FakePeer) {
    let (mut peer, reader, writer) = FakePeer::pair();
    let agent = Agent::builder(silent_model()).tool(Bash::default());
    let start = builder(events).streams("x", reader, writer).start_agent(agent);
    let subscribe = json!({"type": "subscribe", "events": ["session_start", "turn_start"]});
    let frames = tools.iter().map(|name| tool(name)).chain([subscribe]);
    let (started, ()) = tokio::join!(start, peer.greet_with("x", &["events_2"], frames));
    let (agent, host) = started.unwrap();
    (agent, host, peer)
}

fn tool_names(agent: &Agent) -> Vec<String> {
    agent.all_tools().iter().map(|tool| tool.name.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn each_agent_has_its_own_session() {
    let events = Events::default();
    let (one, _one_host, mut one_peer) = start(&events, &[]).await;
    let (two, _two_host, mut two_peer) = start(&events, &[]).await;
    for (agent, peer) in [(&one, &mut one_peer), (&two, &mut two_peer)] {
        agent.prompt("go").await.unwrap();
        let id = agent.session().id().to_string();
        for name in ["session_start", "turn_start"] {
            let event = peer.expect("event").await;
            assert_eq!(
                [event["event"].as_str(), event["session"].as_str()],
                [Some(name), Some(id.as_str())],
                "{event}"
            );
        }
    }
    assert_ne!(one.session().id(), two.session().id());
}

#[tokio::test(start_paused = true)]
async fn later_tools_of_an_extension_reach_the_agent() {
    let events = Events::default();
    let (agent, host, mut peer) = start(&events, &["early", "bash"]).await;
    assert_eq!(tool_names(&agent), ["bash", "early"]);
    let messages = events.messages();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].contains("bash"), "the agent's tool keeps its name: {messages:?}");

    peer.send(tool("late")).await;
    eventually(|| tool_names(&agent) == ["bash", "early", "late"]).await;

    // The program replaces its own tools alone.
    agent.set_tools(haft_core::tool::ToolSet::default()).unwrap();
    assert_eq!(tool_names(&agent), ["early", "late"]);
    drop(host);
}

#[tokio::test(start_paused = true)]
async fn failed_build_stops_the_extensions() {
    let (mut peer, reader, writer) = FakePeer::pair();
    let agent = Agent::builder(silent_model()).tool(Bash::default()).tool(Bash::default());
    let start = builder(&Events::default()).streams("x", reader, writer).start_agent(agent);
    let extension = async {
        peer.greet("x", []).await;
        peer.expect("shutdown").await;
        peer.send(json!({"type": "shutdown_ack"})).await;
    };
    let (started, ()) = tokio::join!(start, extension);
    assert!(matches!(started, Err(BuildError::NameTaken(_))));
}

#[tokio::test(start_paused = true)]
async fn dropping_agent_and_host_ends_the_extensions() {
    let (agent, host, mut peer) = start(&Events::default(), &[]).await;
    drop((agent, host));
    loop {
        let frame = peer.next().await.expect("the host says goodbye");
        if frame["type"] == "shutdown" {
            break;
        }
    }
}
