//! `extension.json`: accepted and rejected manifests, error messages, and the resolution of `exec`.

#![expect(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_packages::manifest::{Activation, ExecError, MAX_MANIFEST, Manifest, ManifestError};
use haft_packages::{GuardRoles, LaunchPlan, Lifecycle, Permissions};
use haft_protocol::ext::InterceptKind;

fn read(text: &str) -> Result<Manifest, String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("extension.json"), text).unwrap();
    let prefix = format!("{}/", dir.path().display());
    Manifest::read(dir.path()).map_err(|error| error.to_string().replace(&prefix, ""))
}

#[test]
fn reads_manifest_of_quick_start() {
    let manifest = read(
        r#"{"name":"hello-py","version":"1.0.0","exec":"./hello.py","language":"python","enabled":true}"#,
    )
    .unwrap();
    assert_eq!(manifest.name.as_str(), "hello-py");
    assert_eq!(manifest.version.as_deref(), Some("1.0.0"));
    assert_eq!(manifest.language.as_deref(), Some("python"));
    assert_eq!(manifest.exec.unwrap().program, "./hello.py");
    assert!(manifest.enabled);
    assert_eq!(manifest.roles, GuardRoles::default());
}

#[test]
fn matches_keys_in_any_case_and_ignores_unknown_ones() {
    let manifest =
        read("\u{feff}{\"Name\":\"x\",\"EXEC\":\"run\",\"Args\":[\"-v\"],\"skills\":[1],\"x-y\":{}}")
            .unwrap();
    assert_eq!(manifest.exec.unwrap().args, ["-v"]);
}

#[track_caller]
fn refused(text: &str, expect: &str) {
    assert_eq!(read(text).unwrap_err(), expect, "{text}");
}

/// Checks the lifecycle of an `extension.json` with these fields, and the mistakes in it.
#[track_caller]
fn lives(fields: &str, expect: Lifecycle, wrong: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("extension.json"), format!(r#"{{"name":"x","exec":"x",{fields}}}"#)).unwrap();
    let manifest = Manifest::read(dir.path()).unwrap();
    assert_eq!(manifest.lifecycle, expect, "{fields}");
    assert_eq!(manifest.ignored.len(), wrong.len(), "{:?}", manifest.ignored);
    for (said, expect) in manifest.ignored.iter().zip(wrong) {
        assert!(said.contains(expect) && said.ends_with("; the field is ignored"), "{said}");
    }
}

#[test]
fn ignores_invalid_deadlines_and_lifecycle() {
    let default = Lifecycle::default;
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    lives(
        r#""hello_timeout_ms":60000,"ready_timeout_ms":1000"#,
        Lifecycle { hello: seconds(60), ready: seconds(1), ..default() },
        &[],
    );
    lives(r#""hello_timeout_ms":60001"#, default(), &["`hello_timeout_ms` must be at most 60000"]);
    lives(
        r#""hello_timeout_ms":0,"ready_timeout_ms":2000"#,
        Lifecycle { ready: seconds(2), ..default() },
        &["`hello_timeout_ms` must be a positive whole number, not 0"],
    );
    lives(r#""ready_timeout_ms":"2s""#, default(), &["`ready_timeout_ms` must be a positive whole number"]);
    lives(r#""lifecycle":"on_demand""#, Lifecycle { on_demand: true, ..default() }, &[]);
    lives(r#""lifecycle":"always""#, default(), &[]);
    lives(r#""lifecycle":"never""#, default(), &["`lifecycle` must be `always` or `on_demand`"]);
}

/// Returns the activation of an `extension.json` with these fields, or the mistake in it.
fn activates(fields: &str) -> Result<Activation, String> {
    let text = format!(r#"{{"name":"x","exec":"x",{fields}}}"#);
    let manifest = Manifest::parse(Path::new("extension.json"), &text, false).unwrap();
    match (manifest.lifecycle.activation, manifest.ignored.as_slice()) {
        (Some(activation), []) => Ok(Activation::clone(&activation)),
        (None, [said]) => Err(said.strip_suffix("; the extension starts immediately").unwrap().to_owned()),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn starts_at_once(fields: &str, expect: &str) {
    assert_eq!(activates(fields).unwrap_err(), format!("extension.json: {expect}"), "{fields}");
}

#[test]
fn activation_lists_declared_tools_and_commands() {
    let fields = r#""Activation":["tool:t","command:go","event:turn_end"],
        "tools":[{"name":"t","description":"one\ntwo","schema":{"type":"object","title":"T"},"guidelines":["use t"]}],
        "commands":[{"name":"go","completes":true}]"#;
    let activation = activates(fields).unwrap();
    let tool = &activation.tools[0];
    assert_eq!((tool.name.as_str(), tool.description.as_str()), ("t", "one\ntwo"));
    assert_eq!(tool.schema.as_ref().unwrap().as_str(), r#"{"type":"object","title":"T"}"#);
    assert_eq!(tool.guidelines, ["use t"]);
    assert!(activation.commands[0].completes);
    assert_eq!(activation.events, BTreeSet::from(["turn_end".to_owned()]));
    let silent = read(r#"{"name":"x","exec":"x","tools":7,"commands":"none"}"#).unwrap();
    assert_eq!(
        (silent.lifecycle.activation, silent.ignored.len()),
        (None, 0),
        "other programs use these keys"
    );
}

#[test]
fn invalid_activation_starts_the_extension_immediately() {
    starts_at_once(r#""activation":"tool:t""#, "`activation` must be a list, not a string");
    starts_at_once(r#""activation":[]"#, "`activation` must have at least one entry, or be left out");
    let kinds = "use `command:NAME`, `tool:NAME` or `event:NAME`";
    for entry in ["*", "tools:t", "onStartupFinished"] {
        let expect = format!("`activation` has the unknown entry {entry:?}; {kinds}");
        starts_at_once(&format!(r#""activation":[{entry:?}]"#), &expect);
    }
    let events = haft_protocol::ext::event_names().collect::<Vec<_>>().join(", ");
    let expect = format!("`activation` has the unknown event \"warp\"; the known events are {events}");
    starts_at_once(r#""activation":["event:warp"]"#, &expect);
    let tools = r#""tools":[{"name":"t"}]"#;
    let undescribed = "`activation` names tool:u; describe that tool in `tools`";
    starts_at_once(&format!(r#""activation":["tool:t","tool:u"],{tools}"#), undescribed);
    let undescribed = "`activation` names command:go; describe that command in `commands`";
    starts_at_once(&format!(r#""activation":["command:go","tool:t"],{tools}"#), undescribed);
    let unnamed = "`tools` describes t; add tool:t to `activation`";
    starts_at_once(&format!(r#""activation":["event:turn_end"],{tools}"#), unnamed);
    let twice = r#""activation":["tool:t"],"tools":[{"name":"t"},{"name":"t"}]"#;
    starts_at_once(twice, "`tools` has two entries with the same name");
    let nameless = r#""activation":["tool:t"],"tools":[{}]"#;
    let said = activates(nameless).unwrap_err();
    assert!(said.starts_with("extension.json: `tools[0]` is not a tool: missing field `name`"), "{said}");
    let guard = "`activation` cannot be combined with `required` or `intercept`: a gate starts immediately";
    for fields in [
        r#""required":true"#,
        r#""intercept":[{"event":"tool_call"}]"#,
        r#""permissions":{"intercept":[{"event":"tool_call","role":"gate"}]}"#,
    ] {
        starts_at_once(&format!(r#""activation":["event:turn_end"],{fields}"#), guard);
    }
}

#[test]
fn names_the_invalid_field() {
    refused("{}", "extension.json: `exec` is required unless the extension has a theme.json");
    refused(r#"{"exec":"x"}"#, "extension.json: `name` is required");
    refused(r#"{"name":"","exec":"x"}"#, "extension.json: `name` is required");
    refused(r#"{"name":1,"exec":"x"}"#, "extension.json: `name` must be a string, not a number");
    let enabled = r#"{"name":"x","exec":"x","enabled":"no"}"#;
    refused(enabled, "extension.json: `enabled` must be true or false, not a string");
    refused(r#"{"name":"x","exec":"x","args":"-v"}"#, "extension.json: `args` must be a list, not a string");
    let args = r#"{"name":"x","exec":"x","args":[1]}"#;
    refused(args, "extension.json: `args` must be a list of strings, not a number");
    refused(r#"{"name":"x","exec":"x","Name":"y"}"#, "extension.json: `name` occurs twice");
    let escape = "must not contain the invisible character U+001B";
    for field in ["name", "version", "description", "language", "exec"] {
        let mut manifest = serde_json::json!({"name": "x", "exec": "x"});
        manifest[field] = "a\u{1b}[2Kb".into();
        refused(&manifest.to_string(), &format!("extension.json: `{field}` {escape}"));
    }
    refused(
        r#"{"name":"x","exec":"x","args":["-c","\u001b[2K"]}"#,
        &format!("extension.json: `args` {escape}"),
    );
    for hidden in ["\0", "\n", "\t", "\u{7f}", "\u{9b}", "\u{202e}", "\u{200b}", "\u{e0041}"] {
        let manifest = serde_json::json!({"name": "x", "exec": "x", "description": format!("a{hidden}b")});
        let rule = format!(
            "extension.json: `description` must not contain the invisible character U+{:04X}",
            u32::from(hidden.chars().next().unwrap())
        );
        refused(&manifest.to_string(), &rule);
    }
}

#[test]
fn rejects_names_that_could_be_paths() {
    let rule = "extension.json: `name` must be 1 to 64 letters, digits, `.`, `_` or `-`, begin with a \
    letter or digit, and not be `haft`, which is reserved";
    for name in ["../evil", "a/b", "a\\b", ".hidden", "-x", "a b", "a\u{e9}", &"x".repeat(65), "haft", "HAFT"]
    {
        let text = serde_json::json!({ "name": name, "exec": "x" }).to_string();
        refused(&text, rule);
    }
    for name in ["a", "9", "A.b_c-d", &"x".repeat(64)] {
        let text = serde_json::json!({ "name": name, "exec": "x" }).to_string();
        assert_eq!(read(&text).unwrap().name.as_str(), name);
    }
}

#[test]
fn reports_text_that_is_not_an_object() {
    for text in ["", "[]", "\"x\"", "{\"name\":\"x\"", "{\"a\":1,\"a\":2}"] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with("extension.json is not a JSON object: "), "{error}");
    }
    refused("nonsense", "extension.json is not a JSON object: syntax error in line 1, column 2");
    refused("{\n  \"a\": 1,\n}", "extension.json is not a JSON object: syntax error in line 3, column 1");
    refused("{", "extension.json is not a JSON object: unexpected end of file");
}

#[test]
fn limits_the_size() {
    let text = |len: u64| {
        let head = r#"{"name":"x","exec":"x","pad":""#;
        format!("{head}{}\"}}", "p".repeat(usize::try_from(len).unwrap() - head.len() - 2))
    };
    assert!(read(&text(MAX_MANIFEST)).is_ok());
    refused(&text(MAX_MANIFEST + 1), "extension.json is larger than 262144 bytes");
}

#[test]
fn distinguishes_missing_manifest_from_missing_directory() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Manifest::read(dir.path()), Err(ManifestError::Missing { .. })));
    let gone = dir.path().join("gone");
    assert!(matches!(Manifest::read(&gone), Err(ManifestError::NoDirectory { .. })));
    fs::create_dir(dir.path().join("extension.json")).unwrap();
    assert!(matches!(Manifest::read(dir.path()), Err(ManifestError::Read { .. })));
}

#[test]
fn theme_needs_no_exec() {
    for theme in ["theme.json", "themes/theme.json"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(theme);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{}").unwrap();
        fs::write(dir.path().join("extension.json"), r#"{"name":"dark"}"#).unwrap();
        let manifest = Manifest::read(dir.path()).unwrap();
        assert_eq!(manifest.resolve_launch(dir.path(), None).unwrap(), LaunchPlan::ThemeOnly);
    }
}

fn roles(intercept: &str) -> Result<GuardRoles, String> {
    read(&format!(r#"{{"name":"x","exec":"x",{intercept}}}"#)).map(|manifest| manifest.roles)
}

#[test]
fn roles_decide_what_is_guarded() {
    let gate = roles(r#""intercept":[{"event":"tool_call","role":"gate","required":true}]"#).unwrap();
    assert_eq!(
        gate,
        GuardRoles { required: true, gates: vec![InterceptKind::ToolCall], ..GuardRoles::default() }
    );
    let redactor = roles(r#""intercept":[{"event":"assistant_message","role":"redactor"}]"#).unwrap();
    assert_eq!(redactor, GuardRoles { redactor: true, ..GuardRoles::default() });
    let silent = roles(r#""intercept":[{"event":"turn_start"}]"#).unwrap();
    assert_eq!(silent.gates, [InterceptKind::TurnStart]);
    let watcher = roles(r#""intercept":[{"event":"turn_start","role":"observer"}]"#).unwrap();
    assert_eq!(watcher, GuardRoles::default());
    let rewriter = roles(r#""intercept":[{"event":"tool_call","role":"rewrite","on_timeout":"block"}]"#);
    assert_eq!(rewriter.unwrap(), GuardRoles::default());
    let loose = roles(r#""on_timeout":"allow""#).unwrap_err();
    assert!(loose.contains("`on_timeout` must be `block` in a manifest"), "{loose}");
    assert!(roles(r#""required":true"#).unwrap().required);
}

#[test]
fn permissions_must_agree_with_intercept() {
    let asked = r#""permissions":{"intercept":[{"event":"tool_call","role":"gate","tools":["bash"]},
                                               {"event":"assistant_message","role":"redactor"}]}"#;
    let from_permissions = roles(asked).unwrap();
    let gates = vec![InterceptKind::ToolCall];
    assert_eq!(from_permissions, GuardRoles { gates, redactor: true, ..GuardRoles::default() });
    let same = r#""intercept":[{"event":"assistant_message","role":"redactor"},{"event":"tool_call","required":true}]"#;
    assert_eq!(roles(&format!("{asked},{same}")).unwrap(), GuardRoles { required: true, ..from_permissions });
    for other in [r#""intercept":[{"event":"tool_call"}]"#, r#""intercept":[]"#] {
        let error = roles(&format!("{asked},{other}")).unwrap_err();
        assert!(
            error.contains("`intercept` must have the same events and roles as `permissions.intercept`"),
            "{error}"
        );
    }
}

#[test]
fn examples_request_valid_permissions() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions");
    let dirs =
        fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let manifests: Vec<Manifest> = dirs.map(|dir| Manifest::read(&dir).unwrap()).collect();
    let asking = manifests.iter().filter(|manifest| manifest.permissions.is_some());
    let mut names: Vec<_> = asking.map(|manifest| manifest.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["guard", "notes", "py-guide", "weather"]);
}

#[test]
fn invalid_permissions_make_the_manifest_invalid() {
    let read = |permissions: &str| read(&format!(r#"{{"name":"x","exec":"x","permissions":{permissions}}}"#));
    assert_eq!(read("null").unwrap().permissions, None);
    assert_eq!(read("{}").unwrap().permissions, Some(Permissions::default()));
    let error = |permissions: &str| read(permissions).unwrap_err();
    assert!(error("true").contains("extension.json: `permissions` must be an object"), "{}", error("true"));
    let unknown = error(r#"{"clipboard":true}"#);
    assert!(unknown.contains("extension.json: `permissions.clipboard` is not known here"), "{unknown}");
    let event = error(r#"{"intercept":[{"event":"warp","role":"gate"}]}"#);
    assert!(event.contains("`permissions.intercept[0].event` has the unknown value \"warp\""), "{event}");
    let hidden = error(r#"{"fs":{"read":["/a\u202eb"]}}"#);
    assert!(
        hidden.contains("`permissions.fs.read` must not contain the invisible character U+202E"),
        "{hidden}"
    );
}

#[test]
fn rejects_invalid_roles() {
    for (intercept, problem) in [
        (r#"[{"role":"gate"}]"#, "`intercept[0].event` is required"),
        (
            r#"[{"event":"tool_call"},{"event":"tool_cal"}]"#,
            "`intercept[1].event` must be one of `tool_call`, `turn_start`, `assistant_message`, `before_agent_start`, `before_compact`, `session_start`, `session_shutdown`, `agent_start`, `agent_end`, `turn_end`, `message_start`, `tool_end`, `tool_result`, `input`, `before_settle`, `context`, `message_end`, `before_provider_request`, `user_bash`, `before_switch`, `before_fork`, `before_tree`, `resources`, `approve`, `project_trust`",
        ),
        (
            r#"[{"event":"tool_call","role":"redactor"}]"#,
            "`intercept[0].role` can be `redactor` only for `assistant_message`",
        ),
        (
            r#"[{"event":"turn_start","role":"observer","required":true}]"#,
            "`intercept[0].required` needs the role `gate` or `redactor`",
        ),
        (
            r#"[{"event":"tool_call","role":"boss"}]"#,
            "`intercept[0].role` must be `gate`, `redactor`, `rewrite` or `observe`",
        ),
        (
            r#"[{"event":"tool_call","on_timeout":"allow"}]"#,
            "`intercept[0].on_timeout` must be `block` in a manifest; only the user can set `on_timeout` for an extension, in config.toml",
        ),
        (r#"["tool_call"]"#, "`intercept` must be a list of objects, not a string"),
    ] {
        let error = roles(&format!(r#""intercept":{intercept}"#)).unwrap_err();
        assert_eq!(error, format!("extension.json: {problem}"));
    }
}

/// Creates an executable file.
#[cfg(unix)]
fn program(path: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.into()
}

fn launch(exec: &str, dir: &Path, path: &[&Path]) -> Result<PathBuf, ExecError> {
    let manifest = serde_json::json!({ "name": "x", "exec": exec }).to_string();
    fs::write(dir.join("extension.json"), manifest).unwrap();
    let path = std::env::join_paths(path).unwrap();
    match Manifest::read(dir).unwrap().resolve_launch(dir, Some(&path))? {
        LaunchPlan::Process { program, .. } => Ok(program),
        other @ (LaunchPlan::ThemeOnly | LaunchPlan::Impossible { .. }) => panic!("{other:?}"),
    }
}

#[test]
#[cfg(unix)]
fn resolves_exec_by_zots_rules() {
    let (ext, bin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = program(&ext.path().join("run"));
    let nested = program(&ext.path().join("bin/run"));
    let node = program(&bin.path().join("node"));
    assert_eq!(launch("./run", ext.path(), &[]), Ok(run.clone()));
    assert_eq!(launch("bin/run", ext.path(), &[]), Ok(nested));
    assert_eq!(launch(run.to_str().unwrap(), Path::new(ext.path()), &[]), Ok(run));
    assert_eq!(launch("node", ext.path(), &[bin.path()]), Ok(node));
}

#[test]
#[cfg(unix)]
fn reports_where_exec_was_searched() {
    let (ext, bin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    program(&ext.path().join("run"));
    fs::write(ext.path().join("text"), "").unwrap();
    let dir = ext.path().display();
    // A bare name is never searched in the extension's own directory, or in a relative directory of PATH.
    let relative = Path::new(".");
    let error = launch("run", ext.path(), &[relative, bin.path()]).unwrap_err();
    let expect = format!(
        "exec \"run\" not found in PATH ({}); install the program, or write \"./run\" for a file of the extension",
        bin.path().display()
    );
    assert_eq!(error.to_string(), expect);
    let error = launch("./gone", ext.path(), &[]).unwrap_err().to_string();
    let expect =
        format!("exec \"./gone\" not found: {dir}/gone does not exist; build the extension or fix `exec`");
    assert_eq!(error, expect);
    let error = launch("./text", ext.path(), &[]).unwrap_err().to_string();
    assert_eq!(error, format!("exec \"./text\" is not executable; run `chmod +x {dir}/text`"));
    assert!(matches!(launch("..", ext.path(), &[]), Err(ExecError::NoFile { .. })));
}
