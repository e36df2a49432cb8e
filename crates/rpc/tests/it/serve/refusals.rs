//! Invalid lines, invalid commands, and clients that are not admitted.

use haft_protocol::rpc::MAX_LINE;
use haft_rpc::EndReason;
use insta::assert_snapshot;
use serde_json::json;

use crate::client::{Client, guarded};
use crate::extension::{answers, begins};
use crate::program::Program;

#[tokio::test(start_paused = true)]
async fn unreadable_lines_are_answered() {
    let mut client = Client::of(Program::new([]));
    let lines = [
        "hello?",
        r#"["ping"]"#,
        r#"{"id":7,"type":"ping"}"#,
        r#"{"id":"1"}"#,
        r#"{"id":"1","type":7}"#,
        r#"{"id":"1","id":"2","type":"ping"}"#,
        r#"{"id":"1","type":"fly"}"#,
        r#"{"id":"1","type":"prompt"}"#,
        r#"{"id":"1","type":"prompt","message":7}"#,
        r#"{"id":"1","type":"set_thinking","level":"very"}"#,
        r#"{"id":"1","type":"ping","session":7}"#,
        r#"{"id":"1","type":"ui_response","request":"ui-1"}"#,
    ];
    for line in lines {
        client.send_raw(line).await;
        client.until("response").await;
    }
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn unusual_lines_are_read() {
    let mut client = Client::of(Program::new([]));
    client.send_raw("").await;
    client.send_raw(" \r").await;
    client.send_raw("{\"id\":\"1\",\"type\":\"ping\"}\r").await;
    client.send_raw(r#" { "session" : null , "type" : "ping" , "id" : null , "since" : "later" } "#).await;
    client.send_raw(r#"{"id":"\u2028","type":"prompt","message":"half a \ud83d pair","images":null}"#).await;
    client.until("done").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn too_long_line_is_skipped() {
    let mut client = Client::of(Program::new([]));
    client.silent = true;
    let long = format!(r#"{{"id":"1","type":"prompt","message":"{}"}}"#, "x".repeat(MAX_LINE));
    client.send_raw(&long).await;
    client.silent = false;
    client.until("response").await;
    client.ask(json!({"type": "ping"})).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn last_line_without_newline_is_read() {
    let mut client = Client::of(Program::new([]));
    client.send_bytes(br#"{"id":"1","type":"ping"}"#).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn missing_things_are_reported() {
    let mut client = Client::of(Program::new([]));
    for line in [
        json!({"type": "get_state", "session": "nobody"}),
        json!({"type": "prompt", "message": "go", "session": ""}),
        json!({"type": "switch_session", "session": "nobody"}),
        json!({"type": "switch_session"}),
        json!({"type": "close_session"}),
        json!({"type": "fork", "entry": "zzz"}),
        json!({"type": "fork", "entry": ""}),
        json!({"type": "run_command", "name": "fly"}),
        json!({"type": "run_command", "name": "review"}),
        json!({"type": "reload_ext", "name": "nobody"}),
        json!({"type": "panel_key", "extension": "todo", "panel_id": "list", "key": "enter"}),
        json!({"type": "panel_resize", "extension": "todo", "panel_id": "list", "width": 80, "height": 24}),
        json!({"type": "panel_close", "extension": "todo", "panel_id": "list"}),
        json!({"type": "ui_response", "request": "ui-1", "confirmed": true}),
        json!({"type": "set_model", "model": "nine"}),
    ] {
        client.ask(line).await;
    }
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn panic_is_answered_and_serving_continues() {
    let mut client = Client::of(Program::new([]));
    client.send(json!({"id": "1", "type": "set_model", "model": "cursed"})).await;
    client.send(json!({"id": "2", "type": "switch_session", "session": "cursed"})).await;
    client.send(json!({"id": "3", "type": "prompt", "message": "go"})).await;
    client.until("done").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn session_that_cannot_be_opened_is_reported() {
    let mut client = Client::of(Program::new([]).opening(1));
    client.hello().await;
    client.ask(json!({"type": "new_session"})).await;
    client.ask(json!({"type": "list_sessions"})).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn token_must_come_first() {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = Client::with(program, guarded);
    // What happens before is told behind the greeting.
    begins(&mut peer, "todo", [json!({"type": "notify", "level": "info", "message": "here"})]).await;
    let extension = answers(peer, |_| vec![]);
    client.ask(json!({"type": "ping"})).await;
    for line in ["{}", "[]", r#"{"type":"fly"}"#, r#"{"type":"prompt"}"#, r#"{"type":"hello","token":7}"#] {
        client.send_raw(line).await;
        client.until("response").await;
    }
    client.ask(json!({"type": "hello"})).await;
    client.ask(json!({"type": "shutdown"})).await;
    client.ask(json!({"type": "hello", "token": "secret"})).await;
    client.ask(json!({"type": "ping"})).await;
    let (end, said) = client.end().await;
    assert_eq!(end.unwrap(), EndReason::Input);
    extension.await.unwrap();
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn wrong_token_ends_the_connection() {
    let mut client = Client::with(Program::new([]), guarded);
    client.ask(json!({"type": "hello", "token": "guess"})).await;
    let (end, said) = client.heard().await;
    assert_eq!(end.unwrap(), EndReason::Refused);
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn byte_order_mark_is_ignored() {
    let mut client = Client::of(Program::new([]));
    client.send_raw("\u{feff}{\"id\":\"1\",\"type\":\"ping\"}").await;
    assert_eq!(client.reply("1").await["success"], true);
    client.send_raw("\u{feff}{\"id\":\"2\",\"type\":\"ping\"}").await;
    assert_eq!(client.until("response").await["code"], "malformed");
}

#[tokio::test(start_paused = true)]
async fn long_names_are_shortened_in_replies() {
    let long = "x".repeat(100_000);
    let mut client = Client::of(Program::new([]));
    let panel = json!({"type": "panel_close", "extension": "todo", "panel_id": long});
    for command in [json!({"type": "run_command", "name": long}), panel] {
        let reply = client.ask(command).await;
        assert!(reply["success"] == false && reply["error"].as_str().unwrap().len() < 300, "{reply}");
    }
    client.send(json!({"id": "1", "type": "prompt", "message": long})).await;
    client.until("done").await;
    let tree = client.ask(json!({"type": "tree"})).await;
    let texts = tree["data"]["entries"].as_array().unwrap().iter().filter_map(|entry| entry["text"].as_str());
    let longest = texts.map(|text| text.chars().count()).max();
    assert_eq!(longest, Some(200));
}
