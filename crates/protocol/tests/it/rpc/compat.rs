//! Lines of zot's clients are readable, and haft's lines have all fields that these clients need.

use haft_protocol::rpc::{BOUNDS, CommandKind, ErrorCode, RpcResponse, read_request};
use serde_json::Value;

use super::samples;

const ZOT: &str = include_str!("../../../fixtures/compat/rpc/zot.jsonl");

fn value(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

/// The lines of clients, or those of zot.
fn lines(of_clients: bool) -> impl Iterator<Item = &'static str> {
    let from_client = |line: &str| CommandKind::from_name(value(line)["type"].as_str().unwrap()).is_some();
    ZOT.lines().filter(move |line| from_client(line) == of_clients)
}

#[test]
fn commands_of_zot_clients_are_read() {
    let mut read = Vec::new();
    for line in lines(true) {
        let request = read_request(line.as_bytes(), BOUNDS).unwrap_or_else(|error| panic!("{error}: {line}"));
        let again = value(&request.encode().unwrap());
        assert_eq!(again, value(line));
        read.push(request.command.kind().name());
    }
    read.sort_unstable();
    read.dedup();
    let zots = [
        "abort",
        "clear",
        "compact",
        "get_messages",
        "get_models",
        "get_state",
        "hello",
        "ping",
        "prompt",
        "set_model",
    ];
    assert_eq!(read, zots);
}

#[test]
fn replies_of_zot_are_read() {
    for line in lines(false).filter(|line| value(line)["type"] == "response") {
        let response: RpcResponse = serde_json::from_str(line).unwrap();
        match response.outcome {
            Ok(data) => {
                let data = value(data.to_json().unwrap().as_str());
                assert_eq!(&data, value(line).get("data").unwrap_or(&serde_json::json!({})), "{line}");
            }
            Err(failure) => assert_eq!(failure.code, ErrorCode::Failed, "{line}"),
        }
    }
}

/// Every line of zot that a client may read has a corresponding line of haft.
#[test]
fn fields_for_zot_clients_are_present() {
    let replies = samples::replies().into_iter().map(|reply| value(&reply.encode().unwrap()));
    let events = samples::events().into_iter().map(|event| value(&event.encode().unwrap()));
    let own: Vec<Value> = replies.chain(events).collect();
    for line in lines(false) {
        let zots = value(line);
        let alike = |own: &&Value| {
            ["type", "command", "success"].iter().all(|field| own.get(field) == zots.get(field))
        };
        let found: Vec<&Value> = own.iter().filter(alike).collect();
        // A failure looks the same whatever failed.
        let found = if zots["success"] == false {
            own.iter().filter(|own| own["success"] == false).collect()
        } else {
            found
        };
        assert!(found.iter().any(|own| covers(own, &zots)), "nothing like {line} among {found:?}");
    }
}

/// True if every field of zot's value exists with the same type. Each list item needs a
/// corresponding item.
fn covers(own: &Value, zots: &Value) -> bool {
    match (own, zots) {
        (Value::Object(own), Value::Object(zots)) => zots
            .iter()
            .all(|(name, value)| name == "args" || own.get(name).is_some_and(|own| covers(own, value))),
        (Value::Array(own), Value::Array(zots)) => {
            zots.iter().all(|zots| own.iter().any(|own| same_kind(own, zots) && covers(own, zots)))
        }
        (own, zots) => std::mem::discriminant(own) == std::mem::discriminant(zots),
    }
}

/// True if two items have the same tag.
fn same_kind(own: &Value, zots: &Value) -> bool {
    own.get("type") == zots.get("type") && own.get("role") == zots.get("role")
}
