//! The methods of the session send the calls of the protocol.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use haft_sdk::protocol::ext::{HostCallKind, HostCallTarget};
use haft_sdk::protocol::rpc::{Command, CommandFailure, ErrorCode, SendMessage};
use haft_sdk::protocol::thinking::ThinkingLevel;
use haft_sdk::testing::Harness;
use haft_sdk::{Extension, Host, HostError, Response};

/// Makes every call to the session, and returns their errors.
async fn make_calls(host: &Host) -> Vec<HostError> {
    let session = host.session();
    let results = [
        session.state().await.map(drop),
        session.messages().await.map(drop),
        session.get_tree().await.map(drop),
        session.models().await.map(drop),
        session.tools().await.map(drop),
        session.list_sessions().await.map(drop),
        session.list_commands().await.map(drop),
        session.list_extensions().await.map(drop),
        session.list_jobs().await.map(drop),
        session.stop_job(2).await,
        session.set_name("plan").await,
        session.append_entry("failures", &1).await.map(drop),
        session.send_message(SendMessage::new("build", "It failed.")).await.map(drop),
        session.set_label("e1", None).await,
        session.set_tags([("build", None)]).await,
        session.find_sessions([("build", None)]).await.map(drop),
        session.prompt("Plan.").await,
        session.steer("Not in src/.").await.map(drop),
        session.follow_up("Then test.").await.map(drop),
        session.take_queued().await.map(drop),
        session.abort().await,
        session.interrupt_run("What is left?").await,
        session.compact(None).await,
        session.wait_idle().await,
        session.clear_conversation().await,
        session.set_model("acme/fast").await.map(drop),
        session.set_thinking(ThinkingLevel::High).await.map(drop),
        session.set_tools(None).await.map(drop),
        session.new_session().await.map(drop),
        session.clone().with_id("0199").switch_session().await.map(drop),
        session.clone().with_id("0199").close_session().await,
        session.fork(None).await.map(drop),
        session.move_to("e1").await.map(drop),
        session.run_command("plan", "").await.map(drop),
        session.reload_extensions().await.map(drop),
        session.shut_down().await,
    ];
    results.into_iter().filter_map(Result::err).collect()
}

#[tokio::test]
async fn each_call_to_the_session_has_a_method() {
    let extension = Extension::new("caller", "1.0.0").command("call", "Call", |_, host: Host| async move {
        Response::display(make_calls(&host).await.len().to_string())
    });
    let seen: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let log = Arc::clone(&seen);
    let harness = Harness::start_with_session(extension, move |command: &Command| {
        log.lock().unwrap().insert(command.kind().name().to_owned());
        Err(CommandFailure::new(ErrorCode::Busy, "later"))
    })
    .await;
    let calls = HostCallKind::ALL.iter().filter(|call| call.target() == HostCallTarget::Session);
    let names: BTreeSet<String> = calls.map(|call| call.name().to_owned()).collect();
    let failed = harness.command("call", "").await;
    assert_eq!(*seen.lock().unwrap(), names);
    assert_eq!(
        failed,
        Response::display(names.len().to_string()),
        "each call returns the error of its command"
    );
}
