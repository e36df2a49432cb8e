//! A whole conversation on the wire.

use std::path::PathBuf;

use haft_sdk::testing::{Harness, host_info};
use haft_sdk::{
    AssistantMessageDecision, BeforeAgentStartDecision, Extension, Host, HostInfo, LifecycleEvent, NoArgs,
    NoteLevel, Panel, PanelEvent, RawJson, RegistrationKind, Response, SpanColor, StyledSpan,
    ToolCallDecision, ToolResult, TurnStartDecision,
};
use serde_json::json;

/// An extension with one registration of each kind.
fn everything() -> Extension {
    Extension::new("all", "1.2.3")
        .command("hello", "say hi", |args, _host| async move { Response::prompt(format!("Greet {args}.")) })
        .command("board", "open the board", |_, _| async {
            Response::open_panel(Panel::new("board").title("Board").lines(["one", "two"]).footer("esc close"))
        })
        .tool("now", "The time.", |_: NoArgs, _| async { ToolResult::text("noon").with_text("sharp") })
        .guideline("now", "Ask `now` for the time.")
        .raw_tool("echo", "Its arguments.", json!({"type": "object"}), |args: RawJson, _| async move {
            ToolResult::text(args.as_str())
        })
        .on_event("turn_end", |event, host: Host| async move {
            host.notify(NoteLevel::Info, format!("stopped: {:?}", event.stop));
        })
        .on_event("session_start", |_, host: Host| async move {
            host.clear_notes();
            host.set_status("mood", "fine");
        })
        .intercept_tool_call(|call, _| async move {
            match call.tool_name.as_str() {
                "bash" => ToolCallDecision::block("no shell today"),
                "ls" => ToolCallDecision::rewrite(json!({"path": "."})),
                _ => ToolCallDecision::allow(),
            }
        })
        .intercept_turn_start(|turn, _| async move {
            if turn.step > 9 { TurnStartDecision::block("enough") } else { TurnStartDecision::allow() }
        })
        .intercept_assistant_message(|message, _| async move {
            AssistantMessageDecision::replace(message.text.replace("SECRET", "[redacted]"))
        })
        .before_agent_start(|_, _| async { BeforeAgentStartDecision::append("Use `now`.") })
        .panel("board", |event, host: Host| async move {
            match &event {
                PanelEvent::Key(key) if key.key == "x" => host.close_panel("board"),
                PanelEvent::Key(_) | PanelEvent::Resized { .. } | PanelEvent::Closed => {
                    host.render_panel(Panel::new("board").lines([format!("{event:?}")]));
                }
            }
        })
}

#[tokio::test]
async fn extension_registers_everything_before_ready() {
    let harness = Harness::start(everything()).await;
    insta::assert_snapshot!(harness.transcript(), @r#"
    ← {"type":"hello","name":"all","version":"1.2.3","capabilities":["commands","tools","events","panels","panel_resize","before_agent_start","ping","event_gap","hooks_2","host_services","tools_2","progress","calls","cancel"]}
    ← {"type":"register_command","name":"hello","description":"say hi"}
    ← {"type":"register_command","name":"board","description":"open the board"}
    ← {"type":"register_tool","name":"now","description":"The time.","schema":{"type":"object","properties":{}},"guidelines":["Ask `now` for the time."]}
    ← {"type":"register_tool","name":"echo","description":"Its arguments.","schema":{"type":"object"}}
    ← {"type":"subscribe","events":["session_start","turn_end"],"intercept":["tool_call","turn_start","assistant_message","before_agent_start"]}
    ← {"type":"ready"}
    → {"type":"hello_ack","protocol_version":1,"zot_version":"0.0.0","haft_version":"0.0.0","provider":"scripted","model":"scripted","cwd":"/work","data_dir":"[data_dir]","capabilities":["before_agent_start","tool_result","input","before_settle","context","message_end","before_provider_request","user_bash","before_switch","before_fork","before_tree","resources","approve","project_trust","panel_resize","intercept_roles","host_services","models","files","asks","shows","session","bus","status","command_completions","tools_2","cancel","progress","events_2","mirror","hooks_2","calls"]}
    "#);
}

#[tokio::test]
async fn styled_status_also_has_the_plain_text() {
    let extension = Extension::new("todo", "1.0.0").command("open", "", |_, host: Host| async move {
        let count = StyledSpan::new("3").with_color(SpanColor::Warning).with_bold();
        host.set_styled_status("open", [count, StyledSpan::new(" open")]);
        Response::noop()
    });
    let harness = Harness::start(extension).await;
    assert_eq!(harness.command("open", "").await, Response::noop());
    let line = r#"{"type":"set_status","key":"open","text":"3 open","styled":[{"text":"3","fg":"warning","bold":true},{"text":" open"}]}"#;
    assert!(harness.transcript().contains(line), "{}", harness.transcript());
}

#[tokio::test]
async fn handlers_answer_queries() {
    let harness = Harness::start(everything()).await;
    let opening = harness.transcript().len();
    assert_eq!(harness.command("hello", "Ada").await, Response::prompt("Greet Ada."));
    assert_eq!(harness.tool("now", json!({})).await, ToolResult::text("noon").with_text("sharp"));
    assert_eq!(harness.tool("echo", json!({"b": 1, "a": 2})).await, ToolResult::text(r#"{"b":1,"a":2}"#));
    assert_eq!(
        harness.intercept_tool_call("bash", json!({})).await,
        ToolCallDecision::block("no shell today")
    );
    let rewritten = ToolCallDecision::rewrite(json!({"path": "."}));
    assert_eq!(harness.intercept_tool_call("ls", json!({})).await, rewritten);
    assert_eq!(harness.intercept_tool_call("read", json!({})).await, ToolCallDecision::Allow);
    assert_eq!(harness.turn_start(10).await, TurnStartDecision::block("enough"));
    assert_eq!(
        harness.assistant_message("a SECRET").await,
        AssistantMessageDecision::replace("a [redacted]")
    );
    assert_eq!(
        harness.before_agent_start("hi", "You are").await,
        BeforeAgentStartDecision::append("Use `now`.")
    );
    insta::assert_snapshot!(&harness.shutdown().await[opening + 1..], @r#"
    → {"type":"command_invoked","id":"1","name":"hello","args":"Ada"}
    ← {"type":"command_response","id":"1","action":"prompt","prompt":"Greet Ada."}
    → {"type":"tool_call","id":"2","name":"now","args":{},"tool_id":"call-1"}
    ← {"type":"tool_result","id":"2","content":[{"type":"text","text":"noon"},{"type":"text","text":"sharp"}]}
    → {"type":"tool_call","id":"3","name":"echo","args":{"b":1,"a":2},"tool_id":"call-1"}
    ← {"type":"tool_result","id":"3","content":[{"type":"text","text":"{\"b\":1,\"a\":2}"}]}
    → {"type":"event_intercept","id":"4","event":"tool_call","tool_id":"call-1","tool_name":"bash","tool_args":{}}
    ← {"type":"event_intercept_response","id":"4","block":true,"reason":"no shell today"}
    → {"type":"event_intercept","id":"5","event":"tool_call","tool_id":"call-1","tool_name":"ls","tool_args":{}}
    ← {"type":"event_intercept_response","id":"5","modified_args":{"path":"."}}
    → {"type":"event_intercept","id":"6","event":"tool_call","tool_id":"call-1","tool_name":"read","tool_args":{}}
    ← {"type":"event_intercept_response","id":"6"}
    → {"type":"event_intercept","id":"7","event":"turn_start","step":10}
    ← {"type":"event_intercept_response","id":"7","block":true,"reason":"enough"}
    → {"type":"event_intercept","id":"8","event":"assistant_message","text":"a SECRET"}
    ← {"type":"event_intercept_response","id":"8","replace_text":"a [redacted]"}
    → {"type":"event_intercept","id":"9","event":"before_agent_start","prompt":"hi","system_prompt":"You are"}
    ← {"type":"event_intercept_response","id":"9","append_system_prompt":"Use `now`."}
    → {"type":"shutdown"}
    ← {"type":"shutdown_ack"}
    "#);
}

#[tokio::test]
async fn handlers_draw_panels_and_send_notes() {
    let harness = Harness::start(everything()).await;
    assert_eq!(harness.panel("board"), None);
    harness.command("board", "").await;
    assert_eq!(harness.panel("board").unwrap().lines, ["one", "two"]);
    harness.panel_resize("board", 80, 24).await;
    let resized = harness.panel("board").unwrap();
    assert_eq!(
        (resized.title.as_str(), &*resized.lines),
        ("Board", &["Resized { width: 80, height: 24 }".to_owned()][..])
    );
    harness.panel_text("board", "é").await;
    assert!(harness.panel("board").unwrap().lines[0].contains("\"é\""));
    harness.panel_close("board").await;
    assert_eq!(harness.panel("board").unwrap().lines, ["Closed"]);
    harness.panel_key("board", "x").await;
    assert_eq!(harness.panel("board"), None);

    harness.event(LifecycleEvent::turn_end(haft_protocol::message::StopCause::End, None)).await;
    assert_eq!(harness.notes(), [(NoteLevel::Info, "stopped: Some(End)".to_owned())]);
    harness.event(LifecycleEvent::session_start()).await;
    assert_eq!(harness.notes(), []);
}

#[tokio::test]
async fn command_removes_a_tool() {
    let extension = everything().command("quiet", "take the clock away", |_, host: Host| async move {
        host.remove_registration(RegistrationKind::Tool, "now");
        Response::noop()
    });
    let harness = Harness::start(extension).await;
    harness.command("quiet", "").await;
    assert!(harness.transcript().contains(r#"← {"type":"unregister","kind":"tool","name":"now"}"#));
}

#[tokio::test]
async fn empty_extension_sends_hello_and_ready() {
    let harness = Harness::start(Extension::new("quiet", "0.1.0")).await;
    insta::assert_snapshot!(harness.hang_up().await, @r#"
    ← {"type":"hello","name":"quiet","version":"0.1.0","capabilities":["ping","host_services","progress","calls"]}
    ← {"type":"ready"}
    → {"type":"hello_ack","protocol_version":1,"zot_version":"0.0.0","haft_version":"0.0.0","provider":"scripted","model":"scripted","cwd":"/work","data_dir":"[data_dir]","capabilities":["before_agent_start","tool_result","input","before_settle","context","message_end","before_provider_request","user_bash","before_switch","before_fork","before_tree","resources","approve","project_trust","panel_resize","intercept_roles","host_services","models","files","asks","shows","session","bus","status","command_completions","tools_2","cancel","progress","events_2","mirror","hooks_2","calls"]}
    "#);
}

#[tokio::test]
async fn host_information_reaches_handlers() {
    let extension = || {
        Extension::new("facts", "1.0.0").command("facts", "", |_, host| async move {
            Response::display(format!("{} {}", host.info().await.model, host.data_dir().await.display()))
        })
    };
    #[track_caller]
    fn with(extension_dir: Option<&str>, data_dir: Option<&str>) -> HostInfo {
        let owned = |dir: Option<&str>| dir.map(str::to_owned);
        HostInfo { extension_dir: owned(extension_dir), data_dir: owned(data_dir), ..host_info() }
    }
    for (info, expect) in [
        (with(Some("/ext"), Some("/data")), "scripted /data"),
        (with(Some("/ext"), None), "scripted /ext"),
        (with(None, None), "scripted ."),
    ] {
        let harness = Harness::start_with(extension(), info).await;
        assert_eq!(harness.command("facts", "").await, Response::display(expect));
    }
    let harness = Harness::start_in(extension(), PathBuf::from("/state")).await;
    assert_eq!(harness.command("facts", "").await, Response::display("scripted /state"));
}

#[tokio::test]
async fn host_of_another_version_is_rejected() {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    let serving = tokio::spawn(Extension::new("old", "1.0.0").serve_on(reader, writer));
    let line = b"{\"type\":\"hello_ack\",\"protocol_version\":2,\"zot_version\":\"9\",\"provider\":\"\",\"model\":\"\",\"cwd\":\"/\"}\n";
    let mut ours = ours;
    tokio::io::AsyncWriteExt::write_all(&mut ours, line).await.unwrap();
    let error = serving.await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "host speaks protocol version 2, this SDK speaks 1; update the older of the two"
    );
}

#[test]
fn serving_and_handles_can_move_between_threads() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    drop(is_send(everything().serve_on(tokio::io::empty(), tokio::io::sink())));
    fn is_shared<T: Clone + Send + Sync>() {}
    is_shared::<Host>();
}
