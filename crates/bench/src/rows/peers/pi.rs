//! pi. Its hook is an extension in its own process.

use anyhow::Result;
use serde_json::json;

use super::{AgentHome, AgentInvocation, PeerAgent, words};

pub(super) const AGENT: PeerAgent =
    PeerAgent { name: "pi", tool: "bash", args: |command| json!({ "command": command }), set_up };

/// An extension that allows every call.
const EXTENSION: &str = "export default (pi) => pi.on(\"tool_call\", async () => undefined);\n";

fn set_up(home: &AgentHome) -> Result<AgentInvocation> {
    let model = json!({"id": "bench", "name": "bench", "reasoning": false, "input": ["text"],
        "contextWindow": 200_000, "maxTokens": 8_000,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}});
    let provider = json!({"baseUrl": format!("{}/v1", home.url), "api": "openai-completions",
        "apiKey": "sk-bench", "models": [model]});
    home.write("pi/models.json", json!({"providers": {"bench": provider}}).to_string())?;
    let mut args = words(&["-p", "--model", "bench/bench", "--no-session"]);
    if home.hooked {
        let extension = home.write("guard.js", EXTENSION)?;
        args.extend(["-e".to_owned(), extension.to_string_lossy().into_owned()]);
    }
    args.push("hello".to_owned());
    let env = vec![("PI_CODING_AGENT_DIR", home.path("pi")), ("PI_OFFLINE", "1".to_owned())];
    Ok(AgentInvocation { args, env })
}
