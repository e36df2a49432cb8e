//! A gate, a tool and a rewrite handle the same bytes on every path.

use haft_core::hooks::ToolDecision;
use haft_core::tool::ToolContext;
use haft_host::Host;
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ToolCallId;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

use crate::support::{Events, builder, tool};

/// Arguments as a model may write them, and as all receivers see them: spaces between tokens and line ends
/// are normalized.
const WRITTEN: &str = "{ \"n\" : [9007199254740993, 123456789012345678901234567890, 1E2, -0, 0.10],\n \"z\": \"a\u{2028}\\u0062\", \"a\": null }";
const SEEN: &str =
    r#"{"n":[9007199254740993,123456789012345678901234567890,1E2,-0,0.10],"z":"a\u2028\u0062","a":null}"#;

/// An extension whose lines are not parsed by the test.
struct Raw {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Raw {
    async fn start(events: &Events) -> (Host, Self) {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let ((reader, writer), (far_reader, far_writer)) = (tokio::io::split(near), tokio::io::split(far));
        let mut raw = Self { lines: BufReader::new(far_reader).lines(), writer: far_writer };
        raw.say(r#"{"type":"hello","name":"raw"}"#).await;
        raw.say(r#"{"type":"register_tool","name":"t","schema":{"type":"object"}}"#).await;
        raw.say(r#"{"type":"subscribe","intercept":["tool_call"]}"#).await;
        raw.say(r#"{"type":"ready"}"#).await;
        let host = builder(events).streams("raw", reader, writer).start().await;
        raw.lines.next_line().await.unwrap().unwrap();
        (host, raw)
    }

    async fn say(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Answers the next query with these fields and returns its line.
    async fn answer(&mut self, kind: &str, fields: &str) -> String {
        let line = self.lines.next_line().await.unwrap().unwrap();
        let id = serde_json::from_str::<Value>(&line).unwrap()["id"].take();
        self.say(&format!(r#"{{"type":"{kind}","id":{id}{fields}}}"#)).await;
        line
    }
}

fn call(args: &str) -> ToolCall {
    ToolCall { id: ToolCallId::new("t1"), name: "t".into(), args: RawJson::parse(args).unwrap() }
}

#[tokio::test(start_paused = true)]
async fn gate_and_tool_receive_same_bytes() {
    let (host, mut raw) = Raw::start(&Events::default()).await;
    let hooks = host.hook_source().hooks().before_tool_execute;
    let (cancel, call) = (CancellationToken::new(), call(WRITTEN));
    let rewrite = format!(r#","modified_args":{WRITTEN}"#).replace('\n', " ");
    let asked = hooks[0].before_tool_execute(&cancel, &call);
    let (decision, guarded) = tokio::join!(asked, raw.answer("event_intercept_response", &rewrite));
    assert!(guarded.ends_with(&format!(r#""tool_args":{SEEN}}}"#)), "{guarded}");
    let ToolDecision::Rewrite { args, .. } = decision else { panic!("{decision:?}") };
    assert_eq!(args.as_str(), SEEN);
    let (context, call) = (ToolContext::new(cancel, |_| {}), ToolCall { args, ..call });
    let tool = tool(&host, "t");
    let (_, called) = tokio::join!(tool.execute(context, call), raw.answer("tool_result", ""));
    assert!(called.ends_with(&format!(r#""args":{SEEN}}}"#)), "{called}");
}

#[test]
fn rejects_ambiguous_arguments() {
    for text in [
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"a":{"b":1,"b":2}}"#,
        r#"{"n":1e400}"#,
        r#"{"n":NaN}"#,
        r#"{"n":-Infinity}"#,
        r#"{"s":"\ud800"}"#,
        "{\"s\":\"\0\"}",
        r#"{} {}"#,
    ] {
        assert!(RawJson::parse(text).is_err(), "{text}");
    }
}
