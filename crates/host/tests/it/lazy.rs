//! Extensions that wait for their first use, behind what they registered when they last ran.

mod changes;
mod events;
mod home;

use std::fs;
use std::time::Duration;

use haft_host::{ExtensionState, HostConfig};
use haft_packages::{Lazy, Roles};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{blocked, call, eventually, execute, state, text};
use home::{GUARD, Home, TOOL};

#[tokio::test]
async fn the_second_run_starts_nothing_until_a_tool_is_called() {
    let home = Home::with("shy", TOOL);
    home.runs_once().await;
    let (host, events) = home.host().await;
    assert_eq!(state(&host, "shy"), ExtensionState::Idle);
    assert_eq!((host.tools().len(), host.commands().len()), (1, 1));
    host.settled().await;
    host.ping().await;
    assert_eq!(home.starts(), 1, "nobody needed it");
    assert!(
        !home.log("shy").exists()
            || fs::read_to_string(home.log("shy")).unwrap().matches("starting").count() == 1
    );
    assert_eq!(text(&execute(&host, "t", json!({})).await), "ok");
    assert_eq!(state(&host, "shy"), ExtensionState::Ready);
    assert_eq!(home.starts(), 2);
    assert_eq!(text(&execute(&host, "t", json!({})).await), "ok");
    assert_eq!(home.starts(), 2);
    host.shutdown().await;
    assert!(events.all().is_empty(), "{:?}", events.all());
}

#[tokio::test]
async fn people_are_told_what_a_call_waits_for() {
    // sleep: looks for the file again
    let waits = "until [ -e \"$STARTS.go\" ]; do sleep 0.01; done";
    let mut home = Home::with("shy", &format!("{waits}{TOOL}"));
    home.config.timeouts.told = Duration::from_millis(20);
    let go = home.file("STARTS.go");
    fs::write(&go, "").unwrap();
    home.runs_once().await;
    fs::remove_file(&go).unwrap();
    let (host, events) = home.host().await;
    let (output, ()) = tokio::join!(execute(&host, "t", json!({})), async {
        eventually(|| !events.all().is_empty()).await;
        fs::write(&go, "").unwrap();
    });
    assert_eq!(text(&output), "ok");
    assert_eq!(text(&execute(&host, "t", json!({})).await), "ok");
    let [AgentEvent::ExtNotify { message, .. }] = &events.all()[..] else { panic!("{:?}", events.all()) };
    assert_eq!(message, "is not ready yet; tool t waits for it");
    host.shutdown().await;
}

#[tokio::test]
async fn a_command_starts_it() {
    let home = Home::with("shy", TOOL);
    home.runs_once().await;
    let (host, _) = home.host().await;
    host.run_command(&CancellationToken::new(), "go", "").await.unwrap();
    assert_eq!(home.starts(), 2);
    host.shutdown().await;
}

#[tokio::test]
async fn one_that_is_never_used_leaves_in_good_order() {
    let home = Home::with("shy", TOOL);
    home.runs_once().await;
    let (host, events) = home.host().await;
    host.shutdown().await;
    assert_eq!(state(&host, "shy"), ExtensionState::Stopped);
    assert!(execute(&host, "t", json!({})).await.is_error);
    assert_eq!((home.starts(), events.faults()), (1, vec![]));
}

#[tokio::test]
async fn a_restart_and_a_reload_start_it() {
    let home = Home::with("shy", TOOL);
    home.runs_once().await;
    let (host, _) = home.host().await;
    host.restart(&ExtensionName::new("shy")).await.unwrap();
    assert_eq!((state(&host, "shy"), home.starts()), (ExtensionState::Ready, 2));
    host.shutdown().await;
    let (host, _) = home.host().await;
    assert_eq!(home.starts(), 2);
    let stats = host.reload().await;
    assert_eq!((stats.loaded, stats.ready, stats.stopped, stats.kept), (1, 1, 0, 0));
    assert_eq!((state(&host, "shy"), home.starts()), (ExtensionState::Ready, 3));
    host.shutdown().await;
}

#[tokio::test]
async fn a_guard_that_was_not_started_is_asked_before_the_tool_runs() {
    let home = Home::with("guard", GUARD);
    home.runs_once().await;
    let (host, events) = home.host().await;
    assert_eq!(home.starts(), 1);
    let (by, reason) = blocked(&host, &call("bash", json!({}))).await.unwrap();
    assert_eq!((by.as_str(), reason.as_str()), ("guard", "no"));
    assert_eq!((home.starts(), events.faults()), (2, vec![]));
    host.shutdown().await;
}

#[tokio::test]
async fn a_guard_that_cannot_be_started_when_it_is_needed_blocks_and_goes_on_blocking() {
    let home = Home::with("guard", GUARD);
    home.runs_once().await;
    let (host, events) = home.host().await;
    // Only after the host looked: the guard is there, and breaks when it is needed.
    fs::write(home.dir("guard").join("run.sh"), "exit 3").unwrap();
    for _ in 0..2 {
        let (by, reason) = blocked(&host, &call("bash", json!({}))).await.unwrap();
        assert!(by == "guard" && reason.contains("exited with status 3"), "{reason}");
    }
    assert_eq!(events.faults(), [("guard".to_owned(), "exited".to_owned())]);
    assert!(matches!(state(&host, "guard"), ExtensionState::Failed { .. }));
    host.shutdown().await;
}

#[tokio::test]
async fn all_guards_of_a_call_start_together() {
    let home = Home::with("one", GUARD);
    home.put("two", GUARD);
    home.age();
    home.runs_once().await;
    let (host, _) = home.host().await;
    let hooks = host.hook_source().hooks().before_tool_execute;
    assert_eq!(hooks.iter().filter(|hook| hook.role("bash").is_some()).count(), 2);
    host.settled().await;
    assert_eq!(home.starts(), 4);
    host.shutdown().await;
}

/// Whether an extension waits in the second run, with this config and this way to find it.
async fn waits(
    body: &str,
    change: impl Fn(&mut haft_packages::ExtensionSpec),
    config: impl Fn(&mut HostConfig),
) -> bool {
    let mut home = Home::with("x", body);
    home.change(change);
    config(&mut home.config);
    home.runs_once().await;
    let (host, _) = home.host().await;
    let waits = state(&host, "x") == ExtensionState::Idle;
    assert_eq!(home.starts(), if waits { 1 } else { 2 });
    host.shutdown().await;
    waits
}

#[tokio::test]
async fn who_waits_and_who_does_not() {
    assert!(waits(TOOL, |_| (), |_| ()).await);
    assert!(!waits(TOOL, |spec| spec.lifecycle.lazy = Lazy::Never, |_| ()).await);
    assert!(!waits(TOOL, |spec| spec.origin = haft_packages::Origin::Explicit, |_| ()).await);
    assert!(!waits(GUARD, |spec| spec.roles = Roles { required: true, ..Roles::default() }, |_| ()).await);
    assert!(!waits(TOOL, |_| (), |config| config.lazy = false).await);
    assert!(!waits(TOOL, |_| (), |config| config.state = None).await);
    assert!(!waits(TOOL, |_| (), |config| config.timeouts.lazy_start = Duration::ZERO).await);
    let subscribed =
        |what: &str| format!(r#"say '{{"type":"subscribe",{what}}}'; say '{{"type":"ready"}}'; serve"#);
    assert!(!waits(&subscribed(r#""events":["session_start"]"#), |_| (), |_| ()).await);
    assert!(!waits(&subscribed(r#""intercept":["turn_start"]"#), |_| (), |_| ()).await);
    assert!(!waits(&subscribed(r#""intercept":["before_agent_start"]"#), |_| (), |_| ()).await);
    assert!(waits(&subscribed(r#""events":["turn_end"]"#), |_| (), |_| ()).await);
    // sleep: it is ready by then, or is being asked to leave; it is late in both cases
    let late = r#"say '{"type":"ready"}'; sleep 0.1; say '{"type":"register_command","name":"late"}'; serve"#;
    assert!(!waits(late, |_| (), |_| ()).await);
}
