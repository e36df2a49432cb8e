//! Extensions: their commands, panels, tools, gates and host calls.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::client::{Client, Drives};
use crate::extension::{answers, begins, decides};
use crate::played::Answer;
use crate::program::Program;

fn command(name: &str) -> Value {
    json!({"type": "register_command", "name": name, "description": format!("does {name}")})
}

fn responds(fields: Value) -> Vec<Value> {
    let mut response = json!({"type": "command_response", "id": "its"});
    response.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    vec![response]
}

#[tokio::test(start_paused = true)]
async fn commands_run_by_name_and_from_prompts() {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = Client::of(program);
    begins(&mut peer, "todo", ["ask", "put", "show", "fail", "noop"].map(command)).await;
    let extension = answers(peer, |frame| match frame["name"].as_str() {
        Some("ask") => responds(json!({"action": "prompt", "prompt": "What is to be done?"})),
        Some("put") => responds(json!({"action": "insert", "insert": "milk"})),
        Some("show") => responds(json!({"action": "display", "display": "1 todo"})),
        Some("fail") => responds(json!({"action": "noop", "error": "no list"})),
        Some("noop") => responds(json!({"action": "noop"})),
        _ => vec![],
    });
    client.ask(json!({"type": "list_commands"})).await;
    client.ask(json!({"type": "list_extensions"})).await;
    for name in ["put", "show", "fail", "noop"] {
        client.ask(json!({"type": "run_command", "name": name, "args": "x"})).await;
    }
    client.send(json!({"id": "1", "type": "run_command", "name": "ask"})).await;
    client.send(json!({"id": "2", "type": "prompt", "message": "/show all"})).await;
    client.until("done").await;
    client.send(json!({"id": "3", "type": "prompt", "message": "/ask"})).await;
    client.until("done").await;
    client.send(json!({"id": "4", "type": "prompt", "message": "/fail"})).await;
    client.until("error").await;
    client.send(json!({"id": "5", "type": "run_command", "name": "review", "args": "a.rs"})).await;
    client.until("turn_end").await;
    let (_, said) = client.end().await;
    extension.await.unwrap();
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn client_runs_shortcuts() {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = Client::of(program);
    peer.send(json!({"type": "hello", "name": "todo", "capabilities": ["calls"]})).await;
    let key = |key: &str| json!({"type": "register", "kind": "shortcut", "name": key, "description": "Show"});
    peer.send(key("ctrl+g")).await;
    peer.send(key("f8")).await;
    peer.send(json!({"type": "ready"})).await;
    let extension = answers(peer, |frame| match frame["args"]["name"].as_str() {
        Some("ctrl+g") => vec![json!({"type": "ext_result", "id": frame["id"]})],
        Some("f8") => vec![json!({"type": "ext_result", "id": frame["id"], "error": "no list"})],
        _ => vec![],
    });
    client.ask(json!({"type": "list_extensions"})).await;
    for (extension, key) in [("todo", "ctrl+g"), ("todo", "f8"), ("todo", "f9"), ("none", "f8")] {
        client.ask(json!({"type": "run_shortcut", "extension": extension, "key": key})).await;
    }
    let (_, said) = client.end().await;
    extension.await.unwrap();
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn client_receives_notes_and_host_calls() {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = Client::of(program);
    begins(&mut peer, "todo", []).await;
    client.hello().await;
    peer.send(json!({"type": "notify", "level": "success", "message": "saved"})).await;
    client.until("ext_notify").await;
    peer.send(json!({"type": "clear_notes"})).await;
    client.until("ext_clear_notes").await;
    peer.send(json!({"type": "host_call", "id": "c1", "call": "read", "args": {"path": "a"}})).await;
    client.until("host_call_end").await;
    peer.send(json!({"type": "panel_render", "panel_id": "none", "lines": ["is not open"]})).await;
    peer.send(json!({"type": "fly"})).await;
    client.until("extension_error").await;
    let extension = answers(peer, |_| vec![]);
    let (_, said) = client.end().await;
    extension.await.unwrap();
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn client_learns_of_later_registrations() {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = Client::of(program);
    begins(&mut peer, "todo", []).await;
    client.hello().await;
    peer.send(json!({"type": "register_command", "name": "done", "description": "checks an item"})).await;
    client.until("registrations_changed").await;
    client.ask(json!({"type": "list_commands"})).await;
    let (_, said) = client.end().await;
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn status_text_disappears_with_the_extension() {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = Client::of(program);
    begins(&mut peer, "todo", []).await;
    client.hello().await;
    for (key, text) in [("open", json!("3 open")), ("late", json!("1 late")), ("late", Value::Null)] {
        peer.send(json!({"type": "set_status", "key": key, "text": text})).await;
        client.until("ext_status").await;
    }
    let parts = json!([{"text": "3", "fg": "warning", "bold": true}, {"text": " open", "fg": "mauve"}]);
    peer.send(json!({"type": "set_status", "key": "open", "styled": parts})).await;
    client.until("ext_status").await;
    client.ask(json!({"type": "list_extensions"})).await;
    drop(peer);
    client.until("ext_status").await;
    client.ask(json!({"type": "list_extensions"})).await;
    let (_, said) = client.end().await;
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn changes_of_the_screen_are_events_and_end_with_the_extension() {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = Client::of(program);
    begins(&mut peer, "todo", []).await;
    client.hello().await;
    let call = |call: &str, args: Value| json!({"type": "host_call", "call": call, "args": args});
    peer.send(call("set_title", json!({"text": "3 open"}))).await;
    peer.send(call("set_working", json!({"text": "Shopping", "visible": true}))).await;
    peer.send(call("set_editor", json!({"text": "/todo done milk"}))).await;
    peer.send(call("insert", json!({"text": " now"}))).await;
    client.until("insert").await;
    let named = json!({"type": "host_call", "id": "c1", "call": "set_title", "args": {"text": "2 open"}});
    peer.send(named).await;
    client.until("set_title").await;
    let result = peer.expect("host_result").await;
    assert_eq!(result, json!({"type": "host_result", "id": "c1", "content": []}));
    for refused in [
        call("set_title", json!({})),
        call("read", json!({"path": "a"})),
        call("prompt", json!({"message": ""})),
    ] {
        peer.send(refused).await;
        client.until("extension_error").await;
    }
    drop(peer);
    client.until("set_working").await;
    let (_, said) = client.end().await;
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn extension_completes_its_command() {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = Client::of(program);
    let completes = json!({"type": "register_command", "name": "todo", "completes": true});
    begins(&mut peer, "todo", [completes, command("plain")]).await;
    let extension = answers(peer, |frame| match frame["prefix"].as_str() {
        Some("silent") => vec![],
        _ => {
            let items = json!([{"value": "done 1", "label": "milk"}]);
            vec![json!({"type": "command_completions_response", "id": "its", "items": items})]
        }
    });
    client.ask(json!({"type": "list_commands"})).await;
    for (name, prefix) in [("todo", "d"), ("plain", "d"), ("none", ""), ("todo", "silent")] {
        client.ask(json!({"type": "complete_command", "name": name, "prefix": prefix})).await;
    }
    let (_, said) = client.end().await;
    extension.await.unwrap();
    assert_snapshot!(said);
}

/// Opens panels, draws them, sends keys, and closes them from both sides.
pub(super) async fn with_panels(drives: Drives) -> String {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = drives(program);
    begins(&mut peer, "todo", [command("todo")]).await;
    let panel = |lines: &[&str]| json!({"id": "list", "title": "Todos", "lines": lines, "footer": "esc"});
    let of = |fields: Value| {
        let mut fields = fields;
        (fields["extension"], fields["panel_id"]) = ("todo".into(), "list".into());
        fields
    };
    for _ in 0..2 {
        client.send(json!({"id": "1", "type": "run_command", "name": "todo"})).await;
        let invoked = peer.expect("command_invoked").await;
        let opens = json!({"action": "open_panel", "open_panel": panel(&["milk"])});
        peer.answer(&invoked, "command_response", opens).await;
        client.reply("1").await;
        client.ask(of(json!({"type": "panel_resize", "width": 80, "height": 24}))).await;
        assert_eq!(peer.expect("panel_resize").await["width"], 80);
        client.ask(of(json!({"type": "panel_key", "key": "rune", "text": "x"}))).await;
        assert_eq!(peer.expect("panel_key").await["text"], "x");
        peer.send(json!({"type": "panel_render", "panel_id": "list", "lines": ["milk", "x"]})).await;
        client.until("panel_render").await;
    }
    client.ask(of(json!({"type": "panel_close"}))).await;
    peer.expect("panel_close").await;
    client.ask(of(json!({"type": "panel_close"}))).await;
    client.send(json!({"id": "1", "type": "run_command", "name": "todo"})).await;
    let invoked = peer.expect("command_invoked").await;
    let opens = json!({"action": "open_panel", "open_panel": panel(&[])});
    peer.answer(&invoked, "command_response", opens).await;
    client.reply("1").await;
    peer.send(json!({"type": "panel_close", "panel_id": "list"})).await;
    client.until("panel_close").await;
    let extension = answers(peer, |_| vec![]);
    let (_, said) = client.end().await;
    extension.await.unwrap();
    said
}

#[tokio::test(start_paused = true)]
async fn panels_open_redraw_and_close() {
    assert_snapshot!(with_panels(Client::of).await);
}

#[tokio::test(start_paused = true)]
async fn gates_rewrite_and_block_calls() {
    let look = |args| Answer::Call("look", args);
    let model = [
        look(r#"{"at":"both"}"#),
        look(r#"{"at":"one"}"#),
        look(r#"{"at":"none"}"#),
        Answer::Call("todo_add", r#"{"at":"any"}"#),
    ];
    let (program, mut one) = Program::new(model).with_extension("one");
    let (program, mut two) = program.with_extension("two");
    let mut client = Client::of(program);
    let watches = || json!({"type": "subscribe", "intercept": ["tool_call"]});
    let tool = json!({"type": "register_tool", "name": "todo_add", "schema": {"type": "object"}});
    begins(&mut one, "one", [watches()]).await;
    begins(&mut two, "two", [watches(), tool]).await;
    client.hello().await;
    client.ask(json!({"type": "get_tools"})).await;
    client.send(json!({"id": "1", "type": "prompt", "message": "look"})).await;
    // Both change the same argument; then one of them does; then one blocks.
    let decide = |told: [(&'static str, Value); 2]| {
        move |frame: &Value| match (frame["type"].as_str(), frame["tool_args"]["at"].as_str()) {
            (Some("tool_call"), _) => {
                let content = json!([{"type": "text", "text": "added"}]);
                vec![json!({"type": "tool_result", "id": "its", "content": content})]
            }
            (Some("event_intercept"), Some(at)) => {
                let decision = told.iter().find(|(about, _)| *about == at);
                decides(decision.map_or(json!({}), |(_, decision)| decision.clone()))
            }
            _ => vec![],
        }
    };
    let to = |at: &str| json!({"modified_args": {"at": at}});
    let first = decide([("both", to("b")), ("one", to("d"))]);
    let second = decide([("b", to("c")), ("none", json!({"block": true, "reason": "not there"}))]);
    let (one, two) = (answers(one, first), answers(two, second));
    client.until("done").await;
    let (_, said) = client.end().await;
    one.await.unwrap();
    two.await.unwrap();
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn panel_closes_with_its_extension() {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = Client::of(program);
    begins(&mut peer, "todo", [command("todo")]).await;
    client.send(json!({"id": "1", "type": "run_command", "name": "todo"})).await;
    let invoked = peer.expect("command_invoked").await;
    let opens = json!({"action": "open_panel", "open_panel": {"id": "list", "lines": ["milk"]}});
    peer.answer(&invoked, "command_response", opens).await;
    client.reply("1").await;
    drop(peer);
    client.until("extension_error").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn running_command_ends_with_abort_or_session() {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = Client::of(program);
    begins(&mut peer, "todo", [command("ponder")]).await;
    let first = client.hello().await;
    client.opened(json!({"type": "new_session"})).await;
    client.send(json!({"id": "1", "type": "prompt", "message": "/ponder"})).await;
    peer.expect("command_invoked").await;
    client.ask(json!({"type": "abort"})).await;
    client.until("done").await;
    client.send(json!({"id": "2", "type": "run_command", "name": "ponder"})).await;
    peer.expect("command_invoked").await;
    let extension = answers(peer, |_| vec![]);
    client.send(json!({"id": "3", "type": "close_session", "session": first})).await;
    client.until("session_closed").await;
    let (_, said) = client.end().await;
    extension.await.unwrap();
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn session_without_extensions_rejects_extension_commands() {
    let mut client = Client::of(Program::new([]).plain());
    client.ask(json!({"type": "list_commands"})).await;
    client.ask(json!({"type": "list_extensions"})).await;
    client.ask(json!({"type": "reload_ext"})).await;
    client.ask(json!({"type": "panel_key", "extension": "a", "panel_id": "b", "key": "up"})).await;
    client.prompt("1", "go").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn extensions_are_reloaded() {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = Client::of(program);
    begins(&mut peer, "todo", []).await;
    client.hello().await;
    client.send(json!({"id": "1", "type": "reload_ext"})).await;
    client.send(json!({"id": "2", "type": "prompt", "message": "go"})).await;
    client.until("done").await;
    // One that came as streams cannot be started again.
    client.ask(json!({"type": "reload_ext", "name": "todo"})).await;
    drop(peer);
    client.until("extension_error").await;
    client.ask(json!({"type": "list_extensions"})).await;
    assert_snapshot!(client.end().await.1);
}
