//! The exact bytes of both sides. Shell hooks match them, so a change here is a change of the
//! protocol.

use std::collections::BTreeSet;

use haft_adapter_picoclaw::wire::{
    BOUNDS, Call, CallLine, HookQuestion, HookReply, HookResults, Method, read_reply,
};
use haft_protocol::codec::PlainSpan;
use serde_json::Value;

use super::samples;

const HOST: &str = include_str!("../../../fixtures/host.jsonl");
const HOOK: &str = include_str!("../../../fixtures/hook.jsonl");

#[track_caller]
pub(crate) fn line(text: &str) -> CallLine {
    CallLine::read(text.as_bytes(), BOUNDS).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn every_method_matches_the_fixture() {
    let lines = samples::lines();
    let methods: BTreeSet<_> = lines.iter().map(|line| line.call.method()).collect();
    assert_eq!(methods, Method::ALL.iter().copied().collect(), "methods without a sample");
    let written: String = lines.iter().map(|line| line.encode().unwrap()).collect();
    assert_eq!(written, HOST);
}

#[test]
fn written_lines_are_read_back() {
    for (text, sample) in HOST.lines().zip(samples::lines()) {
        assert_eq!(line(text), sample);
    }
}

#[test]
fn lines_fit_the_schema() {
    let schema = jsonschema::validator_for(schemars::schema_for!(CallLine).as_value()).unwrap();
    for text in HOST.lines() {
        let value: Value = serde_json::from_str(text).unwrap();
        if let Err(error) = schema.validate(&value) {
            panic!("{error}: {text}");
        }
    }
}

/// Returns the request of a reply, by its id.
fn asked(id: u64) -> CallLine {
    samples::lines().into_iter().find(|line| line.id == Some(id)).unwrap()
}

#[test]
fn every_reply_matches_the_fixture() {
    let written: String = samples::replies().iter().map(|reply| reply.encode().unwrap()).collect();
    assert_eq!(written, HOOK);
    for (text, sample) in HOOK.lines().zip(samples::replies()) {
        assert_eq!(read_reply(text.as_bytes(), BOUNDS, PlainSpan::default()).unwrap(), sample);
    }
}

#[test]
fn results_fit_the_schema_of_their_method() {
    let root = schemars::schema_for!(HookResults).to_value();
    for HookReply { id, outcome, .. } in samples::replies() {
        let Ok(result) = outcome else { continue };
        let method = asked(id).call.method().name();
        let mut schema = root["properties"][method].clone();
        assert!(schema.is_object(), "{method} has no schema of its result");
        schema["$defs"] = root["$defs"].clone();
        let schema = jsonschema::validator_for(&schema).unwrap();
        if let Err(error) = schema.validate(&result.read::<Value>().unwrap()) {
            panic!("{error}: {result}");
        }
    }
}

#[test]
fn invalid_call_is_rejected_with_its_id() {
    let check = |text: &str, expect: (Option<u64>, &str)| {
        let unread = CallLine::read(text.as_bytes(), BOUNDS).unwrap_err();
        assert_eq!((unread.id, unread.detail.as_str()), expect, "{text}");
    };
    check(r#"{"jsonrpc":"2.0","id":7,"method":"hook.later"}"#, (Some(7), "unknown method \"hook.later\""));
    check(r#"{"jsonrpc":"2.0","id":7}"#, (Some(7), "no method"));
    check(r#"{"id":7,"method":5}"#, (Some(7), "no method"));
    check("[]", (None, "a frame is a JSON object"));
    check(
        r#"{"id":7,"method":"hook.before_tool","params":{"arguments":[]}}"#,
        (Some(7), "hook.before_tool: params: arguments: expected a JSON object"),
    );
    check(
        r#"{"method":"hook.event","params":{"Kind":"nap"}}"#,
        (None, "hook.event: params: Kind: \"nap\" is not a kind of event"),
    );
}

#[track_caller]
fn check_borrowed<Q: HookQuestion + Clone + Into<Call>>(question: &Q) {
    assert_eq!(
        CallLine::encode_question(7, question).unwrap(),
        CallLine::request(7, question.clone()).encode().unwrap()
    );
}

#[test]
fn borrowed_call_encodes_to_the_same_line() {
    check_borrowed(&samples::before_llm());
    check_borrowed(&samples::after_llm());
    check_borrowed(&samples::before_tool());
    check_borrowed(&samples::after_tool());
    check_borrowed(&samples::approve_tool());
}
