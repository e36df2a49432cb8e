//! Behavior that only real processes show: process groups, environments, many processes.

use std::fs;
use std::io::Read as _;
use std::time::{Duration, Instant};

use haft_host::{ExtensionState, Host};
use haft_launch::Launcher;
use haft_packages::LaunchPlan;
use haft_protocol::ids::ExtensionName;
use haft_test_support::PATIENCE;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{
    Events, blocked, brisk, call, config, eventually, execute, fault, misbehaving, named, program, spec, text,
};

fn launcher() -> Launcher {
    Launcher { program: haft_test_support::launcher_path(), args: Vec::new() }
}

#[tokio::test]
async fn stops_fifty_extensions_that_ignore_signal() {
    let dir = tempfile::tempdir().unwrap();
    let specs: Vec<_> =
        (0..50).map(|n| named("ignore-sigterm", &format!("stubborn{n}"), dir.path())).collect();
    let (events, mut config) = (Events::default(), config());
    config.timeouts = brisk();
    let grace = config.timeouts.shutdown_grace + config.timeouts.kill_grace;
    assert!(grace * 50 > PATIENCE, "stopped one by one, they exceed the deadline below");
    let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
    let start = Instant::now();
    tokio::time::timeout(PATIENCE, host.shutdown()).await.expect("all extensions are stopped together");
    let took = start.elapsed();
    assert!(took >= grace, "they ignore both signals: {took:?}");
    assert!(events.faults().iter().all(|(_, code)| code == "register_rejected"), "{:?}", events.faults());
}

#[tokio::test]
async fn delivers_last_event_in_thirty_runs() {
    use haft_protocol::event::AgentEvent;
    use haft_protocol::message::StopCause;

    for _ in 0..30 {
        let dir = tempfile::tempdir().unwrap();
        let (events, mut config) = (Events::default(), config());
        config.timeouts = brisk();
        let marker = dir.path().join("marker");
        config.env.set.push(("HAFT_MARKER".into(), marker.display().to_string()));
        let specs = vec![named("good", "audit", dir.path())];
        let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
        host.session_start(None);
        let observers = host.hook_source().hooks().observers;
        for event in
            [AgentEvent::TurnStart { step: 1 }, AgentEvent::TurnEnd { stop: StopCause::End, error: None }]
        {
            observers.iter().for_each(|observer| observer.observe(&event));
        }
        host.shutdown().await;
        let seen = fs::read_to_string(marker).unwrap();
        assert_eq!(seen, "event session_start\nevent turn_start\nevent turn_end\nshutdown\n");
        assert_eq!(events.faults(), []);
    }
}

#[tokio::test]
async fn extension_without_shutdown_ends_with_its_input() {
    // One is more than an observer; the other only observes and receives lines from the log.
    let hello = r#"echo '{"type":"hello","name":"x"}'; "#;
    let asked = r#"echo '{"type":"subscribe","intercept":["turn_start"]}'; echo '{"type":"ready"}'; "#;
    let watches = r#"echo '{"type":"subscribe","events":["turn_end"]}'; echo '{"type":"ready"}'; "#;
    for opening in [format!("{hello}{asked}"), format!("{hello}{watches}")] {
        let dir = tempfile::tempdir().unwrap();
        let script = format!("{opening}while read -r line; do :; done; echo over > over");
        let args = vec!["-c".to_owned(), script];
        let plain = spec("x", dir.path(), LaunchPlan::Process { program: program(&["sh"]), args });
        let mut config = config();
        // No terminate signal is sent before that.
        config.timeouts.shutdown_grace = PATIENCE;
        let host = Host::builder(config).specs(vec![plain]).start().await;
        host.shutdown().await;
        assert!(dir.path().join("over").exists(), "{opening}");
    }
}

#[tokio::test]
async fn explains_failed_start() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let plain = spec("plain", dir.path(), LaunchPlan::Process { program: script, args: Vec::new() });
    let events = Events::default();
    let _host = Host::builder(config()).events(events.sink()).specs(vec![plain]).start().await;
    assert_eq!(events.faults(), [fault("plain", "spawn_failed")]);
    let message = events.only_message();
    assert!(message.contains("script") && message.contains("ermission denied"), "{message}");
}

#[tokio::test]
async fn passes_listed_environment_and_logs_stderr() {
    let dir = tempfile::tempdir().unwrap();
    // Cargo sets variables that are not on the list; they represent keys here.
    let script = "echo \"path=$PATH cargo=${CARGO_MANIFEST_DIR-none} set=$HAFT_TEST_SET\" >&2; pwd >&2";
    let args = vec!["-c".to_owned(), script.to_owned()];
    let mut sh = spec("../sh", dir.path(), LaunchPlan::Process { program: program(&["sh"]), args });
    sh.name = ExtensionName::new("../sh");
    let (events, mut config) = (Events::default(), config());
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    config.env.set = vec![("HAFT_TEST_SET".into(), "yes".into())];
    config.logs = Some(dir.path().join("logs"));
    let host = Host::builder(config).events(events.sink()).specs(vec![sh]).start().await;
    let path = host.statuses().remove(0).log.unwrap();
    assert_eq!(path.parent(), Some(dir.path().join("logs").as_path()));
    let log = fs::read_to_string(path).unwrap();
    assert!(log.contains(&format!("path={}", std::env::var("PATH").unwrap())), "{log}");
    assert!(log.contains("cargo=none set=yes"), "{log}");
    let here = fs::canonicalize(dir.path()).unwrap();
    assert!(log.contains(&here.display().to_string()), "{log}");
    assert_eq!(events.faults(), [fault("../sh", "exited")]);
}

#[tokio::test]
async fn kills_leftover_children() {
    let dir = tempfile::tempdir().unwrap();
    // The child ignores the signal, holds a pipe open while it lives, and reports its start.
    let script = r#"mkfifo alive; echo '{"type":"hello","name":"sh"}'
        # sleep: looks for the file again
        (trap '' TERM; exec 3>alive; : > up; exec sleep 3600) & until [ -e up ]; do sleep 0.01; done; exit 3"#;
    let args = vec!["-c".to_owned(), script.to_owned()];
    let launch = LaunchPlan::Process { program: program(&["sh"]), args };
    let (events, mut config) = (Events::default(), config());
    // The child also holds the output open.
    config.timeouts = brisk();
    config.timeouts.pipe_drain = Duration::from_millis(200);
    let start =
        Host::builder(config).events(events.sink()).specs(vec![spec("sh", dir.path(), launch)]).start();
    let (alive, (is_dead, dead)) = (dir.path().join("alive"), tokio::sync::oneshot::channel());
    let watch = async {
        eventually(|| alive.exists()).await;
        // A separate thread: opening waits for a writer, and reading for the end of all writers.
        std::thread::spawn(move || {
            fs::File::open(alive).unwrap().read_to_end(&mut Vec::new()).unwrap();
            is_dead.send(()).unwrap();
        });
    };
    let (host, ()) = tokio::join!(start, watch);
    eventually(|| !events.faults().is_empty()).await;
    host.shutdown().await;
    assert_eq!(events.faults(), [fault("sh", "exited")]);
    assert!(dir.path().join("up").exists(), "the child ran");
    tokio::time::timeout(PATIENCE, dead).await.expect("the child ended").unwrap();
}

#[tokio::test]
async fn sends_no_query_after_shutdown() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config();
    config.timeouts = brisk();
    let (events, specs) = (Events::default(), vec![misbehaving("good", dir.path())]);
    let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
    assert_eq!(text(&execute(&host, "evil_tool", json!({})).await), "ok");
    host.shutdown().await;
    let command = host.run_command(&CancellationToken::new(), "evil", "").await;
    assert!(command.unwrap_err().to_string().contains("was stopped"));
    assert!(execute(&host, "evil_tool", json!({})).await.is_error);
    assert!(blocked(&host, &call("bash", json!({}))).await.is_some(), "a gate keeps blocking");
    assert_eq!(events.faults(), []);
}

#[tokio::test]
async fn extension_may_clean_up_after_closing_output() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"echo '{"type":"hello","name":"sh"}'; echo '{"type":"ready"}'
        # sleep: longer than the end of its process is waited for once its output is closed
        while read -r line; do case $line in *'"type":"shutdown"'*) exec >&-; sleep 0.6; : > clean; exit;; esac; done"#;
    let launch =
        LaunchPlan::Process { program: program(&["sh"]), args: vec!["-c".to_owned(), script.to_owned()] };
    let (events, mut config) = (Events::default(), config());
    let pipe_drain = Duration::from_millis(200);
    config.timeouts = brisk();
    config.timeouts.pipe_drain = pipe_drain;
    config.timeouts.shutdown_grace = PATIENCE;
    let host =
        Host::builder(config).events(events.sink()).specs(vec![spec("sh", dir.path(), launch)]).start().await;
    host.shutdown().await;
    assert!(dir.path().join("clean").exists(), "killed while it cleaned up");
    assert_eq!(events.faults(), []);
}

#[tokio::test]
async fn closed_stream_ends_running_extension() {
    // The output, the closed stream, and then an hour of silence.
    for (close, symptom) in [("exec >&-", "closed its output"), ("exec <&-", "closed its input")] {
        let dir = tempfile::tempdir().unwrap();
        let script = format!(
            r#"echo '{{"type":"hello","name":"sh"}}'; echo '{{"type":"subscribe","intercept":["tool_call"]}}'
            echo '{{"type":"ready"}}'; read -r ack; {close}; : > closed; exec sleep 3600"#
        );
        let launch = LaunchPlan::Process { program: program(&["sh"]), args: vec!["-c".to_owned(), script] };
        let (events, mut config) = (Events::default(), config());
        config.timeouts = brisk();
        config.timeouts.pipe_drain = Duration::from_millis(200);
        let specs = vec![spec("sh", dir.path(), launch)];
        let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
        eventually(|| dir.path().join("closed").exists()).await;
        // The reason shows that the call did not wait for its deadline.
        let (_, reason) = blocked(&host, &call("bash", json!({}))).await.expect("a gate stays shut");
        assert!(reason.contains(symptom), "{reason}");
        assert_eq!(events.faults(), [fault("sh", "exited")]);
        host.shutdown().await;
    }
}

#[tokio::test]
async fn launcher_error_is_a_failed_start() {
    let dir = tempfile::tempdir().unwrap();
    let other = dir.path().join("other");
    fs::write(&other, "\x7fELF of another machine").unwrap();
    fs::set_permissions(&other, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let launch =
        |program: &std::path::Path| LaunchPlan::Process { program: program.into(), args: Vec::new() };
    let specs = vec![
        spec("other", dir.path(), launch(&other)),
        spec("none", dir.path(), launch(std::path::Path::new("/nowhere/none"))),
    ];
    let (events, mut config) = (Events::default(), config());
    config.timeouts = brisk();
    config.launcher = Some(launcher());
    let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
    let mut faults = events.faults();
    faults.sort();
    assert_eq!(faults, [fault("none", "spawn_failed"), fault("other", "spawn_failed")]);
    for (name, expect) in [("other", "Exec format error (os error 8)"), ("none", "No such file or directory")]
    {
        let state = host.statuses().into_iter().find(|status| status.name.as_str() == name).unwrap().state;
        let ExtensionState::Failed { code, message } = state else { panic!("{name}: {state:?}") };
        assert_eq!(code.as_str(), "spawn_failed");
        assert!(message.contains("cannot start ") && message.contains(expect), "{message}");
    }
}

#[tokio::test]
async fn extensions_work_behind_launcher() {
    let dir = tempfile::tempdir().unwrap();
    let (events, mut config) = (Events::default(), config());
    config.timeouts = brisk();
    config.launcher = Some(launcher());
    let marker = dir.path().join("marker");
    config.env.set.push(("HAFT_MARKER".into(), marker.display().to_string()));
    let specs = vec![named("good", "good", dir.path()), named("ignore-sigterm", "stubborn", dir.path())];
    let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
    assert_eq!(text(&execute(&host, "evil_tool", json!({})).await), "ok");
    let (by, _) = blocked(&host, &call("bash", json!({"command": "rm -rf /"}))).await.unwrap();
    assert_eq!(by, "good");
    host.shutdown().await;
    assert!(fs::read_to_string(marker).unwrap().contains("shutdown"), "one extension left on request");
    assert_eq!(
        events.faults(),
        [fault("stubborn", "register_rejected"), fault("stubborn", "register_rejected")]
    );
}
