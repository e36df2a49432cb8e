//! Hooks: what each decision of an extension changes, in one run.

use std::fs;
use std::path::{Path, PathBuf};

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use crate::e2e::requests::{offered, said, system};
use crate::e2e::rpc_client::Client;
use crate::e2e::scene::{Scene, bash};

/// Decides each hook of a run.
const DECIDES: &str = r#"
emit("subscribe", intercept=["input", "before_agent_start", "turn_start", "context", "message_end",
    "assistant_message", "tool_call", "tool_result", "before_settle", "before_compact"])
emit("ready")
for frame in frames():
    if frame["type"] != "event_intercept":
        continue
    hook = frame["event"]
    mark(hook)
    if hook == "input":
        answer(frame, text=frame["text"] + " Please.")
    elif hook == "before_agent_start":
        answer(frame, append_system_prompt="Be brief.")
    elif hook == "context":
        text = json.dumps(frame["messages"]).replace("SECRET", "[hidden]")
        answer(frame, messages=json.loads(text))
    elif hook == "message_end":
        answer(frame, content=json.loads(json.dumps(frame["content"]).replace("dun", "done")))
    elif hook == "assistant_message":
        answer(frame, replace_text=frame["text"].upper())
    elif hook == "tool_call":
        answer(frame, modified_args={"command": "echo KEY=abc"})
    elif hook == "tool_result":
        answer(frame, content=json.loads(json.dumps(frame["content"]).replace("abc", "xyz")))
    elif hook == "before_settle" and frame["continued"] == 0:
        answer(frame, go_on="Check it.")
    elif hook == "before_compact":
        answer(frame, summary="It is done.", first_kept=frame["first_kept"])
    else:
        answer(frame)
"#;

#[test]
fn each_decision_changes_its_part_of_a_run() {
    let answers = vec![bash("1", "env"), Scenario::text("It is dun."), Scenario::text("Checked.")];
    let scene = Scene::new(answers).python("hooked", DECIDES);
    let ran = scene.haft(&["-p", "Hide the SECRET."]);
    ran.expect(0);
    assert_eq!(ran.stdout, "CHECKED.\n");
    let requests = scene.server.requests();
    assert_eq!(said(&requests[0], "user"), ["Hide the [hidden]. Please."]);
    assert!(system(&requests[0]).contains("Be brief."), "{}", system(&requests[0]));
    assert!(said(&requests[1], "tool")[0].contains("KEY=xyz"), "{:?}", said(&requests[1], "tool"));
    assert_eq!(said(&requests[2], "user").last().unwrap(), "[from extension hooked]\nCheck it.");
    assert_eq!(said(&requests[2], "assistant").last().unwrap(), "It is done.");
    let step = ["turn_start", "context", "message_end", "assistant_message"];
    let expect = [
        &["input", "before_agent_start", "turn_start", "context", "message_end", "tool_call", "tool_result"]
            [..],
        &step,
        &["before_settle"],
        &step,
        &["before_settle"],
    ];
    assert_eq!(scene.marks(), expect.concat());
}

#[test]
fn summary_of_an_extension_is_used() {
    let answers = vec![Scenario::text("Rain. ".repeat(400)), Scenario::text("Snow.")];
    let scene = Scene::new(answers).python("hooked", DECIDES);
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({}));
    client.done("prompt", &json!({"message": "Look."}));
    client.event("done");
    client.done("compact", &json!({}));
    assert_eq!(client.event("compact_done")["summary"], "It is done.");
    client.end().expect(0);
}

/// Adds a section and messages to each prompt, with the given name.
const REMINDS: &str = r#"
emit("subscribe", intercept=["before_agent_start"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        about = f"{NAME} read {frame['prompt']!r} after {frame['system_prompt'].count('Be ')} sections"
        answer(frame, append_system_prompt="Be " + NAME + ".", messages=[
            {"kind": "fact", "content": about, "display": True, "details": {"of": NAME}},
            {"kind": "hint", "content": "Hint of " + NAME, "display": False}])
"#;

#[test]
fn messages_of_extensions_follow_the_prompt() {
    let answers = vec![bash("1", "env"), Scenario::text("Done."), Scenario::text("Again.")];
    let scene = Scene::new(answers)
        .python("brief", &format!("NAME = \"brief\"{REMINDS}"))
        .python("kind", &format!("NAME = \"kind\"{REMINDS}"));
    let ran = scene.haft(&["--json", "-p", "Go."]);
    ran.expect(0);
    scene.haft(&["-c", "-p", "More."]).expect(0);
    let requests = scene.server.requests();
    let texts = [
        "Go.",
        "[from extension brief]\nbrief read 'Go.' after 0 sections",
        "[from extension brief]\nHint of brief",
        "[from extension kind]\nkind read 'Go.' after 1 sections",
        "[from extension kind]\nHint of kind",
    ];
    // Chat Completions has one message for those that follow one another.
    let joined = texts.join("\n");
    assert_eq!(said(&requests[0], "user"), [&*joined]);
    assert_eq!(said(&requests[1], "user"), [&*joined], "once for each prompt");
    assert_eq!(said(&requests[2], "user"), [&*joined, &joined.replace("Go.", "More.")]);
    let shown = ran.of("custom_message");
    let owners: Vec<_> = shown.iter().map(|message| (&message["owner"], &message["display"])).collect();
    assert_eq!(json!(owners), json!([["brief", true], ["brief", false], ["kind", true], ["kind", false]]));
    let stored = stored_entries(&scene);
    let stored: Vec<_> = stored.iter().filter(|entry| entry["type"] == "custom_message").collect();
    assert_eq!(stored.len(), 8);
    let first = stored[0];
    let fields = ["owner", "kind", "display", "details"].map(|field| &first[field]);
    assert_eq!(json!(fields), json!(["brief", "fact", true, {"of": "brief"}]));
    assert_eq!(first["content"][0]["text"], texts[1]);
}

/// Returns the entries of the only session file.
fn stored_entries(scene: &Scene) -> Vec<Value> {
    let dirs = fs::read_dir(scene.world.home().join("sessions")).unwrap();
    let files: Vec<_> = dirs.flat_map(|dir| fs::read_dir(dir.unwrap().path()).unwrap()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let text = fs::read_to_string(file.as_ref().unwrap().path()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Offers the tool `look` in each request, answers its calls, and sends other calls to `ls`.
const DESK: &str = r#"
emit("subscribe", intercept=["context", "message_end", "tool_call", "tool_result"])
emit("ready")
look = {"name": "look", "description": "Looks.", "schema": {"type": "object"}}
for frame in frames():
    if frame["type"] != "event_intercept":
        continue
    hook = frame["event"]
    if hook == "context":
        names = [tool["name"] for tool in frame["tools"]]
        mark(f"{frame['step']} {frame['provider']} {frame['model']} {'bash' in names} {frame['system'] != ''}")
        answer(frame, model="small", options={"max_tokens": 77}, tools=[look])
    elif hook == "message_end":
        mark(f"{frame['model']} {frame['usage']['output'] > 0}")
        answer(frame)
    elif hook == "tool_call" and frame["tool_name"] == "look":
        answer(frame, content=[{"type": "text", "text": "fog"}], display="There is fog.")
    elif hook == "tool_call" and frame["tool_name"] == "bash":
        answer(frame, modified_tool="ls", modified_args={"path": "."})
    elif hook == "tool_result":
        mark(f"{frame['tool_name']} {frame.get('display')} {frame['duration_ms'] >= 0}")
        answer(frame, display=frame["tool_name"] + " is done.")
    else:
        answer(frame)
"#;

#[test]
fn request_goes_to_another_model_with_another_tool() {
    let look = Scenario::new().tool("1", "look", "{}").tool("2", "bash", r#"{"command":"ls"}"#);
    let scene = Scene::new(vec![look, Scenario::text("Done.")]);
    let scene = scene.python_with("desk", &json!({"capabilities": ["hooks_2"]}), DESK);
    let ran = scene.haft(&["--json", "Look."]);
    ran.expect(0);
    let requests = scene.server.requests();
    assert_eq!(requests[0].body["model"], "small");
    assert!(offered(&requests[0]).contains(&"look".to_owned()), "{:?}", offered(&requests[0]));
    let results = said(&requests[1], "tool");
    assert_eq!(results[0], "fog");
    assert!(results[1].contains("desk/"), "{results:?}");
    for shown in ["There is fog.", "ls is done."] {
        assert!(ran.stdout.contains(&format!(r#""text":"{shown}""#)), "{shown} {}", ran.stdout);
    }
    let expect = [
        "1 openai-chat m True True",
        "small True",
        "ls None True",
        "2 openai-chat m True True",
        "small True",
    ];
    assert_eq!(scene.marks(), expect);
}

/// Rewrites calls, and then denies those that a person would not approve.
const APPROVES: &str = r#"
emit("subscribe", intercept=["tool_call", "approve"])
emit("ready")
for frame in frames():
    if frame["type"] != "event_intercept":
        continue
    command = frame["tool_args"]["command"]
    if frame["event"] == "tool_call":
        answer(frame, modified_args={"command": command.replace("please ", "")})
    elif command.startswith("rm"):
        answer(frame, block=True, reason="nothing is removed")
    else:
        mark("approved " + command)
        answer(frame, block=False)
"#;

#[test]
fn approver_decides_about_the_call_that_runs() {
    let answers =
        vec![bash("1", "please echo sun"), bash("2", "please rm -r build"), Scenario::text("Done.")];
    let scene = Scene::new(answers).python("desk", APPROVES);
    scene.haft(&["-p", "Clean up."]).expect(0);
    let results = said(&scene.server.requests()[2], "tool");
    assert!(results[0].contains("sun"), "{results:?}");
    assert_eq!(results[1], "nothing is removed");
    assert_eq!(scene.marks(), ["approved echo sun"]);
}

/// Marks the events that haft waits for.
const WAITS: &str = r#"
waits = ["session_start", "session_shutdown", "agent_start", "agent_end", "turn_end", "message_start", "tool_end"]
emit("subscribe", intercept=[{"event": event, "role": "wait"} for event in waits])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        mark(" ".join([frame["event"], *(frame[key] for key in ("role", "tool_name", "reason") if key in frame)]))
        answer(frame)
"#;

#[test]
fn run_waits_for_each_event() {
    let scene = Scene::new(vec![bash("1", "env"), Scenario::text("Done.")]);
    let scene = scene.python_with("waits", &json!({"capabilities": ["events_2"]}), WAITS);
    scene.haft(&["-p", "Look."]).expect(0);
    let expect = [
        "session_start startup",
        "agent_start",
        "message_start user",
        "message_start assistant",
        "tool_end bash",
        "turn_end",
        "message_start assistant",
        "turn_end",
        "agent_end",
        "session_shutdown quit",
    ];
    assert_eq!(scene.marks(), expect);
}

/// Adds the files of the directory `more`, of the project, and one that does not exist.
const ADDS: &str = r#"
emit("subscribe", intercept=["resources"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        mark(frame["reason"])
        more = sorted(os.listdir("more"))
        answer(frame, skills=["more", os.path.join(frame["cwd"], "theirs")],
            templates=[os.path.join("more", name) for name in more if name.endswith(".md")] + ["gone.md"])
"#;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn write_skill(dir: &Path, name: &str, text: &str) {
    write(
        &dir.join(name).join("SKILL.md"),
        &format!("---\nname: {name}\ndescription: {text}\n---\n{text} Do it.\n"),
    );
}

/// Creates a scene with the extension `house`, a skill of the user and one of an untrusted project. Returns the directory
/// with the files of the extension.
fn house(answers: Vec<Scenario>) -> (Scene, PathBuf) {
    let scene = Scene::new(answers).with_python("house", &json!({}), ADDS);
    let more = scene.world.home().join("more/house/more");
    write_skill(&more, "tidy", "House tidy.");
    write(&more.join("sweep.md"), "Sweep $1.");
    write_skill(&scene.world.home().join("skills"), "own", "My own.");
    write_skill(&more, "own", "House own.");
    write_skill(&scene.world.project().join("theirs"), "theirs", "Theirs.");
    (scene, more)
}

#[test]
fn extension_adds_skills_and_templates_to_a_run() {
    let load = Scenario::new().tool("1", "skill", r#"{"name":"tidy"}"#);
    let (scene, _) = house(vec![load, Scenario::text("Done."), Scenario::text("Loaded.")]);
    let ran = scene.haft(&["-p", "/sweep attic"]);
    ran.expect(0);
    let requests = scene.server.requests();
    assert_eq!(said(&requests[0], "user"), ["Sweep attic."]);
    let prompt = system(&requests[0]);
    assert!(prompt.contains("- tidy: House tidy.") && prompt.contains("- own: My own."), "{prompt}");
    assert!(!prompt.contains("House own.") && !prompt.contains("theirs"), "{prompt}");
    assert!(offered(&requests[0]).contains(&"skill".to_owned()), "{:?}", offered(&requests[0]));
    assert!(said(&requests[1], "tool")[0].contains("House tidy. Do it."), "{:?}", said(&requests[1], "tool"));
    for part in ["more/own is not used: ", "theirs is in the project, which is not trusted", "cannot read "] {
        assert_eq!(ran.stderr.matches(part).count(), 1, "{part}: {}", ran.stderr);
    }
    scene.haft(&["-p", "/skill:tidy now"]).expect(0);
    let asked = said(&scene.server.requests()[2], "user").concat();
    assert!(asked.contains("House tidy. Do it.") && asked.ends_with("now"), "{asked}");
    assert_eq!(scene.marks(), ["startup", "startup"]);
}

#[test]
fn reload_replaces_the_skills_and_templates_of_an_extension() {
    let (scene, more) = house(vec![Scenario::text("Swept."), Scenario::text("Mopped.")]);
    fs::remove_dir_all(more.join("own")).unwrap();
    fs::remove_dir_all(more.join("tidy")).unwrap();
    fs::remove_dir_all(scene.world.home().join("skills")).unwrap();
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({}));
    client.prompt("/sweep attic");
    write_skill(&more, "polish", "House polish.");
    fs::remove_file(more.join("sweep.md")).unwrap();
    write(&more.join("mop.md"), "Mop $1.");
    client.done("reload_ext", &json!({}));
    let commands = client.done("list_commands", &json!({}));
    let names = commands["commands"].as_array().unwrap().iter().map(|command| &command["name"]);
    let names: Vec<_> = names.filter(|name| *name != "init" && *name != "review").collect();
    assert_eq!(names, ["mop", "skill:polish"]);
    client.prompt("/mop attic");
    client.end().expect(0);
    let requests = scene.server.requests();
    assert_eq!(said(&requests[1], "user"), ["Sweep attic.", "Mop attic."]);
    let offers_skills = |at: usize| offered(&requests[at]).contains(&"skill".to_owned());
    assert!(!offers_skills(0) && !system(&requests[0]).contains("polish"), "{}", system(&requests[0]));
    assert!(
        offers_skills(1) && system(&requests[1]).contains("- polish: House polish."),
        "{}",
        system(&requests[1])
    );
    assert_eq!(scene.marks(), ["startup", "reload"]);
}
