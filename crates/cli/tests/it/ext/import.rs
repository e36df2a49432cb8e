//! Imports hooks of PicoClaw into the user's configuration.

use std::fs;

use crate::world::{Ended, World};

const FILE: &str = r#"{"agents": {}, "hooks": {"defaults": {"interceptor_timeout_ms": 7000}, "processes": {
    "gate": {"enabled": true, "command": ["python3", "gate\u001b[31m.py"], "dir": "/srv", "env": {"MY_TOKEN": "t"},
        "intercept": ["before_tool", "approve_tool"]},
    "watch": {"enabled": true, "command": ["./watch"], "observe": ["*"]},
    "off": {"command": []}}}}"#;

fn world() -> World {
    let world = World::new();
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.toml"), "# mine\nmodel = 'm'\n[grant.watch]\nsandbox = 'strict'\n")
        .unwrap();
    fs::write(world.project().join("config.json"), FILE).unwrap();
    world
}

fn config(world: &World) -> String {
    fs::read_to_string(world.home().join("config.toml")).unwrap()
}

#[test]
fn shows_hooks_and_writes_nothing_without_consent() {
    let world = world();
    let unasked = world.haft(&["ext", "import", "picoclaw", "config.json"]);
    insta::assert_snapshot!(unasked.transcript(), @"
    code 8
    --- stdout
    hook: gate
      runs: python3 gate.py in /srv
      sets: MY_TOKEN
      hook points: before_tool, approve_tool
      tools: PicoClaw's names (exec for bash)
    ! sandbox: none, so it runs WITHOUT A SANDBOX, with all your rights
    hook: watch
      runs: ./watch
      hook points: events
      tools: PicoClaw's names (exec for bash)
      sandbox: strict
    not enabled: off
    --- stderr
    haft: cannot ask for confirmation without a terminal; review the output above, then run again with --yes
    ");
    assert!(!config(&world).contains("hooks"));
}

#[test]
fn writes_hooks_once() {
    let world = world();
    let written = world.haft(&["ext", "import", "picoclaw", "config.json", "--yes"]);
    assert_eq!(written.code, 0, "{written:?}");
    insta::assert_snapshot!(written.stderr, @"
    wrote gate, off, watch to ROOT/home/config.toml; `haft ext list` lists them
    watch: its path is relative to haft's working directory
    ");
    insta::assert_snapshot!(config(&world), @r#"
    # mine
    model = 'm'
    [grant.watch]
    sandbox = 'strict'

    [hooks.processes.gate]
    enabled = true
    command = ["python3", "gate\u001B[31m.py"]
    dir = "/srv"
    intercept = ["before_tool", "approve_tool"]
    tool_names = "picoclaw"
    timeout_ms = 7000

    [hooks.processes.gate.env]
    MY_TOKEN = "t"

    [hooks.processes.off]
    command = []
    tool_names = "picoclaw"
    timeout_ms = 7000

    [hooks.processes.watch]
    enabled = true
    command = ["./watch"]
    observe = ["*"]
    tool_names = "picoclaw"
    timeout_ms = 7000
    "#);
    let again = world.haft(&["ext", "import", "picoclaw", "config.json", "--yes"]);
    assert_eq!(again.code, 8, "{again:?}");
    let taken =
        "home/config.toml already has hooks with these names: gate, off, watch; rename or remove them";
    assert!(again.stderr.contains(taken), "{again:?}");
    let shown = world.haft(&["config", "show", "--origin"]).stdout;
    let hooks: Vec<_> = shown.lines().filter(|line| line.starts_with("hooks.processes.gate")).collect();
    insta::assert_snapshot!(hooks.join("\n"), @r#"
    hooks.processes.gate.enabled = true                                                 # ROOT/home/config.toml:7
    hooks.processes.gate.command = ["python3", "gate\u001b[31m.py"]                     # ROOT/home/config.toml:8
    hooks.processes.gate.dir = "/srv"                                                   # ROOT/home/config.toml:9
    hooks.processes.gate.env = { "MY_TOKEN" = "(hidden)" }                              # ROOT/home/config.toml:14
    hooks.processes.gate.intercept = ["before_tool", "approve_tool"]                    # ROOT/home/config.toml:10
    hooks.processes.gate.tool_names = "picoclaw"                                        # ROOT/home/config.toml:11
    hooks.processes.gate.timeout_ms = 7000                                              # ROOT/home/config.toml:12
    "#);
}

#[test]
fn marks_gate_relaxations() {
    let world = world();
    let file = r#"{"hooks": {"processes": {
        "gate": {"enabled": true, "command": ["gate"], "intercept": ["before_tool"], "on_timeout": "allow"},
        "off": {"command": ["off"], "vouches": ["*"]}}}}"#;
    fs::write(world.project().join("config.json"), file).unwrap();
    let written = world.haft(&["ext", "import", "picoclaw", "config.json", "--yes"]);
    insta::assert_snapshot!(written.transcript(), @r#"
    code 0
    --- stdout
    hook: gate
      runs: gate
      hook points: before_tool
      tools: PicoClaw's names (exec for bash)
    ! sandbox: none, so it runs WITHOUT A SANDBOX, with all your rights
    ! on_timeout = "allow": a call runs if the hook does not decide in time
    not enabled: off
    ! off: vouches = ["*"]: its results for these tools need no approval
    --- stderr
    wrote gate, off to ROOT/home/config.toml; `haft ext list` lists them
    warning: gate: on_timeout = "allow": a call runs if the hook does not decide in time
    warning: off: vouches = ["*"]: its results for these tools need no approval
    "#);
    // Without a terminal, the shown lines are the only warning.
    fs::write(world.home().join("config.toml"), "").unwrap();
    let unasked = world.haft(&["ext", "import", "picoclaw", "config.json"]);
    assert_eq!((unasked.code, unasked.stderr.matches("warning").count()), (8, 0), "{unasked:?}");
    assert_eq!(unasked.stdout, written.stdout);
}

#[test]
fn invalid_import_changes_nothing() {
    let world = world();
    let before = config(&world);
    for (text, told) in [
        ("{}", "config.json is not valid: the object `hooks` is missing"),
        (r#"{"hooks": {}}"#, "contains no process hooks"),
        (
            r#"{"hooks": {"processes": {"g": {"enabled": true, "command": ["g"], "intercept": ["before_turn"]}}}}"#,
            "config.json: `hooks.processes.g.intercept`: unsupported intercept \"before_turn\"; did you mean `before_",
        ),
    ] {
        fs::write(world.project().join("config.json"), text).unwrap();
        let ended = world.haft(&["ext", "import", "picoclaw", "config.json", "--yes"]);
        assert!(ended.code == 8 && ended.stderr.contains(told), "{ended:?}");
    }
    let ended = world.haft(&["ext", "import", "picoclaw", "nowhere.json", "--yes"]);
    assert!(ended.code == 8 && ended.stderr.contains("cannot read nowhere.json"), "{ended:?}");
    assert_eq!(config(&world), before);
}

/// Creates files of zot, and returns haft with `ZOT_HOME`.
fn zot_command(world: &World, args: &[&str]) -> Ended {
    let mut command = world.command(args);
    world.ended(command.env("ZOT_HOME", world.project().join("zot")).output().unwrap())
}

fn put_zot_files(world: &World) {
    let work = world.project().join("work");
    let meta = format!(
        r#"{{"type":"meta","meta":{{"id":"z","cwd":"{}","model":"m","provider":"p","started":"2026-05-01T08:00:00Z"}}}}"#,
        work.display()
    );
    let said = r#"{"type":"message","message":{"role":"user","content":[{"text":"Fix it."}],"time":"2026-05-01T08:00:01Z"}}"#;
    for (name, text) in [
        ("zot/extensions/todo/extension.json", r#"{"name":"todo","version":"1","exec":"./run"}"#),
        ("zot/extensions/todo/run", "#!/bin/sh\ntouch ran\n"),
        ("zot/extensions/night/extension.json", r#"{"name":"night"}"#),
        ("zot/extensions/night/theme.json", "{}"),
        ("zot/skills/release/SKILL.md", "of zot"),
        ("zot/skills/review/SKILL.md", "of zot"),
        ("zot/sessions/0011/a.jsonl", &format!("{meta}\n{said}\n")),
        ("zot/sessions/0011/b.jsonl", "{}"),
        (".zot/extensions/lint/extension.json", "{}"),
        ("work/readme", ""),
    ] {
        let path = world.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let program = world.project().join("zot/extensions/todo/run");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir_all(world.home().join("skills/review")).unwrap();
    fs::write(world.home().join("skills/review/SKILL.md"), "mine").unwrap();
}

#[test]
fn imports_files_of_zot_and_replaces_none() {
    let world = World::new();
    put_zot_files(&world);
    let doctor = zot_command(&world, &["doctor"]).stdout;
    assert!(doctor.contains("extensions of zot are here"), "{doctor}");
    let unasked = zot_command(&world, &["ext", "import", "zot"]);
    assert!(unasked.code == 8 && unasked.stderr.contains("run again with --yes"), "{unasked:?}");
    insta::assert_snapshot!(unasked.stdout, @"
    extension ROOT/project/zot/extensions/todo: installed after its approval
    theme ROOT/project/zot/extensions/night/theme.json: copied to ROOT/home/themes/night.json
    skill ROOT/project/zot/skills/release: copied to ROOT/home/skills/release
    skill ROOT/project/zot/skills/review: haft has ROOT/home/skills/review already
    2 sessions: `haft session import` imports them
    extension of this project ROOT/project/.zot/extensions/lint: move it to .haft/extensions, then run `haft trust`
    ");
    let skill = |name: &str| fs::read_to_string(world.home().join("skills").join(name).join("SKILL.md")).ok();
    assert_eq!((skill("release"), world.home().join("themes").exists()), (None, false));
    let done = zot_command(&world, &["ext", "import", "zot", "--yes"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!((skill("release").as_deref(), skill("review").as_deref()), (Some("of zot"), Some("mine")));
    assert!(world.home().join("themes/night.json").exists(), "{done:?}");
    let listed = world.haft(&["ext", "list"]).stdout;
    assert!(listed.contains("todo") && !listed.contains("lint"), "{listed} {done:?}");
    assert!(!world.project().join("ran").exists() && !world.home().join("extensions/lint").exists());
    let again = zot_command(&world, &["ext", "import", "zot", "--yes"]);
    assert!(again.code == 0 && again.stdout.contains("todo: already installed"), "{again:?}");
    assert!(!again.stderr.contains("copied"), "{again:?}");
}

#[test]
fn imports_sessions_of_zot_once() {
    let world = World::new();
    assert!(zot_command(&world, &["session", "import"]).stderr.contains("no sessions of zot found"));
    put_zot_files(&world);
    let unasked = zot_command(&world, &["session", "import"]);
    assert!(unasked.code != 0 && unasked.stderr.contains("run again with --yes"), "{unasked:?}");
    let done = zot_command(&world, &["session", "import", "--yes"]);
    assert!(done.stderr.contains("b.jsonl: the session does not name its directory"), "{done:?}");
    assert!(done.stderr.ends_with("imported 1 sessions; 0 were imported before\n"), "{done:?}");
    let listed = world.haft(&["session", "list", "--cwd", "work"]);
    assert!(listed.stdout.contains("Fix it."), "{listed:?}");
    let again = zot_command(&world, &["session", "import", "--yes"]);
    assert!(again.stderr.ends_with("imported 0 sessions; 1 were imported before\n"), "{again:?}");
}
