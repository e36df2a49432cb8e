//! Tests of hooks: reading, validating and adding them.

use std::path::Path;

use super::*;
use crate::edit::edited_text;
use crate::edit::hooks::insert_hooks;
use crate::file::ParsedConfigFile;
use crate::keys::HookDefaults;
use crate::picoclaw::HooksFile;
use crate::{AddHooksError, add_hooks};

/// Formats all properties of a hook as lines.
fn shown(hook: &ProcessHook) -> String {
    let ProcessHook { name, owner, origin, priority, command, dir, env, watch, .. } = hook;
    let ProcessHook { event_kind, tool_names, timeouts, on_timeout, vouches, .. } = hook;
    let (interceptor, approval) = (timeouts.interceptor.as_millis(), timeouts.approval.as_millis());
    let (modes, points) = (watch.modes(), &watch.intercepts);
    format!(
        "{name} {owner:?} {origin} priority {priority}\n  {command:?} in {dir:?} with {env:?}\n  {modes:?} {points:?}\n  \
         {event_kind:?} {tool_names:?} {interceptor}/{approval} {on_timeout:?} vouches {vouches:?}"
    )
}

fn toml(text: &str) -> String {
    match ParsedConfigFile::parse(Path::new("config.toml"), text) {
        Ok(file) => {
            let made = file.hooks(Owner::User, HookTimeouts::default()).unwrap();
            made.iter().map(shown).collect::<Vec<_>>().join("\n")
        }
        Err(error) => error.to_string(),
    }
}

fn json(text: &str) -> String {
    match HooksFile::parse(Path::new("config.json"), text) {
        Ok(file) => file.hooks().iter().map(shown).collect::<Vec<_>>().join("\n"),
        Err(error) => error.to_string(),
    }
}

const WHOLE: &str = r#"
[hooks]
enabled = true

[hooks.defaults]
observer_timeout_ms = 100
interceptor_timeout_ms = 0
approval_timeout_ms = 90000

[hooks.builtins.audit]
enabled = false
config = { path = "x" }

[hooks.processes.gate]
enabled = true
priority = -5
transport = "stdio"
command = ["python3", "gate.py"]
dir = "hooks"
env = { MODE = "strict" }
observe = ["turn_end", "agent.error"]
intercept = ["before_tool", "approve_tool"]
event_kind = "number"
tool_names = "picoclaw"
timeout_ms = 1000
approval_timeout_ms = -1
on_timeout = "allow"
vouches = ["bash"]

[hooks.processes.plain]
enabled = true
command = ["plain"]
observe = ["*"]

[hooks.processes.off]
command = []
"#;

#[test]
fn reads_hooks_table() {
    insta::assert_snapshot!(toml(WHOLE), @r#"
    gate User config.toml:14 priority -5
      ["python3", "gate.py"] in Some("hooks") with {"MODE": "strict"}
      [Observe, Tool, Approve] {BeforeTool, ApproveTool}
      Some(Number) PicoClaw 1000/90000 Allow vouches ["bash"]
    plain User config.toml:30 priority 0
      ["plain"] in None with {}
      [Observe] {}
      None Haft 5000/90000 Block vouches []
    "#);
    assert_eq!(toml("[hooks]\nenabled = false\n[hooks.processes.x]\nenabled = true\n"), "");
}

#[test]
fn reads_picoclaw_config() {
    let text = r#"{"agents": {"defaults": {"model": "m"}}, "hooks": {"enabled": true, "note": "ours",
        "defaults": {"observer_timeout_ms": 500, "interceptor_timeout_ms": 7000, "approval_timeout_ms": 60000},
        "builtins": {"audit": {"enabled": false, "priority": 1, "config": {"a": null}, "x": 1}},
        "processes": {
          "py_review_gate": {"enabled": true, "priority": 100, "transport": "stdio",
            "command": ["python3", "/abs/review_gate.py"], "dir": "", "env": {"K": "V"},
            "observe": ["tool_exec_start", "gateway.ready"], "intercept": ["before_tool", "", "approve_tool"],
            "isolation": {"x": [null]}},
          "Other": {"Enabled": true, "transport": "", "Command": ["x"], "observe": ["all"], "env": null,
            "event_kind": "name"},
          "off": {"enabled": false, "command": [], "intercept": ["nonsense"]}}}}"#;
    insta::assert_snapshot!(json(text), @r#"
    Other User --hooks-config priority 0
      ["x"] in None with {}
      [Observe] {}
      Some(Name) PicoClaw 7000/60000 Block vouches []
    py_review_gate User --hooks-config priority 100
      ["python3", "/abs/review_gate.py"] in None with {"K": "V"}
      [Observe, Tool, Approve] {BeforeTool, ApproveTool}
      None PicoClaw 7000/60000 Block vouches []
    "#);
    let bare = r#"{"hooks": {"processes": {"g": {"enabled": true, "command": ["g"], "observe": ["*"]}}}}"#;
    assert!(json(bare).starts_with("g User --hooks-config "), "{}", json(bare));
    assert_eq!(json(r#"{"hooks": {"enabled": false, "processes": {"g": {"enabled": true}}}}"#), "");
    assert_eq!(json(r#"{"Hooks": {}}"#), "");
}

#[track_caller]
fn check(hook: &str, expect: &str) {
    let text = format!("[hooks.processes.g]\nenabled = true\ncommand = ['g']\n{hook}");
    assert_eq!(toml(&text), expect);
}

#[test]
fn mistake_in_hook_is_reported_with_its_line() {
    let unknown = "config.toml:4: unknown key `hooks.processes.g.intercepts`; did you mean `hooks.processes.g.intercept`?";
    check("intercepts = ['before_tool']", unknown);
    check(
        "intercept = ['before_tools']",
        "config.toml:4: `hooks.processes.g.intercept`: unsupported intercept \"before_tools\"; did you mean `before_tool`?",
    );
    check(
        "intercept = ['before_tool']\nobserve = ['Turn_End']",
        "config.toml:5: `hooks.processes.g.observe`: unsupported observe event \"Turn_End\"; did you mean `turn_end`?",
    );
    check("observe = ['x']", "config.toml:4: `hooks.processes.g.observe`: unsupported observe event \"x\"");
    let nothing = "config.toml:1: `hooks.processes.g`: no hook modes enabled; set `observe` or `intercept`, or set \
                   enabled = false";
    check("", nothing);
    check("observe = []\nintercept = ['']", nothing);
    check(
        "transport = 'http'",
        "config.toml:4: `hooks.processes.g.transport`: unsupported transport \"http\"; haft supports only \"stdio\"",
    );
    check("observe = 'all'", "config.toml:4: `hooks.processes.g.observe` must be a list of events");
    check("event_kind = 'names'", "config.toml:4: `hooks.processes.g.event_kind` must be `name` or `number`");
    check("timeout_ms = '5s'", "config.toml:4: `hooks.processes.g.timeout_ms` must be a whole number");
    check("env = { A = 1 }", "config.toml:4: `hooks.processes.g.env` must be a table of texts");
    check(
        "env = { 'A=B' = '1' }\nobserve = ['*']",
        "config.toml:4: `hooks.processes.g.env`: \"A=B\" is not a valid variable name, or its value contains NUL",
    );
}

#[track_caller]
fn check_whole(text: &str, expect: &str) {
    assert_eq!(toml(text), expect);
}

#[test]
fn mistake_outside_a_hooks_fields_is_reported() {
    let command = "config.toml:1: `hooks.processes.g.command`: must be a program and its arguments, for example [\"python3\", \
                   \"/path/to/hook.py\"]";
    check_whole("[hooks.processes.g]\nenabled = true\nobserve = ['*']", command);
    let command = command.replace(":1:", ":2:");
    check_whole("[hooks.processes.g]\ncommand = []\nenabled = true\nobserve = ['*']", &command);
    check_whole(
        "[hooks.builtins.audit]\nenabled = true",
        "config.toml:1: `hooks.builtins.audit`: haft does not have PicoClaw's built-in hooks; run the hook as \
         a process in hooks.processes, or set enabled = false",
    );
    let hook = "enabled = true\ncommand = ['g']\nobserve = ['*']\n";
    check_whole(
        &format!("[hooks.processes.Gate]\n{hook}[hooks.processes.gate]\n{hook}"),
        "config.toml:5: `hooks.processes.gate`: the name differs from Gate only in upper and lower case; rename one of the hooks",
    );
    for name in ["haft", "", "a\\tb"] {
        let message = toml(&format!("[hooks.processes.\"{name}\"]\n{hook}"));
        assert!(message.contains("invalid hook name"), "{message}");
    }
    check_whole("hooks = 3", "config.toml:1: `hooks` must be a table");
    check_whole(
        "[hooks]\nprocess = {}",
        "config.toml:2: unknown key `hooks.process`; did you mean `hooks.processes`?",
    );
}

#[track_caller]
fn check_json(text: &str, expect: &str) {
    assert_eq!(json(text), format!("config.json{expect}"));
}

#[test]
fn mistake_in_picoclaw_file_is_reported_by_key() {
    check_json("{", " is not valid: not JSON: EOF while parsing an object at line 1 column 1");
    check_json("{}", " is not valid: the object `hooks` is missing");
    check_json("[]", " is not valid: the object `hooks` is missing");
    check_json(r#"{"hooks": null}"#, " is not valid: the object `hooks` is missing");
    check_json(r#"{"hooks": 3}"#, ": `hooks`: must be a table");
    let list = ": `hooks.processes.g.command`: must be a list of words";
    check_json(r#"{"hooks": {"processes": {"g": {"enabled": true, "command": "g"}}}}"#, list);
    check_json(r#"{"hooks": {"processes": {"g": {"enabled": true, "command": ["g", 3]}}}}"#, list);
    check_json(
        r#"{"hooks": {"processes": {"g": {"enabled": "yes"}}}}"#,
        ": `hooks.processes.g.enabled`: must be `true` or `false`",
    );
    check_json(r#"{"hooks": {"processes": {"g": 7}}}"#, ": `hooks.processes.g`: must be a table");
    check_json(r#"{"hooks": {"processes": []}}"#, ": `hooks.processes`: must be a table");
    check_json(
        r#"{"hooks": {"builtins": {"audit": {"Enabled": true}}}}"#,
        ": `hooks.builtins.audit`: haft does not have PicoClaw's built-in hooks; run the hook as a process in \
         hooks.processes, or set enabled = false",
    );
    check_json(
        r#"{"hooks": {"processes": {"g": {"enabled": true, "command": ["g"], "intercept": ["beforetool"]}}}}"#,
        ": `hooks.processes.g.intercept`: unsupported intercept \"beforetool\"; did you mean `before_tool`?",
    );
}

#[test]
fn misspelled_key_in_picoclaw_file_is_a_mistake() {
    let hook = |fields: &str| {
        format!(r#"{{"hooks": {{"processes": {{"g": {{"command": ["g"], "observe": ["*"], {fields}}}}}}}}}"#)
    };
    check_json(
        &hook(r#""enabled": true, "intercepts": ["before_tool"]"#),
        ": `hooks.processes.g.intercepts`: unknown key; did you mean `intercept`?",
    );
    check_json(
        &hook(r#""Enbled": true"#),
        ": `hooks.processes.g.Enbled`: unknown key; did you mean `enabled`?",
    );
    check_json(
        &hook(r#""enabled": true, "Enabled": false"#),
        ": `hooks.processes.g.Enabled`: unknown key; did you mean `enabled`?",
    );
    check_json(
        r#"{"hooks": {"proceses": {"g": {"enabled": true}}}}"#,
        ": `hooks.proceses`: unknown key; did you mean `processes`?",
    );
}

#[test]
fn other_unknown_keys_in_picoclaw_file_are_listed() {
    let unknown =
        |text: &str| HooksFile::parse(Path::new("config.json"), text).unwrap().unknown_keys().to_vec();
    let claude =
        r#"{"permissions": {}, "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}], "Stop": []}}"#;
    assert_eq!(unknown(claude), ["hooks.PreToolUse", "hooks.Stop"]);
    let pico = r#"{"agents": {}, "hooks": {"builtins": {"audit": {"config": {}, "priority": 1}},
        "processes": {"g": {"isolation": {}, "command": ["g"], "comment": "x"}}}}"#;
    assert_eq!(unknown(pico), ["hooks.processes.g.comment", "hooks.processes.g.isolation"]);
}

#[test]
fn hook_timeouts_override_table_defaults() {
    #[track_caller]
    fn check(millis: Option<i64>, expect: u64) {
        let process = HookProcess { timeout_ms: millis, ..HookProcess::default() };
        let defaults = HookDefaults { interceptor_timeout_ms: Some(7), ..HookDefaults::default() };
        let times =
            Hooks { defaults, ..Hooks::default() }.timeouts(HookTimeouts::default()).for_process(&process);
        assert_eq!(times.interceptor, Duration::from_millis(expect));
        assert_eq!(times.approval, APPROVAL);
    }
    check(None, 7);
    check(Some(0), 7);
    check(Some(i64::MIN), 7);
    check(Some(9), 9);
    check(Some(i64::MAX), 86_400_000);
}

/// Returns the text of a `config.toml` after adding the hooks of a PicoClaw file.
fn added(there: &str, from: &str) -> String {
    let from = HooksFile::parse(Path::new("config.json"), from).unwrap();
    let path = Path::new("config.toml");
    edited_text(path, there, |file, document| insert_hooks(path, file, document, from.content()))
        .unwrap_or_else(|error| error.to_string())
}

const TWO: &str = r#"{"hooks": {"defaults": {"interceptor_timeout_ms": 7000, "approval_timeout_ms": 60000},
    "processes": {"gate": {"enabled": true, "priority": 10, "command": ["python3", "/x/gate.py"], "env": {"A": "b"},
    "observe": ["*"], "intercept": ["before_tool"]}, "my hook": {"command": []}}}}"#;

#[test]
fn add_hooks_preserves_other_content() {
    insta::assert_snapshot!(added("", TWO), @r#"
    [hooks.processes.gate]
    enabled = true
    priority = 10
    command = ["python3", "/x/gate.py"]
    observe = ["*"]
    intercept = ["before_tool"]
    tool_names = "picoclaw"
    timeout_ms = 7000

    [hooks.processes.gate.env]
    A = "b"

    [hooks.processes."my hook"]
    command = []
    tool_names = "picoclaw"
    timeout_ms = 7000
    "#);
    let there = "# mine\nmodel = 'm' # the best\n\n[hooks.processes.own] # first\nenabled = true\ncommand = [ 'o' ]\n\
                 observe = ['*']\n\n[hooks.defaults]\napproval_timeout_ms = 1000\n\n# last\n[grant.x]\nenv = ['A']\n";
    insta::assert_snapshot!(added(there, TWO), @r#"
    # mine
    model = 'm' # the best

    [hooks.processes.own] # first
    enabled = true
    command = [ 'o' ]
    observe = ['*']

    [hooks.processes.gate]
    enabled = true
    priority = 10
    command = ["python3", "/x/gate.py"]
    observe = ["*"]
    intercept = ["before_tool"]
    tool_names = "picoclaw"
    timeout_ms = 7000
    approval_timeout_ms = 60000

    [hooks.processes.gate.env]
    A = "b"

    [hooks.processes."my hook"]
    command = []
    tool_names = "picoclaw"
    timeout_ms = 7000
    approval_timeout_ms = 60000

    [hooks.defaults]
    approval_timeout_ms = 1000

    # last
    [grant.x]
    env = ['A']
    "#);
}

#[test]
fn add_hooks_preserves_inline_tables_and_disabled_state() {
    insta::assert_snapshot!(added("hooks = { enabled = false, processes = {} }\n", TWO), @r#"hooks = { enabled = false, processes = { gate = { enabled = true, priority = 10, command = ["python3", "/x/gate.py"], observe = ["*"], intercept = ["before_tool"], tool_names = "picoclaw", timeout_ms = 7000, env = { A = "b" } }, "my hook" = { command = [], tool_names = "picoclaw", timeout_ms = 7000 } } }"#);
    insta::assert_snapshot!(added("", &TWO.replacen("{\"def", "{\"enabled\": false, \"def", 1)), @r#"
    [hooks.processes.gate]
    enabled = false
    priority = 10
    command = ["python3", "/x/gate.py"]
    observe = ["*"]
    intercept = ["before_tool"]
    tool_names = "picoclaw"
    timeout_ms = 7000

    [hooks.processes.gate.env]
    A = "b"

    [hooks.processes."my hook"]
    command = []
    tool_names = "picoclaw"
    timeout_ms = 7000
    "#);
}

#[test]
fn add_hooks_rejects_existing_names() {
    let taken = added("[hooks.processes.Gate]\n", TWO);
    assert_eq!(taken, "config.toml already has hooks with these names: gate; rename or remove them");
    assert_eq!(added("modle = 3", TWO), "config.toml:1: unknown key `modle`; did you mean `model`?");
}

#[test]
fn added_hooks_equal_the_source_hooks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new").join("config.toml");
    let from = HooksFile::parse(Path::new("config.json"), TWO).unwrap();
    add_hooks(&path, from.content()).unwrap();
    let file = ParsedConfigFile::load(&path).unwrap();
    let there = file.hooks(Owner::User, HookTimeouts::default()).unwrap();
    let origin = &there[0].origin;
    let expect: Vec<_> =
        from.hooks().iter().map(|hook| ProcessHook { origin: origin.clone(), ..hook.clone() }).collect();
    assert_eq!(there, expect);
    assert!(matches!(add_hooks(&path, from.content()), Err(AddHooksError::Taken { .. })));
}

#[test]
#[cfg(unix)]
fn add_hooks_preserves_symlink_and_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let (path, real) = (dir.path().join("config.toml"), dir.path().join("real.toml"));
    std::fs::write(&real, "model = 'm'\n").unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&real, &path).unwrap();
    add_hooks(&path, HooksFile::parse(Path::new("c"), TWO).unwrap().content()).unwrap();
    assert!(std::fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(std::fs::read_to_string(&real).unwrap().starts_with("model = 'm'\n"));
}
