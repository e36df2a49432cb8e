//! Registrations beyond the grant.

use super::bench::Bench;

const GRANTED: &str = r#"{"tools":{"register":["weather"]},"events":["turn_end"],
    "intercept":[{"event":"tool_call","role":"gate","tools":["bash"]}]}"#;

fn registers(bench: &mut Bench) {
    bench.line(r#"{"type":"register_tool","name":"weather"}"#);
    bench.line(r#"{"type":"register_tool","name":"bash2"}"#);
    bench.line(r#"{"type":"register_command","name":"weather"}"#);
    bench.line(
        r#"{"type":"subscribe","events":["turn_end","tool_call"],"intercept":["turn_start",{"event":"tool_call","role":"gate"}]}"#,
    );
    bench.line(r#"{"type":"ready"}"#);
}

#[test]
fn rejects_ungranted_registrations_and_keeps_the_rest() {
    let mut bench = Bench::granted(GRANTED);
    bench.line(r#"{"type":"hello","name":"ext","capabilities":["register_rejected"]}"#);
    bench.transcript.clear();
    registers(&mut bench);
    insta::assert_snapshot!(bench.transcript, @r#"
    +0.000 ← {"type":"register_tool","name":"weather"}
    +0.000 · Starting
    +0.000 ← {"type":"register_tool","name":"bash2"}
    +0.000 ! register_rejected: tool "bash2" is not granted: its permissions name no such tool
    +0.000 → {"type":"register_rejected","what":"tool","name":"bash2","permission":"tools.register","reason":"tool \"bash2\" is not granted: its permissions name no such tool"}
    +0.000 ← {"type":"register_command","name":"weather"}
    +0.000 · Starting
    +0.000 ← {"type":"subscribe","events":["turn_end","tool_call"],"intercept":["turn_start",{"event":"tool_call","role":"gate"}]}
    +0.000 ! register_rejected: event "tool_call" is not granted: its permissions do not name it
    +0.000 → {"type":"register_rejected","what":"event","name":"tool_call","permission":"events","reason":"event \"tool_call\" is not granted: its permissions do not name it"}
    +0.000 ! register_rejected: intercept turn_start is not granted: its permissions do not name it
    +0.000 → {"type":"register_rejected","what":"intercept","name":"turn_start","permission":"intercept","reason":"intercept turn_start is not granted: its permissions do not name it"}
    +0.000 ! register_rejected: intercept tool_call as gate is granted for these tools only: bash
    +0.000 → {"type":"register_rejected","what":"intercept","name":"tool_call","permission":"intercept","reason":"intercept tool_call as gate is granted for these tools only: bash"}
    +0.000 · Starting
    +0.000 ← {"type":"ready"}
    +0.000 · Ready
    "#);
    let offers = bench.session.offers();
    assert_eq!(offers.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["weather"]);
    assert_eq!(offers.events.iter().collect::<Vec<_>>(), ["turn_end"]);
    assert_eq!(offers.intercepts.len(), 1);
    assert!(offers.tool_calls.role_for("bash").is_some() && offers.tool_calls.role_for("edit").is_none());
    assert_eq!(offers.commands.len(), 1);
}

#[test]
fn sends_no_rejection_frame_if_unsupported() {
    let mut bench = Bench::granted(GRANTED);
    bench.line(r#"{"type":"hello","name":"ext"}"#);
    bench.transcript.clear();
    registers(&mut bench);
    assert!(!bench.transcript.contains("→"), "{}", bench.transcript);
    assert_eq!(bench.faults(), ["register_rejected"; 4]);
}

#[test]
fn extension_without_permissions_may_register_everything() {
    let mut bench = Bench::new();
    bench.line(r#"{"type":"hello","name":"ext"}"#);
    registers(&mut bench);
    assert_eq!(bench.faults(), [""; 0]);
    assert_eq!((bench.session.offers().tools.len(), bench.session.offers().intercepts.len()), (2, 2));
}
