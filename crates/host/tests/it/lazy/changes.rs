//! What makes a registration that is remembered count no more, and what happens when it turns out to be another.

use std::fs;

use haft_host::ExtensionState;
use haft_packages::{Lazy, Permissions};
use haft_protocol::event::AgentEvent;
use serde_json::json;

use super::home::{GUARD, Home, TOOL};
use crate::support::{Events, blocked, call, execute, state, text};

/// Whether an extension is started at once after this happened to it.
async fn starts_after(change: impl Fn(&mut Home)) -> bool {
    let mut home = Home::with("x", TOOL);
    fs::write(home.dir("x").join("helper.sh"), "one").unwrap();
    home.age();
    home.runs_once().await;
    change(&mut home);
    let (host, _) = home.host().await;
    let started = state(&host, "x") == ExtensionState::Ready;
    assert_eq!(home.starts(), if started { 2 } else { 1 });
    host.shutdown().await;
    started
}

#[tokio::test]
async fn what_changes_the_extension_or_what_it_is_told_starts_it() {
    assert!(!starts_after(|_| ()).await);
    assert!(starts_after(|home| home.put("x", &format!("{TOOL} "))).await, "its script");
    assert!(starts_after(|home| fs::write(home.dir("x").join("helper.sh"), "two").unwrap()).await);
    assert!(starts_after(|home| fs::write(home.dir("x").join("more.sh"), "").unwrap()).await);
    assert!(starts_after(|home| fs::remove_file(home.dir("x").join("helper.sh")).unwrap()).await);
    assert!(!starts_after(|home| fs::create_dir(home.dir("x").join("__pycache__")).unwrap()).await);
    assert!(!starts_after(|home| fs::write(home.dir("x").join(".swp"), "").unwrap()).await);
    assert!(starts_after(|home| home.config.model.model = "other".into()).await);
    assert!(starts_after(|home| home.config.version = "0.2.0".into()).await);
    assert!(starts_after(|home| home.config.limits.max_tools = 3).await);
    assert!(!starts_after(|home| home.config.cwd = "/".into()).await);
    let granted = |home: &mut Home| {
        _ = home.config.env.granted.insert(haft_protocol::ids::ExtensionName::new("x"), vec!["PATH".into()])
    };
    assert!(starts_after(granted).await);
    let permitted = |home: &mut Home| home.change(|spec| spec.permissions = Some(Permissions::default()));
    assert!(starts_after(permitted).await, "what it may");
}

#[tokio::test]
async fn the_directory_counts_for_who_says_so() {
    let mut home = Home::with("x", TOOL);
    home.change(|spec| spec.lifecycle.lazy = Lazy::InSameDirectory);
    home.runs_once().await;
    home.config.cwd = "/".into();
    home.runs_once().await;
    for cwd in ["/work", "/"] {
        home.config.cwd = cwd.into();
        let (host, _) = home.host().await;
        assert_eq!(state(&host, "x"), ExtensionState::Idle, "{cwd}");
        host.shutdown().await;
    }
}

#[tokio::test]
async fn models_do_not_make_each_other_forget() {
    let mut home = Home::with("x", TOOL);
    for model in ["one", "two", "one", "two"] {
        home.config.model.model = model.into();
        home.host().await.0.shutdown().await;
    }
    assert_eq!((home.starts(), home.remembered().len()), (2, 2));
}

#[tokio::test]
async fn a_file_that_makes_no_sense_is_none() {
    let whole = {
        let home = Home::with("x", TOOL);
        home.runs_once().await;
        fs::read(home.remembered().remove(0)).unwrap()
    };
    let cut = |at: usize| whole.get(..at).unwrap().to_vec();
    for broken in
        [vec![], b"\xff\xfe\n".to_vec(), b"haft registrations 0\n".to_vec(), cut(9), cut(whole.len() - 9)]
    {
        let home = Home::with("x", TOOL);
        home.runs_once().await;
        let file = home.remembered().remove(0);
        fs::write(&file, &broken).unwrap();
        home.runs_once().await;
        let (host, events) = home.host().await;
        assert_eq!((home.starts(), state(&host, "x")), (2, ExtensionState::Idle), "it was written anew");
        host.shutdown().await;
        assert!(events.all().is_empty());
    }
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_no_fault() {
    let home = Home::with("x", TOOL);
    fs::write(home.config.state.as_deref().unwrap(), "a file").unwrap();
    home.runs_once().await;
    home.runs_once().await;
    assert_eq!(home.starts(), 2);
}

#[tokio::test]
async fn two_hosts_at_once_leave_a_whole_file() {
    let home = Home::with("x", TOOL);
    home.put("y", GUARD);
    home.age();
    tokio::join!(home.runs_once(), home.runs_once(), home.runs_once());
    assert_eq!(home.starts(), 6);
    let (host, _) = home.host().await;
    assert_eq!([state(&host, "x"), state(&host, "y")], [ExtensionState::Idle, ExtensionState::Idle]);
    host.shutdown().await;
}

/// Registers what a file beside its directory says, which nobody looks at.
fn fickle() -> Home {
    let home = Home::with("x", r#". ../said; say '{"type":"ready"}'; serve"#);
    home.says(r#"say '{"type":"register_tool","name":"t"}'"#);
    home
}

impl Home {
    fn says(&self, script: &str) {
        fs::write(self.dir("said"), script).unwrap();
    }
}

fn notes(events: &Events) -> Vec<String> {
    let note = |event| if let AgentEvent::ExtNotify { message, .. } = event { Some(message) } else { None };
    events.all().into_iter().filter_map(note).collect()
}

#[tokio::test]
async fn another_registration_than_the_last_one_is_told_and_remembered() {
    let home = fickle();
    home.runs_once().await;
    let (host, events) = home.host().await;
    let changes = host.changes();
    home.says(r#"say '{"type":"register_tool","name":"news"}'"#);
    let output = execute(&host, "t", json!({})).await;
    assert_eq!(
        text(&output),
        "extension x/t failed: it was started anew and does not offer this tool any more"
    );
    assert!(changes.has_changed().unwrap());
    assert_eq!(host.tools().iter().map(|tool| tool.spec().name.clone()).collect::<Vec<_>>(), ["news"]);
    let notes = notes(&events);
    assert!(notes.len() == 1 && notes[0].contains("tool news is new, tool t is gone"), "{notes:?}");
    host.shutdown().await;
    let (host, events) = home.host().await;
    assert_eq!(state(&host, "x"), ExtensionState::Idle);
    assert_eq!(text(&execute(&host, "news", json!({})).await), "ok");
    host.shutdown().await;
    assert!(events.all().is_empty());
}

#[tokio::test]
async fn a_gate_that_was_not_there_before_guards_from_its_start_on() {
    let home = fickle();
    home.runs_once().await;
    let (host, _) = home.host().await;
    home.says(
        r#"say '{"type":"register_tool","name":"t"}'
        say '{"type":"subscribe","intercept":["tool_call"]}'"#,
    );
    assert_eq!(blocked(&host, &call("bash", json!({}))).await, None);
    assert_eq!(text(&execute(&host, "t", json!({})).await), "ok");
    assert!(blocked(&host, &call("bash", json!({}))).await.is_some());
    host.shutdown().await;
    let (host, _) = home.host().await;
    assert!(
        blocked(&host, &call("bash", json!({}))).await.is_some(),
        "and from the first call on in the next run"
    );
    host.shutdown().await;
}
