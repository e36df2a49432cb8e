//! Reload, and the calls during it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use haft_core::tool::ToolOwner;
use haft_host::{DiscoveredExtensions, ExtensionState, Host, HostConfig};
use haft_packages::{ExtensionOrigin, ExtensionSpec, GuardRoles, LaunchPlan};
use haft_protocol::event::ExtensionFault;
use haft_protocol::ext::InterceptKind;
use haft_protocol::ids::ExtensionName;
use haft_test_support::PATIENCE;
use serde_json::json;

use crate::support::{
    Events, blocked, brisk, call, config, eventually, execute, fault, named, program, spec, state, text, tool,
};

fn brisk_config() -> HostConfig {
    let mut config = config();
    config.timeouts = brisk();
    config
}

/// Returns a host that finds these sets in turn, at the start and at every reload, and then nothing.
async fn host_of(events: &Events, rounds: impl IntoIterator<Item = DiscoveredExtensions>) -> Host {
    let rounds = Mutex::new(rounds.into_iter().collect::<Vec<_>>().into_iter());
    let source = move || rounds.lock().unwrap().next().unwrap_or_default();
    Host::builder(brisk_config()).events(events.sink()).source(source).start().await
}

fn shell(name: &str, dir: &Path, script: &str) -> ExtensionSpec {
    let args = vec!["-c".to_owned(), script.to_owned()];
    spec(name, dir, LaunchPlan::Process { program: program(&["sh"]), args })
}

#[tokio::test]
async fn reload_starts_current_extensions_while_old_ones_answer() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (named("good", "one", dir.path()), named("good", "two", dir.path()));
    let broken = spec(
        "broken",
        dir.path(),
        LaunchPlan::Process { program: dir.path().join("none"), args: Vec::new() },
    );
    let events = Events::default();
    let host = host_of(&events, [vec![one].into(), vec![two, broken].into()]).await;
    assert_eq!(tool(&host, "evil_tool").spec().owner, ToolOwner::Extension("one".into()));

    let ls = call("bash", json!({"command": "ls"}));
    assert_eq!(blocked(&host, &ls).await, None);
    let (stats, meanwhile) = tokio::join!(host.reload(), blocked(&host, &ls));
    assert_eq!(meanwhile, None, "the old extension answers");
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
async fn keeps_old_extension_when_new_one_fails() {
    let dir = tempfile::tempdir().unwrap();
    let guard = || named("good", "guard", dir.path());
    let gone =
        spec("guard", dir.path(), LaunchPlan::Process { program: dir.path().join("none"), args: Vec::new() });
    let crash = shell("guard", dir.path(), "exit 1");
    let unreadable =
        ExtensionFault::new(ExtensionName::new("guard"), "manifest_invalid", "a comma is missing");
    let unreadable = DiscoveredExtensions { faults: vec![unreadable], ..DiscoveredExtensions::default() };
    let rounds =
        [vec![guard()].into(), vec![gone].into(), unreadable, vec![crash].into(), vec![guard()].into()];
    let events = Events::default();
    let host = host_of(&events, rounds).await;
    let remove = call("bash", json!({"command": "rm -rf /"}));
    for why in ["none", "a comma is missing", "exited with status 1"] {
        let stats = host.reload().await;
        assert_eq!((stats.kept, stats.stopped, stats.ready), (1, 0, 0), "{stats:?}");
        assert_eq!(stats.errors.len(), 1, "{stats:?}");
        assert!(stats.errors[0].message.contains(why), "{stats:?}");
        let (by, reason) = blocked(&host, &remove).await.unwrap_or_else(|| panic!("open: {why}"));
        assert_eq!((by.as_str(), reason.as_str()), ("guard", "refused: rm -rf"), "the old extension answers");
        assert_eq!(text(&execute(&host, "evil_tool", json!({})).await), "ok");
    }
    assert_eq!(events.faults().len(), 3);
    let stats = host.reload().await;
    assert_eq!((stats.kept, stats.stopped, stats.ready), (0, 1, 1));
    assert!(blocked(&host, &remove).await.is_some(), "the gate works again");
    let stats = host.reload().await;
    assert_eq!((stats.kept, stats.stopped, stats.loaded), (0, 1, 0));
    assert_eq!(blocked(&host, &remove).await, None, "the gate is gone");
    host.shutdown().await;
}

#[tokio::test]
async fn does_not_keep_failed_old_extension() {
    let dir = tempfile::tempdir().unwrap();
    let crashes = |status| {
        let script = format!(r#"echo '{{"type":"hello","name":"x"}}'; exit {status}"#);
        DiscoveredExtensions::from(vec![shell("x", dir.path(), &script)])
    };
    let rounds = Mutex::new(vec![crashes(4), crashes(3)]);
    let mut config = brisk_config();
    config.timeouts.restarts.first_pause = Duration::from_millis(1);
    let source = move || rounds.lock().unwrap().pop().unwrap_or_default();
    let host = Host::builder(config).source(source).start().await;
    let mut changes = host.changes();
    while !matches!(state(&host, "x"), ExtensionState::Failed { .. }) {
        tokio::time::timeout(PATIENCE, changes.changed()).await.expect("a loop").unwrap();
    }
    let stats = host.reload().await;
    assert_eq!((stats.kept, stats.errors.len()), (0, 1), "{stats:?}");
    assert!(stats.errors[0].message.contains("exited with status 4"), "{stats:?}");
    host.shutdown().await;
}

/// Counts its starts and calls, and answers each call once the file `go` exists.
fn slow_tool(name: &str, dir: &Path, version: &str) -> ExtensionSpec {
    let script = format!(
        r#"echo start >> starts; echo '{{"type":"hello","name":"{name}"}}'
        echo '{{"type":"register_tool","name":"slow","schema":{{"type":"object","title":"{version}"}}}}'
        echo '{{"type":"ready"}}'
        while read -r line; do case $line in
            *'"type":"shutdown"'*) exit;;
            *'"type":"tool_call"'*) id=${{line#*\"id\":\"}}; id=${{id%%\"*}}; echo call >> calls
                # sleep: looks for the file again
                (until [ -e go ]; do sleep 0.01; done
                echo '{{"type":"tool_result","id":"'$id'","content":[{{"type":"text","text":"'$$'"}}]}}') & ;;
        esac; done"#
    );
    shell(name, dir, &script)
}

#[tokio::test]
async fn old_extension_answers_calls_made_before_reload() {
    let dir = tempfile::tempdir().unwrap();
    let one = || slow_tool("slow", dir.path(), "1");
    let two = slow_tool("slow", dir.path(), "2");
    let events = Events::default();
    let host = host_of(&events, [vec![one()].into(), vec![one()].into(), vec![two].into()]).await;
    let old = tool(&host, "slow");
    let run = || async {
        let context = haft_core::tool::ToolContext::new(Default::default(), |_| {});
        old.execute(context, call("slow", json!({}))).await
    };
    let calls = async {
        let before = futures_of(8, &run).await;
        (before, run().await)
    };
    let reload = async {
        eventually(|| lines(dir.path(), "calls") == 8).await;
        host.reload().await
    };
    let release = async {
        eventually(|| lines(dir.path(), "starts") == 2).await;
        std::fs::write(dir.path().join("go"), "").unwrap();
    };
    let ((before, after), stats, ()) = tokio::join!(calls, reload, release);
    assert!(before.iter().all(|output| !output.is_error && text(output) == text(&before[0])), "{before:?}");
    assert!(!after.is_error, "{after:?}");
    assert_ne!(text(&after), text(&before[0]), "the same schema: the new process is called");
    assert_eq!((stats.stopped, stats.ready), (1, 1));

    host.reload().await;
    let changed = run().await;
    assert!(changed.is_error && text(&changed).contains("available in the next step"), "{changed:?}");
    host.reload().await;
    let stopped = run().await;
    assert!(stopped.is_error && text(&stopped).contains("was stopped"), "{stopped:?}");
    assert_eq!(events.faults(), []);
    host.shutdown().await;
}

/// The number of lines in a file.
fn lines(dir: &Path, file: &str) -> usize {
    std::fs::read_to_string(dir.join(file)).unwrap_or_default().lines().count()
}

/// Returns this number of futures.
async fn futures_of<T>(count: usize, make: impl Fn() -> T) -> Vec<T::Output>
where
    T: Future,
{
    let mut running: Vec<_> = (0..count).map(|_| Box::pin(make())).collect();
    let mut done: Vec<Option<T::Output>> = running.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, done) in running.iter_mut().zip(&mut done).filter(|(_, done)| done.is_none()) {
            if let std::task::Poll::Ready(output) = future.as_mut().poll(context) {
                *done = Some(output);
            }
        }
        if done.iter().all(Option::is_some) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[tokio::test]
async fn call_beyond_drain_time_fails_with_reason() {
    let dir = tempfile::tempdir().unwrap();
    let events = Events::default();
    let mut config = brisk_config();
    config.timeouts.drain = Duration::from_millis(100);
    let specs = vec![slow_tool("slow", dir.path(), "1")];
    let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
    let reload = async {
        eventually(|| lines(dir.path(), "calls") == 1).await;
        host.reload().await
    };
    let (output, stats) = tokio::join!(execute(&host, "slow", json!({})), reload);
    assert_eq!(text(&output), "extension slow/slow failed: was cancelled by reload");
    assert_eq!((stats.stopped, stats.ready), (1, 1));
    assert_eq!(events.faults(), []);
    host.shutdown().await;
}

#[tokio::test]
async fn many_reloads_end_with_current_extensions() {
    let dir = tempfile::tempdir().unwrap();
    let specs = vec![named("good", "one", dir.path()), named("silent", "quiet", dir.path())];
    let events = Events::default();
    let mut config = brisk_config();
    config.timeouts.hello = Duration::from_millis(50);
    let mut specs = specs;
    specs[0].lifecycle.hello = Some(PATIENCE);
    let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
    let all = futures_of(5, || host.reload()).await;
    assert!(all.iter().all(|stats| (stats.stopped, stats.ready) == (1, 1)), "{all:?}");
    assert_eq!(host.statuses().len(), 2);
    assert_eq!(text(&execute(&host, "evil_tool", json!({})).await), "ok");
    assert_eq!(events.faults(), vec![fault("quiet", "hello_timeout"); 6]);
    host.shutdown().await;
}

#[tokio::test]
async fn user_and_manifest_set_deadline_of_hello() {
    let dir = tempfile::tempdir().unwrap();
    let silent = |name: &str| named("silent", name, dir.path());
    let short = Duration::from_millis(50);
    let mut config = brisk_config();
    // Deadlines that pass belong to extensions that fail; the others keep starting.
    (config.timeouts.awaited_hello, config.timeouts.start_patience) = (short, short);
    config.hello_timeouts.insert(ExtensionName::new("by-user"), short);
    config.hello_timeouts.insert(ExtensionName::new("gate-by-user"), PATIENCE);
    let mut specs = ["usual", "by-user", "by-manifest", "gate", "gate-by-user", "named"].map(silent);
    specs[1].lifecycle.hello = Some(PATIENCE);
    specs[2].lifecycle.hello = Some(short);
    specs[3].roles.gates.push(InterceptKind::ToolCall);
    specs[4].roles.gates.push(InterceptKind::ToolCall);
    specs[..5].iter_mut().for_each(|spec| spec.origin = ExtensionOrigin::Global);
    specs[5].origin = ExtensionOrigin::Explicit;
    let events = Events::default();
    let host = Host::builder(config).events(events.sink()).specs(specs.into()).start().await;
    let failed = || events.faults().into_iter().map(|(name, _)| name).collect::<BTreeSet<_>>();
    let expect = BTreeSet::from(["by-manifest", "by-user", "gate", "named"].map(str::to_owned));
    eventually(|| failed().is_superset(&expect)).await;
    assert_eq!(failed(), expect);
    assert!(events.faults().iter().all(|(_, code)| code == "hello_timeout"), "{:?}", events.faults());
    for name in ["usual", "gate-by-user"] {
        assert_eq!(state(&host, name), ExtensionState::Starting, "{name}");
    }
    host.shutdown().await;
}

#[tokio::test]
async fn shutdown_does_not_wait_for_reload() {
    let dir = tempfile::tempdir().unwrap();
    let mut silent = shell("silent", dir.path(), "exec sleep 3600");
    silent.lifecycle.hello = Some(PATIENCE * 2);
    let events = Events::default();
    let host = host_of(&events, [DiscoveredExtensions::default(), vec![silent].into()]).await;
    let end = async {
        tokio::task::yield_now().await;
        host.shutdown().await;
    };
    let ended = async { tokio::join!(host.reload(), end) };
    tokio::time::timeout(PATIENCE, ended).await.expect("it waits for its hello");
    assert_eq!(
        host.reload().await,
        haft_host::ReloadStats::default(),
        "a reload after the shutdown does nothing"
    );
    assert_eq!(events.faults(), []);
}

#[tokio::test]
async fn reports_missing_required_gate_once() {
    let dir = tempfile::tempdir().unwrap();
    let lines = r#"echo '{"type":"hello","name":"guard"}'; echo '{"type":"ready"}'; cat >&2"#;
    let mut guard = shell("guard", dir.path(), lines);
    guard.roles = GuardRoles { required: true, ..GuardRoles::default() };
    let events = Events::default();
    let other = named("good", "other", dir.path());
    let host = host_of(&events, [vec![guard, other].into()]).await;
    host.restart(&ExtensionName::new("other")).await.unwrap();
    assert!(blocked(&host, &call("bash", json!({}))).await.is_some());
    assert_eq!(events.faults(), [fault("guard", "hook_error")]);
    host.shutdown().await;
}

/// Returns a required gate that subscribes to calls of this tool and never answers.
fn required_gate(tool: &str, dir: &Path) -> ExtensionSpec {
    let script = format!(
        r#"echo '{{"type":"hello","name":"guard"}}'
echo '{{"type":"subscribe","intercept":[{{"event":"tool_call","role":"gate","tools":["{tool}"]}}]}}'
echo '{{"type":"ready"}}'
while read -r line; do case $line in *'"type":"shutdown"'*) exit 0 ;; esac; done"#
    );
    let roles = GuardRoles { required: true, ..GuardRoles::default() };
    ExtensionSpec { roles, ..shell("guard", dir, &script) }
}

#[tokio::test]
async fn never_drops_required_gate() {
    let dir = tempfile::tempdir().unwrap();
    let roles = GuardRoles { required: true, ..GuardRoles::default() };
    let guard = || named("good", "guard", dir.path());
    let required = || ExtensionSpec { roles: roles.clone(), ..guard() };
    let events = Events::default();
    let rounds = [vec![required()].into(), vec![guard()].into(), vec![].into(), vec![required()].into()];
    let host = host_of(&events, rounds).await;
    let remove = call("bash", json!({"command": "rm -rf /"}));
    for why in ["no longer required", "not found"] {
        let stats = host.reload().await;
        assert_eq!(stats.kept, 1, "{why}: {stats:?}");
        assert_eq!(stats.errors.last().unwrap().code, "required_missing");
        let (by, _) = blocked(&host, &remove).await.unwrap_or_else(|| panic!("open: {why}"));
        assert_eq!(by, "guard");
    }
    let stats = host.reload().await;
    assert_eq!((stats.kept, stats.stopped, stats.ready), (0, 1, 1), "an approved version replaces it");
    assert!(blocked(&host, &remove).await.is_some());
    host.shutdown().await;
}

#[tokio::test]
async fn restarts_gate_only_with_unchanged_code() {
    let dir = tempfile::tempdir().unwrap();
    let gates = vec![InterceptKind::ToolCall];
    let roles = GuardRoles { gates, ..GuardRoles::default() };
    let guard = ExtensionSpec { roles, ..named("good", "guard", dir.path()) };
    let events = Events::default();
    let again = || DiscoveredExtensions::from(vec![guard.clone()]);
    let host = host_of(&events, [again(), again(), again()]).await;
    assert_eq!(host.reload().await.ready, 1);
    std::fs::write(dir.path().join("json.py"), "").unwrap();
    let stats = host.reload().await;
    assert_eq!((stats.kept, stats.ready), (1, 0), "{stats:?}");
    assert_eq!(events.faults(), [fault("guard", "pin_mismatch")]);
    assert!(events.only_message().contains("json.py"), "{}", events.only_message());
    assert_eq!(state(&host, "guard"), ExtensionState::Ready, "the running process stays");
    let error = host.restart(&ExtensionName::new("guard")).await.unwrap_err().to_string();
    assert!(error.contains("json.py"), "{error}");
    let remove = call("bash", json!({"command": "ls"}));
    assert!(blocked(&host, &remove).await.is_some(), "a gate that does not restart blocks");
    host.shutdown().await;
}

#[tokio::test]
async fn required_gate_without_tool_blocks_after_reload() {
    let dir = tempfile::tempdir().unwrap();
    let events = Events::default();
    let rounds =
        ["bash", "Shel"].map(|tool| DiscoveredExtensions::from(vec![required_gate(tool, dir.path())]));
    let host = host_of(&events, rounds).await;
    let stats = host.reload().await;
    assert_eq!((stats.ready, stats.kept), (1, 0), "{stats:?}");
    let (by, reason) = blocked(&host, &call("bash", json!({"command": "ls"}))).await.unwrap();
    assert_eq!(by, "guard");
    assert!(reason.contains("is required but guards no tool"), "{reason}");
    host.shutdown().await;
}
