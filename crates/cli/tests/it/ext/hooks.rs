//! Reports of `haft ext` and `haft doctor` about process hooks before a run.

use std::fs;

use serde_json::{Value, json};

use crate::world::World;

/// Creates a world with this `config.toml`.
fn world(config: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.toml"), config).unwrap();
    world
}

/// Returns the findings of `haft doctor` about extensions and hooks, one per line.
fn doctor(world: &World) -> String {
    let told = world.haft(&["doctor"]).stdout.replace("\n          ", " ").replace("\n         ", " ");
    let of_extensions = told.trim_end().split("\n\n").find(|section| section.starts_with("extensions\n"));
    of_extensions.unwrap_or_else(|| panic!("{told}")).to_owned()
}

#[test]
fn reports_relaxed_gate() {
    let world = world(
        "[hooks.processes.gate]\nenabled = true\ncommand = ['sh', '-c', 'exit']\nintercept = ['before_tool']\n\
         priority = -3\nvouches = ['*']\n[grant.gate]\non_timeout = 'allow'\n\
         [hooks.processes.strict]\nenabled = true\ncommand = ['sh', '-c', 'exit']\nintercept = ['before_tool']\n",
    );
    insta::assert_snapshot!(world.haft(&["ext", "list", "--long"]).transcript(), @r#"
    code 0
    --- stdout
    gate
      scope: global
      state: enabled
      sandbox: none
      process hook of: ROOT/home/config.toml:1
      hook points: before_tool
      priority: -3 (lowest first)
      on_timeout = "allow": a call runs if the hook does not decide in time
      vouches = ["*"]: its results for these tools need no approval
      runs: sh -c exit

    strict
      scope: global
      state: enabled
      sandbox: none
      process hook of: ROOT/home/config.toml:9
      hook points: before_tool
      priority: 0 (lowest first)
      runs: sh -c exit
    "#);
    let listed = world.haft(&["ext", "list", "--json"]).stdout;
    let all: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = |at: usize| json!([all[at]["priority"], all[at]["on_timeout"], all[at]["vouches"]]);
    assert_eq!((told(0), told(1)), (json!([-3, "allow", ["*"]]), json!([0, "block", []])));
    insta::assert_snapshot!(doctor(&world), @r#"
    extensions
      ok     gate: your process hook, not sandboxed: runs with your rights
      note   gate: on_timeout = "allow": a call runs if the hook does not decide in time
      note   gate: vouches = ["*"]: its results for these tools need no approval
      ok     strict: your process hook, not sandboxed: runs with your rights
    "#);
}

#[test]
fn marks_relaxed_gate_of_project_before_trust() {
    let world = world("[grant.gate]\non_timeout = 'allow'\n");
    let dir = world.project().join(".haft");
    fs::create_dir_all(&dir).unwrap();
    let hook = "[hooks.processes.gate]\nenabled = true\ncommand = ['sh']\nintercept = ['before_tool']\n";
    fs::write(dir.join("config.toml"), hook).unwrap();
    let shown = world.haft(&["trust", "--show"]).stdout;
    let told = "! gate: gate: on_timeout = \"allow\": a call runs if the hook does not decide in time";
    assert!(shown.contains(told), "{shown}");
}

#[test]
fn reports_unreadable_configuration() {
    let world = world("[hooks.processes.gate]\nenabeld = true\n");
    insta::assert_snapshot!(world.haft(&["ext", "list"]).transcript(), @"
    code 9
    --- stderr
    haft: ROOT/home/config.toml:2: unknown key `hooks.processes.gate.enabeld`; did you mean `hooks.processes.gate.enabled`?
    ");
    let for_programs = world.haft(&["ext", "list", "--json"]);
    assert!(for_programs.code == 9 && for_programs.stderr.contains("config.toml:2"), "{for_programs:?}");
    insta::assert_snapshot!(doctor(&world), @"
    extensions
      note   hooks: are unknown until config.toml can be read
    ");
    // Mistakes of an untrusted project do not matter.
    let world = self::world("");
    fs::create_dir_all(world.project().join(".haft")).unwrap();
    fs::write(world.project().join(".haft/config.toml"), "modle = 'x'\n").unwrap();
    assert_eq!(world.haft(&["ext", "list"]).code, 0);
}

/// Checks the report of `haft doctor` about a hook `gate` with this command and these keys.
#[track_caller]
fn check_ready(command: &str, more: &str, is_wrong: bool, told: &str) {
    let world = world("");
    // Hooks that run files of the project need its trust.
    let dir =
        if more.contains("dir = ") { String::new() } else { format!("dir = '{}'\n", world.home().display()) };
    let hook = format!("enabled = true\ncommand = {command}\nintercept = ['before_tool']\n{dir}{more}");
    fs::write(world.home().join("config.toml"), format!("[hooks.processes.gate]\n{hook}")).unwrap();
    fs::write(world.home().join("gate.sh"), "#!/bin/sh\n").unwrap();
    let doctor = doctor(&world);
    assert_eq!(doctor.contains("WRONG  gate: "), is_wrong, "{doctor}");
    assert!(doctor.contains(told), "{doctor} should contain {told}");
}

#[cfg(unix)]
#[test]
fn doctor_checks_command_of_hook() {
    check_ready("['sh', 'gate.sh']", "", false, "ok     gate");
    check_ready("['sh', '-c', 'python3 no/gate.py']", "", false, "ok     gate");
    check_ready("['sh', 'no/gate.py']", "", true, "ROOT/home/no/gate.py does not exist > ");
    check_ready("['sh', '~/gate.py']", "", true, "gate.py does not exist; `~` is not expanded in commands");
    check_ready("['sh', 'gate.sh', '/no/policy']", "", false, "names /no/policy, which does not exist");
    check_ready("['sh']", "dir = '/no/hooks'", true, "`dir` is not an existing directory: /no/hooks");
    check_ready("['./gate.sh']", "", true, "ROOT/home/./gate.sh is not executable (chmod +x)");
    check_ready(
        "['sh gate.sh']",
        "",
        true,
        "write each word as its own string: command = [\"sh\", \"gate.sh\"]",
    );
    check_ready("['~/gate']", "", true, "`~` is not expanded in commands");
}

#[cfg(unix)]
#[test]
fn doctor_names_files_that_sandboxed_hook_cannot_read() {
    let elsewhere = tempfile::tempdir().unwrap();
    let script = elsewhere.path().join("gate.sh");
    fs::write(&script, "").unwrap();
    let (dir, script) = (elsewhere.path().display(), script.display());
    let command = format!("['sh', '{script}']");
    let told = format!("its sandbox cannot read {script}; set `dir` in [hooks.processes.gate]");
    check_ready(&command, "[grant.gate]\nsandbox = 'standard'", true, &told);
    for readable in ["".to_owned(), format!("dir = '{dir}'\n[grant.gate]\nsandbox = 'none'")] {
        check_ready(&command, &readable, false, "ok     gate");
    }
}

#[test]
fn extension_commands_explain_process_hooks() {
    let world = world("[hooks.processes.gate]\nenabled = true\ncommand = ['sh']\nobserve = ['*']\n");
    for command in ["update", "rollback", "verify", "trust"] {
        let ended = world.haft(&["ext", command, "gate"]);
        let told = "gate is a process hook, which is configured instead of installed or approved; see \
                    [hooks.processes.gate], ROOT/home/config.toml:1, and run `haft doctor` to check it";
        assert!(ended.code == 8 && ended.stderr.contains(told), "{ended:?}");
    }
    for command in ["enable", "disable", "remove"] {
        let ended = world.haft(&["ext", command, "gate"]);
        assert!(ended.code == 8 && ended.stderr.contains("(`enabled` turns it on and off)"), "{ended:?}");
    }
}

#[test]
fn shows_hook_settings_as_toml_without_variables() {
    let world = world(
        "[hooks.processes.'a b']\nenabled = true\ncommand = ['sh']\nobserve = ['*']\nenv = { PLAIN = 'x1y2' }\n",
    );
    let shown = world.haft(&["config", "show"]).stdout;
    assert!(!shown.contains("x1y2") && shown.contains("env = { \"PLAIN\" = \"(hidden)\" }"), "{shown}");
    assert!(shown.contains("hooks.processes.\"a b\".enabled = true"), "{shown}");
}
