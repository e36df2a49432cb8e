//! The exact bytes of both sides. Shell clients match them, so a change here is a change of the
//! protocol.

use std::collections::BTreeSet;
use std::path::Path;

use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{
    BOUNDS, ClientEvent, CommandKind, ErrorCode, EventLine, ReplyData, RpcEvent, RpcRequest, RpcResponse,
    ServerLine, read_request,
};
use serde_json::Value;

use super::samples;

/// Returns the content of the file; `HAFT_UPDATE_FIXTURES` in the environment rewrites it first.
fn fixture(name: &str, lines: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rpc").join(name);
    if std::env::var_os("HAFT_UPDATE_FIXTURES").is_some() {
        std::fs::write(&path, lines).unwrap();
    }
    std::fs::read_to_string(path).unwrap()
}

fn client() -> String {
    samples::requests().iter().map(|request| request.encode().unwrap()).collect()
}

fn server() -> String {
    let replies = samples::replies().into_iter().map(|reply| reply.encode().unwrap());
    replies.chain(samples::events().into_iter().map(|event| event.encode().unwrap())).collect()
}

#[test]
fn every_command_round_trips_through_the_fixture() {
    let lines = client();
    assert_eq!(lines, fixture("client.jsonl", &lines));
    for (text, sample) in lines.lines().zip(samples::requests()) {
        assert_eq!(read_request(text.as_bytes(), BOUNDS), Ok(sample), "{text}");
    }
    let kinds: BTreeSet<_> = samples::requests().iter().map(|request| request.command.kind()).collect();
    assert_eq!(kinds, CommandKind::ALL.iter().copied().collect(), "commands without a sample");
}

#[test]
fn every_reply_and_event_matches_the_fixture() {
    let lines = server();
    assert_eq!(lines, fixture("server.jsonl", &lines));
    for (text, sample) in lines.lines().zip(samples::replies()) {
        assert_eq!(serde_json::from_str::<RpcResponse>(text).unwrap(), sample, "{text}");
    }
}

/// Removes the data of images, which events do not have.
fn without_image_data(mut event: EventLine) -> EventLine {
    use haft_protocol::content::ContentBlock;
    if let ClientEvent::Agent(
        AgentEvent::UserMessage { content, .. }
        | AgentEvent::CustomMessage { content, .. }
        | AgentEvent::ToolResult { content, .. }
        | AgentEvent::HostCallEnd { content, .. },
    ) = &mut event.event
    {
        for block in content {
            if let ContentBlock::Image(image) = block {
                image.data = "".into();
            }
        }
    }
    event
}

#[test]
fn client_reads_every_line_of_a_server() {
    let replies = samples::replies().into_iter().map(ServerLine::Reply);
    let events = samples::events().into_iter().map(|event| ServerLine::Event(without_image_data(event)));
    for (text, sample) in server().lines().zip(replies.chain(events)) {
        assert_eq!(ServerLine::decode(text).unwrap(), sample, "{text}");
    }
}

#[test]
fn client_reads_arguments_without_a_loss() {
    let text = r#"{"type":"tool_call","id":"t","name":"f","args":{"b":12345678901234567890123,"a":1.50}}"#;
    let ServerLine::Event(line) = ServerLine::decode(text).unwrap() else { panic!("a reply") };
    let ClientEvent::Agent(AgentEvent::ToolCall { args, .. }) = line.event else { panic!("another event") };
    assert_eq!(args.as_str(), r#"{"b":12345678901234567890123,"a":1.50}"#);
}

#[test]
fn client_learns_the_mistake_of_a_line() {
    for (text, expect) in [
        ("[]", "expected struct"),
        (r#"{"delta":"Hi"}"#, "missing field `type`"),
        (r#"{"type":"text_delta"}"#, "missing field `delta`"),
        (r#"{"type":"panel_close","extension":3,"panel_id":"p"}"#, "invalid type: integer"),
    ] {
        let error = ServerLine::decode(text).unwrap_err().to_string();
        assert!(error.contains(expect), "{text}: {error}");
    }
}

#[test]
fn every_event_has_a_sample() {
    let kinds: BTreeSet<String> = samples::events()
        .iter()
        .map(|event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    let mut expect = kinds_of(&schemars::schema_for!(AgentEvent));
    expect.extend(kinds_of(&schemars::schema_for!(RpcEvent)));
    assert_eq!(kinds, expect);
}

fn kinds_of(schema: &schemars::Schema) -> BTreeSet<String> {
    let branches = schema.get("oneOf").and_then(Value::as_array).unwrap().iter();
    branches.map(|branch| branch["properties"]["type"]["const"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn fits(schema: &Value, lines: impl Iterator<Item = Value>) {
    let schema = jsonschema::validator_for(schema).unwrap();
    for value in lines {
        if let Err(error) = schema.validate(&value) {
            panic!("{error}: {value}");
        }
    }
}

#[test]
fn lines_fit_their_schema() {
    let values = |lines: String| -> Vec<Value> {
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    fits(schemars::schema_for!(RpcRequest).as_value(), values(client()).into_iter());
    let (replies, events): (Vec<_>, Vec<_>) =
        values(server()).into_iter().partition(|value| value["type"] == "response");
    fits(schemars::schema_for!(RpcResponse).as_value(), replies.into_iter());
    fits(schemars::schema_for!(EventLine).as_value(), events.into_iter());
}

#[test]
fn data_fits_the_schema_of_its_command() {
    let root = schemars::schema_for!(ReplyData).to_value();
    for RpcResponse { command, outcome, .. } in samples::replies() {
        let Ok(data) = outcome else { continue };
        let mut schema = root["properties"][&command].clone();
        assert!(schema.is_object(), "{command} has no schema of its data");
        schema["$defs"] = root["$defs"].clone();
        let data = data.read().unwrap();
        fits(&schema, std::iter::once(data));
    }
}

#[test]
fn lines_contain_no_line_ends() {
    for line in client().lines().chain(server().lines()) {
        assert!(!line.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')), "{line}");
    }
}

#[test]
fn every_code_is_written_as_its_name() {
    let words: Vec<String> = ErrorCode::ALL.iter().map(ToString::to_string).collect();
    let schema = schemars::schema_for!(ErrorCode).to_value();
    let consts: Vec<&str> =
        schema["oneOf"].as_array().unwrap().iter().map(|branch| branch["const"].as_str().unwrap()).collect();
    assert_eq!(words, consts);
    assert_eq!(serde_json::from_str::<ErrorCode>("\"of_tomorrow\"").unwrap(), ErrorCode::Failed);
}

#[test]
fn debug_hides_the_token() {
    let shown = format!("{:?}", samples::requests());
    assert!(!shown.contains("s3cret") && shown.contains("Token(…)"), "{shown}");
}
