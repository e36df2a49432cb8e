//! What is read, refused, compared and said.

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

/// All that can be asked for.
const EVERYTHING: &str = r#"{
    "tools": {"register": ["weather"], "effects": ["net"]},
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
fn what_a_manifest_says_is_read_and_written_as_it_is() {
    let all = permissions(EVERYTHING);
    assert_eq!(all.host.len(), 3);
    assert_eq!((all.net, all.exec), (NetworkAccess::All, ExecPermission::Own));
    assert_eq!(all.timeout_for(InterceptKind::ToolCall), Some(Duration::from_secs(5)));
    assert_eq!(all.timeout_for(InterceptKind::TurnStart), None);
    let text = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<Permissions>(&text).unwrap(), all);
    insta::assert_snapshot!(text, @r#"{"tools":{"register":["weather"],"effects":["net"]},"events":["tool_call","turn_start"],"intercept":[{"event":"tool_call","role":"gate","tools":["bash"],"timeout_ms":5000}],"host":["fs.read","fs.write","exec"],"fs":{"read":["$WORKSPACE"],"write":["$DATA"]},"net":"all","env":["WEATHER_TOKEN"],"exec":"own"}"#);
}

#[test]
fn nothing_asked_is_nothing_granted() {
    let none = permissions("{}");
    assert_eq!(none, Permissions::default());
    assert_eq!(none.lines(), []);
    assert_eq!(serde_json::to_string(&none).unwrap(), r#"{"net":"none","exec":"none"}"#);
    assert_eq!(permissions(r#"{"tools":{},"fs":{},"net":null,"events":[]}"#), none);
}

#[test]
fn whatever_is_not_understood_is_refused_by_its_name() {
    check_mistake(r#"{"clipboard":true}"#, &["`clipboard` is not known", "tools, events"]);
    check_mistake(r#"{"commands":["x"]}"#, &["`commands` is not known"]);
    check_mistake(r#"{"tools":["weather"]}"#, &["`tools` must be an object"]);
    check_mistake(r#"{"tools":{"registers":[]}}"#, &["`tools.registers` is not known"]);
    check_mistake(r#"{"tools":{"register":["b\u0430sh"]}}"#, &["`tools.register` names", "no tool"]);
    check_mistake(r#"{"tools":{"register":["*"]}}"#, &["`tools.register` names \"*\""]);
    check_mistake(
        r#"{"tools":{"effects":["none"]}}"#,
        &["`tools.effects` names \"none\"", "`read`, `write`"],
    );
    check_mistake(r#"{"events":["warp"]}"#, &["`events` names \"warp\"", "`session_start`"]);
    check_mistake(r#"{"host":["prompt"]}"#, &["`host` names \"prompt\"", "`fs.read`, `fs.write`, `exec`"]);
    check_mistake(r#"{"fs":{"read":["maps"]}}"#, &["`fs.read` names \"maps\" is not absolute"]);
    check_mistake(r#"{"fs":{"write":["$DATA/../x"]}}"#, &["`fs.write`", "has `..` in it"]);
    check_mistake(r#"{"fs":{"exec":[]}}"#, &["`fs.exec` is not known"]);
    check_mistake(r#"{"net":"github.com"}"#, &["`net` names \"github.com\"", "`none`, `loopback`, `all`"]);
    check_mistake(r#"{"net":true}"#, &["`net` must be a string"]);
    check_mistake(r#"{"exec":["git"]}"#, &["`exec` must be a string, not a list"]);
    check_mistake(r#"{"EXEC":"any","exec":"none"}"#, &["`exec` is there twice"]);
}

#[test]
fn an_intercept_says_all_that_matters() {
    check_mistake(r#"{"intercept":[{"role":"gate"}]}"#, &["`intercept[0].event` is required"]);
    check_mistake(r#"{"intercept":[{"event":"tool_call"}]}"#, &["`intercept[0].role` is required"]);
    check_mistake(r#"{"intercept":["tool_call"]}"#, &["`intercept` must be a list of objects"]);
    let wrong = [
        (r#""event":"warp","role":"gate""#, "`intercept[0].event` names \"warp\""),
        (r#""event":"tool_call","role":"observe""#, "`intercept[0].role` names \"observe\""),
        (r#""event":"tool_call","role":"redactor""#, "cannot be `redactor` for `tool_call`"),
        (r#""event":"before_compact","role":"gate""#, "cannot be `gate` for `before_compact`"),
        (r#""event":"turn_start","role":"gate","tools":["bash"]"#, "`intercept[0].tools` can be there only"),
        (r#""event":"tool_call","role":"gate","tools":["b sh"]"#, "`intercept[0].tools` names"),
        (r#""event":"tool_call","role":"gate","timeout_ms":60001"#, "must be at most 60000"),
        (r#""event":"tool_call","role":"gate","on_timeout":"pass""#, "`intercept[0].on_timeout` can only be"),
        (r#""event":"tool_call","role":"gate","required":true"#, "`intercept[0].required` is not known"),
    ];
    for (entry, expect) in wrong {
        check_mistake(&format!(r#"{{"intercept":[{{{entry}}}]}}"#), &[expect]);
    }
    let twice = r#"{"intercept":[{"event":"tool_call","role":"gate","tools":["bash"]},
                                 {"event":"tool_call","role":"gate","tools":["edit"]}]}"#;
    check_mistake(twice, &["`intercept[1].event` is there twice"]);
    permissions(&twice.replacen("gate", "rewrite", 1));
}

#[test]
fn variables_that_run_other_code_or_that_all_have_cannot_be_asked_for() {
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

/// The lines of what is asked beyond what is granted, with `/h/u` as home.
#[track_caller]
fn check_excess(asked: &str, granted: &str, expect: &[&str]) {
    let asked = permissions(asked);
    let beyond = excess::excess_permissions(&asked, &permissions(granted), Some(Path::new("/h/u")));
    let lines: Vec<_> = lines::lines(&beyond, &asked).into_iter().map(|line| line.text).collect();
    assert_eq!(lines, expect);
}

#[test]
fn only_what_goes_beyond_the_grant_is_excess() {
    check_excess(EVERYTHING, EVERYTHING, &[]);
    check_excess("{}", EVERYTHING, &[]);
    assert_eq!(permissions(EVERYTHING).excess_over(&Permissions::default()), permissions(EVERYTHING).lines());
    check_excess(
        r#"{"tools":{"register":["a","b"]},"events":["turn_end"],"host":["fs.read","exec"],"env":["A","B"]}"#,
        r#"{"tools":{"register":["a"]},"host":["fs.read"],"env":["A"]}"#,
        &[
            "has haft run commands for it, through the gates",
            "offers the model the tool b",
            "is told of turn_end",
            "gets from your environment B",
        ],
    );
    check_excess(
        r#"{"net":"all"}"#,
        r#"{"net":"loopback"}"#,
        &["talks to anybody over the network, this machine included"],
    );
    check_excess(r#"{"net":"loopback"}"#, r#"{"net":"all"}"#, &[]);
    check_excess(r#"{"exec":"any"}"#, r#"{"exec":"own"}"#, &["starts any program of the system"]);
    check_excess(r#"{"exec":"own"}"#, r#"{"exec":"any"}"#, &[]);
}

#[test]
fn paths_are_compared_by_their_parts() {
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
    check_excess(&write("/a"), &read("/a"), &["reads and changes /a, past haft's gates"]);
    check_excess(&write("$DATA/x"), "{}", &[]);
}

#[test]
fn another_role_more_tools_and_more_time_are_excess() {
    let of = |rest: &str| format!(r#"{{"intercept":[{{"event":"tool_call",{rest}}}]}}"#);
    let bash = of(r#""role":"gate","tools":["bash"]"#);
    let all = of(r#""role":"gate""#);
    check_excess(&bash, &all, &[]);
    check_excess(&all, &bash, &["may refuse calls of every tool"]);
    check_excess(
        &of(r#""role":"gate","tools":["Bash","edit"]"#),
        &bash,
        &["may refuse calls of the tool edit"],
    );
    check_excess(
        &of(r#""role":"rewrite","tools":["bash"]"#),
        &all,
        &["may change and refuse calls of the tool bash"],
    );
    check_excess(&bash, &of(r#""role":"rewrite","tools":["bash"]"#), &["may refuse calls of the tool bash"]);
    let slow = of(r#""role":"gate","tools":["bash"],"timeout_ms":20000"#);
    check_excess(&slow, &bash, &["may refuse calls of the tool bash, within 20000 ms"]);
    check_excess(&slow, &all, &["may refuse calls of the tool bash, within 20000 ms"]);
    check_excess(&slow, &slow, &[]);
    check_excess(&of(r#""role":"gate","timeout_ms":1000"#), &all, &[]);
    check_excess(&all, &of(r#""role":"gate","timeout_ms":1000"#), &["may refuse calls of every tool"]);
}

/// The lines, each dangerous one marked.
fn shown(json: &str) -> String {
    let lines = permissions(json).lines();
    let shown = lines
        .iter()
        .map(|line| format!("{} {}: {}\n", if line.red { '!' } else { '-' }, line.permission, line.text));
    shown.collect()
}

#[test]
fn lines_say_it_in_words_with_the_dangerous_ones_first() {
    insta::assert_snapshot!(shown(EVERYTHING), @r"
    ! host: has haft run commands for it, through the gates
    ! net: talks to anybody over the network, this machine included
    - tools.register: offers the model the tool weather
    - tools.effects: says of its tools that they use the network
    - events: is told of tool_call, turn_start
    - intercept: may refuse calls of the tool bash, within 5000 ms
    - host: has haft read files for it, through the gates
    - host: has haft change files for it, through the gates
    - fs.read: reads $WORKSPACE
    - env: gets from your environment WEATHER_TOKEN
    - exec: starts programs of its own directory
    ");
    insta::assert_snapshot!(shown(r#"{"tools":{"register":["weather","wind"]},"net":"all","env":["TOKEN"]}"#), @r"
    - tools.register: offers the model the tools weather, wind
    - net: talks to anybody over the network, this machine included
    - env: gets from your environment TOKEN
    ");
    insta::assert_snapshot!(shown(r#"{
        "intercept": [{"event":"tool_call","role":"rewrite"}, {"event":"turn_start","role":"gate"},
                      {"event":"assistant_message","role":"redactor"}, {"event":"before_compact","role":"rewrite"}],
        "fs": {"read":["~/maps","~","/"], "write":["$DATA","$WORKSPACE"]}, "exec":"any"
    }"#), @r"
    ! intercept: may change and refuse calls of every tool
    ! intercept: may change and withhold what you are shown of what the model says, also by failing
    ! intercept: may write the summary that takes the place of a long conversation
    ! fs.read: reads ~
    ! fs.read: reads /
    ! fs.write: reads and changes $WORKSPACE, past haft's gates
    ! exec: starts any program of the system
    - intercept: may keep turns from beginning, also by failing
    - fs.read: reads ~/maps
    ");
}
