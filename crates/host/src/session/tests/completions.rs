//! Completions during typing: their deadline is short, and a failure does not end the extension.

use haft_protocol::ext::QueryCompletions;
use insta::assert_snapshot;

use super::session_fixture::SessionFixture;
use super::*;

fn typed(prefix: &str) -> QueryCompletions {
    QueryCompletions { name: "todo".into(), prefix: prefix.into() }
}

#[test]
fn accepts_timely_and_reports_late_completions() {
    let mut fixture = SessionFixture::ready();
    fixture.ask("first", typed("d"), 1);
    fixture.pass(Duration::from_millis(999));
    fixture.line(r#"{"type":"command_completions_response","id":"r1","items":[{"value":"done 1"}]}"#);
    fixture.ask("second", typed("do"), 1);
    fixture.pass(Duration::from_secs(1));
    fixture.line(r#"{"type":"command_completions_response","id":"r2"}"#);
    fixture.ask("third", typed("don"), 1);
    fixture.line(r#"{"type":"command_response","id":"r3"}"#);
    fixture.line(r#"{"type":"command_completions_response","id":"r3","items":null}"#);
    assert_snapshot!(fixture.transcript, @r#"
    +0.000 → {"type":"command_completions","id":"r1","name":"todo","prefix":"d"}
    +0.999 ← {"type":"command_completions_response","id":"r1","items":[{"value":"done 1"}]}
    +0.999 = first: Completions(CommandCompletionsResponse { id: RequestId("r1"), items: [CompletionItem { value: "done 1", label: "", description: "" }] })
    +0.999 → {"type":"command_completions","id":"r2","name":"todo","prefix":"do"}
    +1.999 ! call_timeout: second was not answered within 1 s
    +1.999 = second: did not answer within 1 s
    +1.999 ← {"type":"command_completions_response","id":"r2"}
    +1.999 · log: late_response: command_completions_response r2
    +1.999 → {"type":"command_completions","id":"r3","name":"todo","prefix":"don"}
    +1.999 ← {"type":"command_response","id":"r3"}
    +1.999 ! frame_invalid: third was answered with command_response instead of command_completions_response
    +1.999 ← {"type":"command_completions_response","id":"r3","items":null}
    +1.999 = third: Completions(CommandCompletionsResponse { id: RequestId("r3"), items: [] })
    "#);
}

#[test]
fn unread_completion_does_not_end_extension() {
    let mut fixture = SessionFixture::ready();
    fixture.ask("first", typed("d"), 1);
    fixture.pass_unread(Duration::from_secs(1));
    assert_eq!((fixture.session.is_closed(), fixture.faults()), (false, vec!["call_timeout".to_owned()]));
    fixture.ask("second", typed("d"), 1);
    fixture.session.end("ended with status 1");
    fixture.settle();
    assert!(fixture.transcript.contains("= second: "), "{}", fixture.transcript);
    assert_eq!(fixture.faults(), ["exited"]);
}
