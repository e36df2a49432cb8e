//! Imports hooks of PicoClaw into the user's configuration.

use std::fs;

use crate::world::World;

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
