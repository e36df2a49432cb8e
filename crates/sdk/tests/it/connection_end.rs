//! The end of a connection, and its effect on running handlers.

use std::future::pending;
use std::time::Duration;

use haft_sdk::testing::Harness;
use haft_sdk::{Extension, Host, LifecycleEvent, NoArgs, NoteLevel, ToolResult};
use tokio::time::sleep;

/// A slow tool, a tool that never ends, and a slow event handler.
fn slow() -> Extension {
    Extension::new("slow", "1.0.0")
        .tool("slow", "", |_: NoArgs, _| async {
            // sleep: virtual time
            sleep(Duration::from_millis(500)).await;
            ToolResult::text("done")
        })
        .tool("never", "", |_: NoArgs, _| pending::<ToolResult>())
        .on_event("turn_start", |event, host: Host| async move {
            // sleep: virtual time
            sleep(Duration::from_millis(300)).await;
            host.notify(NoteLevel::Info, format!("saw {}", event.step.unwrap_or_default()));
        })
}

async fn after_opening(
    harness: &Harness,
    lines: &[&str],
    end: impl AsyncFnOnce(&Harness) -> String,
) -> String {
    let opening = harness.transcript().len();
    for line in lines {
        harness.send_line(line).await;
    }
    end(harness).await[opening + 1..].to_owned()
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_handlers_and_fails_the_rest() {
    let harness = Harness::start(slow()).await;
    let calls = [
        r#"{"type":"tool_call","id":"a","name":"slow","args":{}}"#,
        r#"{"type":"tool_call","id":"b","name":"never","args":{}}"#,
        r#"{"type":"event","event":"turn_start","step":1}"#,
        r#"{"type":"event","event":"turn_start","step":2}"#,
    ];
    insta::assert_snapshot!(after_opening(&harness, &calls, Harness::shutdown).await, @r#"
    → {"type":"tool_call","id":"a","name":"slow","args":{}}
    → {"type":"tool_call","id":"b","name":"never","args":{}}
    → {"type":"event","event":"turn_start","step":1}
    → {"type":"event","event":"turn_start","step":2}
    → {"type":"shutdown"}
    ← {"type":"notify","level":"info","message":"saw 1"}
    ← {"type":"tool_result","id":"a","content":[{"type":"text","text":"done"}]}
    ← {"type":"notify","level":"info","message":"saw 2"}
    ← {"type":"tool_result","id":"b","content":[{"type":"text","text":"handler was stopped before it answered"}],"is_error":true}
    ← {"type":"shutdown_ack"}
    "#);
}

#[tokio::test(start_paused = true)]
async fn end_of_input_ends_silently() {
    let harness = Harness::start(slow()).await;
    let calls = [r#"{"type":"tool_call","id":"a","name":"slow","args":{}}"#];
    insta::assert_snapshot!(after_opening(&harness, &calls, Harness::hang_up).await, @r#"
    → {"type":"tool_call","id":"a","name":"slow","args":{}}
    ← {"type":"tool_result","id":"a","content":[{"type":"text","text":"done"}]}
    "#);
}

#[tokio::test]
async fn incomplete_last_line_is_ignored() {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    let serving = tokio::spawn(slow().serve_on(reader, writer));
    let (mut read, mut write) = tokio::io::split(ours);
    tokio::io::AsyncWriteExt::write_all(&mut write, br#"{"type":"shutdown"}"#).await.unwrap();
    tokio::io::AsyncWriteExt::shutdown(&mut write).await.unwrap();
    let mut said = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut read, &mut said).await.unwrap();
    serving.await.unwrap().unwrap();
    assert!(!said.contains("shutdown_ack"), "{said}");
}

#[tokio::test]
async fn closed_output_ends_the_connection() {
    let (reader, _host_writes) = tokio::io::duplex(64);
    let (host_reads, writer) = tokio::io::duplex(64);
    drop(host_reads);
    let error = slow().serve_on(reader, writer).await.unwrap_err();
    assert_eq!(error.to_string(), "connection to the host failed");
}

#[tokio::test]
async fn host_handle_may_outlive_the_connection() {
    let (keep, kept) = tokio::sync::oneshot::channel();
    let keep = std::sync::Mutex::new(Some(keep));
    let extension = Extension::new("keeps", "1.0.0").on_event("session_start", move |_, host| {
        let keep = keep.lock().unwrap().take();
        async move { keep.into_iter().for_each(|keep| drop(keep.send(host.clone()))) }
    });
    let harness = Harness::start(extension).await;
    harness.event(LifecycleEvent::session_start()).await;
    let host: Host = kept.await.unwrap();
    let transcript = harness.shutdown().await;
    host.notify(NoteLevel::Info, "anybody there?");
    assert_eq!(harness.transcript(), transcript);
}

#[tokio::test]
async fn session_start_handler_gets_the_session() {
    let extension =
        Extension::new("knows", "1.0.0").on_event("session_start", |event, host: Host| async move {
            host.notify(NoteLevel::Info, format!("{:?} in {:?}", event.session_id, event.session_path));
        });
    let harness = Harness::start(extension).await;
    harness.event(LifecycleEvent::session_start_of("s1".into(), Some("/s/s1.jsonl".into()))).await;
    harness.event(LifecycleEvent::session_start()).await;
    let transcript = harness.shutdown().await;
    assert!(transcript.contains(r#"Some(\"s1\") in Some(\"/s/s1.jsonl\")"#), "{transcript}");
    assert!(transcript.contains("None in None"), "{transcript}");
}
