//! Unusual lines: large, odd, unknown, broken.

use std::sync::{Arc, Mutex};

use haft_sdk::testing::{Harness, host_info};
use haft_sdk::{
    Extension, Host, HostInfo, NoArgs, NoteLevel, RawJson, RegisterRejected, Response, ToolCallDecision,
    ToolResult,
};
use serde_json::json;

const MIB: usize = 1024 * 1024;

fn extension() -> Extension {
    let object = json!({"type": "object"});
    Extension::new("frames", "1.0.0")
        .raw_tool("size", "", object.clone(), |args: RawJson, _| async move {
            ToolResult::text(args.as_str().len().to_string())
        })
        .raw_tool("fill", "", object, |args: RawJson, _| async move {
            let bytes: usize = args.read::<serde_json::Value>().unwrap()["bytes"].as_u64().unwrap() as usize;
            ToolResult::text("x".repeat(bytes))
        })
        .tool("image", "", |_: NoArgs, _| async {
            ToolResult::image("image/png", [0, 1, 254, 255]).with_text("dots")
        })
        .command("fill", "", |_, _| async { Response::display("x".repeat(2 * MIB)) })
        .command("shout", "", |_, host: Host| async move {
            host.notify(NoteLevel::Info, "x".repeat(2 * MIB));
            Response::noop()
        })
        .intercept_tool_call(|call, _| async move {
            if call.tool_name == "bash" { ToolCallDecision::block("no") } else { ToolCallDecision::allow() }
        })
}

#[tokio::test]
async fn frames_of_eight_mebibytes_pass() {
    let harness = Harness::start(extension()).await;
    let text = "y".repeat(8 * MIB - 200);
    assert_eq!(
        harness.tool("size", json!({"t": text})).await,
        ToolResult::text((text.len() + 8).to_string())
    );
    let result = harness.tool("fill", json!({"bytes": 8 * MIB - 200})).await;
    assert_eq!(result.joined_text().len(), 8 * MIB - 200);
}

#[tokio::test]
async fn oversized_response_becomes_an_error() {
    let harness = Harness::start(extension()).await;
    let result = harness.tool("fill", json!({"bytes": 9 * MIB})).await;
    let expect = "tool_result of 9437253 bytes is longer than the host's limit of 8388608";
    assert_eq!(result, ToolResult::error(expect));
    let expect = "command_response of 2097220 bytes is longer than the host's limit of 1048576";
    assert_eq!(harness.command("fill", "").await, Response::error(expect));
    assert_eq!(harness.command("shout", "").await, Response::noop());
    assert_eq!(harness.notes(), [], "the note went to the log");
}

#[tokio::test]
async fn limits_come_from_the_host() {
    let limits = haft_protocol::ext::Limits { max_result_line: 200, ..Default::default() };
    let harness =
        Harness::start_with(extension(), HostInfo { limits: Some(Box::new(limits)), ..host_info() }).await;
    assert!(!harness.tool("fill", json!({"bytes": 50})).await.is_error());
    assert!(harness.tool("fill", json!({"bytes": 200})).await.is_error());
}

#[tokio::test]
async fn sandbox_level_is_available() {
    for level in [None, Some("strict".to_owned())] {
        let extension =
            Extension::new("told", "1.0.0").tool("level", "", |_: NoArgs, host: Host| async move {
                ToolResult::text(format!("{:?}", host.sandbox().await))
            });
        let info = HostInfo { sandbox: level.clone(), ..host_info() };
        let harness = Harness::start_with(extension, info).await;
        assert_eq!(harness.tool("level", json!({})).await, ToolResult::text(format!("{level:?}")));
    }
}

#[tokio::test]
async fn grants_and_rejections_are_available() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    let extension = Extension::new("told", "1.0.0")
        .tool("granted", "", |_: NoArgs, host: Host| async move {
            ToolResult::text(
                host.granted_permissions()
                    .await
                    .map_or_else(String::new, |granted| granted.as_str().to_owned()),
            )
        })
        .on_rejected(move |rejected, _| {
            let log = Arc::clone(&log);
            async move { log.lock().unwrap().push(format!("{}: {}", rejected.permission, rejected.name)) }
        });
    let granted = RawJson::parse(r#"{"net":"none"}"#).unwrap();
    let harness = Harness::start_with(extension, HostInfo { granted: Some(granted), ..host_info() }).await;
    assert!(harness.transcript().contains(
        r#""capabilities":["tools","ping","host_services","register_rejected","tools_2","progress","calls","cancel"]"#
    ));
    assert_eq!(harness.tool("granted", json!({})).await, ToolResult::text(r#"{"net":"none"}"#));
    let (what, name) = ("tool".to_owned(), "bash".to_owned());
    let (permission, reason) = ("tools.register".to_owned(), "not granted".to_owned());
    harness.reject_registration(RegisterRejected { what, name, permission, reason }).await;
    assert_eq!(*told.lock().unwrap(), ["tools.register: bash"]);
}

#[tokio::test]
async fn images_are_encoded() {
    let harness = Harness::start(extension()).await;
    harness.tool("image", json!({})).await;
    let transcript = harness.transcript();
    let last = transcript.lines().last().unwrap();
    insta::assert_snapshot!(last, @r#"← {"type":"tool_result","id":"1","content":[{"type":"image","mime_type":"image/png","data":"AAH+/w=="},{"type":"text","text":"dots"}]}"#);
}

#[tokio::test]
async fn unusual_lines_are_harmless() {
    let harness = Harness::start(extension()).await;
    let opening = harness.transcript().len();
    for line in [
        r#"{"type":"from_the_future","id":"1","args":{}}"#,
        r#"{"no":"type"}"#,
        "not json",
        "",
        r#"["hello","x"]"#,
        r#"{"type":"tool_call","id":"2","name":"size"}"#,
        r#"{"type":"tool_call","id":"3","name":"size","args":{"a":1,"a":2}}"#,
        r#"{"type":"command_invoked","id":"4"}"#,
        r#"{"type":"event_intercept","id":"5","event":"tool_call","tool_id":"t","tool_name":"bash"}"#,
        r#"{"type":"event_intercept","id":"6","event":"turn_start"}"#,
        r#"{"type":"event_intercept","id":"7","event":"from_the_future"}"#,
        r#"{"type":"event_intercept","id":8,"event":"tool_call"}"#,
        r#"{"type":"command_invoked","id":"9","name":"shout","extra":true} "#,
        "{\"type\":\"tool_call\",\"id\":\"10\",\"name\":\"size\",\"args\":{\"s\":\"\u{2028}\u{85}\"}}\r",
    ] {
        harness.send_line(line).await;
    }
    insta::assert_snapshot!(&harness.shutdown().await[opening + 1..], @r#"
    → {"type":"from_the_future","id":"1","args":{}}
    → {"no":"type"}
    → not json
    → 
    → ["hello","x"]
    → {"type":"tool_call","id":"2","name":"size"}
    → {"type":"tool_call","id":"3","name":"size","args":{"a":1,"a":2}}
    → {"type":"command_invoked","id":"4"}
    → {"type":"event_intercept","id":"5","event":"tool_call","tool_id":"t","tool_name":"bash"}
    → {"type":"event_intercept","id":"6","event":"turn_start"}
    → {"type":"event_intercept","id":"7","event":"from_the_future"}
    → {"type":"event_intercept","id":8,"event":"tool_call"}
    → {"type":"command_invoked","id":"9","name":"shout","extra":true} 
    → {"type":"tool_call","id":"10","name":"size","args":{"s":" "}}
    → {"type":"shutdown"}
    ← {"type":"tool_result","id":"2","content":[{"type":"text","text":"request cannot be read: bad \"tool_call\" frame: missing field `args`"}],"is_error":true}
    ← {"type":"tool_result","id":"3","content":[{"type":"text","text":"request cannot be read: key \"a\" occurs twice in one object"}],"is_error":true}
    ← {"type":"command_response","id":"4","action":"noop","error":"request cannot be read: bad \"command_invoked\" frame: missing field `name`"}
    ← {"type":"event_intercept_response","id":"5","block":true,"reason":"request cannot be read: bad \"event_intercept\" frame: missing field `tool_args`","error":"request cannot be read: bad \"event_intercept\" frame: missing field `tool_args`"}
    ← {"type":"event_intercept_response","id":"6"}
    ← {"type":"event_intercept_response","id":"7"}
    ← {"type":"command_response","id":"9","action":"noop"}
    ← {"type":"tool_result","id":"10","content":[{"type":"text","text":"20"}]}
    ← {"type":"shutdown_ack"}
    "#);
}
