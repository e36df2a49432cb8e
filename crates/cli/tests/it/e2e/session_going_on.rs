//! Messages when a session cannot be continued as requested.

use std::fs;
use std::path::PathBuf;

use haft_test_support::model_server::Scenario;

use super::running::Running;
use super::scene::Scene;

/// Creates a session with an answer, and returns the beginning of its id.
fn answered() -> (Scene, String) {
    let scene = Scene::new(["One.", "Two."].map(Scenario::text).into());
    scene.haft(&["-p", "first"]).expect(0);
    let id = file(&scene).file_stem().unwrap().to_str().unwrap()[..8].to_owned();
    (scene, id)
}

/// Returns the file of the only session.
fn file(scene: &Scene) -> PathBuf {
    let mut dirs = fs::read_dir(scene.world.home().join("sessions")).unwrap();
    fs::read_dir(dirs.next().unwrap().unwrap().path()).unwrap().next().unwrap().unwrap().path()
}

#[track_caller]
fn check(scene: &Scene, args: &[&str], code: i32, expect: &str) {
    let ran = scene.haft(args);
    ran.expect(code);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", expect));
}

#[test]
fn answered_session_needs_prompt() {
    let (scene, id) = answered();
    let told = |way: &str| {
        format!(
            "haft: the last prompt in session {id} is already answered; give a prompt to continue: haft {way} -p …\n"
        )
    };
    check(&scene, &["-c"], 2, &told(&format!("-r {id}")));
    check(&scene, &["-r", &id[..4]], 2, &told(&format!("-r {id}")));
    fs::copy(file(&scene), scene.world.project().join("copy.jsonl")).unwrap();
    check(&scene, &["--session", "./copy.jsonl"], 2, &told("--session ./copy.jsonl"));
    scene.haft(&["-r", &id, "-p", "second"]).expect(0);
}

#[test]
fn session_with_stopped_answer_needs_prompt() {
    let (scene, id) = answered();
    let path = file(&scene);
    let text = fs::read_to_string(&path).unwrap();
    let stopped = text.replace(r#""stop":"end""#, r#""stop":"aborted""#);
    assert_ne!(stopped, text);
    fs::write(path, stopped).unwrap();
    let told = format!(
        "haft: you stopped the last answer in session {id}; give a prompt to continue: haft -r {id} -p …\n"
    );
    check(&scene, &["-c"], 2, &told);
}

#[test]
fn rejects_prompt_as_session_id() {
    let (scene, _) = answered();
    let told =
        "haft: --resume expects the beginning of an id, not \"fix\"; to give a prompt, use haft -r -p …\n";
    check(&scene, &["-r", "fix", "the", "tests"], 2, told);
    scene.haft(&["-r", "last", "-p", "second"]).expect(0);
}

#[test]
fn script_is_not_replaced_by_other_model() {
    let scene = Scene::new(vec![Scenario::text("Paid.")]);
    let script = r#"{"steps": [{"repeat": true, "say": [{"text": "Played."}]}]}"#;
    fs::write(scene.world.project().join("s.json"), script).unwrap();
    let run = |args: &[&str], vars: &[(&str, &str)]| {
        let mut command = scene.world.command(args);
        command.envs(vars.iter().copied());
        Running::start(command, None).wait()
    };
    let play = [("HAFT_PROVIDER", "scripted"), ("HAFT_MODEL", "s.json")];
    run(&["-p", "first"], &play).expect(0);
    let url = scene.server.base_url();
    let pay = [("HAFT_BASE_URL", url.as_str()), ("HAFT_MODEL", "m")];
    let ran = run(&["-c", "-p", "second"], &pay);
    ran.expect(6);
    assert!(ran.stderr.contains("--model scripted/FILE"), "{}", ran.stderr);
    assert!(scene.server.requests().is_empty());
    assert_eq!(run(&["-c", "-p", "second"], &play).expect(0).stdout, "Played.\n");
    assert_eq!(run(&["-c", "-p", "--model", "scripted/s.json", "third"], &[]).expect(0).stdout, "Played.\n");
    assert_eq!(run(&["-c", "-p", "--model", "m", "fourth"], &pay).expect(0).stdout, "Paid.\n");
}

#[test]
fn resumes_session_from_other_directory() {
    let scene = Scene::new(["One."].map(Scenario::text).into());
    let below = scene.world.project().join("below");
    fs::create_dir(&below).unwrap();
    scene.haft(&["-p", "--cwd", "below", "about below"]).expect(0);
    for args in [
        &["session", "list", "--cwd", "below"][..],
        &["session", "--cwd", "below", "list"],
        &["session", "show", "last", "--cwd", "below"],
        &["session", "tree", "last", "--cwd", "below"],
    ] {
        let ended = scene.world.haft(args);
        assert!(ended.code == 0 && ended.stdout.contains("about below"), "{ended:?}");
        let here: Vec<&str> = args.iter().copied().filter(|arg| !["--cwd", "below"].contains(arg)).collect();
        assert!(!scene.world.haft(&here).stdout.contains("about below"), "{here:?}");
    }
    let exported = scene.world.haft(&["session", "export", "last", "--cwd", "below"]).stdout;
    fs::write(scene.world.project().join("x.jsonl"), exported).unwrap();
    assert_eq!(scene.world.haft(&["session", "import", "x.jsonl", "--cwd", "below"]).code, 0);
    assert_eq!(
        scene.world.haft(&["session", "list", "--cwd", "below"]).stdout.matches("about below").count(),
        2
    );
    let gone = scene.world.haft(&["session", "list", "--cwd", "gone"]);
    assert!(gone.code == 2 && gone.stderr.contains("--cwd: the directory"), "{gone:?}");
    let behind = scene.haft(&["--cwd", "below", "session", "list"]);
    behind.expect(2);
    assert!(behind.stderr.contains("`session` is a command"), "{}", behind.stderr);
    assert_eq!(scene.server.requests().len(), 1);
}
