//! Completions during typing: their deadline is short, and a failure does not end the extension.

use haft_protocol::ext::QueryCompletions;
use insta::assert_snapshot;

use super::bench::Bench;
use super::*;

fn typed(prefix: &str) -> QueryCompletions {
    QueryCompletions { name: "todo".into(), prefix: prefix.into() }
}

#[test]
fn accepts_timely_and_reports_late_completions() {
    let mut bench = Bench::ready();
    bench.ask("first", typed("d"), 1);
    bench.pass(Duration::from_millis(999));
    bench.line(r#"{"type":"command_completions_response","id":"r1","items":[{"value":"done 1"}]}"#);
    bench.ask("second", typed("do"), 1);
    bench.pass(Duration::from_secs(1));
    bench.line(r#"{"type":"command_completions_response","id":"r2"}"#);
    bench.ask("third", typed("don"), 1);
    bench.line(r#"{"type":"command_response","id":"r3"}"#);
    bench.line(r#"{"type":"command_completions_response","id":"r3","items":null}"#);
    assert_snapshot!(bench.transcript, @r#"
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
    let mut bench = Bench::ready();
    bench.ask("first", typed("d"), 1);
    bench.pass_unread(Duration::from_secs(1));
    assert_eq!((bench.session.is_closed(), bench.faults()), (false, vec!["call_timeout".to_owned()]));
    bench.ask("second", typed("d"), 1);
    bench.session.end("ended with status 1");
    bench.settle();
    assert!(bench.transcript.contains("= second: "), "{}", bench.transcript);
    assert_eq!(bench.faults(), ["exited"]);
}
