//! The canonical form of arguments: the only spelling that gates and tools see.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use haft_core::tool::{CanonicalArgs, ToolContext};
use haft_protocol::RawJson;
use haft_protocol::content::{ResolvedPath, joined_text};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::ground::Ground;

/// Creates `place` with the file `a`, the directory `dir`, and links inside, out of `place`, and to nowhere.
fn create_ground() -> Ground {
    let ground = Ground::new();
    for name in ["a", "dir/b", "@at", "~tilde"] {
        ground.file(name, name);
    }
    let base = ground.base();
    fs::write(base.join("home/secret"), "key").unwrap();
    for (target, name) in [("dir", "inside"), ("../home", "docs"), ("nowhere", "broken"), (".", "self")] {
        symlink(target, ground.path(name)).unwrap();
    }
    ground
}

async fn canonical(ground: &Ground, tool: &str, args: &Value) -> Result<CanonicalArgs, String> {
    ground.tool(tool).canonical_args(RawJson::from_value(args).unwrap()).await
}

/// Checks the canonical arguments; `BASE` is the directory around the working directory.
#[track_caller]
fn check(ground: &Ground, tool: &str, args: &Value, expect: &str) -> Vec<ResolvedPath> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = runtime.block_on(canonical(ground, tool, args));
    let base = ground.base().display().to_string();
    let (text, places) = match found {
        Ok(found) => (found.args.as_str().to_owned(), found.resolved_paths.to_vec()),
        Err(reason) => (reason, Vec::new()),
    };
    assert_eq!(text.replace(&base, "BASE"), expect, "{args}");
    places
}

#[test]
fn each_path_gets_one_spelling() {
    let ground = create_ground();
    let base = ground.base().display().to_string();
    for (written, spelled) in [
        ("a", "a"),
        ("@a", "a"),
        ("./a", "a"),
        ("dir/../a", "a"),
        ("inside/../a", "a"),
        ("self/self/a", "a"),
        ("missing/../a", "a"),
        ("inside/b", "dir/b"),
        ("inside/new/file", "dir/new/file"),
        ("dir/", "dir"),
        (".", "."),
        ("self", "."),
        ("./@at", "./@at"),
        ("@@at", "./@at"),
        ("./~tilde", "./~tilde"),
        ("~tilde", "./~tilde"),
        ("broken", "broken"),
        ("~", "BASE/home"),
        ("~/secret", "BASE/home/secret"),
        ("@~/secret", "BASE/home/secret"),
        ("docs/secret", "BASE/home/secret"),
        ("../home/secret", "BASE/home/secret"),
        ("/etc/../dev/null", "/dev/null"),
        ("@/dev/null", "/dev/null"),
    ] {
        check(&ground, "read", &json!({ "path": written }), &json!({ "path": spelled }).to_string());
    }
    check(&ground, "read", &json!({"path": format!("@{base}/place/inside/b")}), r#"{"path":"dir/b"}"#);
    check(&ground, "read", &json!({"path": "@"}), "the path is empty");
    check(
        &ground,
        "write",
        &json!({"path": "new/", "content": ""}),
        "new/ is a directory, not a file; add the file name",
    );
}

#[test]
fn each_argument_gets_one_name() {
    let ground = create_ground();
    let edits = json!({"edits": [{"newText": "b", "oldText": "a"}], "path": "@a", "file_path": "other"});
    check(&ground, "edit", &edits, r#"{"path":"a","edits":[{"old_text":"a","new_text":"b"}]}"#);
    let twice = json!({"path": "a", "edits": [{"old_text": "a", "oldText": "x", "new_text": "b"}]});
    let problem = "invalid arguments for edit: duplicate field `old_text` at line 1 column 46";
    check(&ground, "edit", &twice, problem);
    let command = json!({"description": "lists", "timeout": null, "command": "ls"});
    check(&ground, "bash", &command, r#"{"command":"ls"}"#);
    check(&ground, "grep", &json!({"path": "", "pattern": "x"}), r#"{"pattern":"x","path":"."}"#);
    check(&ground, "find", &json!({"path": null, "glob": "*"}), r#"{"glob":"*"}"#);
}

#[test]
fn names_the_place_of_each_path() {
    let ground = create_ground();
    let base = ground.base().display().to_string();
    let place = |tool: &str, args: Value, expect: &str| {
        let spelled = ground.tool(tool);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let args = RawJson::from_value(&args).unwrap();
        let found = runtime.block_on(spelled.canonical_args(args)).unwrap().resolved_paths;
        let shown: Vec<_> = found
            .iter()
            .map(|ResolvedPath { argument, path, exists, link, .. }| {
                format!("{argument} {} exists={exists} link={link}", path.replace(&base, "BASE"))
            })
            .collect();
        assert_eq!(shown.join(", "), expect);
    };
    place("read", json!({"path": "a"}), "path BASE/place/a exists=true link=false");
    place("read", json!({"path": "@/dev/null"}), "path /dev/null exists=true link=false");
    place("read", json!({"path": "~/secret"}), "path BASE/home/secret exists=true link=false");
    place("read", json!({"path": "docs/secret"}), "path BASE/home/secret exists=true link=true");
    place("read", json!({"path": "docs/none"}), "path BASE/home/none exists=false link=true");
    place("read", json!({"path": "none/file"}), "path BASE/place/none/file exists=false link=false");
    place("read", json!({"path": "broken"}), "path BASE/place/broken exists=false link=true");
    place("ls", json!({}), "path BASE/place exists=true link=false");
    place("bash", json!({"command": "cat a"}), "");
}

/// The working directory may be given as a link.
#[tokio::test]
async fn paths_are_relative_to_the_place_of_the_working_directory() {
    let ground = Ground::new();
    ground.file("a", "");
    symlink("place", ground.base().join("link")).unwrap();
    let environment = haft_tools::HostEnvironment::new(ground.base().join("link"));
    let tools = haft_tools::builtin_tools(std::sync::Arc::new(environment));
    let read = &tools[0];
    for name in ["a".to_owned(), ground.path("a").display().to_string()] {
        let args = RawJson::from_value(&json!({ "path": name })).unwrap();
        let found = read.canonical_args(args).await.unwrap();
        assert_eq!(found.args.as_str(), r#"{"path":"a"}"#);
        assert!(!found.resolved_paths[0].link);
    }
}

#[tokio::test]
async fn rejects_a_link_that_changed_after_the_hooks() {
    for (tool, args) in [
        ("read", json!({"path": "dir/b"})),
        ("edit", json!({"path": "dir/b", "edits": [{"old_text": "dir/b", "new_text": "c"}]})),
        ("write", json!({"path": "dir/b", "content": "new"})),
        ("ls", json!({"path": "dir"})),
        ("grep", json!({"pattern": "key", "path": "dir"})),
        ("find", json!({"glob": "*", "path": "dir"})),
    ] {
        let ground = create_ground();
        ground.ok("read", json!({"path": "dir/b"})).await;
        fs::write(ground.base().join("home/b"), "dir/b").unwrap();
        let canonical = canonical(&ground, tool, &args).await.unwrap();
        let mut context = ToolContext::new(CancellationToken::new(), drop);
        context.resolved_paths = canonical.resolved_paths;
        fs::rename(ground.path("dir"), ground.path("moved")).unwrap();
        symlink("../home", ground.path("dir")).unwrap();
        let output = ground.call_with(context, tool, args).await;
        let text = joined_text(&output.content).replace(&ground.base().display().to_string(), "BASE");
        let expect = "was checked, but a changed link leads to BASE/home";
        assert!(output.is_error && text.contains(expect), "{tool}: {text}");
        assert_eq!(fs::read_to_string(ground.base().join("home/b")).unwrap(), "dir/b");
    }
}

fn any_path() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a", "b", "dir", "inside", "docs", "secret", "broken", "self", "missing", "@at", "~tilde", "..", ".",
        "",
    ]);
    let start = prop::sample::select(vec!["", "@", "~/", "@~/", "./", "BASE/place/", "@BASE/", "/"]);
    (start, prop::collection::vec(part, 1..5))
        .prop_map(|(start, parts)| format!("{start}{}", parts.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// A canonical form is its own canonical form, and the tool does the same with it.
    #[test]
    fn canonical_arguments_are_stable_and_mean_the_same(written in any_path()) {
        let ground = create_ground();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let args = json!({"path": written.replace("BASE", &ground.base().display().to_string())});
            for tool in ["read", "ls"] {
                let before = ground.output(tool, args.clone()).await;
                let Ok(first) = canonical(&ground, tool, &args).await else {
                    assert!(before.is_error);
                    continue;
                };
                let spelled: Value = first.args.read().unwrap();
                let second = canonical(&ground, tool, &spelled).await.unwrap();
                assert_eq!(first.args.as_str(), second.args.as_str());
                assert_eq!(first.resolved_paths[0].path, second.resolved_paths[0].path);
                assert!(!second.resolved_paths[0].link || written.contains("broken"), "{args}");
                let after = ground.output(tool, spelled).await;
                // Other programs may change what is outside of the test's own directory.
                let is_own = Path::new(&first.resolved_paths[0].path).starts_with(ground.base());
                if !before.is_error && is_own {
                    assert_eq!(joined_text(&before.content), joined_text(&after.content));
                }
                // Only a `..` after a missing directory makes a path readable.
                assert!(before.is_error == after.is_error || written.contains(".."), "{args}");
            }
        });
    }
}
