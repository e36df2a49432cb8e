//! Failures before anything runs, and their exit codes.

use crate::world::World;

#[track_caller]
fn check(world: &World, args: &[&str], code: i32, expect: &str) {
    let ended = world.haft(args);
    assert_eq!(ended.code, code, "{ended:?}");
    assert!(ended.stderr.contains(expect), "{} should contain {expect}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

#[test]
fn invalid_command_line_is_usage_error() {
    let world = World::new();
    check(&world, &["--no-such-flag"], 2, "unexpected argument '--no-such-flag'");
    check(
        &world,
        &["--thinking", "lots", "hi"],
        2,
        "[possible values: default, off, minimal, low, medium, high, xhigh]",
    );
    check(&world, &["--max-steps", "0", "hi"], 2, "--max-steps");
    check(&world, &["--json", "-v", "hi"], 2, "cannot be used with");
    check(&world, &["--tools", "read", "--no-tools", "hi"], 2, "cannot be used with");
    check(&world, &["ext"], 2, "Usage: haft ext");
    check(&world, &["ext", "nonsense"], 2, "unrecognized subcommand");
    check(&world, &["completions", "tcsh"], 2, "invalid value 'tcsh'");
    check(
        &world,
        &["-p", "--cwd", "no/such/dir", "hi"],
        2,
        "haft: --cwd: the directory ROOT/project/no/such/dir does not exist",
    );
}

#[test]
fn invalid_setting_is_configuration_error() {
    let world = World::new();
    std::fs::create_dir(world.home()).unwrap();
    std::fs::write(world.home().join("config.toml"), "modle = 'x'\n").unwrap();
    check(&world, &["-p", "hi"], 9, "home/config.toml:1: unknown key `modle`; did you mean `model`?");
    std::fs::remove_file(world.home().join("config.toml")).unwrap();

    let output = world.command(&["-p", "hi"]).env("HAFT_MAX_STEPS", "none").output().unwrap();
    assert_eq!(output.status.code(), Some(9));
    let output = world.command(&["-p", "hi"]).env("HAFT_LOG", "a=b=c").output().unwrap();
    assert_eq!(output.status.code(), Some(9));
}

#[test]
fn home_below_file_is_configuration_error() {
    let world = World::new();
    std::fs::write(world.home(), "").unwrap();
    for args in [&["-p", "hi"][..], &["--no-session", "-p", "hi"], &["doctor"]] {
        let output = world.command(args).env("HAFT_HOME", world.home().join("below")).output().unwrap();
        let ended = world.ended(output);
        assert_eq!(ended.code, 9, "{ended:?}");
        let expect = "haft: cannot use ROOT/home/below as the home directory: ROOT/home is not a directory; \
                      set HAFT_HOME to a directory\n";
        assert_eq!(ended.stderr, expect);
    }
}

#[test]
fn unusable_named_extension_ends_run() {
    let world = World::new();
    let dir = world.extension("redact", r#"{"name":"redact","exec":"./gone.js"}"#);
    std::fs::write(dir.join("redact.js"), "").unwrap();
    std::fs::write(world.project().join("script.json"), r#"{"steps":[{"say":[{"text":"never"}]}]}"#).unwrap();
    let named = |path: &str, expect: &str| {
        check(&world, &["--provider", "scripted", "--model", "script.json", "-e", path, "hi"], 3, expect);
    };
    named("./typo", "no such directory: ROOT/project/typo");
    named("./redact/redact.js", "redact.js is a file; --ext takes the extension's directory");
    named("./redact", "gone.js");
    world.extension("gate", r#"{"name":"gate","exec":"false","required":true}"#);
    named(
        "./gate",
        "the required extension gate is not running; see the error above, or run `haft ext logs gate`",
    );
}

#[test]
fn invalid_script_of_flag_is_usage_error() {
    let world = World::new();
    check(&world, &["--provider", "scripted", "--model", "gone.json", "hi"], 2, "gone.json");
    let output = world.command(&["--provider", "scripted", "hi"]).env("HAFT_MODEL", "gone.json").output();
    assert_eq!(output.unwrap().status.code(), Some(9), "a setting of the environment");
}

#[test]
fn ignores_settings_of_untrusted_project() {
    let world = World::new();
    std::fs::create_dir(world.project().join(".haft")).unwrap();
    std::fs::write(world.project().join(".haft/config.toml"), "this is no toml").unwrap();
    assert_ne!(world.haft(&["-p", "hi"]).code, 9);
}

/// With `--json`, the reason is an event and a line for people, whether a run started or not.
#[test]
fn reports_failure_as_event_and_as_text() {
    let world = World::new();
    let script = world.project().join("script.json");
    std::fs::write(&script, r#"{"steps": [{"when": {"contains": "zzz"}, "say": [{"text": "hi"}]}]}"#)
        .unwrap();
    let no_step = ["--json", "--provider", "scripted", "--model", "script.json", "hi"];
    let no_provider = ["--json", "--provider", "nobody", "hi"];
    for (args, code, expect) in
        [(&no_step[..], 5, "the script has no step"), (&no_provider[..], 6, "unknown provider \"nobody\"")]
    {
        let ended = world.haft(args);
        assert_eq!(ended.code, code, "{ended:?}");
        assert_eq!(ended.stderr.matches(&format!("haft: {expect}")).count(), 1, "{ended:?}");
        let events =
            ended.stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let errors: Vec<_> = events.filter(|event| event["type"] == "error").collect();
        assert_eq!(errors.len(), 1, "{ended:?}");
        assert!(errors[0]["message"].as_str().unwrap().starts_with(expect), "{ended:?}");
    }
}
