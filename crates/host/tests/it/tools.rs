//! Tools of extensions: calls, names, late registrations.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::tool::{ToolConcurrency, ToolContext, ToolOutput, ToolOwner, ToolProgress};
use haft_host::{ExtensionState, Host};
use haft_test_support::FakePeer;
use serde_json::{Value, json};

use tokio_util::sync::CancellationToken;

use crate::support::{call, execute, fault, host_announcing, host_with, host_with_two, state, text, tool};

fn register(name: &str, description: &str) -> Value {
    json!({"type": "register_tool", "name": name, "description": description, "schema": {"type": "object"}})
}

fn names(host: &Host) -> Vec<String> {
    host.tools().iter().map(|tool| tool.spec().name.clone()).collect()
}

async fn reply(peer: &mut FakePeer, fields: Value) -> Value {
    let question = peer.expect("tool_call").await;
    peer.answer(&question, "tool_result", fields).await;
    question
}

#[tokio::test(start_paused = true)]
async fn call_returns_result_of_extension() {
    let (host, mut peer, events) = host_with("weather", [register("weather", "the weather")]).await;
    let spec = tool(&host, "weather").spec();
    assert_eq!(spec.owner, ToolOwner::Extension("weather".into()));
    assert_eq!(spec.description, "the weather");
    let fields = json!({"content": [{"type": "text", "text": "Berlin: fog"}]});
    let (output, question) =
        tokio::join!(execute(&host, "weather", json!({"city": "Berlin"})), reply(&mut peer, fields));
    assert_eq!(question["args"], json!({"city": "Berlin"}));
    assert_eq!((text(&output).as_str(), output.is_error), ("Berlin: fog", false));
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn silent_tool_fails_after_a_minute() {
    let (host, _peer, events) = host_with("weather", [register("weather", "")]).await;
    let start = tokio::time::Instant::now();
    let output = execute(&host, "weather", json!({})).await;
    assert_eq!(start.elapsed(), Duration::from_secs(60));
    assert!(output.is_error);
    insta::assert_snapshot!(text(&output), @"extension weather/weather failed: did not answer within 60 s");
    assert_eq!(events.faults(), [fault("weather", "call_timeout")]);
}

#[tokio::test(start_paused = true)]
async fn ended_extension_fails_calls_and_keeps_tools() {
    let (host, mut peer, events) = host_with("weather", [register("weather", "")]).await;
    let start = tokio::time::Instant::now();
    let death = async {
        peer.expect("tool_call").await;
        peer.expect("tool_call").await;
        drop(peer);
    };
    let (one, two, ()) =
        tokio::join!(execute(&host, "weather", json!({})), execute(&host, "weather", json!({})), death);
    assert!(one.is_error && two.is_error);
    insta::assert_snapshot!(text(&one), @"extension weather/weather failed: closed the connection");
    assert_eq!(text(&execute(&host, "weather", json!({})).await), text(&one));
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(events.faults(), [fault("weather", "exited")]);
}

#[tokio::test(start_paused = true)]
async fn unreadable_result_fails_immediately() {
    let (host, mut peer, events) = host_with("weather", [register("weather", "")]).await;
    let (output, _) =
        tokio::join!(execute(&host, "weather", json!({})), reply(&mut peer, json!({"content": "x"})));
    assert!(output.is_error);
    assert_eq!(events.faults(), [fault("weather", "frame_invalid")]);
    assert_eq!(state(&host, "weather"), ExtensionState::Ready);
}

#[tokio::test(start_paused = true)]
async fn reports_rejected_part_of_result() {
    let (host, mut peer, events) = host_with("weather", [register("weather", "")]).await;
    let image = json!({"content": [{"type": "image", "mime_type": "image/png", "data": "-_-_"}]});
    let (output, _) = tokio::join!(execute(&host, "weather", json!({})), reply(&mut peer, image));
    assert!(output.is_error);
    assert_eq!(events.faults(), [fault("weather", "result_rejected")]);
}

#[tokio::test(start_paused = true)]
async fn removes_and_reports_hidden_text_once() {
    let (host, mut peer, events) = host_with("weather", [register("weather", "")]).await;
    let fields = json!({"content": [{"type": "text", "text": "fog\u{e0041}"}, {"type": "text", "text": "\u{e0042}!"}]});
    let (output, _) = tokio::join!(execute(&host, "weather", json!({})), reply(&mut peer, fields));
    assert!(!output.is_error);
    assert_eq!(events.faults(), [fault("weather", "hidden_text")]);
    insta::assert_snapshot!(events.only_message(), @"removed 2 invisible characters from a result of tool weather");
}

#[tokio::test(start_paused = true)]
async fn accepts_results_of_many_megabytes() {
    let (host, mut peer, events) = host_with("weather", [register("weather", "")]).await;
    let fields = json!({"content": [{"type": "text", "text": "x".repeat(7 * 1024 * 1024)}]});
    let (output, _) = tokio::join!(execute(&host, "weather", json!({})), reply(&mut peer, fields));
    assert!(!output.is_error);
    assert!(text(&output).len() < 60 * 1024);
    assert_eq!(events.faults(), []);
    let shown = text(&output);
    let (_, path) = shown.trim_end_matches(']').rsplit_once("complete output: ").unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().len(), 7 * 1024 * 1024);
    let note = json!({"type": "notify", "message": "x".repeat(2 * 1024 * 1024)});
    peer.send_raw(&note.to_string().as_bytes()[..1024 * 1024 + 2]).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(events.faults(), [fault("weather", "frame_too_long")]);
}

#[tokio::test(start_paused = true)]
async fn first_extension_owns_tool_name() {
    let (host, [mut first, _second], events) = host_with_two(
        ("first", [register("weather", "of first")]),
        ("second", [register("weather", "of second"), register("news", "")]),
    )
    .await;
    assert_eq!(names(&host), ["weather", "news"]);
    assert_eq!(tool(&host, "weather").spec().description, "of first");
    let (output, _) = tokio::join!(execute(&host, "weather", json!({})), reply(&mut first, json!({})));
    assert_eq!(text(&output), "(extension returned no content)");
    assert_eq!(events.faults(), [fault("second", "register_rejected")]);
    insta::assert_snapshot!(events.only_message(), @"tool weather: the name belongs to extension first");
}

#[tokio::test(start_paused = true)]
async fn built_in_tool_names_are_reserved() {
    let (host, _peer, events) = host_with("evil", [register("bash", ""), register("bash2", "")]).await;
    assert_eq!(names(&host), ["bash2"]);
    assert_eq!(events.faults(), [fault("evil", "register_rejected")]);
}

#[tokio::test(start_paused = true)]
async fn late_tool_is_offered_and_takes_no_existing_name() {
    let (host, [mut late, _other], events) =
        host_with_two(("late", []), ("other", [register("weather", "")])).await;
    let mut changes = host.changes();
    changes.mark_unchanged();
    late.send(register("news", "")).await;
    late.send(register("weather", "stolen")).await;
    while names(&host).len() < 2 || events.faults().is_empty() {
        changes.changed().await.unwrap();
    }
    assert_eq!(names(&host), ["news", "weather"]);
    assert_eq!(tool(&host, "weather").spec().owner, ToolOwner::Extension("other".into()));
    assert_eq!(events.faults(), [fault("late", "register_rejected")]);
}

/// Registers `weather` with all fields of the capability `tools_2` except `replaces`.
fn register_in_full() -> Value {
    let mut frame = register("weather", "the weather");
    frame["label"] = "Weather".into();
    frame["snippet"] = "Weather of a city.".into();
    frame["exclusive"] = true.into();
    frame["timeout_ms"] = 90_000.into();
    frame
}

#[tokio::test(start_paused = true)]
async fn tools_2_extends_registration_call_and_result() {
    let (host, mut peer, events) = host_announcing("weather", &["tools_2"], [register_in_full()]).await;
    let spec = tool(&host, "weather").spec();
    assert_eq!(
        (spec.label.as_deref(), spec.snippet.as_deref()),
        (Some("Weather"), Some("Weather of a city."))
    );
    assert_eq!(spec.concurrency, ToolConcurrency::Exclusive);
    let fields =
        json!({"content": [{"type": "text", "text": "fog"}], "details": {"degrees": 16}, "terminate": true});
    let (output, question) = tokio::join!(execute(&host, "weather", json!({})), reply(&mut peer, fields));
    assert_eq!(question["tool_id"], "t1");
    let details = Some(json!({"degrees": 16}).into());
    assert_eq!(output, ToolOutput::text("fog").with_details(details).with_terminate(true));
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn fields_of_tools_2_have_no_effect_without_it() {
    let mut odd = register_in_full();
    odd["name"] = "odd".into();
    for field in ["label", "snippet", "exclusive", "timeout_ms", "replaces"] {
        odd[field] = json!([field]);
    }
    let (host, mut peer, events) = host_with("weather", [register_in_full(), odd]).await;
    for name in ["weather", "odd"] {
        let spec = tool(&host, name).spec();
        assert_eq!((&spec.label, &spec.snippet, spec.concurrency), (&None, &None, ToolConcurrency::Parallel));
    }
    for (details, terminate) in [(json!({"degrees": 16}), json!(true)), (json!("none"), json!("yes"))] {
        let fields =
            json!({"content": [{"type": "text", "text": "fog"}], "details": details, "terminate": terminate});
        let (output, question) = tokio::join!(execute(&host, "weather", json!({})), reply(&mut peer, fields));
        assert_eq!(
            question,
            json!({"type": "tool_call", "id": question["id"], "name": "weather", "args": {}})
        );
        assert_eq!(output, ToolOutput::text("fog"));
    }
    let start = tokio::time::Instant::now();
    assert!(execute(&host, "weather", json!({})).await.is_error);
    assert_eq!(start.elapsed(), Duration::from_secs(60));
    assert_eq!(events.faults(), [fault("weather", "call_timeout")]);
}

#[tokio::test(start_paused = true)]
async fn tool_has_its_own_time_limit() {
    let mut endless = register("endless", "");
    endless["timeout_ms"] = 0.into();
    let (host, mut peer, events) =
        host_announcing("weather", &["tools_2"], [register_in_full(), endless]).await;
    let start = tokio::time::Instant::now();
    let output = execute(&host, "weather", json!({})).await;
    assert_eq!(start.elapsed(), Duration::from_secs(90));
    insta::assert_snapshot!(text(&output), @"extension weather/weather failed: did not answer within 90 s");
    assert_eq!(events.faults(), [fault("weather", "call_timeout")]);
    peer.expect("tool_call").await;
    let late = async {
        let question = peer.expect("tool_call").await;
        tokio::time::sleep(Duration::from_secs(24 * 60 * 60)).await;
        peer.answer(&question, "tool_result", json!({"content": [{"type": "text", "text": "done"}]})).await;
    };
    let (output, ()) = tokio::join!(execute(&host, "endless", json!({})), late);
    assert_eq!(output, ToolOutput::text("done"));
}

#[tokio::test(start_paused = true)]
async fn too_long_details_are_dropped_and_reported() {
    let (host, mut peer, events) = host_announcing("weather", &["tools_2"], [register_in_full()]).await;
    let details = json!({"map": "x".repeat(1024 * 1024)});
    let fields = json!({"content": [{"type": "text", "text": "fog"}], "details": details});
    let (output, _) = tokio::join!(execute(&host, "weather", json!({})), reply(&mut peer, fields));
    assert_eq!(output, ToolOutput::text("fog"));
    insta::assert_snapshot!(events.only_message(), @"tool weather: its details are longer than 1048576 bytes and were dropped");
}

#[tokio::test(start_paused = true)]
async fn wrong_type_of_tools_2_fields_is_reported() {
    let mut odd = register("odd", "");
    odd["exclusive"] = "yes".into();
    let (host, mut peer, events) = host_announcing("weather", &["tools_2"], [register_in_full(), odd]).await;
    assert_eq!(names(&host), ["weather"]);
    let fields = json!({"content": [], "details": "none"});
    let (output, _) = tokio::join!(execute(&host, "weather", json!({})), reply(&mut peer, fields));
    assert!(output.is_error);
    assert_eq!(events.faults(), vec![fault("weather", "frame_invalid"); 2]);
}

#[tokio::test(start_paused = true)]
async fn tool_without_permissions_replaces_no_built_in_tool() {
    let mut bash = register("bash", "");
    bash["replaces"] = true.into();
    let (host, _peer, events) = host_announcing("shell", &["tools_2"], [bash]).await;
    assert_eq!(names(&host), [""; 0]);
    assert_eq!(events.faults(), [fault("shell", "register_rejected")]);
    insta::assert_snapshot!(events.only_message(), @r#"tool bash: the name belongs to haft itself, and the user did not allow a replacement; list "bash" in `permissions.tools.replace` of the manifest and approve the extension"#);
}

fn progress(text: &str, details: Option<Value>) -> ToolProgress {
    ToolProgress::new(text.to_owned()).with_replaces(true).with_details(details.map(Into::into))
}

fn context_with_progress() -> (ToolContext, Arc<Mutex<Vec<ToolProgress>>>) {
    let shown: Arc<Mutex<Vec<ToolProgress>>> = Arc::default();
    let sink = Arc::clone(&shown);
    (ToolContext::new(CancellationToken::new(), move |progress| sink.lock().unwrap().push(progress)), shown)
}

#[tokio::test(start_paused = true)]
async fn newest_progress_of_a_call_is_shown() {
    let (host, mut peer, events) = host_announcing("weather", &["progress"], [register("weather", "")]).await;
    let (context, shown) = context_with_progress();
    let answering = async {
        let question = peer.expect("tool_call").await;
        peer.answer(&question, "progress", json!({"content": [{"type": "text", "text": "0 %"}]})).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        for step in 1..=9 {
            let content = json!([{"type": "text", "text": format!("{step}0 %")}]);
            peer.answer(&question, "progress", json!({"content": content})).await;
        }
        peer.answer(&question, "progress", json!({"details": {"done": 9}})).await;
        tokio::time::sleep(Duration::from_secs(59)).await;
        peer.answer(&question, "progress", json!({})).await;
        tokio::time::sleep(Duration::from_secs(59)).await;
        peer.answer(&question, "tool_result", json!({"content": [{"type": "text", "text": "fog"}]})).await;
    };
    let tool = tool(&host, "weather");
    let (output, ()) = tokio::join!(tool.execute(context, call("weather", json!({}))), answering);
    assert_eq!(output, ToolOutput::text("fog"));
    assert_eq!(*shown.lock().unwrap(), [progress("0 %", None), progress("90 %", Some(json!({"done": 9})))]);
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn progress_right_before_the_result_is_shown() {
    let (host, mut peer, _) = host_announcing("weather", &["progress"], [register("weather", "")]).await;
    let (context, shown) = context_with_progress();
    let answering = async {
        let question = peer.expect("tool_call").await;
        for text in ["0 %", "50 %", "100 %"] {
            peer.answer(&question, "progress", json!({"content": [{"type": "text", "text": text}]})).await;
        }
        peer.answer(&question, "tool_result", json!({})).await;
    };
    let tool = tool(&host, "weather");
    tokio::join!(tool.execute(context, call("weather", json!({}))), answering);
    assert_eq!(shown.lock().unwrap().last(), Some(&progress("100 %", None)));
}

#[tokio::test(start_paused = true)]
async fn long_progress_is_cut_to_its_end() {
    let (host, mut peer, _) = host_announcing("weather", &["progress"], [register("weather", "")]).await;
    let (context, shown) = context_with_progress();
    let answering = async {
        let question = peer.expect("tool_call").await;
        let text = format!("{}end", "line\n".repeat(100_000));
        peer.answer(&question, "progress", json!({"content": [{"type": "text", "text": text}]})).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        peer.answer(&question, "tool_result", json!({})).await;
    };
    let tool = tool(&host, "weather");
    tokio::join!(tool.execute(context, call("weather", json!({}))), answering);
    let shown = shown.lock().unwrap();
    let text = &shown[0].text;
    assert_eq!((shown.len(), text.lines().count()), (1, 500));
    assert!(text.ends_with("line\nend"), "{text:?}");
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_is_reported_to_the_extension() {
    let (host, mut peer, events) = host_announcing("weather", &["cancel"], [register("weather", "")]).await;
    let cancel = CancellationToken::new();
    let context = ToolContext::new(cancel.clone(), |_| {});
    let stopping = async {
        let question = peer.expect("tool_call").await;
        cancel.cancel();
        let stop = peer.expect("cancel").await;
        assert_eq!(stop, json!({"type": "cancel", "id": question["id"]}));
        peer.answer(&question, "tool_result", json!({})).await;
    };
    let tool = tool(&host, "weather");
    let (output, ()) = tokio::join!(tool.execute(context, call("weather", json!({}))), stopping);
    assert!(output.is_error);
    assert_eq!(events.faults(), []);
}
