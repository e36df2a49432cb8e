//! Previews of `edit` and `write`, and calls that no longer do what the preview showed.

use std::fs;
use std::os::unix::fs::symlink;

use haft_core::tool::{ToolContext, ToolFailureKind, ToolOutput};
use haft_protocol::RawJson;
use haft_protocol::content::{CallPreview, FileDiff, joined_text};
use haft_tools::{Environment as _, ToolSandbox};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::ground::Ground;

fn edit(path: &str, edits: &[(&str, &str)]) -> Value {
    let edits: Vec<_> = edits.iter().map(|(old, new)| json!({"old_text": old, "new_text": new})).collect();
    json!({"path": path, "edits": edits})
}

fn write(path: &str, content: &str) -> Value {
    json!({"path": path, "content": content})
}

async fn diff(ground: &Ground, tool: &str, args: Value) -> FileDiff {
    match ground.preview(tool, args).await.map(|preview| preview.shown) {
        Some(CallPreview::Diff(diff)) => diff,
        other => panic!("{other:?}"),
    }
}

/// Returns the reason why there is no diff, with shortened paths.
async fn reason(ground: &Ground, tool: &str, args: Value) -> String {
    let preview = ground.preview(tool, args).await.unwrap();
    match preview.shown {
        CallPreview::Error(reason) => reason.replace(&ground.base().display().to_string(), "BASE"),
        CallPreview::Diff(diff) => panic!("{diff:?}"),
    }
}

/// Makes a call whose preview a person saw.
async fn after_preview(ground: &Ground, tool: &str, args: Value, state: Option<u64>) -> ToolOutput {
    let mut context = ToolContext::new(CancellationToken::new(), drop);
    context.previewed_state = state;
    ground.call_with(context, tool, args).await
}

#[tokio::test]
async fn preview_is_the_diff_of_the_result_and_changes_nothing() {
    let ground = Ground::new();
    ground.known("old", "one\ntwo\n").await;
    for (tool, args) in [
        ("edit", edit("old", &[("one", "1"), ("two", "2")])),
        ("write", write("old", "other\n")),
        ("write", write("new/dir/file", "a\nb")),
    ] {
        let before = fs::read(ground.path("old")).unwrap();
        let preview = ground.preview(tool, args.clone()).await.unwrap();
        assert!(!ground.path("new").exists());
        assert_eq!(fs::read(ground.path("old")).unwrap(), before);
        let output = after_preview(&ground, tool, args, preview.state).await;
        assert!(!output.is_error, "{output:?}");
        let details: RawJson = output.details.unwrap();
        let expect = RawJson::from_value(&preview.shown).unwrap();
        assert_eq!(details.as_str(), expect.as_str());
    }
    ground.assert_no_leftovers();
}

#[tokio::test]
async fn only_edit_and_write_have_previews() {
    let ground = Ground::new();
    assert_eq!(ground.preview("bash", json!({"command": "touch made"})).await, None);
    assert_eq!(ground.preview("read", json!({"path": "a"})).await, None);
    assert!(!ground.path("made").exists());
}

#[tokio::test]
async fn failed_preview_gives_the_reason_of_the_call() {
    let ground = Ground::new();
    ground.file("unread", "secret text");
    ground.known("known", "one").await;
    ground.known("binary", b"\xff\xfe").await;
    for (tool, args) in [
        ("edit", edit("known", &[("two", "2")])),
        ("edit", edit("missing", &[("two", "2")])),
        ("edit", edit("missing/file", &[("two", "2")])),
        ("edit", json!({"path": "known", "edits": [{"old_text": "one"}]})),
        ("edit", edit("unread", &[("secret", "public")])),
        ("write", write("unread", "x")),
        ("write", write("known/", "x")),
        ("write", json!({"path": "known"})),
    ] {
        let reason = reason(&ground, tool, args.clone()).await;
        assert!(!reason.contains("secret text"), "{reason}");
        assert_eq!(reason, ground.error(tool, args).await);
    }
    let binary = "binary is not UTF-8 text, so there is no diff; the call replaces its whole content";
    assert_eq!(reason(&ground, "write", write("binary", "x")).await, binary);
    ground.ok("write", write("binary", "x")).await;
}

#[tokio::test]
async fn long_diff_is_cut() {
    let ground = Ground::new();
    let diff = diff(&ground, "write", write("long", &"line\n".repeat(100_000))).await;
    assert!(diff.cut && diff.unified.len() <= 64 * 1024, "{}", diff.unified.len());
    assert_eq!((diff.added, diff.removed), (100_000, 0));
}

/// The message makes two edits; both previews were computed before the first one ran.
#[tokio::test]
async fn earlier_edit_of_other_lines_is_allowed() {
    let ground = Ground::new();
    ground.known("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n").await;
    let (first, second) = (edit("a", &[("2\n", "")]), edit("a", &[("9", "nine")]));
    let states = [first.clone(), second.clone()].map(|args| ground.preview("edit", args));
    let [one, two] = states;
    let (one, two) = (one.await.unwrap().state, two.await.unwrap().state);
    assert!(!after_preview(&ground, "edit", first, one).await.is_error);
    let output = after_preview(&ground, "edit", second, two).await;
    assert!(!output.is_error, "{output:?}");
    assert_eq!(ground.content("a"), "1\n3\n4\n5\n6\n7\n8\nnine\n");
}

/// The session itself knows the new content, so only the comparison with the preview rejects the call.
#[tokio::test]
async fn change_after_the_preview_rejects_the_call() {
    let changed = "a has changed since the approval; read it again, then retry";
    for (tool, args) in [("write", write("a", "new\n")), ("edit", edit("a", &[("one", "1")]))] {
        let ground = Ground::new();
        ground.known("a", "one\n").await;
        let state = ground.preview(tool, args.clone()).await.unwrap().state;
        ground.known("a", "one, and more\n").await;
        let output = after_preview(&ground, tool, args.clone(), state).await;
        assert_eq!(
            (output.failure, joined_text(&output.content).as_str()),
            (Some(ToolFailureKind::Stale), changed)
        );
        assert_eq!(ground.content("a"), "one, and more\n");
        // Without a preview, the person approved the arguments.
        assert!(!after_preview(&ground, tool, args, None).await.is_error);
    }
}

#[tokio::test]
async fn file_created_after_the_preview_is_not_replaced() {
    let ground = Ground::new();
    let state = ground.preview("write", write("a", "new")).await.unwrap().state;
    ground.known("a", "from elsewhere").await;
    let output = after_preview(&ground, "write", write("a", "new"), state).await;
    assert_eq!(output.failure, Some(ToolFailureKind::Stale), "{output:?}");
    assert_eq!(ground.content("a"), "from elsewhere");
}

/// The preview of a call that needs an approval reads only what a tool may read without one.
#[tokio::test]
async fn preview_reads_no_secrets() {
    let ground = Ground::with(|environment| {
        let base = environment.cwd().parent().unwrap().to_owned();
        for (dir, file) in [("home/.ssh", "home/.ssh/id"), ("home", "home/notes"), ("haft", "haft/auth")] {
            fs::create_dir_all(base.join(dir)).unwrap();
            fs::write(base.join(file), "original\n").unwrap();
        }
        symlink(base.join("home/.ssh"), base.join("place/link")).unwrap();
        let launcher =
            haft_launch::Launcher { program: haft_test_support::launcher_path(), args: Vec::new() };
        let sandbox = ToolSandbox {
            write: vec![base.join("place")],
            hide: vec![base.join("home/.ssh")],
            never: vec![base.join("haft")],
            ..ToolSandbox::default()
        };
        environment.with_launcher(launcher).with_sandbox(sandbox).unwrap()
    });
    for path in ["../home/.ssh/id", "link/id", "../haft/auth"] {
        for (tool, args) in [("write", write(path, "x")), ("edit", edit(path, &[("original", "x")]))] {
            let reason = reason(&ground, tool, args).await;
            assert!(reason.starts_with("BASE/") && reason.contains("cannot be read"), "{reason}");
            assert!(!reason.contains("original"), "{reason}");
        }
    }
    // A file outside of the workspace may be read, so its change is shown.
    ground.ok("read", json!({"path": "../home/notes"})).await;
    let diff = diff(&ground, "edit", edit("../home/notes", &[("original", "new")])).await;
    assert!(diff.unified.ends_with("@@ -1 +1 @@\n-original\n+new\n"), "{}", diff.unified);
    let diff = self::diff(&ground, "write", write("../home/new", "x\n")).await;
    assert!(diff.unified.ends_with("@@ -0,0 +1 @@\n+x\n"), "{}", diff.unified);
    assert!(!ground.base().join("home/new").exists());
}
