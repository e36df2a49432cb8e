//! Extensions in Python that control the session of `haft -p` and `haft --json`.

use haft_test_support::model_server::Scenario;

use super::scene::Scene;

/// Calls before the first turn, then notes their codes. `prompt` has a result only when its run begins.
const DIRECTS: &str = r#"
emit("subscribe", intercept=["turn_start"])
emit("ready")
calls = [
    ("set_name", {"name": "weather"}),
    ("append_entry", {"kind": "state", "data": 1}),
    ("new_session", {}),
    ("get_models", {}),
    ("get_state", {}),
    ("follow_up", {"message": "And tomorrow?"}),
]
opened = None
for frame in frames():
    if frame["type"] == "event_intercept" and opened is None:
        opened = frame
        emit("host_call", call="prompt", args={"message": "Sum it up."})
        for number, (call, args) in enumerate(calls):
            emit("host_call", id=str(number), call=call, args=args)
    elif frame["type"] == "event_intercept":
        answer(frame)
    elif frame["type"] == "host_result":
        number = int(frame["id"])
        mark(f"{calls[number][0]}: {frame.get('code', 'done')}")
        if number == len(calls) - 1:
            answer(opened)
"#;

fn answers() -> Vec<Scenario> {
    ["Rain.", "Snow.", "Rain, then snow."].map(Scenario::text).to_vec()
}

#[test]
fn printed_run_is_followed_by_the_runs_of_extensions() {
    let scene = Scene::new(answers()).python("director", DIRECTS);
    let ran = scene.haft(&["-p", "Weather?"]);
    ran.expect(0);
    assert_eq!(ran.stdout, "Snow.\nRain, then snow.\n");
    let mut marks = scene.marks();
    marks.sort();
    let done = ["append_entry", "follow_up", "get_models", "get_state"].map(|call| format!("{call}: done"));
    assert_eq!(
        marks,
        [&done[..], &["new_session: unsupported".to_owned(), "set_name: done".to_owned()]].concat()
    );
    let last = scene.server.requests()[2].body.to_string();
    assert!(
        last.contains("And tomorrow?") && last.contains(r"[from extension director]\nSum it up."),
        "{last}"
    );
}

#[test]
fn every_event_of_the_runs_of_extensions_is_printed_as_json() {
    let scene = Scene::new(answers()).python("director", DIRECTS);
    let ran = scene.haft(&["--json", "Weather?"]);
    ran.expect(0);
    assert_eq!(ran.of("assistant_message").len(), 3);
    assert_eq!(ran.of("done").len(), 2);
    let deltas: String = ran.of("text_delta").iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!(deltas, "Rain.Snow.Rain, then snow.");
}

#[test]
fn exit_code_of_a_failed_run_of_an_extension_is_kept() {
    let [first, second, _] = ["Rain.", "Snow.", ""].map(Scenario::text);
    let scene =
        Scene::new(vec![first, second, Scenario::status(401, "auth", "no key")]).python("director", DIRECTS);
    let ran = scene.haft(&["-p", "Weather?"]);
    ran.expect(6);
    assert_eq!(ran.stdout, "Snow.\n", "the answer to the person is printed");
}

#[test]
fn extension_stops_a_printed_run_before_the_model_is_asked() {
    let scene = Scene::new(answers()).python(
        "director",
        r#"
emit("subscribe", intercept=["turn_start"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        emit("host_call", call="prompt", args={"message": "Never."})
        emit("host_call", id="1", call="abort", args={})
        opened = frame
    elif frame["type"] == "host_result":
        answer(opened)
"#,
    );
    scene.haft(&["-p", "Weather?"]).expect(130);
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn tools_of_an_extension_are_offered_in_its_runs() {
    let call = Scenario::new().tool("c1", "clock", "{}");
    let scene = Scene::new(vec![Scenario::text("Hi."), call, Scenario::text("Noon.")]).python(
        "clock",
        r#"
emit("register_tool", name="clock", description="Tells the time.", schema={"type": "object"})
emit("subscribe", intercept=["turn_start"])
emit("ready")
asked = False
for frame in frames():
    if frame["type"] == "event_intercept":
        if not asked:
            asked = True
            emit("host_call", call="prompt", args={"message": "What time is it?"})
        answer(frame)
    elif frame["type"] == "tool_call":
        emit("tool_result", id=frame["id"], content=[{"type": "text", "text": "12:00"}])
"#,
    );
    let ran = scene.haft(&["-p", "Hello"]);
    ran.expect(0);
    assert_eq!(ran.stdout, "Hi.\nNoon.\n");
    assert!(scene.server.requests()[2].body.to_string().contains("12:00"));
}

#[test]
fn failed_compaction_of_an_extension_fails_the_printed_run() {
    let scene = Scene::new(vec![Scenario::text("Hi.")]).python(
        "director",
        r#"
emit("subscribe", intercept=["turn_start"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        emit("host_call", call="compact", args={})
        answer(frame)
"#,
    );
    let ran = scene.haft(&["-p", "Hello"]);
    ran.expect(1);
    assert_eq!(ran.stdout, "Hi.\n");
    assert!(ran.stderr.contains("compact"), "{}", ran.stderr);
}
