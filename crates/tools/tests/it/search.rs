//! `grep`, `find` and `ls` with real trees.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::ground::Ground;

/// Creates a tree with ignored, hidden and binary files.
fn tree() -> Ground {
    let ground = Ground::new();
    ground.file(".gitignore", "/target\n*.log\n");
    ground.file(".git/config", "needle\n");
    ground.file(".hidden", "a needle\n");
    ground.file("target/out.txt", "needle\n");
    ground.file("a.log", "needle\n");
    ground.file("src/lib.rs", "one\ntwo\nfn needle() {\nfour\nfive\nsix\nNeedle\n");
    ground.file("src/deep/mod.rs", "needle needle\n");
    ground.file("bin.rs", b"needle\0\n");
    ground
}

#[tokio::test]
async fn grep_respects_ignore_files() {
    let ground = tree();
    let text = ground.ok("grep", json!({"pattern": "needle"})).await;
    insta::assert_snapshot!(text, @r#"
    .hidden:1:a needle
    src/deep/mod.rs:1:needle needle
    src/lib.rs:3:fn needle() {
    [skipped 1 binary file]
    "#);
    let text = ground
        .ok("grep", json!({"pattern": "NEEDLE", "path": "@src", "ignore_case": true, "glob": "lib.*"}))
        .await;
    assert_eq!(text, "src/lib.rs:3:fn needle() {\nsrc/lib.rs:7:Needle\n");
    let text = ground.ok("grep", json!({"pattern": "needle()", "literal": true, "glob": "src/*.rs"})).await;
    assert_eq!(text, "src/lib.rs:3:fn needle() {\n");
    // A file that is named as the path is searched even if it is ignored.
    assert_eq!(ground.ok("grep", json!({"pattern": "^needle$", "path": "a.log"})).await, "a.log:1:needle\n");
    assert_eq!(ground.ok("grep", json!({"pattern": "nowhere", "path": "src"})).await, "no matches\n");
}

#[tokio::test]
async fn grep_skips_binary_files_wherever_their_first_nul_is() {
    let ground = Ground::new();
    let late = format!("needle\n{}", "line\n".repeat(100_000));
    ground.file("early", b"needle\n\0\n");
    ground.file("late", [late.as_bytes(), b"\0"].concat());
    ground.file("text", "needle\n");
    let grep = async |args| ground.ok("grep", args).await;
    let text = grep(json!({"pattern": "needle", "context": 1})).await;
    assert_eq!(text, "text:1:needle\n[skipped 2 binary files]\n");
    let text = grep(json!({"pattern": "needle", "path": "late"})).await;
    assert_eq!(text, "no matches\n[skipped 1 binary file]\n");
    // The limit counts the shown matches.
    assert_eq!(
        grep(json!({"pattern": "needle", "limit": 1})).await,
        "text:1:needle\n[skipped 2 binary files]\n"
    );
}

#[tokio::test]
async fn grep_shows_context_and_stops_at_the_limit() {
    let ground = tree();
    let text = ground.ok("grep", json!({"pattern": "needle|Needle", "glob": "lib.rs", "context": 1})).await;
    insta::assert_snapshot!(text, @r#"
    src/lib.rs-2-two
    src/lib.rs:3:fn needle() {
    src/lib.rs-4-four
    --
    src/lib.rs-6-six
    src/lib.rs:7:Needle
    "#);
    let text = ground.ok("grep", json!({"pattern": "e", "glob": "lib.rs", "limit": 2})).await;
    assert_eq!(
        text,
        "src/lib.rs:1:one\nsrc/lib.rs:3:fn needle() {\n[stopped after 2 matches; narrow the search or raise limit]\n"
    );
    ground.file("long.txt", format!("needle{}\r\n", "ä".repeat(1000)));
    let text = ground.ok("grep", json!({"pattern": "needle", "path": "long.txt"})).await;
    assert!(text.ends_with("ä… [line cut]\n") && text.len() < 600, "{text}");
}

#[tokio::test]
async fn grep_output_is_cut_to_the_limits() {
    let ground = Ground::new();
    ground.file("a.txt", format!("{}\n", "x".repeat(400)).repeat(1_000));
    let text = ground.ok("grep", json!({"pattern": "x", "limit": 1_000})).await;
    assert!(text.len() < 52_000, "{}", text.len());
    assert!(text.ends_with("of 1000 lines; narrow the search with path or glob]"), "{}", &text[50_000..]);
}

#[tokio::test]
async fn grep_and_find_report_errors() {
    let ground = tree();
    let text = ground.error("grep", json!({"pattern": "a("})).await;
    assert!(text.starts_with("the pattern is not valid: ") && text.contains("unclosed group"), "{text}");
    let text = ground.error("grep", json!({"pattern": "a", "glob": "[a"})).await;
    assert!(text.starts_with("the glob is not valid: "), "{text}");
    let text = ground.error("grep", json!({"pattern": "a", "path": "no"})).await;
    assert_eq!(text, "cannot read BASE/place/no: No such file or directory (os error 2)");
    assert_eq!(
        ground.error("find", json!({"glob": "*", "path": "bin.rs"})).await,
        "bin.rs is not a directory"
    );
}

#[tokio::test]
async fn finds_by_name_and_by_path() {
    let ground = tree();
    assert_eq!(ground.ok("find", json!({"glob": "*.rs"})).await, "bin.rs\nsrc/deep/mod.rs\nsrc/lib.rs\n");
    assert_eq!(ground.ok("find", json!({"glob": "src/*.rs"})).await, "src/lib.rs\n");
    assert_eq!(ground.ok("find", json!({"glob": "**/mod.rs", "path": "src"})).await, "deep/mod.rs\n");
    assert_eq!(
        ground.ok("find", json!({"glob": "{deep,.hidden,config,out.txt}"})).await,
        ".hidden\nsrc/deep/\n"
    );
    assert_eq!(ground.ok("find", json!({"glob": "*.py"})).await, "no files\n");
    let text = ground.ok("find", json!({"glob": "*", "limit": 2})).await;
    assert_eq!(text, ".gitignore\n.hidden\n[stopped after 2 results; narrow the glob or the path]\n");
}

#[tokio::test]
async fn ls_lists_all_entries_of_one_directory() {
    let ground = tree();
    symlink("src/lib.rs", ground.path("link")).unwrap();
    fs::create_dir(ground.path("empty")).unwrap();
    insta::assert_snapshot!(ground.ok("ls", json!({})).await, @r#"
    .git/
    .gitignore
    .hidden
    a.log
    bin.rs
    empty/
    link -> src/lib.rs
    src/
    target/
    "#);
    assert_eq!(ground.ok("ls", json!({"path": "src"})).await, "deep/\nlib.rs\n");
    assert_eq!(ground.ok("ls", json!({"path": "empty"})).await, "[empty is empty]");
    assert_eq!(ground.error("ls", json!({"path": "bin.rs"})).await, "BASE/place/bin.rs: is not a directory");
}

#[tokio::test]
async fn empty_path_means_working_directory() {
    let ground = Ground::new();
    ground.file("a", "needle");
    assert_eq!(ground.ok("grep", json!({"pattern": "needle", "path": ""})).await, "a:1:needle\n");
    assert_eq!(ground.ok("find", json!({"glob": "*", "path": ""})).await, "a\n");
    assert_eq!(ground.ok("ls", json!({"path": ""})).await, "a\n");
}

#[tokio::test]
async fn ignore_files_that_never_end_are_not_read() {
    for name in [".gitignore", ".ignore"] {
        for parent in ["", "a/"] {
            for kind in ["device", "pipe", "sparse", "directory"] {
                let ground = Ground::new();
                ground.file("a/b/needle.txt", "needle\n");
                ground.file("a/b/.gitignore", "*.log\n");
                ground.file("a/b/x.log", "needle\n");
                let path = ground.path(&format!("{parent}{name}"));
                match kind {
                    "device" => symlink("/dev/zero", &path).unwrap(),
                    "pipe" => haft_test_support::create_pipe(&path).unwrap(),
                    "sparse" => fs::File::create(&path).unwrap().set_len(1 << 40).unwrap(),
                    _ => fs::create_dir(&path).unwrap(),
                }
                let text = ground.ok("grep", json!({"pattern": "needle", "path": "a/b"})).await;
                assert_eq!(text, "a/b/needle.txt:1:needle\n", "{kind} {parent}{name}");
                let text = ground.ok("find", json!({"glob": "*.{txt,log}"})).await;
                assert_eq!(text, "a/b/needle.txt\n", "{kind} {parent}{name}");
            }
        }
    }
}

#[tokio::test]
async fn long_globs_and_patterns_are_rejected() {
    let ground = tree();
    for (args, says) in [
        (json!({"glob": "{".repeat(500)}), "the glob is not valid"),
        (json!({"glob": format!("{}a{}", "{".repeat(500), "}".repeat(500))}), "the glob is not valid"),
        (json!({"glob": "a".repeat(2_000)}), "the glob is not valid: it is longer than 1024 bytes"),
    ] {
        let text = ground.error("find", args).await;
        assert!(text.contains(says), "{text}");
    }
    for (pattern, says) in [
        ("a".repeat(100_000), "the pattern is not valid: it is longer than 64 KiB"),
        ("(".repeat(500) + &")".repeat(500), "the pattern is not valid"),
        ("(?:a{1000}){1000}".to_owned(), "the pattern is not valid"),
    ] {
        let text = ground.error("grep", json!({"pattern": pattern})).await;
        assert!(text.contains(says), "{text}");
    }
}
