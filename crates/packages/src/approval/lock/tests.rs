//! Tests of the lock file.

use super::super::digest::digest_of;
use super::super::tools::{LockFileToolPins, approve_tools};
use super::*;
use crate::pins::ToolPins as _;

fn entry(text: &str) -> LockEntry {
    LockEntry {
        source: InstallOrigin::Directory { path: "/src".into() },
        tree: digest_of(text.as_bytes()),
        manifest: digest_of(b"manifest"),
        interpreter: Some("/usr/bin/python3".into()),
        required: false,
        is_gate: false,
        permissions: None,
        sandbox: None,
        enabled: true,
        tools: BTreeMap::new(),
        changed: BTreeMap::new(),
        locks: BTreeMap::new(),
        waiting: None,
        approved: Approval {
            at: "2026-01-02T03:04:05Z".into(),
            how: ApprovalMethod::Terminal,
            haft: "1".into(),
        },
        previous: Vec::new(),
    }
}

fn approved() -> (tempfile::TempDir, ApprovalStore) {
    let root = tempfile::tempdir().unwrap();
    let approved = ApprovalStore::at(root.path().join("home"));
    approved.edit(|file| file.extensions.insert(ExtensionName::new("a"), entry("one"))).unwrap();
    (root, approved)
}

#[test]
fn reads_what_was_written() {
    let (_root, approved) = approved();
    let file = approved.load().unwrap();
    assert_eq!(file.find("A").map(|(_, entry)| entry), Some(&entry("one")));
    assert_eq!(file.find("b"), None);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(approved.lock_file_path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let none = ApprovalStore::at(approved.root.join("nowhere"));
    assert_eq!(none.load().unwrap(), LockFile::default());
}

/// Checks that no extension is approved after this damage, and that the error contains `expect`.
#[track_caller]
fn check(spoil: impl FnOnce(&Path), expect: &str) {
    let (_root, approved) = approved();
    spoil(&approved.lock_file_path());
    let error = approved.load().unwrap_err();
    assert!(error.to_string().contains(expect), "{error}");
    let before = fs::read(approved.lock_file_path()).ok();
    approved.edit(|file| file.extensions.clear()).unwrap_err();
    assert_eq!(
        fs::read(approved.lock_file_path()).ok(),
        before,
        "a file that cannot be read is not overwritten"
    );
}

fn edited(from: &str, to: &str) -> impl FnOnce(&Path) {
    move |path| {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }
}

#[test]
fn damaged_file_approves_nothing() {
    check(|path| fs::write(path, "{").unwrap(), "is damaged (line 1");
    check(|path| fs::write(path, "").unwrap(), "is damaged");
    check(edited("\"version\": 1", "\"version\": 2"), "by a newer version of haft");
    check(edited("\"enabled\"", "\"trusted\": true, \"enabled\""), "unknown field `trusted`");
    check(edited("sha256:", "md5:"), "64 hexadecimal digits");
    check(edited("\"directory\"", "\"http\""), "unknown variant `http`");
}

#[test]
#[cfg(unix)]
fn file_of_other_users_approves_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |mode| move |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    check(mode(0o662), "can be written by other users");
    check(mode(0o620), "can be written by other users");
    let link = |path: &Path| {
        let other = path.with_extension("other");
        fs::rename(path, &other).unwrap();
        std::os::unix::fs::symlink(other, path).unwrap();
    };
    check(link, "is a symlink");
    let dir = |path: &Path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    };
    check(dir, "is not a regular file");
}

#[test]
fn rolls_back_to_earlier_versions() {
    let versions = ["one", "two", "three", "four", "five"].map(entry);
    let newest = versions.into_iter().reduce(|before, next| next.replacing(Some(before))).unwrap();
    let trees = |entry: &LockEntry| entry.versions().map(|entry| entry.tree).collect::<Vec<_>>();
    let expect = |texts: [&str; 4]| texts.map(|text| digest_of(text.as_bytes())).to_vec();
    assert_eq!(trees(&newest), expect(["five", "four", "three", "two"]));
    let back = newest.rollback_to(0).unwrap();
    assert_eq!(trees(&back), expect(["four", "five", "three", "two"]));
    assert_eq!(back.rollback_to(0).unwrap(), newest);
    assert_eq!(entry("one").rollback_to(0), None);
    // The same code approved again is not another version.
    assert_eq!(trees(&entry("one").replacing(Some(entry("one")))).len(), 1);
    let off = LockEntry { enabled: false, ..entry("one") };
    assert!(!entry("two").replacing(Some(off)).enabled);
}

#[test]
fn concurrent_edits_lose_nothing() {
    let (_root, approved) = approved();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let approved = &approved;
            scope.spawn(move || {
                for number in 0..5 {
                    let name = ExtensionName::new(format!("x{writer}-{number}"));
                    approved.edit(|file| file.extensions.insert(name, entry("x"))).unwrap();
                }
            });
        }
    });
    assert_eq!(approved.load().unwrap().extensions.len(), 21);
}

#[test]
fn sees_and_keeps_changes_of_another_process() {
    let (_root, one) = approved();
    let two = ApprovalStore::at(one.root.clone());
    let insert = |approved: &ApprovalStore, name: &str| {
        approved.edit(|file| file.extensions.insert(ExtensionName::new(name), entry(name))).unwrap();
    };
    let names = |approved: &ApprovalStore| {
        let file = approved.load_cached().unwrap();
        file.extensions.keys().map(|name| name.as_str().to_owned()).collect::<Vec<_>>()
    };
    for (number, (writer, reader)) in [(&one, &two), (&two, &one), (&two, &one)].into_iter().enumerate() {
        let before = names(reader);
        insert(writer, &format!("b{number}"));
        assert_eq!(names(reader).len(), before.len() + 1);
    }
    insert(&one, "c");
    assert_eq!(names(&one), ["a", "b0", "b1", "b2", "c"]);
    fs::remove_file(one.lock_file_path()).unwrap();
    assert_eq!(names(&one), Vec::<String>::new());
}

#[test]
fn does_not_read_unchanged_file_again() {
    let (_root, approved) = approved();
    let written = approved.load_cached().unwrap();
    assert!(
        Arc::ptr_eq(&written, &approved.clone().load_cached().unwrap()),
        "every clone shares the cached file"
    );
    approved.edit(|file| file.extensions.clear()).unwrap();
    assert!(approved.load_cached().unwrap().extensions.is_empty() && written.extensions.len() == 1);
    #[cfg(unix)]
    {
        fs::set_permissions(approved.lock_file_path(), std::os::unix::fs::PermissionsExt::from_mode(0o666))
            .unwrap();
        assert!(approved.load_cached().unwrap_err().is_writable_by_others(), "the owner may have changed");
    }
}

/// A tool's schema is stored as a text within the text.
#[test]
fn keeps_tool_texts_with_the_code_that_registered_them() {
    let (_root, approved) = approved();
    let name = ExtensionName::new("a");
    let tool = |text: &str| crate::pins::PinnedTool {
        description: text.to_owned(),
        schema: serde_json::json!({"type": "object", "title": text}).into(),
        guidelines: vec!["Be brief.".to_owned()],
        snippet: String::new(),
    };
    let pins = LockFileToolPins::new(approved.clone(), |write| write());
    assert_eq!(pins.pinned_tools(&ExtensionName::new("b")), None);
    assert_eq!(pins.pinned_tools(&name), Some(BTreeMap::new()));
    pins.pin_tools(&name, BTreeMap::from([("t".to_owned(), tool("one"))])).unwrap();
    // The texts of the first registration count.
    pins.pin_tools(&name, BTreeMap::from([("t".to_owned(), tool("two")), ("u".to_owned(), tool("u"))]))
        .unwrap();
    let expect = BTreeMap::from([("t".to_owned(), tool("one")), ("u".to_owned(), tool("u"))]);
    assert_eq!(LockFileToolPins::new(approved.clone(), |write| write()).pinned_tools(&name), Some(expect));
    // Other texts are locked until the user approves them.
    let other = BTreeMap::from([("t".to_owned(), tool("other"))]);
    pins.record_locked_tools(&name, other.clone()).unwrap();
    assert_eq!(approved.load().unwrap().extensions[&name].changed, other);
    let shown = approved.load().unwrap().extensions[&name].clone();
    assert!(approve_tools(&approved, &name, &shown).unwrap());
    assert_eq!(pins.pinned_tools(&name).unwrap()["t"], tool("other"));
    assert!(!approved.load().unwrap().extensions[&name].has_changed_repeatedly("t"));
    // The same texts again are not a change; a third version of them is, even after an approval.
    for (text, unsteady) in [("third", true), ("third", true)] {
        pins.record_locked_tools(&name, BTreeMap::from([("t".to_owned(), tool(text))])).unwrap();
        assert_eq!(approved.load().unwrap().extensions[&name].has_changed_repeatedly("t"), unsteady);
    }
    let third = approved.load().unwrap().extensions[&name].clone();
    let newer = LockEntry { tree: entry("newer").tree, ..third.clone() };
    assert!(
        !approve_tools(&approved, &name, &newer).unwrap(),
        "the user has not seen the texts of this version"
    );
    assert_eq!(approved.load().unwrap().extensions[&name], third);
    assert!(approve_tools(&approved, &name, &third).unwrap());
    assert_eq!(approved.load().unwrap().extensions[&name].locks["t"], 2);
    let with_tools = approved.load().unwrap().extensions.remove(&name).unwrap();
    assert!(with_tools.changed.is_empty());
    assert_eq!(entry("one").replacing(Some(with_tools.clone())).tools.len(), 2);
    let other = entry("two").replacing(Some(with_tools));
    assert!(other.tools.is_empty() && other.locks.is_empty(), "other code starts without tool texts");
}
