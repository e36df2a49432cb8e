//! Messages between extensions: who gets them, and the end of a loop.

use haft_test_support::FakePeer;
use serde_json::{Value, json};

use crate::support::{Events, builder, fault};

fn emit(channel: &str, data: Value) -> Value {
    json!({"type": "host_call", "call": "emit", "args": {"channel": channel, "data": data}})
}

/// Introduces an extension with these capabilities, which subscribes to the bus.
async fn greet(peer: &mut FakePeer, name: &str, capabilities: &[&str]) {
    peer.send(json!({"type": "hello", "name": name, "capabilities": capabilities})).await;
    peer.expect("hello_ack").await;
    peer.send(json!({"type": "subscribe", "events": ["bus"]})).await;
    peer.send(json!({"type": "ready"})).await;
}

#[tokio::test(start_paused = true)]
async fn message_reaches_the_others_that_subscribed() {
    let events = Events::default();
    let (mut one, reader, writer) = FakePeer::pair();
    let host = builder(&events).streams("one", reader, writer);
    let (mut two, reader, writer) = FakePeer::pair();
    let host = host.streams("two", reader, writer);
    let (mut old, reader, writer) = FakePeer::pair();
    let start = host.streams("old", reader, writer).start();
    let ((), (), (), host) = tokio::join!(
        greet(&mut one, "one", &["bus"]),
        greet(&mut two, "two", &["bus", "events_2"]),
        greet(&mut old, "old", &["events_2"]),
        start
    );
    one.send(emit("build", json!([1]))).await;
    let message = two.expect("event").await;
    let expect = json!({
        "type": "event", "event": "bus", "channel": "build", "data": [1], "from": "one", "session": "",
    });
    assert_eq!(message, expect);
    two.send(emit("build", json!(null))).await;
    // Its own message did not come back.
    let message = one.expect("event").await;
    assert_eq!((&message["from"], &message["data"]), (&json!("two"), &json!(null)));
    for (args, told) in [
        (json!({"channel": "", "data": 1}), "emit: channel: an empty name"),
        (json!({"channel": "c"}), "emit: missing field `data`"),
    ] {
        one.send(json!({"type": "host_call", "id": "e", "call": "emit", "args": args})).await;
        let refused = one.expect("host_result").await;
        assert_eq!(
            (&refused["code"], &refused["content"][0]["text"]),
            (&json!("invalid_args"), &json!(told))
        );
    }
    // The extension without the capability has got nothing.
    old.send(json!({"type": "host_call", "id": "n", "call": "read", "args": {}})).await;
    assert_eq!(old.expect("host_result").await["code"], "unavailable");
    assert_eq!(events.faults(), []);
    drop(host);
}

#[tokio::test(start_paused = true)]
async fn loop_of_two_extensions_ends_with_one_report() {
    let events = Events::default();
    let (mut one, reader, writer) = FakePeer::pair();
    let host = builder(&events).streams("one", reader, writer);
    let (mut two, reader, writer) = FakePeer::pair();
    let start = host.streams("two", reader, writer).start();
    let (host, (), ()) =
        tokio::join!(start, greet(&mut one, "one", &["bus"]), greet(&mut two, "two", &["bus"]));
    for n in 0..200 {
        one.send(emit("echo", json!(n))).await;
        assert_eq!(two.expect("event").await["data"], n);
        two.send(emit("echo", json!(n))).await;
        assert_eq!(one.expect("event").await["data"], n);
    }
    one.send(emit("echo", json!(200))).await;
    let call = json!({"channel": "echo", "data": 201});
    one.send(json!({"type": "host_call", "id": "e", "call": "emit", "args": call})).await;
    assert_eq!(one.expect("host_result").await["code"], "busy");
    assert_eq!(events.faults(), [fault("one", "rate_limited")]);
    tokio::time::sleep(std::time::Duration::from_millis(1001)).await;
    one.send(emit("echo", json!(202))).await;
    assert_eq!(two.expect("event").await["data"], 202);
    drop(host);
}
