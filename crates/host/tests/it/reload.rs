//! Reload, and what goes on beside it.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use haft_core::tool::ToolOwner;
use haft_host::{ExtensionSpec, Found, Host, HostConfig, Launch, Roles};
use haft_protocol::event::ExtensionFault;
use haft_protocol::ids::ExtensionName;
use haft_test_support::FakePeer;
use serde_json::json;

use crate::support::{
    Events, blocked, brisk, call, config, execute, fault, named, program, spec, text, tool,
};

fn brisk_config() -> HostConfig {
    HostConfig { timeouts: brisk(), ..config() }
}

/// A host that finds these one after the other, at the start and at every reload, and then nothing.
async fn host_of(events: &Events, rounds: impl IntoIterator<Item = Found>) -> Host {
    let rounds = Mutex::new(rounds.into_iter().collect::<Vec<_>>().into_iter());
    let source = move || rounds.lock().unwrap().next().unwrap_or_default();
    Host::builder(brisk_config()).events(events.sink()).source(source).start().await
}

fn shell(name: &str, dir: &Path, script: &str) -> ExtensionSpec {
    let args = vec!["-c".to_owned(), script.to_owned()];
    spec(name, dir, Launch::Process { program: program(&["sh"]), args })
}

#[tokio::test]
async fn a_reload_starts_what_there_is_now_and_gates_block_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (named("good", "one", dir.path()), named("good", "two", dir.path()));
    let broken =
        spec("broken", dir.path(), Launch::Process { program: dir.path().join("none"), args: Vec::new() });
    let events = Events::default();
    let host = host_of(&events, [vec![one].into(), vec![two, broken].into()]).await;
    assert_eq!(tool(&host, "evil_tool").spec().owner, ToolOwner::Extension("one".into()));

    let ls = call("bash", json!({"command": "ls"}));
    assert_eq!(blocked(&host, &ls).await, None);
    let (stats, meanwhile) = tokio::join!(host.reload(), blocked(&host, &ls));
    assert_eq!(meanwhile.map(|(by, _)| by).as_deref(), Some("one"));
    assert_eq!(blocked(&host, &ls).await, None);
    assert_eq!((stats.stopped, stats.loaded, stats.ready), (1, 1, 1));
    assert_eq!(stats.errors.len(), 1);
    assert_eq!(stats.errors[0].code, "spawn_failed");
    assert_eq!(events.faults(), [fault("broken", "spawn_failed")]);
    assert_eq!(tool(&host, "evil_tool").spec().owner, ToolOwner::Extension("two".into()));
    assert_eq!(text(&execute(&host, "evil_tool", json!({})).await), "ok");

    let stats = host.reload().await;
    assert_eq!((stats.stopped, stats.loaded, stats.errors.len()), (1, 0, 0));
    assert!(host.tools().is_empty());
    host.shutdown().await;
}

#[tokio::test]
async fn a_gate_that_does_not_come_up_again_stays_shut_until_it_is_taken_away() {
    let dir = tempfile::tempdir().unwrap();
    let guard = || named("good", "guard", dir.path());
    let gone =
        spec("guard", dir.path(), Launch::Process { program: dir.path().join("none"), args: Vec::new() });
    let crash = shell("guard", dir.path(), "exit 1");
    let unreadable = ExtensionFault {
        extension: ExtensionName::new("guard"),
        code: "manifest_invalid".into(),
        message: "a comma is missing".into(),
    };
    let unreadable = Found { specs: Vec::new(), faults: vec![unreadable] };
    let rounds =
        [vec![guard()].into(), vec![gone].into(), unreadable, vec![crash].into(), vec![guard()].into()];
    let events = Events::default();
    let host = host_of(&events, rounds).await;
    let ls = call("bash", json!({"command": "ls"}));
    assert_eq!(blocked(&host, &ls).await, None);
    for why in ["none", "a comma is missing", "exited with status 1"] {
        let stats = host.reload().await;
        assert_eq!(stats.errors.len(), 1, "{stats:?}");
        let (by, reason) = blocked(&host, &ls).await.unwrap_or_else(|| panic!("open: {why}"));
        assert_eq!(by, "guard");
        assert!(reason.contains(why), "{reason}");
    }
    host.reload().await;
    assert_eq!(blocked(&host, &ls).await, None, "it works again");
    host.reload().await;
    assert_eq!(blocked(&host, &ls).await, None, "nothing is left of it");
    host.shutdown().await;
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_what_a_reload_starts() {
    let dir = tempfile::tempdir().unwrap();
    let silent = shell("silent", dir.path(), "exec sleep 60");
    let events = Events::default();
    let host = host_of(&events, [Found::default(), vec![silent].into()]).await;
    let start = Instant::now();
    let end = async {
        tokio::task::yield_now().await;
        host.shutdown().await;
    };
    tokio::join!(host.reload(), end);
    assert!(start.elapsed() < Duration::from_secs(10), "waited for its hello: {:?}", start.elapsed());
    assert_eq!(host.reload().await, haft_host::ReloadStats::default(), "the end is the end");
    assert_eq!(events.faults(), []);
}

#[tokio::test]
async fn a_required_gate_that_is_not_put_up_is_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let lines = r#"echo '{"type":"hello","name":"guard"}'; echo '{"type":"ready"}'; cat >&2"#;
    let mut guard = shell("guard", dir.path(), lines);
    guard.roles = Roles { required: true, ..Roles::default() };
    let events = Events::default();
    let host = host_of(&events, [vec![guard].into()]).await;
    let (mut peer, reader, writer) = FakePeer::pair();
    tokio::join!(host.add_streams("other", reader, writer), peer.greet("other", []));
    assert!(blocked(&host, &call("bash", json!({}))).await.is_some());
    assert_eq!(events.faults(), [fault("guard", "hook_error")]);
    drop(peer);
    host.shutdown().await;
}
