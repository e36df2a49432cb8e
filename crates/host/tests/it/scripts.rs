//! Extensions in other languages without an SDK, as their authors write them.

use haft_host::{ExtensionState, Host, Timeouts};
use haft_packages::{ExtensionSpec, LaunchPlan};
use haft_protocol::ext::CommandAction;
use serde_json::json;
use std::path::Path;

use crate::support::{Events, blocked, brisk, call, config, execute, program, spec, state, text};

/// Sends hello and registers without waiting for an answer, and never sends ready.
const PYTHON: &str = r#"
import json, sys
def emit(obj):
    sys.stdout.write(json.dumps(obj) + "\n")
    sys.stdout.flush()
emit({"type":"hello","name":"script","version":"1.0.0","capabilities":["commands"]})
emit({"type":"register_command","name":"hellopy","description":"say hi (python)"})
emit({"type":"register_tool","name":"upper","description":"upper case","schema":{"type":"object"}})
emit({"type":"subscribe","intercept":["tool_call"]})
for line in sys.stdin:
    msg = json.loads(line)
    if msg["type"] == "command_invoked":
        emit({"type":"command_response","id":msg["id"],"action":"prompt",
              "prompt":"Greet me very briefly. Add one emoji."})
    elif msg["type"] == "tool_call":
        emit({"type":"tool_result","id":msg["id"],
              "content":[{"type":"text","text":msg["args"]["text"].upper()}]})
    elif msg["type"] == "event_intercept":
        bad = "rm -rf" in json.dumps(msg["tool_args"])
        emit({"type":"event_intercept_response","id":msg["id"],"block":bad,"reason":"dangerous"})
    elif msg["type"] == "shutdown":
        emit({"type":"shutdown_ack"})
        break
"#;

/// Matches the text of frames: `type` must come first, then `id`, without spaces.
const SHELL: &str = r#"
echo '{"type":"hello","name":"script","version":"1.0.0"}'
echo '{"type":"register_command","name":"hellosh","description":"say hi (sh)"}'
echo '{"type":"ready"}'
while IFS= read -r line; do
  case "$line" in
    '{"type":"command_invoked","id":"'*)
      id=$(printf '%s' "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
      printf '{"type":"command_response","id":"%s","action":"display","display":"hi from sh"}\n' "$id" ;;
    *'"type":"shutdown"'*)
      echo '{"type":"shutdown_ack"}'
      exit 0 ;;
  esac
done
"#;

fn script(programs: &[&str], text: &str, dir: &Path) -> ExtensionSpec {
    let args = vec!["-c".to_owned(), text.to_owned()];
    spec("script", dir, LaunchPlan::Process { program: program(programs), args })
}

async fn host(spec: ExtensionSpec) -> (Host, Events) {
    let (events, mut config) = (Events::default(), config());
    // Scripts that never send ready are waited for as long as in the product.
    config.timeouts = brisk();
    config.timeouts.idle_ready = Timeouts::default().idle_ready;
    (Host::builder(config).events(events.sink()).specs(vec![spec]).start().await, events)
}

async fn run(host: &Host, command: &str) -> CommandAction {
    host.run_command(&Default::default(), command, "").await.unwrap().action
}

#[tokio::test]
async fn runs_python_script_without_ready() {
    let dir = tempfile::tempdir().unwrap();
    let (host, events) = host(script(&["python3", "python"], PYTHON, dir.path())).await;
    let greeting = "[from extension script, command hellopy]\nGreet me very briefly. Add one emoji.";
    assert_eq!(run(&host, "hellopy").await, CommandAction::Prompt(greeting.into()));
    assert_eq!(text(&execute(&host, "upper", json!({"text": "grüß"})).await), "GRÜSS");
    assert_eq!(blocked(&host, &call("bash", json!({"command": "ls"}))).await, None);
    let (_, reason) = blocked(&host, &call("bash", json!({"command": "rm -rf /"}))).await.unwrap();
    assert_eq!(reason, "dangerous");
    host.shutdown().await;
    assert_eq!(state(&host, "script"), ExtensionState::Stopped);
    assert_eq!(events.faults(), []);
}

#[tokio::test]
async fn runs_shell_script_that_matches_text() {
    let dir = tempfile::tempdir().unwrap();
    let (host, events) = host(script(&["sh"], SHELL, dir.path())).await;
    assert_eq!(run(&host, "hellosh").await, CommandAction::Display("hi from sh".into()));
    host.shutdown().await;
    assert_eq!(events.faults(), []);
}
