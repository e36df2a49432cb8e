//! Approved extensions are found and run; unapproved or changed ones do not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use haft_core::hooks::HookSource as _;
use haft_host::{ExtensionState, FaultCode, Host, RestartError};
use haft_packages::discovery::{
    Discovery, DiscoveryOptions, ExtraLocation, Project, ProjectTrust, SkipReason,
};
use haft_packages::install::lock::{ApprovalMethod, ApprovalStore, LockEntry, LockFile};
use haft_packages::install::{ApprovalOutcome, ExtensionStore, InstallSource};
use haft_packages::{ExtensionOrigin, LaunchPlan};
use haft_protocol::ids::ExtensionName;
use serde_json::json;
use tempfile::TempDir;

use crate::support::{Events, blocked, brisk, call, config, fault};

/// Sends hello, counts its starts next to its code, and stays.
const RUN: &str = "#!/bin/sh\necho start >> starts\necho '{\"type\":\"hello\",\"name\":\"'$1'\"}'\n\
                   echo '{\"type\":\"ready\"}'\ncat > /dev/null\n";

struct World {
    root: TempDir,
    store: ExtensionStore,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = ExtensionStore::for_home(&root.path().join("home"), std::env::var_os("PATH"));
        Self { root, store }
    }

    /// Writes an extension of this name.
    fn write(&self, dir: &Path, name: &str, more: &str) -> PathBuf {
        fs::create_dir_all(dir).unwrap();
        let manifest = format!(r#"{{"name":"{name}","exec":"./run","args":["{name}"]{more}}}"#);
        fs::write(dir.join("extension.json"), manifest).unwrap();
        fs::write(dir.join("run"), RUN).unwrap();
        fs::set_permissions(dir.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
        dir.to_owned()
    }

    fn installed(&self, name: &str) -> ApprovalOutcome {
        let source = self.write(&self.root.path().join("src").join(name), name, "");
        self.store
            .propose(&InstallSource::Directory(source))
            .unwrap()
            .accept(ApprovalMethod::Yes, "1")
            .unwrap()
    }

    fn placed(&self, name: &str, more: &str) -> PathBuf {
        self.write(&self.store.global.join(name), name, more)
    }

    fn trust(&self, dir: &Path) {
        self.store.propose_in_place(dir).unwrap().accept(ApprovalMethod::Yes, "1").unwrap();
    }

    fn search(&self) -> DiscoveryOptions {
        let project = Project { dir: self.root.path().join("project"), trust: ProjectTrust::Trusted };
        DiscoveryOptions {
            global: Some(self.store.global.clone()),
            approved: Some(ApprovalStore::at(self.root.path().join("home"))),
            project: Some(project),
            ..DiscoveryOptions::default()
        }
    }

    fn found(&self) -> Discovery {
        Discovery::run(&self.search())
    }

    async fn host(&self, events: &Events) -> Host {
        let mut config = config();
        config.timeouts = brisk();
        config.state = Some(self.root.path().join("state"));
        let search = self.search();
        let source = move || Discovery::run(&search).into();
        let host = Host::builder(config).events(events.sink()).source(source).start().await;
        host.wait_until_settled().await;
        host
    }
}

/// Returns the names that run, and the others with the stable name of the reason.
fn names(found: &Discovery) -> (Vec<&str>, Vec<(&str, &str)>) {
    let skipped = found.skipped.iter().map(|skipped| {
        let why = match &skipped.reason {
            SkipReason::NameTaken { .. } => "name_taken",
            SkipReason::Disabled => "disabled",
            SkipReason::Untrusted | SkipReason::NotApproved | SkipReason::Changed { .. } => {
                skipped.reason.code().unwrap_or("-")
            }
        };
        (skipped.name.as_str(), why)
    });
    (found.specs.iter().map(|spec| spec.name.as_str()).collect(), skipped.collect())
}

#[test]
fn finds_only_approved_extensions_and_reserves_other_names() {
    let world = World::new();
    world.placed("c", "");
    world.installed("b");
    let dir = world.placed("a", "");
    world.trust(&dir);
    for name in ["b", "c", "d"] {
        world.write(&world.root.path().join("project/.haft/extensions").join(name), name, "");
    }
    let found = world.found();
    let (runs, skipped) = names(&found);
    assert_eq!(runs, ["a", "b", "d"]);
    assert_eq!(skipped, [("c", "not_approved"), ("b", "name_taken"), ("c", "name_taken")]);
    assert!(found.specs.iter().all(|spec| spec.pin.is_some() == (spec.origin == ExtensionOrigin::Global)));
    let row = world.store.find("b", None).unwrap();
    world.store.set_enabled(&row, false).unwrap();
    fs::write(dir.join("more"), "").unwrap();
    let found = world.found();
    let (runs, skipped) = names(&found);
    assert_eq!(
        (runs, skipped.get(..3)),
        (vec!["d"], Some(&[("a", "pin_mismatch"), ("b", "disabled"), ("c", "not_approved")][..]))
    );
    assert!(found.skipped[0].to_string().contains("more (added)"), "{}", found.skipped[0]);
    fs::remove_file(dir.join("more")).unwrap();
    assert_eq!(names(&world.found()).0, ["a", "d"], "the original files match the approval");
    fs::remove_dir_all(&dir).unwrap();
    assert_eq!(names(&world.found()).1[0], ("a", "pin_mismatch"));
}

/// Another path to the user's directory leads to its approved extension only.
#[test]
fn uses_directory_once_when_configured_twice() {
    let world = World::new();
    let dir = world.placed("a", "");
    world.trust(&dir);
    let link = world.root.path().join("link");
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    let further = vec![ExtraLocation { dir: link, origin: ExtensionOrigin::Global }];
    let found = || Discovery::run(&DiscoveryOptions { extra_locations: further.clone(), ..world.search() });
    assert_eq!(names(&found()), (vec!["a"], vec![]));
    world.write(&dir, "b", "");
    assert_eq!(
        names(&found()),
        (vec![], vec![("a", "pin_mismatch")]),
        "the directory contains another name now"
    );
}

#[tokio::test]
async fn starts_waiting_extension_as_approved() {
    let world = World::new();
    let source = world.write(&world.root.path().join("src/x"), "x", r#","activation":["event:turn_end"]"#);
    // This script stores nothing next to its code.
    let script = RUN.replace("echo start >> starts", "");
    fs::write(source.join("run"), &script).unwrap();
    world.store.propose(&InstallSource::Directory(source)).unwrap().accept(ApprovalMethod::Yes, "1").unwrap();
    let copy = world.root.path().join("home/copies/x");
    fs::remove_file(copy.join("run")).unwrap();
    fs::write(copy.join("run"), "#!/bin/sh\ntouch evil\n").unwrap();
    let events = Events::default();
    let host = world.host(&events).await;
    assert_eq!(host.statuses()[0].state, ExtensionState::Idle);
    host.restart(&ExtensionName::new("x")).await.unwrap();
    host.shutdown().await;
    assert_eq!(fs::read_to_string(copy.join("run")).unwrap(), script);
    assert!(!copy.join("evil").exists());
}

#[test]
fn name_in_other_case_does_not_replace_approved_extension() {
    let world = World::new();
    world.installed("guard");
    world.placed("Guard", "");
    fs::create_dir_all(world.store.global.join("GUARD")).unwrap();
    fs::write(world.store.global.join("GUARD/extension.json"), "{").unwrap();
    let found = world.found();
    assert_eq!(names(&found), (vec!["guard"], vec![("Guard", "name_taken")]));
}

#[test]
fn gate_with_unapproved_version_blocks() {
    let world = World::new();
    let source = world.root.path().join("src/guard");
    let propose = |more: &str| {
        world.write(&source, "guard", &format!(r#","required":true,"permissions":{{{more}}}"#));
        world.store.propose(&InstallSource::Directory(source.clone())).unwrap()
    };
    propose("").accept(ApprovalMethod::Yes, "1").unwrap();
    assert!(propose(r#""net":"all""#).decline().unwrap());
    let missed = |found: &Discovery| match &found.specs[..] {
        [spec] if spec.roles.required => match &spec.launch {
            LaunchPlan::Impossible { why } => Some(why.clone()),
            LaunchPlan::Process { .. } | LaunchPlan::ThemeOnly => None,
        },
        _ => None,
    };
    let why = missed(&world.found()).unwrap();
    assert!(why.contains("requests more permissions than were granted"), "{why}");
    // The approved version can be accepted again, and then runs.
    let back = propose("");
    assert!(!back.is_approved());
    back.accept(ApprovalMethod::Yes, "1").unwrap();
    assert_eq!(missed(&world.found()), None);
    assert_eq!(names(&world.found()).0, ["guard"]);
}

/// One failure is one event: no placeholder extension fails as well.
#[tokio::test]
async fn unusable_lock_file_blocks_all_tools() {
    let world = World::new();
    world.installed("x");
    let file = world.store.approved.lock_file_path();
    let good = fs::read(&file).unwrap();
    fs::write(&file, "{").unwrap();
    let (events, ls) = (Events::default(), call("bash", json!({"command": "ls"})));
    let host = world.host(&events).await;
    assert_eq!(events.faults(), [fault("extensions.lock.json", "lock_invalid")]);
    assert!(host.statuses().is_empty());
    let (by, reason) = blocked(&host, &ls).await.unwrap();
    assert_eq!(by, "haft");
    insta::assert_snapshot!(reason, @"blocked: extensions.lock.json cannot be used, so the required extensions are unknown; the user was notified");
    let why = host.blocked_reason().unwrap();
    assert!(reason.contains(&why), "{why}");
    // A reload follows the repair.
    fs::write(&file, &good).unwrap();
    let stats = host.reload().await;
    assert_eq!((stats.ready, stats.errors.len(), host.blocked_reason()), (1, 0, None));
    assert_eq!(blocked(&host, &ls).await, None);
    fs::write(&file, "{").unwrap();
    let stats = host.reload().await;
    let codes: Vec<_> = stats.errors.iter().map(|error| error.code.as_str()).collect();
    assert_eq!((codes, stats.stopped), (vec!["lock_invalid"], 1));
    assert!(blocked(&host, &ls).await.is_some());
    host.shutdown().await;
}

#[test]
fn manifest_counts_only_as_approved() {
    let world = World::new();
    let accepted = world.installed("x");
    let manifest = world.store.approved.tree_store().tree_path(&accepted.entry.tree).join("extension.json");
    fs::set_permissions(&manifest, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&manifest, r#"{"name":"x","exec":"/bin/sh","args":["-c","true"]}"#).unwrap();
    assert_eq!(names(&world.found()), (vec![], vec![("x", "pin_mismatch")]));
}

#[tokio::test]
async fn each_start_verifies_approval() {
    let world = World::new();
    let accepted = world.installed("x");
    let (name, events) = (ExtensionName::new("x"), Events::default());
    let host = world.host(&events).await;
    assert_eq!(host.statuses()[0].state, ExtensionState::Ready);
    // The extension's own copy is restored, which is reported.
    fs::write(accepted.dir.join("run"), "#!/bin/sh\nexit 1\n").unwrap();
    host.restart(&name).await.unwrap();
    assert_eq!(fs::read_to_string(accepted.dir.join("starts")).unwrap(), "start\nstart\n");
    assert_eq!(events.faults(), [fault("x", "code_restored")]);
    // The store is not restored.
    let code = world.store.approved.tree_store().tree_path(&accepted.entry.tree);
    for path in [&code, &code.join("run")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(code.join("run"), "#!/bin/sh\nexit 1\n").unwrap();
    let error = host.restart(&name).await.unwrap_err();
    assert!(matches!(error, RestartError::Failed { code: FaultCode::PinMismatch, .. }), "{error}");
    fs::remove_dir_all(&code).unwrap();
    assert!(host.restart(&name).await.is_err());
    let faults = ["code_restored", "pin_mismatch", "pin_mismatch"].map(|code| fault("x", code));
    assert_eq!(events.faults(), faults);
    assert_eq!(fs::read_to_string(accepted.dir.join("starts")).unwrap(), "start\nstart\n");
    host.shutdown().await;
}

#[tokio::test]
async fn reports_skipped_extension_and_blocks_if_required() {
    let world = World::new();
    world.placed("new", "");
    let guard = world.placed("guard", r#","required":true"#);
    world.trust(&guard);
    fs::write(guard.join("run"), RUN.replace("cat", "exec cat")).unwrap();
    let events = Events::default();
    let host = world.host(&events).await;
    let mut faults = events.faults();
    faults.sort();
    assert_eq!(faults, [fault("guard", "pin_mismatch"), fault("new", "not_approved")]);
    assert_eq!(host.hooks().before_tool_execute.len(), 1, "its tools are blocked");
    host.shutdown().await;
}

/// One directory is one extension: a gate cannot be removed by giving it another name.
#[tokio::test]
async fn renamed_gate_blocks_until_removed() {
    let world = World::new();
    let dir = world.write(&world.store.global.join("dir"), "guard", r#","required":true"#);
    world.trust(&dir);
    world.write(&dir, "other", "");
    let error = world.store.propose_in_place(&dir).unwrap_err().to_string();
    assert!(error.contains("was approved as guard, but its manifest now has the name other"), "{error}");
    let (host, events) = (world.host(&Events::default()).await, Events::default());
    assert_eq!(host.hooks().before_tool_execute.len(), 1, "its tools are blocked");
    host.shutdown().await;
    // The same holds if the lock file has both names.
    let both = |file: &mut LockFile| {
        let entry = file.extensions[&ExtensionName::new("guard")].clone();
        file.extensions.insert(ExtensionName::new("other"), LockEntry { required: false, ..entry });
    };
    world.store.approved.edit(both).unwrap();
    let host = world.host(&events).await;
    let mut faults = events.faults();
    faults.sort();
    assert_eq!(faults, [fault("guard", "pin_mismatch"), fault("other", "pin_mismatch")]);
    assert_eq!(host.hooks().before_tool_execute.len(), 1);
    host.shutdown().await;
    let row = |name: &str| world.store.find(name, None);
    assert_eq!(row("other").unwrap().dir, dir);
    assert_eq!(
        world.store.remove(&row("guard").unwrap()).unwrap().kept,
        None,
        "the directory belongs to the other extension"
    );
    assert!(row("guard").is_err() && dir.exists());
    assert!(world.store.remove(&row("other").unwrap()).unwrap().kept.is_some());
    world.trust(&world.placed("guard", ""));
    assert_eq!(names(&world.found()), (vec!["guard"], vec![]));
}
