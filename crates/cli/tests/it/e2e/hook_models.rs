//! Models that a process hook selects for single requests.

use std::fs;
use std::process::Command;

use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};
use serde_json::{Value, json};

use super::running::{Ran, Running};
use super::scene::{KEY, bash_args};
use crate::world::World;

/// Selects the models named by `MODELS` in turn, then keeps the current model.
const ROUTER: &str = r#"
import json, os, sys

models = os.environ["MODELS"].split()
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = {"action": "continue"}
    if request["method"] == "hook.before_llm" and models:
        params = request["params"]
        params["model"] = models.pop(0)
        result = {"action": "modify", "request": params}
    elif request["method"] == "hook.hello":
        result = {"ok": True}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

const PROCESS: &str = "[hooks.processes.router]\nenabled = true\ncommand = ['python3', 'router.py']\n\
                       intercept = ['before_llm']\ntimeout_ms = 60000\n";

/// The user's own server, and another one.
struct Two {
    world: World,
    lab: ModelServer,
    dn: ModelServer,
}

/// A model of `lab` that calls a tool in every answer but the last.
fn two(lab: Vec<Scenario>, dn: Vec<Scenario>) -> Two {
    let spawned = |scenarios| ModelServer::spawn_thread(WireFormat::OpenAiChat, scenarios);
    let (world, lab, dn) = (World::new(), spawned(lab), spawned(dn));
    let thinks = json!({"window": 64000, "thinking": ["off", "low", "high"]});
    let plain = json!({"window": 32000, "thinking": ["off"]});
    let some = json!({"window": 32000, "thinking": ["off", "low"]});
    let lab_models = json!({"big": thinks, "small": plain});
    let file = json!({"providers": {
        "lab": {"base_url": lab.base_url(), "models": lab_models},
        "dn": {"base_url": dn.base_url(), "key_env": "DN_KEY", "models": {"x": some}},
    }});
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("models.json"), file.to_string()).unwrap();
    fs::write(world.project().join("router.py"), ROUTER).unwrap();
    Two { world, lab, dn }
}

impl Two {
    /// Adds a hook of the user that selects these models in turn.
    fn routed(self, models: &str) -> Self {
        let config = format!("provider = 'lab'\nmodel = 'big'\n{PROCESS}env = {{ MODELS = '{models}' }}\n");
        fs::write(self.world.home().join("config.toml"), config).unwrap();
        self.world.trust();
        self
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        command.env("DN_KEY", KEY);
        command
    }

    fn haft(&self, args: &[&str]) -> Ran {
        Running::start(self.command(args), None).wait()
    }
}

/// Returns the models and thinking levels that a server was asked for.
fn asked(server: &ModelServer) -> Vec<Value> {
    let told = |body: &Value| json!([body["model"], body["reasoning_effort"]]);
    server.requests().iter().map(|request| told(&request.body)).collect()
}

fn calls(id: &str) -> Scenario {
    Scenario::text("I look.").tool(id, "bash", &bash_args("echo hello"))
}

#[test]
fn model_of_hook_answers_one_request_with_its_settings() {
    let lab = vec![calls("t1"), calls("t3"), Scenario::text("Done.")];
    let two = two(lab, vec![calls("t2")]).routed("small dn/x");
    let ran = two.haft(&["--json", "--thinking", "high", "go"]);
    ran.expect(0);
    assert_eq!(ran.faults(), []);
    assert_eq!(asked(&two.lab), [json!(["small", null]), json!(["big", "high"]), json!(["big", "high"])]);
    // An unsupported level becomes the nearest supported one.
    assert_eq!(asked(&two.dn), [json!(["x", "low"])]);
    let key = format!("Bearer {KEY}");
    assert_eq!(two.dn.requests()[0].header("authorization"), Some(key.as_str()));
    assert_eq!(two.lab.requests()[0].header("authorization"), None);
    let told: Vec<_> = ran.of("model_request").iter().map(|request| request["model"].clone()).collect();
    assert_eq!(told, ["small", "x", "big", "big"]);
    // The session keeps the user's model.
    two.lab.push(Scenario::text("Still here."));
    two.haft(&["-p", "-c", "--no-ext", "and now?"]).expect(0);
    assert_eq!(asked(&two.lab)[3], json!(["big", "high"]));
}

#[test]
fn unavailable_model_of_hook_is_reported_and_ignored() {
    let two = two(vec![calls("t1"), Scenario::text("Done.")], vec![]).routed("dn/x groq/m");
    let mut command = two.world.command(&["--json", "go"]);
    command.env_remove("DN_KEY");
    let ran = Running::start(command, None).wait();
    ran.expect(0);
    assert_eq!(asked(&two.lab).iter().map(|asked| &asked[0]).collect::<Vec<_>>(), ["big", "big"]);
    assert_eq!(two.dn.requests().len(), 0);
    let told: Vec<_> = ran.of("extension_error");
    let told: Vec<&str> = told.iter().map(|error| error["message"].as_str().unwrap()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    for (told, model, variable) in [(told[0], "dn/x", "DN_KEY"), (told[1], "groq/m", "GROQ_API_KEY")] {
        assert!(told.contains(&format!("cannot switch to model {model:?}: ")), "{told}");
        assert!(told.contains(variable) && told.contains("the request goes to lab/big"), "{told}");
    }
}

#[test]
fn key_of_flag_is_not_sent_to_other_provider() {
    let two = two(vec![Scenario::text("Done.")], vec![Scenario::text("Hi.")]).routed("dn/x");
    let mut command = two.world.command(&["-p", "--api-key", "sk-typed-for-lab", "go"]);
    command.env("DN_KEY", KEY);
    Running::start(command, None).wait().expect(0);
    let key = format!("Bearer {KEY}");
    assert_eq!(two.dn.requests()[0].header("authorization"), Some(key.as_str()));
}

#[test]
fn hook_of_untrusted_project_selects_no_model() {
    let two = two(vec![Scenario::text("One."), Scenario::text("Two.")], vec![Scenario::text("Hi.")]);
    let user = "provider = 'lab'\nmodel = 'big'\n";
    fs::write(two.world.home().join("config.toml"), user).unwrap();
    let dir = two.world.project().join(".haft");
    fs::create_dir_all(&dir).unwrap();
    let theirs = format!("{PROCESS}env = {{ MODELS = 'dn/x' }}\n");
    fs::write(dir.join("config.toml"), theirs).unwrap();
    two.haft(&["-p", "go"]).expect(0);
    assert_eq!((two.lab.requests().len(), two.dn.requests().len()), (1, 0));
    two.haft(&["-p", "--trust-project", "go"]).expect(0);
    assert_eq!((two.lab.requests().len(), two.dn.requests().len()), (1, 1));
}
