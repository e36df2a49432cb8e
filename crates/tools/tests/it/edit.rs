//! `edit` with real files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use haft_core::tool::ToolContext;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::ground::Ground;

#[tokio::test]
async fn several_at_once_with_a_diff() {
    let ground = Ground::new();
    ground.file(
        "src/a.rs",
        "fn one() {}\n\nfn two() {\n    1\n}\n\n// 1\n// 2\n// 3\n// 4\n// 5\nfn three() {}",
    );
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
async fn line_endings_mark_and_permissions_are_kept() {
    let ground = Ground::new();
    let file = ground.file("w.txt", "\u{feff}one\r\ntwo\r\nthree\r\n");
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
async fn if_one_does_not_apply_nothing_is_changed() {
    let ground = Ground::new();
    ground.file("a", "one\ntwo\ntwo\n");
    let edits = json!([
        {"old_text": "one", "new_text": "1"},
        {"old_text": "two", "new_text": "2"},
        {"old_text": "three", "new_text": "3"},
    ]);
    let text = ground.error("edit", json!({"path": "a", "edits": edits})).await;
    insta::assert_snapshot!(text, @r#"
    a is unchanged:
    edits[1]: old_text is 2 times in the file (lines 2, 3); add neighbouring lines
    edits[2]: old_text is not in the file; read it again and copy the text exactly
    "#);
    assert_eq!(ground.content("a"), "one\ntwo\ntwo\n");
}

#[tokio::test]
async fn what_cannot_be_edited() {
    let ground = Ground::new();
    let edits = json!([{"old_text": "a", "new_text": "b"}]);
    let check = async |path: &str, expect: &str| {
        assert_eq!(ground.error("edit", json!({"path": path, "edits": edits})).await, expect);
    };
    check("missing", "missing does not exist; create it with write").await;
    check("no/dir", "cannot reach BASE/place/no/dir: No such file or directory (os error 2)").await;
    check(".", ". names a directory, not a file; add the name of the file").await;
    fs::create_dir(ground.path("dir")).unwrap();
    check("dir", "BASE/place/dir: is a directory, not a file").await;
    ground.file("latin", b"a\xe9");
    check("latin", "latin is not UTF-8 text and cannot be edited; use bash").await;
    let sparse = fs::File::create(ground.path("huge")).unwrap();
    sparse.set_len(16 * 1024 * 1024 + 1).unwrap();
    check("huge", "BASE/place/huge: has 16777217 bytes, more than the 16777216 that can be edited; use bash")
        .await;
    let text = ground.error("edit", json!({"path": "a", "edits": [{"old_text": "a"}]})).await;
    assert_eq!(text, "edits[0] has no new_text; pass an empty one to delete");
}

#[tokio::test]
async fn twenty_at_the_same_time_through_several_names_all_land() {
    let ground = Arc::new(Ground::new());
    let lines: String = (0..20).map(|n| format!("old-{n};\n")).collect();
    ground.file("dir/a", lines);
    symlink("dir/a", ground.path("link")).unwrap();
    symlink("dir", ground.path("other")).unwrap();
    let names = ["dir/a", "link", "other/a", "@dir/./a"];
    let calls = (0..20).map(|n| {
        let ground = Arc::clone(&ground);
        tokio::spawn(async move {
            let edits = json!([{"old_text": format!("old-{n};"), "new_text": format!("new-{n};")}]);
            ground.ok("edit", json!({"path": names[n % names.len()], "edits": edits})).await
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    let expect: String = (0..20).map(|n| format!("new-{n};\n")).collect();
    assert_eq!(ground.content("dir/a"), expect);
    assert!(ground.path("link").is_symlink());
    ground.assert_no_leftovers();
}

#[tokio::test]
async fn a_call_that_waits_for_the_file_can_be_cancelled() {
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
