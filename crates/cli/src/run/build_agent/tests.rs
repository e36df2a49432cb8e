//! Tests of reloads with a live agent, real processes and real discovery.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use haft_host::ReloadStats;
use haft_providers::ScriptedModel;
use haft_rpc::SessionOwner;

use super::*;

/// Installs a shell extension that registers one tool.
fn install(dir: &Path, tool: &str) {
    fs::create_dir_all(dir).unwrap();
    let name = dir.file_name().unwrap().to_str().unwrap();
    fs::write(dir.join("extension.json"), format!(r#"{{"name":"{name}","exec":"./run"}}"#)).unwrap();
    let script = format!(
        "#!/bin/sh\n\
         echo '{{\"type\":\"hello\",\"name\":\"{name}\"}}'\n\
         echo '{{\"type\":\"register_tool\",\"name\":\"{tool}\",\"schema\":{{\"type\":\"object\"}}}}'\n\
         echo '{{\"type\":\"ready\"}}'\n\
         while read -r line; do case $line in *'\"type\":\"shutdown\"'*) exit;; esac; done\n"
    );
    fs::write(dir.join("run"), script).unwrap();
    fs::set_permissions(dir.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
}

async fn joined(root: &Path, no_ext: bool, tools: ToolChoice) -> RunningAgent {
    let model = ScriptedModel::from_json(r#"{"steps":[]}"#).unwrap();
    let search = DiscoveryOptions {
        explicit: vec![root.join("named")],
        global: (!no_ext).then(|| root.join("extensions")),
        ..DiscoveryOptions::default()
    };
    let cwd = root.join("work");
    fs::create_dir_all(&cwd).unwrap();
    let home = Home::at(root.join("home"));
    let session = Session::in_memory(&cwd);
    let screen = SessionOwner::new().open_screen(&session);
    let plain = RunParts::with_defaults(session, Arc::new(model), home, &cwd, search);
    let parts = RunParts { tools, ..plain };
    build_agent(parts, SessionOutputs::for_printing(&screen, None, Vec::new())).await.unwrap()
}

/// Returns the extension tools that the model receives.
fn offered(joined: &RunningAgent) -> Vec<String> {
    let tools = joined.agent.tools();
    let foreign = tools.iter().filter(|spec| !haft_tools::NAMES.contains(&spec.name.as_str()));
    foreign.map(|spec| spec.name.clone()).collect()
}

async fn reloaded(joined: &mut RunningAgent) -> ReloadStats {
    let stats = joined.host.reload().await;
    assert!(joined.changes.has_changed().unwrap(), "the run is notified");
    joined.changes.mark_unchanged();
    joined.offer_tools().unwrap();
    stats
}

#[tokio::test]
async fn reload_restarts_extensions_and_replaces_tools() {
    let root = tempfile::tempdir().unwrap();
    install(&root.path().join("named"), "first");
    install(&root.path().join("extensions/installed"), "second");
    let mut joined = joined(root.path(), false, ToolChoice::All).await;
    assert_eq!(offered(&joined), ["first", "second"]);

    install(&root.path().join("named"), "changed");
    fs::remove_dir_all(root.path().join("extensions/installed")).unwrap();
    install(&root.path().join("extensions/later"), "third");
    fs::create_dir_all(root.path().join("extensions/broken")).unwrap();
    fs::write(root.path().join("extensions/broken/extension.json"), "{").unwrap();
    let stats = reloaded(&mut joined).await;
    assert_eq!((stats.stopped, stats.loaded, stats.ready), (2, 2, 2));
    assert_eq!(stats.errors.len(), 1, "{:?}", stats.errors);
    assert_eq!(offered(&joined), ["changed", "third"]);
    joined.host.shutdown().await;
}

#[tokio::test]
async fn reload_respects_no_ext_and_tool_choice() {
    let root = tempfile::tempdir().unwrap();
    install(&root.path().join("named"), "first");
    install(&root.path().join("extensions/installed"), "second");
    let mut joined = joined(root.path(), true, ToolChoice::Only(vec!["read".into(), "changed".into()])).await;
    assert_eq!(offered(&joined), Vec::<String>::new());
    install(&root.path().join("named"), "changed");
    let stats = reloaded(&mut joined).await;
    assert_eq!((stats.stopped, stats.loaded, stats.ready, stats.errors.len()), (1, 1, 1, 0));
    assert_eq!(offered(&joined), ["changed"]);
    joined.host.shutdown().await;
}

#[test]
fn blocked_text_names_one_next_step() {
    assert_eq!(
        blocked_text("the required extension guard is missing"),
        "no tool may run: the required extension guard is missing; run `haft doctor` for the next step"
    );
    let why = "the required extension guard is missing; run `haft ext install guard`";
    assert_eq!(blocked_text(why), format!("no tool may run: {why}"));
}
