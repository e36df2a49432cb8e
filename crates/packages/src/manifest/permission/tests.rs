//! Tests of reading, comparing and describing permissions.

use std::path::Path;

use super::*;
use crate::manifest::{JsonObject, ObjectFields};

fn read(json: &str) -> Result<Permissions, String> {
    let object: JsonObject = serde_json::from_str(json).unwrap();
    let fields = ObjectFields::new(Path::new("m"), object).map_err(|error| error.to_string())?;
    Permissions::read(&fields).map_err(|error| error.to_string())
}

#[track_caller]
fn permissions(json: &str) -> Permissions {
    read(json).unwrap()
}

#[track_caller]
fn check_mistake(json: &str, expect: &[&str]) {
    let error = read(json).unwrap_err();
    for part in expect {
        assert!(error.contains(part), "{error} should contain {part}");
    }
}

/// A request for every permission.
const EVERYTHING: &str = r#"{
    "tools": {"register": ["weather"], "replace": ["bash"], "effects": ["net"]},
    "events": ["turn_start", "tool_call"],
    "intercept": [{"event": "tool_call", "role": "gate", "tools": ["bash"], "timeout_ms": 5000,
                   "on_timeout": "block", "on_error": "block"}],
    "host": ["fs.read", "fs.write", "exec"],
    "fs": {"read": ["$WORKSPACE"], "write": ["$DATA"]},
    "net": "all",
    "env": ["WEATHER_TOKEN"],
    "exec": "own"
}"#;

#[test]
fn reads_and_writes_manifest_form() {
    let all = permissions(EVERYTHING);
    assert_eq!(all.host.len(), 3);
    assert_eq!((all.net, all.exec), (NetworkAccess::All, ExecPermission::Own));
    assert_eq!(all.timeout_for(InterceptKind::ToolCall), Some(Duration::from_secs(5)));
    assert_eq!(all.timeout_for(InterceptKind::TurnStart), None);
    let text = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<Permissions>(&text).unwrap(), all);
    insta::assert_snapshot!(text, @r#"{"tools":{"register":["weather"],"replace":["bash"],"effects":["net"]},"events":["tool_call","turn_start"],"intercept":[{"event":"tool_call","role":"gate","tools":["bash"],"timeout_ms":5000}],"host":["fs.read","fs.write","exec"],"fs":{"read":["$WORKSPACE"],"write":["$DATA"]},"net":"all","env":["WEATHER_TOKEN"],"exec":"own"}"#);
}

#[test]
fn empty_request_grants_nothing() {
    let none = permissions("{}");
    assert_eq!(none, Permissions::default());
    assert_eq!(none.lines(), []);
    assert_eq!(serde_json::to_string(&none).unwrap(), r#"{"net":"none","exec":"none"}"#);
    assert_eq!(permissions(r#"{"tools":{},"fs":{},"net":null,"events":[]}"#), none);
}

#[test]
fn rejects_unknown_parts_by_name() {
    check_mistake(r#"{"clipboard":true}"#, &["`clipboard` is not known", "tools, events"]);
    check_mistake(r#"{"commands":["x"]}"#, &["`commands` is not known"]);
    check_mistake(r#"{"tools":["weather"]}"#, &["`tools` must be an object"]);
    check_mistake(r#"{"tools":{"registers":[]}}"#, &["`tools.registers` is not known"]);
    check_mistake(
        r#"{"tools":{"register":["b\u0430sh"]}}"#,
        &["`tools.register` has", "not a valid tool name"],
    );
    check_mistake(r#"{"tools":{"register":["*"]}}"#, &["`tools.register` has \"*\""]);
    check_mistake(
        r#"{"tools":{"effects":["none"]}}"#,
        &["`tools.effects` has the unknown value \"none\"", "`read`, `write`"],
    );
    check_mistake(
        r#"{"intercept":[{"event":"agent_end","role":"gate"}]}"#,
        &["role` cannot be `gate` for `agent_end`"],
    );
    check_mistake(
        r#"{"intercept":[{"event":"tool_call","role":"wait"}]}"#,
        &["role` cannot be `wait` for `tool_call`"],
    );
    check_mistake(r#"{"events":["warp"]}"#, &["`events` has the unknown value \"warp\"", "`session_start`"]);
    check_mistake(
        r#"{"host":["prompt"]}"#,
        &["`host` has the unknown value \"prompt\"", "`fs.read`, `fs.write`, `exec`"],
    );
    check_mistake(
        r#"{"fs":{"read":["maps"]}}"#,
        &["`fs.read` has an invalid path: \"maps\" is not absolute"],
    );
    check_mistake(r#"{"fs":{"write":["$DATA/../x"]}}"#, &["`fs.write`", "contains `..`"]);
    check_mistake(r#"{"fs":{"exec":[]}}"#, &["`fs.exec` is not known"]);
    check_mistake(
        r#"{"net":"github.com"}"#,
        &["`net` has the unknown value \"github.com\"", "`none`, `loopback`, `all`"],
    );
    check_mistake(r#"{"net":true}"#, &["`net` must be a string"]);
    check_mistake(r#"{"exec":["git"]}"#, &["`exec` must be a string, not a list"]);
    check_mistake(r#"{"EXEC":"any","exec":"none"}"#, &["`exec` occurs twice"]);
}

#[test]
fn rejects_invalid_intercepts() {
    check_mistake(r#"{"intercept":[{"role":"gate"}]}"#, &["`intercept[0].event` is required"]);
    check_mistake(r#"{"intercept":[{"event":"tool_call"}]}"#, &["`intercept[0].role` is required"]);
    check_mistake(r#"{"intercept":["tool_call"]}"#, &["`intercept` must be a list of objects"]);
    let wrong = [
        (r#""event":"warp","role":"gate""#, "`intercept[0].event` has the unknown value \"warp\""),
        (r#""event":"tool_call","role":"observe""#, "`intercept[0].role` has the unknown value \"observe\""),
        (r#""event":"tool_call","role":"redactor""#, "cannot be `redactor` for `tool_call`"),
        (r#""event":"before_compact","role":"gate""#, "cannot be `gate` for `before_compact`"),
        (r#""event":"before_settle","role":"gate""#, "cannot be `gate` for `before_settle`"),
        (r#""event":"context","role":"gate""#, "cannot be `gate` for `context`"),
        (r#""event":"message_end","role":"gate""#, "cannot be `gate` for `message_end`"),
        (
            r#""event":"before_provider_request","role":"gate""#,
            "cannot be `gate` for `before_provider_request`",
        ),
        (r#""event":"user_bash","role":"gate""#, "cannot be `gate` for `user_bash`"),
        (r#""event":"before_switch","role":"gate""#, "cannot be `gate` for `before_switch`"),
        (r#""event":"before_fork","role":"gate""#, "cannot be `gate` for `before_fork`"),
        (r#""event":"before_tree","role":"gate""#, "cannot be `gate` for `before_tree`"),
        (r#""event":"resources","role":"gate""#, "cannot be `gate` for `resources`"),
        (r#""event":"approve","role":"rewrite""#, "cannot be `rewrite` for `approve`"),
        (r#""event":"project_trust","role":"gate""#, "cannot be `gate` for `project_trust`"),
        (r#""event":"input","role":"gate""#, "cannot be `gate` for `input`"),
        (r#""event":"tool_result","role":"gate""#, "cannot be `gate` for `tool_result`"),
        (r#""event":"turn_start","role":"gate","tools":["bash"]"#, "`intercept[0].tools` is allowed only"),
        (r#""event":"tool_call","role":"gate","tools":["b sh"]"#, "`intercept[0].tools` has"),
        (r#""event":"tool_call","role":"gate","timeout_ms":60001"#, "must be at most 60000"),
        (
            r#""event":"tool_call","role":"gate","on_timeout":"pass""#,
            "`intercept[0].on_timeout` must be `block`",
        ),
        (r#""event":"tool_call","role":"gate","required":true"#, "`intercept[0].required` is not known"),
    ];
    for (entry, expect) in wrong {
        check_mistake(&format!(r#"{{"intercept":[{{{entry}}}]}}"#), &[expect]);
    }
    let twice = r#"{"intercept":[{"event":"tool_call","role":"gate","tools":["bash"]},
                                 {"event":"tool_call","role":"gate","tools":["edit"]}]}"#;
    check_mistake(twice, &["`intercept[1].event` occurs twice"]);
    permissions(&twice.replacen("gate", "rewrite", 1));
}

#[test]
fn rejects_dangerous_and_default_variables() {
    let refused = [
        "LD_PRELOAD",
        "DYLD_INSERT_LIBRARIES",
        "NODE_OPTIONS",
        "PYTHONPATH",
        "PERL5OPT",
        "RUBYOPT",
        "BASH_ENV",
        "ENV",
        "GIT_SSH_COMMAND",
        "IFS",
        "PATH",
        "HOME",
        "TERM",
        "A=b",
        "*",
    ];
    for name in refused {
        check_mistake(&format!(r#"{{"env":["{name}"]}}"#), &["`env` cannot be granted", name]);
    }
    assert!(permissions(r#"{"env":["OPENAI_API_KEY"]}"#).env.contains("OPENAI_API_KEY"));
}

/// Checks the descriptions of the permissions beyond the grant, with `/h/u` as home.
#[track_caller]
fn check_excess(asked: &str, granted: &str, expect: &[&str]) {
    let asked = permissions(asked);
    let beyond = excess::excess_permissions(&asked, &permissions(granted), Some(Path::new("/h/u")));
    let lines: Vec<_> = lines::lines(&beyond, &asked).into_iter().map(|line| line.text).collect();
    assert_eq!(lines, expect);
}

#[test]
fn excess_is_only_beyond_grant() {
    check_excess(EVERYTHING, EVERYTHING, &[]);
    check_excess("{}", EVERYTHING, &[]);
    assert_eq!(permissions(EVERYTHING).excess_over(&Permissions::default()), permissions(EVERYTHING).lines());
    check_excess(
        r#"{"tools":{"register":["a","b"]},"events":["turn_end"],"host":["fs.read","exec"],"env":["A","B"]}"#,
        r#"{"tools":{"register":["a"]},"host":["fs.read"],"env":["A"]}"#,
        &[
            "asks haft to run commands, subject to the gates",
            "offers the tool b to the model",
            "receives the event turn_end",
            "reads the environment variable B",
        ],
    );
    check_excess(
        r#"{"tools":{"replace":["bash","read"]}}"#,
        r#"{"tools":{"register":["bash"],"replace":["read"]}}"#,
        &["replaces the built-in tool bash: calls of the model go to the extension"],
    );
    check_excess(
        r#"{"net":"all"}"#,
        r#"{"net":"loopback"}"#,
        &["connects to any host on the network, including this machine"],
    );
    check_excess(r#"{"net":"loopback"}"#, r#"{"net":"all"}"#, &[]);
    check_excess(r#"{"exec":"any"}"#, r#"{"exec":"own"}"#, &["starts any program on the system"]);
    check_excess(r#"{"exec":"own"}"#, r#"{"exec":"any"}"#, &[]);
}

#[test]
fn compares_paths_by_component() {
    let read = |path: &str| format!(r#"{{"fs":{{"read":["{path}"]}}}}"#);
    let write = |path: &str| format!(r#"{{"fs":{{"write":["{path}"]}}}}"#);
    check_excess(&read("/a/b"), &read("/a"), &[]);
    check_excess(&read("/a/b/"), &read("/a//b"), &[]);
    check_excess(&read("/ab"), &read("/a"), &["reads /ab"]);
    check_excess(&read("/a"), &read("/a/b"), &["reads /a"]);
    check_excess(&read("/h/u/x"), &read("~"), &[]);
    check_excess(&read("~/x"), &read("/h/u/x"), &[]);
    check_excess(&read("$WORKSPACE/docs"), &read("$WORKSPACE"), &[]);
    check_excess(&read("$WORKSPACE"), &read("$WORKSPACE/docs"), &["reads $WORKSPACE"]);
    check_excess(&read("$WORKSPACE"), &read("/"), &[]);
    check_excess(&read("$WORKSPACE"), &read("/h"), &["reads $WORKSPACE"]);
    check_excess(&read("/a"), &write("/a"), &[]);
    check_excess(&write("/a"), &read("/a"), &["reads and changes /a, bypassing haft's gates"]);
    check_excess(&write("$DATA/x"), "{}", &[]);
}

#[test]
fn other_role_more_tools_and_more_time_are_excess() {
    let of = |rest: &str| format!(r#"{{"intercept":[{{"event":"tool_call",{rest}}}]}}"#);
    let bash = of(r#""role":"gate","tools":["bash"]"#);
    let all = of(r#""role":"gate""#);
    check_excess(&bash, &all, &[]);
    check_excess(&all, &bash, &["can block calls of every tool"]);
    check_excess(
        &of(r#""role":"gate","tools":["Bash","edit"]"#),
        &bash,
        &["can block calls of the tool edit"],
    );
    check_excess(
        &of(r#""role":"rewrite","tools":["bash"]"#),
        &all,
        &["can change, answer and block calls of the tool bash"],
    );
    check_excess(&bash, &of(r#""role":"rewrite","tools":["bash"]"#), &["can block calls of the tool bash"]);
    let slow = of(r#""role":"gate","tools":["bash"],"timeout_ms":20000"#);
    check_excess(&slow, &bash, &["can block calls of the tool bash (timeout 20000 ms)"]);
    check_excess(&slow, &all, &["can block calls of the tool bash (timeout 20000 ms)"]);
    check_excess(&slow, &slow, &[]);
    check_excess(&of(r#""role":"gate","timeout_ms":1000"#), &all, &[]);
    check_excess(&all, &of(r#""role":"gate","timeout_ms":1000"#), &["can block calls of every tool"]);
}

/// Returns the descriptions, each dangerous one marked.
fn shown(json: &str) -> String {
    let lines = permissions(json).lines();
    let shown = lines
        .iter()
        .map(|line| format!("{} {}: {}\n", if line.red { '!' } else { '-' }, line.permission, line.text));
    shown.collect()
}

#[test]
fn describes_permissions_dangerous_ones_first() {
    insta::assert_snapshot!(shown(EVERYTHING), @r"
    ! tools.replace: replaces the built-in tool bash: calls of the model go to the extension
    ! host: asks haft to run commands, subject to the gates
    ! net: connects to any host on the network, including this machine
    - tools.register: offers the tool weather to the model
    - tools.effects: declares that its tools use the network
    - events: receives the events tool_call, turn_start
    - intercept: can block calls of the tool bash (timeout 5000 ms)
    - host: asks haft to read files, subject to the gates
    - host: asks haft to change files, subject to the gates
    - fs.read: reads $WORKSPACE
    - env: reads the environment variable WEATHER_TOKEN
    - exec: starts programs in its own directory
    ");
    insta::assert_snapshot!(shown(r#"{"tools":{"register":["weather","wind"]},"net":"all","env":["TOKEN"]}"#), @r"
    - tools.register: offers the tools weather, wind to the model
    - net: connects to any host on the network, including this machine
    - env: reads the environment variable TOKEN
    ");
    insta::assert_snapshot!(shown(r#"{
        "intercept": [{"event":"tool_call","role":"rewrite"}, {"event":"turn_start","role":"gate"},
                      {"event":"assistant_message","role":"redactor"}, {"event":"before_compact","role":"rewrite"}],
        "fs": {"read":["~/maps","~","/"], "write":["$DATA","$WORKSPACE"]}, "exec":"any"
    }"#), @r"
    ! intercept: can change, answer and block calls of every tool
    ! intercept: can change and withhold the model's messages that you see; its failure withholds them, too
    ! intercept: can write the summary when a conversation is compacted
    ! fs.read: reads ~
    ! fs.read: reads /
    ! fs.write: reads and changes $WORKSPACE, bypassing haft's gates
    ! exec: starts any program on the system
    - intercept: can block turns; its failure blocks, too
    - fs.read: reads ~/maps
    ");
}
