//! Extensions in a sandbox that the user's `config.toml` configures.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use super::requests::said;
use super::running::{Ran, Running};
use super::scene::{Scene, bash};

/// Attempts several accesses when its tool is called. PLACES, the paths, precedes the code.
const NOSY: &str = r#"
import errno, socket, subprocess

def write(path):
    with open(path, "w") as file:
        file.write("x")

def tried(attempt):
    try:
        attempt()
        return "done"
    except OSError as error:
        return "refused" if error.errno in (errno.EACCES, errno.EPERM) else error.strerror

tool("peek")
emit("ready")
for frame in frames():
    if frame["type"] == "hello_ack":
        told = frame
    if frame["type"] == "tool_call":
        data = told["data_dir"]
        result(frame, json.dumps({
            "told": told.get("sandbox"),
            "home is data": os.environ.get("HOME") == os.environ.get("TMPDIR") == data,
            "read key": tried(lambda: open(PLACES["key"]).read()),
            "write workspace": tried(lambda: write(PLACES["workspace"])),
            "connect": tried(lambda: socket.create_connection(("127.0.0.1", PLACES["port"]), 30).close()),
            "write data": tried(lambda: write(data + "/kept")),
            "read granted": tried(lambda: open(PLACES["granted"]).read()),
            "run": tried(lambda: subprocess.run(["true"], check=True)),
        }))
"#;

/// True if this machine supports the level; otherwise prints a note.
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
pub(super) fn has_standard() -> bool {
    let standard = haft_launch::sandbox::detect_support().standard;
    standard.inspect_err(|why| eprintln!("SKIP: no sandbox here: {why}")).is_ok()
}

pub(super) fn configure(scene: &Scene, text: &str) {
    std::fs::create_dir_all(scene.world.home()).unwrap();
    let path = scene.world.home().join("config.toml");
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    writeln!(file, "{text}").unwrap();
}

/// Returns the outcome of each attempt with this `config.toml` of the user.
fn tried(grant: &str) -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let scene = Scene::new(vec![Scenario::new().tool("t1", "peek", "{}"), Scenario::text("Fine.")]);
    let (home, project) = (scene.world.home(), scene.world.project());
    let granted = project.with_file_name("granted");
    let places = json!({
        "key": home.join("auth.json"), "workspace": project.join("written"), "granted": granted,
        "port": listener.local_addr().unwrap().port(),
    });
    let scene = scene.python("nosy", &format!("PLACES = {places}\n{NOSY}"));
    configure(&scene, &grant.replace("GRANTED", &granted.display().to_string()));
    std::fs::write(home.join("auth.json"), "{}").unwrap();
    std::fs::write(&granted, "maps").unwrap();
    let ran = scene.haft(&["--json", "go"]);
    ran.expect(0);
    assert_eq!(ran.faults(), []);
    let log = std::fs::read_to_string(home.join("logs/ext-nosy.log")).unwrap_or_default();
    assert_eq!(log.contains("runs in a sandbox of level standard"), grant.contains("standard"), "{log}");
    serde_json::from_str(&said(&scene.server.requests()[1], "tool")[0]).unwrap()
}

#[test]
fn extension_without_sandbox_has_rights_of_user() {
    for grant in ["", "[grant.nosy]\nsandbox = 'none'"] {
        let expect = json!({
            "told": null, "home is data": false, "read key": "done", "write workspace": "done", "connect": "done",
            "write data": "done", "read granted": "done", "run": "done",
        });
        assert_eq!(tried(grant), expect, "{grant}");
    }
}

#[test]
fn sandboxed_extension_has_only_granted_access() {
    if !has_standard() {
        return;
    }
    let confined = json!({
        "told": "standard", "home is data": true, "read key": "refused", "write workspace": "refused",
        "connect": "refused", "write data": "done", "read granted": "refused", "run": "done",
    });
    assert_eq!(tried("[grant.nosy]\nsandbox = 'standard'"), confined);
    let mut more = confined;
    for granted in ["write workspace", "connect", "read granted"] {
        more[granted] = "done".into();
    }
    let grant = "[grant.nosy]\nsandbox = 'standard'\nread = ['GRANTED']\nwrite = ['$WORKSPACE']\nnet = 'all'";
    assert_eq!(tried(grant), more);
}

/// Returns `haft` on a system whose kernel lacks this system call.
#[expect(clippy::disallowed_methods, reason = "the program that is tested")]
fn without_landlock(scene: &Scene, args: &[&str]) -> Ran {
    let haft = scene.command(args);
    let mut command = Command::new(haft_test_support::test_binary("sandbox-probe"));
    command.args(["--without", "landlock", "--"]).arg(haft.get_program()).args(haft.get_args());
    command.env_clear().envs(haft.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(scene.world.project()).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Running::start(command, None).wait()
}

const GUARD: &str = r#"
mark("started")
emit("subscribe", intercept=["tool_call"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        answer(frame, block=False)
"#;

#[test]
fn rejects_unavailable_level_with_reason() {
    let scene = Scene::new(vec![bash("t1", "touch touched"), Scenario::text("Fine.")]);
    scene.home_python("guard", GUARD);
    configure(&scene, "[grant.guard]\nsandbox = 'standard'");
    let ran = without_landlock(&scene, &["--json", "go"]);
    ran.expect(0);
    assert_eq!(ran.faults(), [("guard".into(), "sandbox_unavailable".into())]);
    let message = ran.of("extension_error")[0]["message"].as_str().unwrap().to_owned();
    for part in ["not started", "level standard", "no Landlock", "[grant.guard]"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(scene.marks(), Vec::<String>::new());
    let listed = scene.world.haft(&["ext", "list"]);
    assert!(listed.stdout.contains("failed") && listed.stdout.contains("standard"), "{listed:?}");
    assert!(listed.stderr.contains("sandbox_unavailable"), "{listed:?}");
}

#[test]
fn missing_required_extension_ends_run() {
    let scene = Scene::new(vec![bash("t1", "touch touched"), Scenario::text("Fine.")]);
    scene.required_home_python("guard", GUARD);
    configure(&scene, "[grant.guard]\nsandbox = 'standard'");
    let ran = without_landlock(&scene, &["-p", "go"]);
    ran.expect(3);
    assert!(ran.stderr.contains("level standard") && ran.stderr.contains("guard"), "{}", ran.stderr);
    assert!(!scene.world.project().join("touched").exists());
    assert_eq!(scene.marks(), Vec::<String>::new());
}

#[test]
fn invalid_grant_ends_run() {
    let scene = Scene::new(Vec::new());
    configure(&scene, "[grant.x]\nsandbox = 'standard'\nread = ['maps']");
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(9);
    assert!(ran.stderr.contains("config.toml:3: grant.x.read: \"maps\" is not absolute"), "{}", ran.stderr);
}

/// Reads and runs a file beside it, whose compiled form Python would store there.
const IMPORTING: &str = r#"
import helper
mark("started")
emit("ready")
for frame in frames():
    pass
"#;

#[test]
fn running_project_extension_keeps_trust() {
    let scene = Scene::new(vec![Scenario::text("Fine."); 2]);
    let project = scene.world.project();
    scene.required_project_python(&project, "local", IMPORTING);
    let dir = project.join(".haft/extensions/local");
    std::fs::write(dir.join("helper.py"), "").unwrap();
    let shown = || -> Value {
        serde_json::from_str(&scene.world.haft(&["trust", "--show", "--json"]).stdout).unwrap()
    };
    let digest = shown()["digest"].as_str().unwrap().to_owned();
    let trusted = scene.world.haft(&["trust", "--digest", &digest]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
    for runs in 1..=2 {
        scene.haft(&["-p", "go"]).expect(0);
        assert_eq!(scene.marks().len(), runs);
    }
    assert!(!dir.join("__pycache__").exists());
    assert_eq!(shown()["trusted"], true);
}
