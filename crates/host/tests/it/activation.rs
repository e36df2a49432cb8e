//! Extensions whose manifest names the uses that start them.

mod events;
mod home;
mod registration;

use std::fs;
use std::time::Duration;

use haft_host::ExtensionState;
use haft_packages::{ExtensionSpec, GuardRoles, Permissions};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{eventually, execute, fault, state, text};
use home::{Home, TOOL, USES};

#[tokio::test]
async fn starts_only_when_tool_is_called() {
    let home = Home::with("shy", USES, TOOL);
    let (host, events) = home.host().await;
    assert_eq!(state(&host, "shy"), ExtensionState::Idle);
    let tools = host.tools();
    assert_eq!((tools.len(), host.commands().len()), (1, 1));
    assert_eq!(tools[0].spec().description, "does it");
    assert_eq!(host.commands()[0].description, "goes");
    host.wait_until_settled().await;
    host.ping().await;
    assert_eq!(home.starts(), 0, "no use has started it");
    assert!(!home.log("shy").exists());
    assert_eq!(text(&execute(&host, "t", json!({})).await), "ok");
    assert_eq!(state(&host, "shy"), ExtensionState::Ready);
    assert_eq!(home.starts(), 1);
    assert_eq!(text(&execute(&host, "t", json!({})).await), "ok");
    assert_eq!(home.starts(), 1);
    host.shutdown().await;
    assert!(events.all().is_empty(), "{:?}", events.all());
}

#[tokio::test]
async fn starts_immediately_without_activation() {
    let home = Home::with("eager", "{}", TOOL);
    for run in 1..=3 {
        let (host, _) = home.host().await;
        assert_eq!((state(&host, "eager"), home.starts()), (ExtensionState::Ready, run));
        host.shutdown().await;
    }
}

#[tokio::test]
async fn notifies_user_about_slow_start() {
    // sleep: looks for the file again
    let waits = "until [ -e \"$STARTS.go\" ]; do sleep 0.01; done";
    let mut home = Home::with("shy", USES, &format!("{waits}{TOOL}"));
    home.config.timeouts.slow_start_notice = Duration::from_millis(20);
    let (host, events) = home.host().await;
    let (output, ()) = tokio::join!(execute(&host, "t", json!({})), async {
        eventually(|| !events.all().is_empty()).await;
        fs::write(home.file("STARTS.go"), "").unwrap();
    });
    assert_eq!(text(&output), "ok");
    assert_eq!(text(&execute(&host, "t", json!({})).await), "ok");
    let [AgentEvent::ExtNotify { message, .. }] = &events.all()[..] else { panic!("{:?}", events.all()) };
    assert_eq!(message, "is not ready yet; tool t is waiting for the extension");
    host.shutdown().await;
}

#[tokio::test]
async fn command_starts_extension() {
    let home = Home::with("shy", USES, TOOL);
    let (host, _) = home.host().await;
    host.run_command(&CancellationToken::new(), "go", "").await.unwrap();
    assert_eq!(home.starts(), 1);
    host.shutdown().await;
}

#[tokio::test]
async fn concurrent_calls_start_extension_once() {
    let home = Home::with("shy", USES, TOOL);
    let (host, _) = home.host().await;
    let cancel = CancellationToken::new();
    let (tool, command) = tokio::join!(execute(&host, "t", json!({})), host.run_command(&cancel, "go", ""));
    assert_eq!((text(&tool).as_str(), command.is_ok(), home.starts()), ("ok", true, 1));
    host.shutdown().await;
}

#[tokio::test]
async fn unused_extension_shuts_down_cleanly() {
    let home = Home::with("shy", USES, TOOL);
    let (host, events) = home.host().await;
    host.shutdown().await;
    assert_eq!(state(&host, "shy"), ExtensionState::Stopped);
    assert!(execute(&host, "t", json!({})).await.is_error);
    assert_eq!((home.starts(), events.faults()), (0, vec![]));
}

#[tokio::test]
async fn restart_and_reload_start_extension() {
    let home = Home::with("shy", USES, TOOL);
    let (host, _) = home.host().await;
    host.restart(&ExtensionName::new("shy")).await.unwrap();
    assert_eq!((state(&host, "shy"), home.starts()), (ExtensionState::Ready, 1));
    host.shutdown().await;
    let (host, _) = home.host().await;
    assert_eq!(home.starts(), 1);
    let stats = host.reload().await;
    assert_eq!((stats.loaded, stats.ready, stats.stopped, stats.kept), (1, 1, 0, 0));
    assert_eq!((state(&host, "shy"), home.starts()), (ExtensionState::Ready, 2));
    host.shutdown().await;
}

#[tokio::test]
async fn failed_start_fails_first_use_with_reason() {
    let mut home = Home::with("shy", USES, "exit 3");
    // The extension does not restart in this test, which a call would wait for.
    home.config.timeouts.tool_call = Duration::from_millis(50);
    let (host, events) = home.host().await;
    for _ in 0..2 {
        let output = text(&execute(&host, "t", json!({})).await);
        assert!(output.contains("exited with status 3"), "{output}");
    }
    assert_eq!(events.faults(), [fault("shy", "exited")]);
    host.shutdown().await;
}

#[tokio::test]
async fn cancelled_caller_does_not_wait_for_start() {
    let home = Home::with("shy", USES, "cat > /dev/null");
    let (host, _) = home.host().await;
    let cancel = CancellationToken::new();
    let run = host.run_command(&cancel, "go", "");
    let (outcome, ()) = tokio::join!(run, async {
        eventually(|| home.starts() == 1).await;
        cancel.cancel();
    });
    assert!(outcome.unwrap_err().to_string().contains("cancelled"));
    host.shutdown().await;
}

/// True if an extension with these changes waits for its first use.
async fn waits(change: impl Fn(&mut ExtensionSpec)) -> bool {
    let mut home = Home::with("x", USES, TOOL);
    home.change(change);
    let (host, _) = home.host().await;
    let waits = state(&host, "x") == ExtensionState::Idle;
    assert_eq!(home.starts(), usize::from(!waits));
    host.shutdown().await;
    waits
}

#[tokio::test]
async fn required_and_explicit_extensions_start_immediately() {
    assert!(waits(|_| ()).await);
    assert!(!waits(|spec| spec.origin = haft_host::ExtensionOrigin::Explicit).await);
    assert!(!waits(|spec| spec.roles = GuardRoles { required: true, ..GuardRoles::default() }).await);
}

#[tokio::test]
async fn invalid_declaration_starts_immediately() {
    let uses = r#"{"activation":["tool:t"],"tools":[{"name":"t","schema":{"type":"array"}}]}"#;
    let home = Home::with("x", uses, TOOL);
    let (host, events) = home.host().await;
    assert_eq!((state(&host, "x"), home.starts()), (ExtensionState::Ready, 1));
    assert_eq!(events.faults(), [fault("x", "register_rejected")]);
    let message = events.only_message();
    let expect = "manifest: tool \"t\": its schema describes \"array\", but tool arguments are an \"object\"; the declaration is ignored, and the \
                  extension starts immediately";
    assert_eq!(message, expect);
    host.shutdown().await;
}

#[tokio::test]
async fn ungranted_declaration_starts_immediately() {
    let mut home = Home::with("x", USES, TOOL);
    home.change(|spec| spec.permissions = Some(Permissions::default()));
    let (host, events) = home.host().await;
    assert_eq!(home.starts(), 1);
    let faults = events.faults();
    assert!(faults.iter().all(|(_, code)| code != "tool_changed") && !faults.is_empty(), "{faults:?}");
    host.shutdown().await;
}
