//! Commands of extensions: `host_call` with the name of a command.

use std::sync::Arc;

use haft_rpc::MOST_EXTENSION_PROMPTS;
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::client::Client;
use crate::extension::begins;
use crate::played::Answer;
use crate::program::Program;

/// Returns a client of this program, with the extension `helper` and the id of the session.
pub(super) async fn begun(program: Program) -> (Client, FakePeer, String) {
    let (program, mut helper) = program.with_extension("helper");
    let mut client = Client::of(program);
    begins(&mut helper, "helper", []).await;
    let session = client.hello().await;
    (client, helper, session)
}

async fn send(helper: &mut FakePeer, id: &str, call: &str, args: Value) {
    helper.send(json!({"type": "host_call", "id": id, "call": call, "args": args})).await;
}

/// Sends a command and returns its result.
pub(super) async fn run(helper: &mut FakePeer, call: &str, args: Value) -> Value {
    send(helper, "c", call, args).await;
    let result = helper.expect("host_result").await;
    assert_eq!(result["id"], "c");
    result
}

/// Ends the connections. The extension leaves when it is asked to.
pub(super) async fn end(client: Client, mut helper: FakePeer) -> String {
    let (leaves, (_, said)) = tokio::join!(helper.expect("shutdown"), client.end());
    drop(leaves);
    said
}

#[tokio::test(start_paused = true)]
async fn extension_reads_and_changes_the_session_like_a_client() {
    let (mut client, mut helper, session) = begun(Program::new([])).await;
    assert_eq!(run(&mut helper, "set_name", json!({"name": "bakery"})).await.get("value"), None);
    let state = run(&mut helper, "get_state", json!({})).await;
    let of_client = client.ask(json!({"type": "get_state"})).await;
    assert_eq!(state["value"], of_client["data"]);
    assert_eq!((&state["value"]["name"], &state["value"]["session"]), (&json!("bakery"), &json!(session)));
    let tools = run(&mut helper, "set_tools", json!({"tools": ["look"]})).await;
    assert_eq!(tools["value"], json!({"active": ["look"]}));
    let other = run(&mut helper, "new_session", json!({"ephemeral": true})).await["value"]["session"].clone();
    client.until("session_opened").await;
    let named = json!({"type": "host_call", "id": "n", "call": "get_state", "args": {}, "session": other});
    helper.send(named).await;
    assert_eq!(helper.expect("host_result").await["value"]["session"], other);
    end(client, helper).await;
}

#[tokio::test(start_paused = true)]
async fn client_learns_that_an_extension_switched_the_session() {
    let (mut client, mut helper, session) = begun(Program::new([])).await;
    let other = run(&mut helper, "new_session", json!({})).await["value"]["session"].clone();
    for id in [&other, &json!(session)] {
        let switch =
            json!({"type": "host_call", "id": "s", "call": "switch_session", "args": {}, "session": id});
        helper.send(switch).await;
        assert_eq!(helper.expect("host_result").await["value"]["session"], *id);
        let told = client.until("session_switched").await;
        assert_eq!((&told["extension"], &told["session"]), (&json!("helper"), id));
    }
    // The client knows of its own switches.
    client.ask(json!({"type": "switch_session", "session": other})).await;
    insta::assert_snapshot!(end(client, helper).await);
}

#[tokio::test(start_paused = true)]
async fn failed_command_has_the_code_and_text_of_the_client() {
    let (mut client, mut helper, _) = begun(Program::new([])).await;
    for (call, args, code) in [
        ("set_model", json!({"model": "nobody/none"}), "model_not_found"),
        ("move_to", json!({"entry": "ffff"}), "entry_not_found"),
        ("run_command", json!({"name": "fly"}), "command_not_found"),
        ("reload_ext", json!({"name": "none"}), "extension_not_found"),
        ("prompt", json!({"message": " "}), "empty_message"),
    ] {
        let result = run(&mut helper, call, args.clone()).await;
        let mut command = args;
        command["type"] = call.into();
        let reply = client.ask(command).await;
        assert_eq!((&result["code"], &reply["code"]), (&json!(code), &json!(code)));
        assert_eq!(result["content"][0]["text"], reply["error"], "{call}");
    }
    let wrong = run(&mut helper, "set_name", json!({"name": 7})).await;
    assert_eq!(wrong["code"], "invalid_args");
    let named = json!({"type": "host_call", "id": "n", "call": "get_state", "args": {}, "session": "ffff"});
    helper.send(named).await;
    assert_eq!(helper.expect("host_result").await["code"], "session_not_found");
    end(client, helper).await;
}

#[tokio::test(start_paused = true)]
async fn commands_run_in_the_order_in_which_they_were_sent() {
    let (mut client, mut helper, _) = begun(Program::new([])).await;
    for (id, call, message) in [("1", "steer", "a"), ("2", "follow_up", "b"), ("3", "steer", "c")] {
        send(&mut helper, id, call, json!({"message": message})).await;
    }
    send(&mut helper, "4", "take_queued", json!({})).await;
    for _ in 0..3 {
        helper.expect("host_result").await;
    }
    let taken = helper.expect("host_result").await;
    let labeled = |text: &str| format!("[from extension helper]\n{text}");
    let steering = [labeled("a"), labeled("c")];
    assert_eq!(taken["value"], json!({"steering": steering, "follow_up": [labeled("b")], "next_turn": []}));
    client.all_there_is().await;
    end(client, helper).await;
}

#[tokio::test(start_paused = true)]
async fn prompt_of_an_extension_runs_after_the_current_one() {
    let go = Arc::new(Notify::new());
    let held = Answer::Held("one", Arc::clone(&go), " two");
    let (mut client, mut helper, _) = begun(Program::new([held, Answer::Say("three")])).await;
    client.send(json!({"id": "1", "type": "prompt", "message": "first"})).await;
    client.until("text_delta").await;
    send(&mut helper, "p", "prompt", json!({"message": "second"})).await;
    send(&mut helper, "w", "wait_idle", json!({})).await;
    assert_eq!(run(&mut helper, "get_state", json!({})).await["value"]["prompts"], 1);
    go.notify_one();
    client.until("done").await;
    let started = helper.expect("host_result").await;
    assert_eq!((&started["id"], &started["value"]), (&json!("p"), &json!({"started": true})));
    client.until("done").await;
    assert_eq!(helper.expect("host_result").await["id"], "w");
    let said = end(client, helper).await;
    assert!(said.contains("second"), "the client does not see the prompt: {said}");
}

#[tokio::test(start_paused = true)]
async fn cancelled_prompt_does_not_start() {
    let go = Arc::new(Notify::new());
    let (mut client, mut helper, _) = begun(Program::new([Answer::Held("one", Arc::clone(&go), "")])).await;
    client.send(json!({"id": "1", "type": "prompt", "message": "first"})).await;
    client.until("text_delta").await;
    send(&mut helper, "p", "prompt", json!({"message": "second"})).await;
    helper.send(json!({"type": "host_call_cancel", "id": "p"})).await;
    assert_eq!(helper.expect("host_result").await["code"], "aborted");
    assert_eq!(run(&mut helper, "get_state", json!({})).await["value"]["prompts"], 0);
    go.notify_one();
    client.until("done").await;
    let said = end(client, helper).await;
    assert!(!said.contains("second"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn prompts_that_start_each_other_end_at_the_limit() {
    let (mut client, mut helper, _) = begun(Program::new([])).await;
    for n in 0..MOST_EXTENSION_PROMPTS {
        let result = run(&mut helper, "prompt", json!({"message": format!("again {n}")})).await;
        assert_eq!(result["value"], json!({"started": true}), "{n}");
        client.until("done").await;
    }
    for (call, args) in [("prompt", json!({"message": "x"})), ("steer", json!({"message": "x"}))] {
        let refused = run(&mut helper, call, args).await;
        assert_eq!(refused["code"], "queue_full");
    }
    assert_eq!(run(&mut helper, "get_tools", json!({})).await.get("code"), None);
    // Another session does not help.
    assert_eq!(run(&mut helper, "new_session", json!({})).await["code"], "queue_full");
    client.prompt("1", "go on").await;
    assert_eq!(run(&mut helper, "prompt", json!({"message": "x"})).await.get("code"), None);
    client.until("done").await;
    end(client, helper).await;
}

#[tokio::test(start_paused = true)]
async fn extension_ends_the_process_in_an_orderly_way() {
    let (client, mut helper, _) = begun(Program::new([])).await;
    send(&mut helper, "s", "shutdown", json!({})).await;
    let ended = tokio::spawn(client.heard());
    assert_eq!(helper.expect("host_result").await["id"], "s");
    helper.expect("shutdown").await;
    drop(helper);
    let (end, said) = ended.await.unwrap();
    assert_eq!(end.unwrap(), haft_rpc::EndReason::Requested);
    assert!(said.contains("session_closed"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn extension_of_newer_zot_versions_sends_prompts_and_commands_in_its_own_words() {
    let (mut client, mut helper, _) = begun(Program::new([Answer::Say("Done.")])).await;
    helper.send(json!({"type": "submit", "text": "Tidy up."})).await;
    client.until("done").await;
    helper.send(json!({"type": "submit_slash", "text": "/no-such-command now"})).await;
    helper.send(json!({"type": "submit_slash", "text": "no command"})).await;
    let faults = [client.until("extension_error").await, client.until("extension_error").await];
    helper.send(json!({"type": "open_panel", "panel": {"id": "clock", "lines": ["12:00"]}})).await;
    helper.send(json!({"type": "panel_render", "panel_id": "clock", "lines": ["12:01"]})).await;
    let panel = [client.until("panel_open").await, client.until("panel_render").await];
    assert_eq!(panel.map(|shown| shown["lines"][0].clone()), ["12:00", "12:01"]);
    let said = end(client, helper).await;
    assert!(said.contains(r"[from extension helper]\nTidy up."), "{said}");
    let reports = faults.map(|fault| format!("{}: {}", fault["code"], fault["message"]));
    insta::assert_snapshot!(reports.join("\n"), @r#"
    "frame_invalid": "sent submit_slash with a text that does not begin with /"
    "call_failed": "run_command failed: unknown command /no-such-command; `list_commands` lists the commands"
    "#);
}
