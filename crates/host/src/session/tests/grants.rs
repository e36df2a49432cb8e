//! Registrations beyond the grant.

use super::session_fixture::SessionFixture;

const GRANTED: &str = r#"{"tools":{"register":["weather"]},"events":["turn_end"],
    "intercept":[{"event":"tool_call","role":"gate","tools":["bash"]}]}"#;

fn registers(fixture: &mut SessionFixture) {
    fixture.line(r#"{"type":"register_tool","name":"weather"}"#);
    fixture.line(r#"{"type":"register_tool","name":"bash2"}"#);
    fixture.line(r#"{"type":"register_command","name":"weather"}"#);
    fixture.line(
        r#"{"type":"subscribe","events":["turn_end","tool_call"],"intercept":["turn_start",{"event":"tool_call","role":"gate"}]}"#,
    );
    fixture.line(r#"{"type":"ready"}"#);
}

#[test]
fn rejects_ungranted_registrations_and_keeps_the_rest() {
    let mut fixture = SessionFixture::granted(GRANTED);
    fixture.line(r#"{"type":"hello","name":"ext","capabilities":["register_rejected"]}"#);
    fixture.transcript.clear();
    registers(&mut fixture);
    insta::assert_snapshot!(fixture.transcript, @r#"
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
    let offers = fixture.session.offers();
    assert_eq!(offers.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["weather"]);
    assert_eq!(offers.events.iter().collect::<Vec<_>>(), ["turn_end"]);
    assert_eq!(offers.intercepts.len(), 1);
    assert!(offers.tool_calls.role_for("bash").is_some() && offers.tool_calls.role_for("edit").is_none());
    assert_eq!(offers.commands.len(), 1);
}

#[test]
fn shortcut_needs_the_permission_ui() {
    let mut fixture = SessionFixture::granted(GRANTED);
    fixture.line(r#"{"type":"hello","name":"ext","capabilities":["calls","register_rejected"]}"#);
    fixture.transcript.clear();
    fixture.line(r#"{"type":"register","kind":"shortcut","name":"ctrl+g"}"#);
    insta::assert_snapshot!(fixture.transcript, @r#"
    +0.000 ← {"type":"register","kind":"shortcut","name":"ctrl+g"}
    +0.000 ! register_rejected: shortcut "ctrl+g" is not granted: the permission ui is missing
    +0.000 → {"type":"register_rejected","what":"shortcut","name":"ctrl+g","permission":"ui","reason":"shortcut \"ctrl+g\" is not granted: the permission ui is missing"}
    "#);
    assert_eq!(fixture.session.offers().shortcuts, []);
}

#[test]
fn sends_no_rejection_frame_if_unsupported() {
    let mut fixture = SessionFixture::granted(GRANTED);
    fixture.line(r#"{"type":"hello","name":"ext"}"#);
    fixture.transcript.clear();
    registers(&mut fixture);
    assert!(!fixture.transcript.contains("→"), "{}", fixture.transcript);
    assert_eq!(fixture.faults(), ["register_rejected"; 4]);
}

#[test]
fn extension_without_permissions_may_register_everything() {
    let mut fixture = SessionFixture::new();
    fixture.line(r#"{"type":"hello","name":"ext"}"#);
    registers(&mut fixture);
    assert_eq!(fixture.faults(), [""; 0]);
    assert_eq!((fixture.session.offers().tools.len(), fixture.session.offers().intercepts.len()), (2, 2));
}
