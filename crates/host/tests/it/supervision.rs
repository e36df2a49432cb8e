//! Crashes, restarts and starts that need real processes.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haft_host::{ExtensionState, FaultCode, Host, HostConfig, RestartError, RestartTiming};
use haft_packages::{ExtensionOrigin, ExtensionSpec, LaunchPlan, ProjectCheck};
use haft_protocol::ids::ExtensionName;
use haft_test_support::PATIENCE;
use serde_json::json;

use crate::support::{
    Events, blocked, brisk, call, config, eventually, execute, fault, misbehaving, program, spec, state, text,
};

/// Longer than any test waits.
const LONG: Duration = Duration::from_secs(600);

/// Restart pauses that a test can wait for.
fn quick() -> HostConfig {
    let first_pause = Duration::from_millis(20);
    let mut config = config();
    config.timeouts = brisk();
    config.timeouts.restarts = RestartTiming::default();
    config.timeouts.restarts.first_pause = first_pause;
    config
}

/// Returns a shell script that sends hello, offers a tool, is a gate for tool calls, and runs `body` for
/// every query. `$id` is the id of the query, and `answer` answers it.
fn guard(dir: &Path, before: &str, body: &str) -> ExtensionSpec {
    let script = format!(
        r#"echo start >> starts
        {before}
        answer() {{ case $line in
            *event_intercept*) echo '{{"type":"event_intercept_response","id":"'$id'"}}';;
            *) echo '{{"type":"tool_result","id":"'$id'","content":[{{"type":"text","text":"ok"}}]}}';;
        esac; }}
        echo '{{"type":"hello","name":"guard"}}'
        echo '{{"type":"register_tool","name":"t","schema":{{"type":"object"}}}}'
        echo '{{"type":"subscribe","intercept":["tool_call"]}}'
        echo '{{"type":"ready"}}'
        while read -r line; do case $line in
            *'"type":"shutdown"'*) exit 0;;
            *'"id":"'*) id=${{line#*\"id\":\"}}; id=${{id%%\"*}}; {body};;
        esac; done"#
    );
    spec("guard", dir, LaunchPlan::Process { program: program(&["sh"]), args: vec!["-c".to_owned(), script] })
}

/// Exits directly after ready, unless the file `fixed` exists.
fn leaves_when_ready(mut spec: ExtensionSpec) -> ExtensionSpec {
    if let LaunchPlan::Process { args, .. } = &mut spec.launch {
        args[1] = args[1].replace("while read", "[ -e fixed ] || exit 3; while read");
    }
    spec
}

fn starts(dir: &Path) -> usize {
    fs::read_to_string(dir.join("starts")).unwrap_or_default().lines().count()
}

async fn until(host: &Host, name: &str, come: impl Fn(&ExtensionState) -> bool) {
    let mut changes = host.changes();
    while !come(&state(host, name)) {
        tokio::time::timeout(PATIENCE, changes.changed()).await.expect("the change arrives").unwrap();
    }
}

#[tokio::test]
async fn queries_gate_again_after_crash() {
    let dir = tempfile::tempdir().unwrap();
    let once = "[ -e crashed ] || { : > crashed; exit 3; }; answer";
    let events = Events::default();
    let specs = vec![guard(dir.path(), "", once)];
    let host = Host::builder(quick()).events(events.sink()).specs(specs).start().await;
    let bash = call("bash", json!({}));
    let (_, reason) = blocked(&host, &bash).await.expect("the gate crashed during the query");
    assert!(reason.contains("exited with status 3"), "{reason}");
    assert_eq!(host.tools().len(), 1, "its tool stays listed");
    assert_eq!(blocked(&host, &bash).await, None, "the next query waits for the next process");
    assert_eq!(text(&execute(&host, "t", json!({})).await), "ok");
    assert_eq!(events.faults(), [fault("guard", "exited")]);
    assert_eq!(starts(dir.path()), 2);
    host.shutdown().await;
    assert_eq!(state(&host, "guard"), ExtensionState::Stopped);
}

/// A gate that crashes once, or at every start, between `hello` and its subscription.
fn crashes_while_it_registers(dir: &Path, again: &str) -> ExtensionSpec {
    let script = format!(
        r#"echo start >> starts; echo '{{"type":"hello","name":"guard"}}'; read -r ack
        {again} || {{ : > crashed; exit 3; }}
        echo '{{"type":"subscribe","intercept":["tool_call"]}}'; echo '{{"type":"ready"}}'
        while read -r line; do case $line in
            *'"type":"shutdown"'*) exit 0;;
            *'"id":"'*) id=${{line#*\"id\":\"}}; id=${{id%%\"*}}
                echo '{{"type":"event_intercept_response","id":"'$id'","block":true,"reason":"no"}}';;
        esac; done"#
    );
    spec("guard", dir, LaunchPlan::Process { program: program(&["sh"]), args: vec!["-c".to_owned(), script] })
}

#[tokio::test]
async fn waits_for_gate_that_crashed_before_subscribing() {
    let dir = tempfile::tempdir().unwrap();
    let events = Events::default();
    let specs = vec![crashes_while_it_registers(dir.path(), "[ -e crashed ]")];
    let host = Host::builder(quick()).events(events.sink()).specs(specs).start().await;
    let refused = blocked(&host, &call("bash", json!({}))).await;
    assert_eq!(refused, Some(("guard".to_owned(), "no".to_owned())));
    assert_eq!((starts(dir.path()), events.faults()), (2, vec![fault("guard", "exited")]));
    host.shutdown().await;
}

#[tokio::test]
async fn unknown_extension_blocks_during_restart() {
    let bash = call("bash", json!({}));
    for is_restarted_by_hand in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut config = quick();
        config.timeouts.restarts.first_pause = LONG;
        if !is_restarted_by_hand {
            config.timeouts.intercept = Duration::from_millis(300);
        }
        let specs = vec![crashes_while_it_registers(dir.path(), "[ -e crashed ]")];
        let host = Host::builder(config).specs(specs).start().await;
        if is_restarted_by_hand {
            let guard = ExtensionName::new("guard");
            let (restarted, refused) = tokio::join!(host.restart(&guard), async {
                until(&host, "guard", |state| *state == ExtensionState::Starting).await;
                blocked(&host, &bash).await
            });
            assert_eq!((restarted, refused), (Ok(()), Some(("guard".to_owned(), "no".to_owned()))));
        } else {
            let (_, reason) = blocked(&host, &bash).await.expect("the extension may be a gate");
            assert!(reason.contains("is restarting and was not ready within 0.3 s"), "{reason}");
        }
        host.shutdown().await;
    }
}

#[tokio::test]
async fn query_waits_for_restart_until_deadline() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = quick();
    config.timeouts.intercept = Duration::from_millis(300);
    config.timeouts.restarts.first_pause = LONG;
    let events = Events::default();
    let host = Host::builder(config)
        .events(events.sink())
        .specs(vec![leaves_when_ready(guard(dir.path(), "", "answer"))])
        .start()
        .await;
    let is_down =
        |state: &ExtensionState| matches!(state, ExtensionState::Restarting { code: FaultCode::Exited, .. });
    until(&host, "guard", is_down).await;
    let (_, reason) = blocked(&host, &call("bash", json!({}))).await.expect("the gate keeps blocking");
    assert!(reason.contains("is restarting and was not ready within 0.3 s"), "{reason}");
    assert_eq!(events.faults(), [fault("guard", "exited")]);
    tokio::time::timeout(PATIENCE, host.shutdown())
        .await
        .expect("the shutdown does not wait for the restart");
}

#[tokio::test]
async fn crash_loop_ends_and_manual_restart_resets_it() {
    let dir = tempfile::tempdir().unwrap();
    let events = Events::default();
    let specs = vec![leaves_when_ready(guard(dir.path(), "", "answer"))];
    let host = Host::builder(quick()).events(events.sink()).specs(specs).start().await;
    until(&host, "guard", |state| matches!(state, ExtensionState::Failed { code: FaultCode::CrashLoop, .. }))
        .await;
    let exited = || fault("guard", "exited");
    assert_eq!(events.faults(), [exited(), exited(), exited(), exited(), fault("guard", "crash_loop")]);
    assert_eq!(starts(dir.path()), 5);
    // The reasons show that the calls did not wait.
    let (_, reason) = blocked(&host, &call("bash", json!({}))).await.expect("its gate stays shut");
    assert!(reason.contains("failed 5 times within 180 s"), "{reason}");
    let output = execute(&host, "t", json!({})).await;
    assert!(text(&output).contains("failed 5 times within 180 s"), "{output:?}");

    fs::write(dir.path().join("fixed"), "").unwrap();
    host.restart(&ExtensionName::new("guard")).await.unwrap();
    assert_eq!(state(&host, "guard"), ExtensionState::Ready);
    assert_eq!(text(&execute(&host, "t", json!({})).await), "ok");
    assert_eq!(starts(dir.path()), 6);
    host.restart(&ExtensionName::new("guard")).await.unwrap();
    assert_eq!(starts(dir.path()), 7, "a running extension is restarted, too");
    assert_eq!(events.faults().len(), 5);
    host.shutdown().await;
    let unknown = host.restart(&ExtensionName::new("nobody")).await.unwrap_err();
    assert!(matches!(unknown, RestartError::Unknown { .. }));
    let over = host.restart(&ExtensionName::new("guard")).await.unwrap_err();
    assert!(matches!(over, RestartError::NoProcess { .. }));
}

#[tokio::test]
async fn crash_quotes_only_output_of_that_process() {
    let dir = tempfile::tempdir().unwrap();
    let events = Events::default();
    let printing = r#"echo "life $(grep -c . starts)" >&2"#;
    let host = Host::builder(quick())
        .events(events.sink())
        .specs(vec![guard(dir.path(), printing, "exit 3")])
        .start()
        .await;
    for life in 1..=3 {
        let (_, reason) = blocked(&host, &call("bash", json!({}))).await.expect("the gate crashes");
        assert!(!reason.contains("life"), "the reason omits the output: {reason}");
        let last = events.messages().pop().unwrap();
        assert!(last.ends_with(&format!("it printed: life {life}")), "{last}");
    }
    host.shutdown().await;
}

#[tokio::test]
async fn does_not_restart_without_hello() {
    let dir = tempfile::tempdir().unwrap();
    let events = Events::default();
    let specs = vec![guard(dir.path(), "[ -e fixed ] || exit 0", "answer")];
    let host = Host::builder(quick()).events(events.sink()).specs(specs).start().await;
    let is_given_up = matches!(state(&host, "guard"), ExtensionState::Failed { code: FaultCode::Exited, .. });
    assert!(is_given_up, "{:?}", state(&host, "guard"));
    assert_eq!((starts(dir.path()), events.faults()), (1, vec![fault("guard", "exited")]));
    let failed = host.restart(&ExtensionName::new("guard")).await.unwrap_err();
    assert!(matches!(failed, RestartError::Failed { code: FaultCode::Exited, .. }), "{failed}");
    assert_eq!((starts(dir.path()), events.faults().len()), (2, 2), "only the manual restart started it");
    host.shutdown().await;
}

#[tokio::test]
async fn next_query_starts_idle_extension() {
    let dir = tempfile::tempdir().unwrap();
    let events = Events::default();
    let mut guard = guard(dir.path(), "", "answer; exit 0");
    guard.lifecycle.on_demand = true;
    let host = Host::builder(quick()).events(events.sink()).specs(vec![guard]).start().await;
    let idle = || until(&host, "guard", |state| *state == ExtensionState::Idle);
    for round in 1..=3 {
        assert_eq!(text(&execute(&host, "t", json!({})).await), "ok");
        idle().await;
        assert_eq!(blocked(&host, &call("bash", json!({}))).await, None);
        idle().await;
        assert_eq!(starts(dir.path()), 2 * round);
    }
    assert_eq!(events.faults(), []);
    host.shutdown().await;
}

#[tokio::test]
async fn query_during_exit_fails_or_starts_next_process() {
    let dir = tempfile::tempdir().unwrap();
    let events = Events::default();
    let mut guard = guard(dir.path(), "", "answer; exit 0");
    guard.lifecycle.on_demand = true;
    let mut config = quick();
    let pause = Duration::from_millis(1);
    let restarts = &mut config.timeouts.restarts;
    (restarts.first_pause, restarts.longest_pause) = (pause, pause);
    (restarts.window, restarts.stable) = (pause, pause);
    let host = Host::builder(config).events(events.sink()).specs(vec![guard]).start().await;
    let mut failures = 0;
    for round in 0..24 {
        if let Some((_, reason)) = blocked(&host, &call("bash", json!({}))).await {
            assert!(reason.contains("exited with status 0"), "{reason}");
            failures += 1;
        }
        // Nothing else runs in the meantime: the exit and the next query are noticed in any order.
        // sleep: without it, fewer orders are tried; each of them is valid
        std::thread::sleep(Duration::from_millis(50));
        for _ in 0..round % 6 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(events.faults(), vec![fault("guard", "exited"); failures]);
    host.shutdown().await;
}

#[tokio::test]
async fn start_gate_limits_concurrent_starts() {
    let dir = tempfile::tempdir().unwrap();
    let script = |name: &str| {
        let text = format!(
            r#"echo start >> order
            # sleep: one that is started meanwhile shows
            sleep 0.1; echo hello >> order
            echo '{{"type":"hello","name":"{name}"}}'; echo '{{"type":"ready"}}'; while read -r line; do :; done"#
        );
        let args = vec!["-c".to_owned(), text];
        ExtensionSpec {
            origin: ExtensionOrigin::Global,
            ..spec(name, dir.path(), LaunchPlan::Process { program: program(&["sh"]), args })
        }
    };
    let mut config = quick();
    config.start_at_once = std::num::NonZeroUsize::MIN;
    (config.timeouts.start_turn, config.timeouts.start_patience) = (PATIENCE, PATIENCE);
    let specs = vec![script("one"), script("two"), script("three")];
    let host = Host::builder(config).specs(specs).start().await;
    let order = fs::read_to_string(dir.path().join("order")).unwrap();
    assert_eq!(order, "start\nhello\n".repeat(3));
    for name in ["one", "two", "three"] {
        assert_eq!(state(&host, name), ExtensionState::Ready);
    }
    host.shutdown().await;
}

#[tokio::test]
async fn silent_extension_leaves_start_gate() {
    let dir = tempfile::tempdir().unwrap();
    let mut silent = misbehaving("silent", dir.path());
    silent.origin = ExtensionOrigin::Global;
    let mut config = quick();
    config.start_at_once = std::num::NonZeroUsize::MIN;
    (config.timeouts.hello, config.timeouts.start_patience) = (LONG, Duration::ZERO);
    config.timeouts.start_turn = Duration::from_millis(100);
    let good = ExtensionSpec { name: ExtensionName::new("good"), ..misbehaving("good", dir.path()) };
    let host = Host::builder(config).specs(vec![silent, good]).start().await;
    until(&host, "good", |state| *state == ExtensionState::Ready).await;
    assert_eq!(state(&host, "silent"), ExtensionState::Starting, "the start does not wait for it");
    host.shutdown().await;
}

#[tokio::test]
async fn shutdown_does_not_wait_for_start_gate() {
    let dir = tempfile::tempdir().unwrap();
    let silent =
        |name: &str| ExtensionSpec { name: ExtensionName::new(name), ..misbehaving("silent", dir.path()) };
    let mut config = quick();
    config.start_at_once = std::num::NonZeroUsize::MIN;
    (config.timeouts.start_turn, config.timeouts.hello) = (LONG, LONG);
    let marker = dir.path().join("marker");
    config.env.set.push(("HAFT_MARKER".into(), marker.display().to_string()));
    let rounds = std::sync::Mutex::new(vec![vec![silent("one"), silent("two"), silent("three")], Vec::new()]);
    let source = move || rounds.lock().unwrap().pop().unwrap_or_default().into();
    let events = Events::default();
    let host = Host::builder(config).events(events.sink()).source(source).start().await;
    let end = async {
        // The first extension is starting, and the others wait for the start gate.
        eventually(|| marker.exists()).await;
        host.shutdown().await;
    };
    let ended = async { tokio::join!(host.reload(), end) };
    tokio::time::timeout(PATIENCE, ended).await.expect("the shutdown does not wait for the start gate");
    assert_eq!(events.faults(), []);
}

#[tokio::test]
async fn start_remembers_silent_extensions() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let start = |patience: Duration| async move {
        let mut config = quick();
        config.state = Some(path.join("state"));
        (config.timeouts.start_patience, config.timeouts.shutdown_grace) = (patience, Duration::ZERO);
        let silent = ExtensionSpec { origin: ExtensionOrigin::Global, ..misbehaving("silent", path) };
        let began = std::time::Instant::now();
        let host = Host::builder(config).specs(vec![silent]).start().await;
        let took = began.elapsed();
        host.shutdown().await;
        took >= patience
    };
    let short = Duration::from_millis(300);
    assert!(start(short).await);
    assert!(!tokio::time::timeout(PATIENCE, start(LONG)).await.expect("the silent record exists"));
    fs::write(dir.path().join("extension.json"), "{}").unwrap();
    assert!(start(short).await, "a changed version gets a new chance");
}

#[tokio::test]
async fn does_not_restart_changed_project_extension() {
    let dir = tempfile::tempdir().unwrap();
    let changed = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&changed);
    let check = move || if now.load(Ordering::SeqCst) { Err("it changed".to_owned()) } else { Ok(()) };
    let mut config = quick();
    config.project_check = Some(ProjectCheck::new(check));
    let mut spec = guard(dir.path(), "", "answer");
    spec.origin = ExtensionOrigin::Project;
    let events = Events::default();
    let host = Host::builder(config).events(events.sink()).specs(vec![spec]).start().await;
    assert_eq!((starts(dir.path()), events.faults()), (1, vec![]));
    changed.store(true, Ordering::SeqCst);
    let _ = host.restart(&ExtensionName::new("guard")).await;
    until(&host, "guard", |state| {
        matches!(
            state,
            ExtensionState::Failed { code: FaultCode::PinMismatch | FaultCode::CrashLoop, .. }
                | ExtensionState::Restarting { code: FaultCode::PinMismatch, .. }
        )
    })
    .await;
    assert_eq!((starts(dir.path()), events.faults().first()), (1, Some(&fault("guard", "pin_mismatch"))));
    assert!(blocked(&host, &call("bash", json!({}))).await.is_some());
    host.shutdown().await;
}
