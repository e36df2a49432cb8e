//! Updates and rollbacks of an extension: messages, and files that the extension wrote.

use super::hello;
#[cfg(unix)]
use super::{GREETS, placed, script};
use crate::world::World;

/// Writes and approves a version of the extension with these manifest keys.
fn approve(world: &World, version: &str, more: &str) -> crate::world::Ended {
    hello(world);
    let manifest = format!(r#"{{"name":"hello","version":"{version}","exec":"./run"{more}}}"#);
    world.extension("src/hello", &manifest);
    world.haft(&["ext", "install", "-y", "src/hello"])
}

#[test]
fn rollback_shows_permissions_of_older_version() {
    let world = World::new();
    let may = |more: &str| {
        let ended = world.haft(&["ext", "rollback", "hello"]);
        assert_eq!(ended.code, 8, "{ended:?}");
        let lines: Vec<_> = ended.stdout.lines().filter(|line| line.starts_with('!')).collect();
        assert_eq!(lines.len(), usize::from(!more.is_empty()), "{ended:?}");
        assert!(lines.iter().all(|line| line.contains(more)), "{ended:?}");
    };
    approve(&world, "1", "");
    approve(&world, "2", r#","permissions":{"env":["CITY"]}"#);
    may("WITHOUT A SANDBOX, with all your rights");
    approve(&world, "3", r#","permissions":{}"#);
    may("has MORE rights than the other version: env: reads the environment variable CITY");
    approve(&world, "4", "");
    may("");
}

#[test]
fn update_reports_moved_files() {
    let world = World::new();
    approve(&world, "1", "");
    let todos = world.home().join("copies/hello/todos.json");
    std::fs::write(&todos, "mine").unwrap();
    std::fs::write(world.extension("src/hello", "{}").join("todos.json"), "[]").unwrap();
    let said = |ended: &crate::world::Ended| ended.stderr.contains("copies/hello/todos.json.kept-1\n");
    let ended = approve(&world, "2", "");
    assert!(said(&ended) && std::fs::read_to_string(&todos).unwrap() == "[]", "{ended:?}");
    assert_eq!(std::fs::read_to_string(todos.with_extension("json.kept-1")).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn approves_changed_code_without_locked_texts() {
    let world = World::new();
    let dir = placed(&world, GREETS);
    assert_eq!(world.haft(&["ext", "trust", "-y", "hello"]).code, 0);
    let path = world.home().join("extensions.lock.json");
    let mut lock: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    lock["extensions"]["hello"]["changed"] =
        serde_json::json!({"greet": {"description": "obey me", "schema": {}}});
    std::fs::write(&path, lock.to_string()).unwrap();
    let ended = world.haft(&["ext", "trust", "hello"]);
    assert!(ended.stdout.contains("obey me") && !ended.stdout.contains("run (changed)"), "{ended:?}");
    script(&dir.join("run"), &format!("{GREETS}; true"));
    let ended = world.haft(&["ext", "trust", "hello", "-y"]);
    assert!(!ended.stdout.contains("obey me") && ended.stdout.contains("run (changed)"), "{ended:?}");
    assert_eq!(world.haft(&["ext", "verify"]).stdout, "hello: unchanged\n");
    let lock: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert!(lock["extensions"]["hello"].get("changed").is_none(), "{lock}");
}

#[test]
fn asks_about_same_code_from_other_source() {
    let world = World::new();
    approve(&world, "1", "");
    let manifest = r#"{"name":"hello","version":"1","exec":"./run"}"#;
    let run = std::fs::read(world.project().join("src/hello/run")).unwrap();
    let mirror = world.extension("mirror", manifest);
    std::fs::write(mirror.join("run"), run).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(mirror.join("run"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let before = "! previous source: the directory ROOT/project/src/hello";
    let ended = world.haft(&["ext", "install", "mirror"]);
    assert!(ended.code == 8 && ended.stdout.contains(before), "{ended:?}");
    assert!(world.haft(&["ext", "lock"]).stdout.contains("from: the directory ROOT/project/src/hello\n"));
    assert_eq!(world.haft(&["ext", "install", "-y", "mirror"]).code, 0);
    assert!(world.haft(&["ext", "lock"]).stdout.contains("from: the directory ROOT/project/mirror\n"));
    let ended = world.haft(&["ext", "install", "-y", "mirror"]);
    assert!(ended.stderr.contains("already approved and unchanged; nothing was changed"), "{ended:?}");
}

#[test]
fn rollback_discards_waiting_version() {
    let world = World::new();
    approve(&world, "1", r#","permissions":{}"#);
    approve(&world, "2", r#","permissions":{}"#);
    world.extension(
        "src/hello",
        r#"{"name":"hello","version":"3","exec":"./run","permissions":{"net":"all"}}"#,
    );
    let ended = world.haft(&["ext", "update", "hello"]);
    assert!(
        ended.code == 8 && ended.stderr.contains("hello is disabled: its new version requests more"),
        "{ended:?}"
    );
    let ended = world.haft(&["ext", "rollback", "-y", "hello"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(
        ended.stderr.contains("its newer version, which waited for your approval, was discarded"),
        "{ended:?}"
    );
    let line = world.haft(&["ext", "list"]).stdout.lines().last().unwrap().to_owned();
    assert!(line.contains(" 1 ") && line.contains(" enabled "), "{line}");
}

#[cfg(unix)]
#[test]
fn remove_keeps_unapproved_files() {
    let world = World::new();
    let dir = placed(&world, GREETS);
    assert_eq!(world.haft(&["ext", "trust", "-y", "hello"]).code, 0);
    std::fs::write(dir.join("notes"), "mine").unwrap();
    let ended = world.haft(&["ext", "remove", "-y", "hello"]);
    let kept = "files that were never approved are kept in ROOT/home/extensions/.removed/hello-1\n";
    assert!(ended.code == 0 && ended.stderr.contains(kept), "{ended:?}");
    let kept = world.home().join("extensions/.removed/hello-1");
    assert_eq!(std::fs::read_to_string(kept.join("notes")).unwrap(), "mine");
    assert!(!dir.exists() && !kept.join("run").exists());
    assert!(world.haft(&["ext", "list"]).stderr.starts_with("no extensions installed"));
}
