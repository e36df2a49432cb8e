//! Both commands, through the harness.

use haft_example_hello::extension;
use haft_sdk::testing::Harness;
use haft_sdk::{NoteLevel, Response};

#[tokio::test]
async fn hello_greets_the_named_person() {
    let harness = Harness::start(extension()).await;
    assert_eq!(harness.command("hello", "").await, Response::prompt("Greet me in one short sentence."));
    assert_eq!(harness.command("hello", "Ada").await, Response::prompt("Greet Ada in one short sentence."));
}

#[tokio::test]
async fn summon_writes_into_the_editor() {
    let harness = Harness::start(extension()).await;
    assert_eq!(harness.command("summon", "Ada").await, Response::insert("@Ada, "));
    assert_eq!(harness.notes(), [(NoteLevel::Success, "Ada is on the way".to_owned())]);
    assert_eq!(harness.command("summon", "").await, Response::error("whom? Type /summon NAME"));
}

#[tokio::test]
async fn session_starts_answers_and_ends() {
    let harness = Harness::start(extension()).await;
    harness.command("hello", "").await;
    insta::assert_snapshot!(harness.shutdown().await, @r#"
    ← {"type":"hello","name":"hello","version":"1.0.0","capabilities":["commands","ping","host_services","progress","calls","cancel"]}
    ← {"type":"register_command","name":"hello","description":"have the agent greet you, or NAME"}
    ← {"type":"register_command","name":"summon","description":"put @NAME into the editor"}
    ← {"type":"ready"}
    → {"type":"hello_ack","protocol_version":1,"zot_version":"0.0.0","haft_version":"0.0.0","provider":"scripted","model":"scripted","cwd":"/work","data_dir":"[data_dir]","capabilities":["before_agent_start","tool_result","input","before_settle","context","message_end","before_provider_request","user_bash","before_switch","before_fork","before_tree","resources","approve","project_trust","panel_resize","intercept_roles","host_services","models","files","asks","shows","session","bus","status","command_completions","tools_2","cancel","progress","events_2","mirror","hooks_2","calls"]}
    → {"type":"command_invoked","id":"1","name":"hello"}
    ← {"type":"command_response","id":"1","action":"prompt","prompt":"Greet me in one short sentence."}
    → {"type":"shutdown"}
    ← {"type":"shutdown_ack"}
    "#);
}
