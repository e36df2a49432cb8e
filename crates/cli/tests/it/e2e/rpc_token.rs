//! The token of `haft rpc`: only a client with the token can drive haft.

use haft_test_support::model_server::Scenario;
use serde_json::json;

use super::rpc_client::Client;
use super::running::eventually;
use super::scene::{Scene, bash};

const TOKEN: &str = "tok-3f9a77";

/// The names of the variables.
const NAMES: [&str; 2] = ["HAFT_RPC_TOKEN", "ZOTCORE_RPC_TOKEN"];

/// Starts `haft rpc` with these variables.
fn client(scene: &Scene, vars: &[(&str, &str)]) -> Client {
    let mut command = scene.command_of(&["rpc"], &[]);
    command.envs(vars.iter().copied());
    Client::start(command)
}

#[test]
fn rejects_commands_without_token() {
    for name in NAMES {
        let scene = Scene::scripted(&json!([{"say": [{"text": "Hi."}]}]));
        let mut client = client(&scene, &[(name, TOKEN)]);
        let (code, error) = client.refused("prompt", &json!({"message": "hi"}));
        assert_eq!(
            (code.as_str(), error.as_str()),
            ("auth_required", "auth required: send hello with token first")
        );
        assert_eq!(client.refused("hello", &json!({})).0, "auth_required");
        client.done("hello", &json!({"token": TOKEN}));
        assert_eq!(client.prompt("hi"), "Hi.");
        let left = client.end();
        left.expect(0);
        assert!(!format!("{left:?}").contains(TOKEN));
    }
}

#[test]
fn ends_on_wrong_token() {
    let scene = Scene::scripted(&json!([]));
    let mut client = client(&scene, &[("HAFT_RPC_TOKEN", TOKEN), ("ZOTCORE_RPC_TOKEN", "another")]);
    assert_eq!(client.refused("hello", &json!({"token": "another"})).0, "auth_failed");
    let left = client.wait();
    left.expect(1);
    assert!(left.stderr.starts_with("haft: ") && left.stderr.contains("token"), "{}", left.stderr);
}

/// The token never reaches commands of the model, extensions that are granted the variable, or hooks: any reader could
/// drive haft.
#[test]
fn hides_token_from_child_processes() {
    let body = r#"
tool("look")
emit("ready")
mark("extension " + str(sorted(name for name in os.environ if "RPC_TOKEN" in name)))
for frame in frames():
    pass
"#;
    let hook = r#"
import json, os, sys
MARKS = os.environ["MARKS"]
with open(MARKS, "a") as marks:
    marks.write("hook " + str(sorted(name for name in os.environ if "RPC_TOKEN" in name)) + "\n")
for line in sys.stdin:
    call = json.loads(line)
    if "id" in call:
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": {}}), flush=True)
"#;
    let scene =
        Scene::new(vec![bash("t1", "env >>\"$MARKS\""), Scenario::text("Done.")]).python("nosy", body);
    std::fs::create_dir_all(scene.world.home()).unwrap();
    std::fs::write(scene.world.home().join("hook.py"), hook).unwrap();
    let command = json!(["python3", scene.world.home().join("hook.py")]);
    let config = format!(
        "[grant.nosy]\nenv = ['HAFT_RPC_TOKEN', 'ZOTCORE_RPC_TOKEN']\n\
         [hooks.processes.snoop]\nenabled = true\ncommand = {command}\nobserve = ['agent.tool.exec_end']\n"
    );
    std::fs::write(scene.world.home().join("config.toml"), config).unwrap();
    let mut client = client(&scene, &NAMES.map(|name| (name, TOKEN)));
    client.done("hello", &json!({"token": TOKEN}));
    assert_eq!(client.prompt("go"), "Done.");
    let marked = |what: &str| eventually(|| scene.marks().iter().any(|mark| mark == what));
    assert!(marked("extension []") && marked("hook []"), "{:?}", scene.marks());
    client.end().expect(0);
    let marks = scene.marks();
    assert!(marks.iter().any(|mark| mark.starts_with("PATH=")), "{marks:?}");
    assert!(!marks.iter().any(|mark| mark.contains("RPC_TOKEN") || mark.contains(TOKEN)), "{marks:?}");
}
