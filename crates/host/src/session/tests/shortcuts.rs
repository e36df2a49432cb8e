//! `register` and `unregister`.

use super::session_fixture::SessionFixture;

fn ready() -> SessionFixture {
    let mut fixture = SessionFixture::new();
    fixture.line(r#"{"type":"hello","name":"ext","capabilities":["calls"]}"#);
    fixture.line(r#"{"type":"ready"}"#);
    fixture.transcript.clear();
    fixture
}

#[test]
fn registrations_are_replaced_and_removed_by_name() {
    let mut fixture = ready();
    fixture.line(r#"{"type":"register","kind":"shortcut","name":"ctrl+g"}"#);
    fixture.line(r#"{"type":"register","kind":"shortcut","name":"ctrl+g","description":"Show the plan"}"#);
    fixture.line(r#"{"type":"register","kind":"shortcut","name":"f8"}"#);
    fixture.line(r#"{"type":"register_tool","name":"weather"}"#);
    fixture.line(r#"{"type":"register_command","name":"weather"}"#);
    for gone in [r#""shortcut","name":"f8""#, r#""tool","name":"weather""#, r#""command","name":"weather""#] {
        fixture.line(&format!(r#"{{"type":"unregister","kind":{gone}}}"#));
    }
    let offers = fixture.session.offers();
    let kept: Vec<_> =
        offers.shortcuts.iter().map(|kept| (kept.name.as_str(), kept.description.as_str())).collect();
    assert_eq!(kept, [("ctrl+g", "Show the plan")]);
    assert_eq!((offers.tools.len(), offers.commands.len()), (0, 0));
    assert_eq!(fixture.faults(), Vec::<String>::new());
}

#[test]
fn wrong_registrations_are_reported() {
    let mut fixture = ready();
    fixture.line(r#"{"type":"register","kind":"provider","name":"acme"}"#);
    fixture.line(r#"{"type":"register","kind":"shortcut","name":""}"#);
    fixture.line(r#"{"type":"unregister","kind":"shortcut","name":"f9"}"#);
    fixture.line(r#"{"type":"unregister","kind":"hook","name":"input"}"#);
    for key in 0..65 {
        fixture.line(&format!(r#"{{"type":"register","kind":"shortcut","name":"f{key}"}}"#));
    }
    let faults: Vec<&str> = fixture.transcript.lines().filter(|line| line.contains('!')).collect();
    insta::assert_snapshot!(faults.join("\n"), @r#"
    +0.000 ! register_rejected: cannot register a "provider"; the only kind is shortcut, and tools and commands have register_tool and register_command
    +0.000 ! register_rejected: shortcut "": a key is 1 to 64 printable ASCII characters
    +0.000 ! register_rejected: cannot unregister the shortcut "f9": it is not registered
    +0.000 ! register_rejected: cannot unregister a "hook"; use shortcut, tool or command
    +0.000 ! register_rejected: shortcut "f64": the extension already has 64 shortcuts, which is the limit
    "#);
    assert_eq!(fixture.session.offers().shortcuts.len(), 64);
}
