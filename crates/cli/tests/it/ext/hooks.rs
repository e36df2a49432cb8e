//! What `haft ext` and `haft doctor` say of process hooks before one has run.

use std::fs;

use serde_json::{Value, json};

use crate::world::World;

/// A world with this `config.toml`.
fn world(config: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.toml"), config).unwrap();
    world
}

/// What `haft doctor` says of extensions and hooks, each finding in a line.
fn doctor(world: &World) -> String {
    let told = world.haft(&["doctor"]).stdout.replace("\n          ", " ").replace("\n         ", " ");
    let of_extensions = told.trim_end().split("\n\n").find(|section| section.starts_with("extensions\n"));
    of_extensions.unwrap_or_else(|| panic!("{told}")).to_owned()
}

#[test]
fn a_gate_that_is_loosened_is_told_as_that() {
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
      asked: before_tool
      priority: -3, the lowest is asked first
      on_timeout = "allow": a call that it does not decide about in time is made
      vouches = ["*"]: its answers in place of these tools count without approval
      runs: sh -c exit

    strict
      scope: global
      state: enabled
      sandbox: none
      process hook of: ROOT/home/config.toml:9
      asked: before_tool
      priority: 0, the lowest is asked first
      runs: sh -c exit
    "#);
    let listed = world.haft(&["ext", "list", "--json"]).stdout;
    let all: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = |at: usize| json!([all[at]["priority"], all[at]["on_timeout"], all[at]["vouches"]]);
    assert_eq!((told(0), told(1)), (json!([-3, "allow", ["*"]]), json!([0, "block", []])));
    insta::assert_snapshot!(doctor(&world), @r#"
    extensions
      ok     gate: your process hook, no sandbox: it has your rights
      note   gate: on_timeout = "allow": a call that it does not decide about in time is made
      note   gate: vouches = ["*"]: its answers in place of these tools count without approval
      ok     strict: your process hook, no sandbox: it has your rights
    "#);
}

#[test]
fn a_projects_gate_that_is_loosened_is_marked_before_it_is_trusted() {
    let world = world("[grant.gate]\non_timeout = 'allow'\n");
    let dir = world.project().join(".haft");
    fs::create_dir_all(&dir).unwrap();
    let hook = "[hooks.processes.gate]\nenabled = true\ncommand = ['sh']\nintercept = ['before_tool']\n";
    fs::write(dir.join("config.toml"), hook).unwrap();
    let shown = world.haft(&["trust", "--show"]).stdout;
    let told = "! gate: gate: on_timeout = \"allow\": a call that it does not decide about in time is made";
    assert!(shown.contains(told), "{shown}");
}

#[test]
fn a_file_that_cannot_be_read_is_no_empty_list() {
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
      note   hooks: are not known as long as config.toml cannot be used
    ");
    // What a project says that nobody trusts does not count.
    let world = self::world("");
    fs::create_dir_all(world.project().join(".haft")).unwrap();
    fs::write(world.project().join(".haft/config.toml"), "modle = 'x'\n").unwrap();
    assert_eq!(world.haft(&["ext", "list"]).code, 0);
}
