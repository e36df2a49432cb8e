//! `edit` with real files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use haft_core::tool::ToolContext;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::ground::Ground;

#[tokio::test]
async fn applies_several_edits_and_returns_a_diff() {
    let ground = Ground::new();
    let content = "fn one() {}\n\nfn two() {\n    1\n}\n\n// 1\n// 2\n// 3\n// 4\n// 5\nfn three() {}";
    ground.known("src/a.rs", content).await;
    let edits = json!([
        {"oldText": "fn three() {}", "newText": "fn three() {}\n"},
        {"old_text": "fn one()", "new_text": "fn first()"},
    ]);
    let text = ground.ok("edit", json!({"path": "src/a.rs", "edits": edits})).await;
    insta::assert_snapshot!(text, @r#"
    edited src/a.rs
    --- a/src/a.rs
    +++ b/src/a.rs
    @@ -1,4 +1,4 @@
    -fn one() {}
    +fn first() {}
     
     fn two() {
         1
    @@ -9,4 +9,4 @@
     // 3
     // 4
     // 5
    -fn three() {}
    \ No newline at end of file
    +fn three() {}
    "#);
    assert!(ground.content("src/a.rs").starts_with("fn first() {}\n\nfn two"));
    ground.assert_no_leftovers();
}

#[tokio::test]
async fn keeps_line_endings_byte_order_mark_and_permissions() {
    let ground = Ground::new();
    let file = ground.known("w.txt", "\u{feff}one\r\ntwo\r\nthree\r\n").await;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).unwrap();
    let edits = json!([{"old_text": "one\ntwo", "new_text": "1\n2\n2a"}]);
    let text = ground.ok("edit", json!({"path": "w.txt", "edits": edits})).await;
    assert_eq!(ground.content("w.txt"), "\u{feff}1\r\n2\r\n2a\r\nthree\r\n");
    assert_eq!(ground.mode("w.txt"), 0o750);
    insta::assert_snapshot!(text, @r#"
    edited w.txt
    --- a/w.txt
    +++ b/w.txt
    @@ -1,3 +1,4 @@
    -one
    -two
    +1
    +2
    +2a
     three
    "#);
}

#[tokio::test]
async fn changes_nothing_if_one_edit_fails() {
    let ground = Ground::new();
    ground.known("a", "one\ntwo\ntwo\n").await;
    let edits = json!([
        {"old_text": "one", "new_text": "1"},
        {"old_text": "two", "new_text": "2"},
        {"old_text": "three", "new_text": "3"},
    ]);
    let text = ground.error("edit", json!({"path": "a", "edits": edits})).await;
    insta::assert_snapshot!(text, @r#"
    a is unchanged:
    edits[1]: old_text occurs 2 times (lines 2, 3); add adjacent lines to make it unique
    edits[2]: old_text was not found; read the file again and copy the text exactly
    "#);
    assert_eq!(ground.content("a"), "one\ntwo\ntwo\n");
}

#[tokio::test]
async fn rejects_files_that_cannot_be_edited() {
    let ground = Ground::new();
    let edits = json!([{"old_text": "a", "new_text": "b"}]);
    let check = async |path: &str, expect: &str| {
        assert_eq!(ground.error("edit", json!({"path": path, "edits": edits})).await, expect);
    };
    check("missing", "missing does not exist; create it with write").await;
    check("no/dir", "cannot reach BASE/place/no/dir: No such file or directory (os error 2)").await;
    check(".", ". is a directory, not a file; add the file name").await;
    fs::create_dir(ground.path("dir")).unwrap();
    check("dir", "BASE/place/dir: is a directory, not a file").await;
    ground.known("odd", "a\u{10fff0}\n".bytes().chain([0xe9]).collect::<Vec<_>>()).await;
    check("odd", "cannot edit odd: it is not UTF-8 text; use bash").await;
    let sparse = fs::File::create(ground.path("huge")).unwrap();
    sparse.set_len(16 * 1024 * 1024 + 1).unwrap();
    check(
        "huge",
        "BASE/place/huge: has 16777217 bytes; files of more than 16777216 bytes cannot be changed with this tool; use bash",
    )
    .await;
    let text = ground.error("edit", json!({"path": "a", "edits": [{"old_text": "a"}]})).await;
    assert_eq!(text, "edits[0] has no new_text; pass an empty string to delete the text");
}

/// Bytes that are not text are kept everywhere.
#[tokio::test]
async fn keeps_bytes_that_are_not_utf_8() {
    let ground = Ground::new();
    ground.known("latin", b"caf\xe9\r\none\r\n\xff").await;
    let edits = json!([{"old_text": "one\n", "new_text": "1\n2\n"}]);
    let text = ground.ok("edit", json!({"path": "latin", "edits": edits})).await;
    assert_eq!(fs::read(ground.path("latin")).unwrap(), b"caf\xe9\r\n1\r\n2\r\n\xff");
    assert!(text.contains(" caf\u{fffd}\n-one\n+1\n+2\n \u{fffd}"), "{text}");
}

async fn lands_64_times(ground: Arc<Ground>, file: &str, names: &'static [&'static str]) {
    let lines: String = (0..64).map(|n| format!("old-{n};\n")).collect();
    ground.known(file, lines).await;
    let calls = (0..64).map(|n| {
        let ground = Arc::clone(&ground);
        tokio::spawn(async move {
            let edits = json!([{"old_text": format!("old-{n};"), "new_text": format!("new-{n};")}]);
            ground.ok("edit", json!({"path": names[n % names.len()], "edits": edits})).await
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    let expect: String = (0..64).map(|n| format!("new-{n};\n")).collect();
    assert_eq!(ground.content(file), expect);
    ground.assert_no_leftovers();
}

#[tokio::test]
async fn applies_64_concurrent_edits_by_path_and_symbolic_link() {
    let ground = Arc::new(Ground::new());
    ground.file("dir/a", "");
    symlink("dir/a", ground.path("link")).unwrap();
    symlink("dir", ground.path("other")).unwrap();
    lands_64_times(Arc::clone(&ground), "dir/a", &["dir/a", "link", "other/a", "@dir/./a"]).await;
    assert!(ground.path("link").is_symlink());
}

#[tokio::test]
async fn applies_64_concurrent_edits_by_path_symbolic_link_and_hard_link() {
    let ground = Arc::new(Ground::new());
    let file = ground.file("dir/a", "");
    symlink("dir/a", ground.path("link")).unwrap();
    fs::hard_link(&file, ground.path("hard")).unwrap();
    lands_64_times(Arc::clone(&ground), "dir/a", &["dir/a", "link", "hard"]).await;
    assert_eq!(ground.content("hard"), ground.content("dir/a"));
}

/// The calls of a message run concurrently, and each sees the changes of the calls before it to the same file.
#[tokio::test]
async fn calls_for_one_file_run_in_order() {
    let ground = Ground::new();
    let edits = json!([{"old_text": "one", "new_text": "two"}]);
    let again = json!([{"old_text": "two", "new_text": "three"}]);
    for round in 0..32 {
        let name = format!("new/{round}/a");
        let (write, edit, second, read) = tokio::join!(
            biased;
            ground.ok("write", json!({"path": name, "content": "one"})),
            ground.ok("edit", json!({"path": name, "edits": edits})),
            ground.ok("edit", json!({"path": name, "edits": again})),
            ground.ok("read", json!({"path": name})),
        );
        assert!(write.starts_with("created") && edit.starts_with("edited") && second.starts_with("edited"));
        assert_eq!(read, "three");
    }
}

#[tokio::test]
async fn rejects_edits_of_unread_or_changed_files() {
    let ground = Ground::new();
    let args = |new: &str| json!({"path": "a", "edits": [{"old_text": "o", "new_text": new}]});
    ground.file("a", "one\n");
    let never = "a has not been read yet; read it before changing it";
    assert_eq!(ground.error("edit", args("0")).await, never);
    assert_eq!(ground.error("write", json!({"path": "a", "content": "x"})).await, never);
    // Reading a part counts for the whole file.
    ground.ok("read", json!({"path": "a", "limit": 1})).await;
    ground.file("a", "one more\n");
    let stale = "a has changed since it was read; read it again before changing it";
    assert_eq!(ground.error("edit", args("0")).await, stale);
    assert_eq!(ground.error("write", json!({"path": "a", "content": "x"})).await, stale);
    assert_eq!(ground.content("a"), "one more\n");
    ground.ok("read", json!({"path": "a"})).await;
    ground.ok("edit", json!({"path": "a", "edits": [{"old_text": "one", "new_text": "1"}]})).await;
    // The session knows the content that it wrote itself.
    ground.ok("edit", args("0")).await;
    assert_eq!(ground.content("a"), "1 m0re\n");
    // A failed read does not count.
    ground.file("binary", b"a\0");
    ground.error("read", json!({"path": "binary"})).await;
    let text = ground.error("write", json!({"path": "binary", "content": "x"})).await;
    assert_eq!(text, "binary has not been read yet; read it before changing it");
}

#[tokio::test]
async fn details_contain_the_diff() {
    let ground = Ground::new();
    let details = async |tool: &str, args: serde_json::Value| {
        let output = ground.output(tool, args).await;
        assert!(!output.is_error);
        output.details.map(|details| details.to_string())
    };
    let text = details("write", json!({"path": "a", "content": "one\ntwo\n"})).await.unwrap();
    insta::assert_snapshot!(text, @r#"{"diff":{"path":"a","unified":"--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+one\n+two\n","added":2,"removed":0}}"#);
    let edits = json!([{"old_text": "one\n", "new_text": ""}]);
    let text = details("edit", json!({"path": "a", "edits": edits})).await.unwrap();
    insta::assert_snapshot!(text, @r#"{"diff":{"path":"a","unified":"--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n-one\n two\n","added":0,"removed":1}}"#);
    let text = details("write", json!({"path": "a", "content": "line\n".repeat(100_000)})).await.unwrap();
    assert!(text.len() < 80 * 1024 && text.ends_with(r#""added":100000,"removed":1,"cut":true}}"#));
    assert_eq!(details("read", json!({"path": "a"})).await, None);
}

#[tokio::test]
async fn cancels_call_that_waits_for_the_file() {
    let ground = Ground::new();
    let file = ground.file("a", "old");
    let queue = haft_core::file_queue::FileQueue::default();
    let environment = haft_tools::HostEnvironment::new(ground.path("")).with_queue(queue.clone());
    let tools = haft_tools::builtin_tools(Arc::new(environment));
    let edit = tools.iter().find(|tool| tool.spec().name == "edit").unwrap();
    let _held = queue.lock(&file).await.unwrap();
    let cancel = CancellationToken::new();
    let call = haft_protocol::content::ToolCall {
        id: haft_protocol::ids::ToolCallId::new("1"),
        name: "edit".to_owned(),
        args: haft_protocol::RawJson::from_value(
            &json!({"path": "a", "edits": [{"old_text": "old", "new_text": "new"}]}),
        )
        .unwrap(),
    };
    let waiting = edit.execute(ToolContext::new(cancel.clone(), drop), call);
    let (output, ()) = tokio::join!(waiting, async { cancel.cancel() });
    assert_eq!(output.content[0].as_text(), Some("cancelled"));
    assert_eq!(ground.content("a"), "old");
}
