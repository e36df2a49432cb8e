//! One faulty process next to a healthy one. The fault is reported once under its name, a faulty gate blocks,
//! and the healthy extension is not affected.
//!
//! Only faults that need a process: junk, exits, pipes, floods. Lines and deadlines are tested without a
//! process in `crates/host/src/session/tests.rs`, `gates.rs` and `lifecycle.rs`, and restarts in
//! `supervision.rs`. `cargo xtask faults` plays all of them.

use std::fs;
use std::time::Duration;

use haft_core::hooks::{Refusal, ToolDecision};
use haft_core::tool::ToolOutput;
use haft_host::{Host, Timeouts};
use haft_test_support::PATIENCE;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::{Events, blocked, brisk, call, config, eventually, execute, fault, misbehaving, text};

/// A host with a healthy extension and a faulty one.
struct FaultyExtensionHost {
    host: Host,
    events: Events,
    fault: &'static str,
    dir: TempDir,
}

impl FaultyExtensionHost {
    async fn start(fault: &'static str, timeouts: Timeouts, env: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = config();
        config.timeouts = timeouts;
        if fault != "flood" {
            // All but the flood end by themselves.
            config.timeouts.shutdown_grace = PATIENCE;
        }
        config.logs = Some(dir.path().join("logs"));
        let marker = dir.path().join("marker").display().to_string();
        config.env.set.push(("HAFT_MARKER".into(), marker));
        config.env.set.extend(env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())));
        let specs = vec![misbehaving("good", dir.path()), misbehaving(fault, dir.path())];
        let events = Events::default();
        let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
        Self { host, events, fault, dir }
    }

    /// Calls the tool of the faulty extension. The healthy one has the same name, so the test frees it first.
    async fn call(&self, args: Value) -> ToolOutput {
        execute(&self.host, "evil_tool", args).await
    }

    /// Returns the reason if the faulty extension blocks this call. The healthy one is queried first and
    /// allows it.
    async fn blocks(&self, args: Value) -> Option<String> {
        let (by, reason) = blocked(&self.host, &call("bash", args)).await?;
        assert_eq!(by, self.fault, "{reason}");
        Some(reason)
    }

    /// Waits until a fault is reported.
    async fn faulted(&self) {
        eventually(|| self.events.faults().iter().any(|(_, code)| code != "register_rejected")).await;
    }

    /// Ends the host. Checks that the fault happened and was reported once, and that the healthy extension
    /// worked until its clean end.
    async fn end(self, codes: &[&str]) -> String {
        assert_eq!(text(&self.call(json!({})).await), "ok", "the healthy extension answers");
        self.host.shutdown().await;
        let marker = fs::read_to_string(self.dir.path().join("marker")).unwrap();
        assert!(marker.contains(self.fault), "the fault did not happen: {marker}");
        assert!(marker.contains("shutdown"), "the healthy one was not asked to leave: {marker}");
        let mut faults = self.events.faults();
        faults.retain(|(_, code)| code != "register_rejected");
        let expect: Vec<_> = codes.iter().map(|code| fault(self.fault, code)).collect();
        assert_eq!(faults, expect);
        fs::read_to_string(self.dir.path().join(format!("logs/ext-{}.log", self.fault))).unwrap()
    }
}

/// A short deadline for the answer that never comes. The healthy extension has the same deadline: see
/// [`guard`].
fn short_intercept() -> Timeouts {
    let mut timeouts = brisk();
    timeouts.intercept = Duration::from_secs(3);
    timeouts
}

/// Plays the fault in an intercept, which the faulty gate blocks. The healthy gate is not queried, because
/// the deadline may be too short for it.
async fn guard(
    fault: &'static str,
    timeouts: Timeouts,
    env: &[(&str, &str)],
    args: Value,
) -> (FaultyExtensionHost, String) {
    let fixture = FaultyExtensionHost::start(fault, timeouts, env).await;
    let hooks = fixture.host.hook_source().hooks().before_tool_execute;
    let hook = hooks.iter().find(|hook| hook.name() == fault).expect("the fault is a gate");
    let decision = hook.before_tool_execute(&CancellationToken::new(), &call("bash", args)).await;
    let ToolDecision::Refuse(Refusal { reason, .. }) = decision else {
        panic!("a guard that fails blocks: {decision:?}")
    };
    (fixture, reason)
}

#[tokio::test]
async fn survives_junk_output() {
    let fixture = FaultyExtensionHost::start("garbage", brisk(), &[]).await;
    assert_eq!(fixture.blocks(json!({})).await, None);
    assert_eq!(fixture.blocks(json!({"command": "ls"})).await, None);
    fixture.end(&["frame_not_json"]).await;
}

#[tokio::test]
async fn reports_exit_before_hello() {
    let fixture = FaultyExtensionHost::start("exit-before-hello", brisk(), &[]).await;
    let log = fixture.end(&["exited"]).await;
    assert_eq!(log.matches("usage: misbehave <fault>").count(), 1, "{log}");
    assert!(log.contains("[haft] exited: ended before hello: exited with status 2\n"), "{log}");
}

#[tokio::test]
async fn reports_exit_in_call() {
    let (fixture, reason) = guard("exit-in-call", brisk(), &[], json!({})).await;
    assert!(reason.contains("exited with status 3"), "{reason}");
    assert!(!reason.contains("panic: boom"), "what it printed is for people: {reason}");
    fixture.end(&["exited"]).await;
}

#[tokio::test]
async fn reports_unfinished_frame() {
    let (fixture, reason) = guard("half-line", brisk(), &[], json!({})).await;
    assert!(reason.contains("bytes of an unfinished frame"), "{reason}");
    fixture.end(&["exited"]).await;
}

#[tokio::test]
async fn reports_huge_line() {
    let (fixture, reason) = guard("huge-line", brisk(), &[], json!({})).await;
    assert!(reason.contains("sent a line longer than"), "{reason}");
    fixture.end(&["frame_too_long"]).await;
}

#[tokio::test]
async fn reports_unread_input_of_200_kb() {
    let args = json!({"content": "x".repeat(200 * 1024)});
    let (fixture, reason) = guard("never-read-stdin", short_intercept(), &[], args).await;
    assert!(reason.contains("does not read its input"), "{reason}");
    fixture.end(&["write_stalled"]).await;
}

#[tokio::test]
async fn reports_exit_after_5_mb_argument() {
    let args = json!({"content": "x".repeat(5 * 1024 * 1024)});
    let (fixture, reason) = guard("die-on-big-line", brisk(), &[], args).await;
    assert!(reason.contains("exited with status 4"), "{reason}");
    let rm = json!({"command": "rm -rf victim"});
    let (by, _) = blocked(&fixture.host, &call("bash", rm)).await.unwrap();
    assert_eq!(by, "good", "the healthy guard refuses it first");
    fixture.end(&["exited"]).await;
}

#[tokio::test]
async fn handles_child_that_holds_output_open() {
    let mut timeouts = brisk();
    timeouts.pipe_drain = Duration::from_millis(200);
    let ended = async {
        let (fixture, reason) = guard("fork-and-hold-stdout", timeouts, &[], json!({})).await;
        assert!(reason.contains("exited with status 5"), "{reason}");
        fixture.end(&["exited"]).await;
    };
    tokio::time::timeout(PATIENCE, ended).await.expect("the child is waited for");
}

#[tokio::test]
async fn handles_flood() {
    let fixture = FaultyExtensionHost::start("flood", brisk(), &[]).await;
    let calls = async {
        for _ in 0..20 {
            assert_eq!(text(&fixture.call(json!({})).await), "ok");
        }
    };
    tokio::time::timeout(PATIENCE, calls).await.expect("the healthy extension is kept waiting");
    fixture.faulted().await;
    fixture.end(&["rate_limited"]).await;
}
