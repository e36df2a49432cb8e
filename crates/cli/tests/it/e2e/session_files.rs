//! `haft session export` and `import`.

use std::fs;

use crate::world::{Ended, World};

const ZOT: &str = concat!(
    r#"{"type":"meta","meta":{"id":"z","cwd":"","model":"m","provider":"anthropic","started":"2026-05-01T08:00:00Z","version":"1"}}"#,
    "\n",
    r#"{"type":"message","message":{"role":"user","content":[{"text":"The <b>build</b> fails in PROJECT/src."}],"time":"2026-05-01T08:00:01Z"}}"#,
    "\n",
    r#"{"type":"message","message":{"role":"assistant","content":[{"text":"A **tab** is missing."}],"time":"2026-05-01T08:00:02Z"}}"#,
    "\nnot json\n",
);

/// Creates a world with this session, whose texts contain the project's path, and returns the session's id.
fn imported() -> (World, String) {
    let world = World::new();
    let project = world.project().canonicalize().unwrap();
    fs::write(world.project().join("a.zotsession"), ZOT.replace("PROJECT", project.to_str().unwrap()))
        .unwrap();
    let Ended { code, stdout, stderr } = world.haft(&["session", "import", "a.zotsession", "--name", "Tabs"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("line 4: skipped"), "{stderr}");
    assert!(stderr.contains("imported a session of zot with 5 entries"), "{stderr}");
    (world, stdout.trim().to_owned())
}

#[test]
fn exports_zot_session_without_paths_and_imports_it() {
    let (world, id) = imported();
    let file = world.haft(&["session", "export", &id]);
    assert_eq!((file.code, file.stderr.as_str()), (0, ""));
    assert!(file.stdout.contains(r#""cwd":".""#), "{}", file.stdout);
    assert!(file.stdout.contains("fails in ./src.") && !file.stdout.contains("ROOT"), "{}", file.stdout);
    let again = world.haft_reading(&["session", "import", "-"], &file.stdout);
    assert_eq!((again.code, again.stderr.trim()), (0, "imported a session of haft with 5 entries"));
    assert_ne!(again.stdout.trim(), id);
    let copy = world.haft(&["session", "export", "last"]);
    assert_eq!(
        copy.stdout.lines().skip(1).collect::<Vec<_>>(),
        file.stdout.lines().skip(1).collect::<Vec<_>>()
    );
}

#[test]
fn json_output_has_no_control_characters() {
    let world = World::new();
    let text = ZOT.replace("The <b>build", "\u{9b}2J\u{9d}0;title\u{9c}The build");
    fs::write(world.project().join("a.zotsession"), text).unwrap();
    assert_eq!(world.haft(&["session", "import", "a.zotsession"]).code, 0);
    for args in [
        &["session", "list", "--json"][..],
        &["session", "show", "--json", "last"],
        &["session", "export", "-o", "-", "last"],
    ] {
        let out = world.haft(args).stdout;
        assert!(out.contains(r"\u009b2J"), "{out}");
        assert!(!out.contains(|c: char| c.is_control() && c != '\n'), "{args:?}: {out:?}");
    }
}

#[test]
fn exports_session_as_page() {
    let (world, id) = imported();
    let page = world.haft(&["session", "export", &id[..8], "--html"]);
    assert_eq!((page.code, page.stderr.as_str()), (0, ""));
    for part in [
        "<title>Tabs</title>",
        "The &lt;b&gt;build&lt;/b&gt; fails in ./src.",
        "A <strong>tab</strong> is missing.",
        "default-src 'none'",
    ] {
        assert!(page.stdout.contains(part), "{part} is missing in {}", page.stdout);
    }
    let written = world.haft(&["session", "export", &id, "--html", "-o", "page.html"]);
    assert_eq!((written.code, written.stdout.as_str()), (0, ""));
    assert_eq!(fs::read_to_string(world.project().join("page.html")).unwrap(), page.stdout);
}

#[track_caller]
fn check_refused(world: &World, args: &[&str], expect: &str) {
    let ended = world.haft(args);
    assert!(ended.code != 0 && ended.stdout.is_empty(), "{ended:?}");
    assert!(ended.stderr.contains(expect), "{ended:?}");
}

#[test]
fn reports_failed_exports_and_imports() {
    let (world, id) = imported();
    fs::write(world.project().join("x.txt"), "hello\n").unwrap();
    check_refused(&world, &["session", "import", "x.txt"], "the file is not a session of haft, pi or zot");
    check_refused(&world, &["session", "import", "gone.jsonl"], "cannot read gone.jsonl");
    check_refused(
        &world,
        &["session", "import", "a.zotsession", "--cwd", "gone"],
        "the directory ROOT/project/gone does not exist",
    );
    check_refused(&world, &["session", "export", &id, "--at", "zz"], "no entry whose id begins with \"zz\"");
    check_refused(&world, &["session", "export", &id, "-o", "no/such/dir"], "cannot write no/such/dir");
    let dir = fs::read_dir(world.home().join("sessions")).unwrap().next().unwrap().unwrap().path();
    let own = dir.join(format!("{id}.jsonl"));
    check_refused(
        &world,
        &["session", "export", &id, "-o", own.to_str().unwrap()],
        "is the file of the session",
    );
}
