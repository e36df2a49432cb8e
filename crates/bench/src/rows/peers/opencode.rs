//! opencode. Its hook is a plugin in its own process.

use anyhow::Result;
use serde_json::json;

use super::{AgentHome, AgentInvocation, PeerAgent, words};

pub(super) const AGENT: PeerAgent = PeerAgent {
    name: "opencode",
    tool: "bash",
    args: |command| json!({"command": command, "description": "Prints its number"}),
    set_up,
};

/// A plugin that allows every call.
const PLUGIN: &str = "export const Guard = async () => ({ \"tool.execute.before\": async () => {} });\n";

fn set_up(home: &AgentHome) -> Result<AgentInvocation> {
    let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "bench",
        "options": {"baseURL": format!("{}/v1", home.url), "apiKey": "sk-bench"},
        "models": {"bench": {"name": "bench", "limit": {"context": 200_000, "output": 8_000}}}});
    let config = json!({"provider": {"bench": provider}, "model": "bench/bench", "small_model": "bench/bench",
        "autoupdate": false, "share": "disabled", "permission": {"bash": "allow"}});
    home.write(".config/opencode/opencode.json", config.to_string())?;
    if home.hooked {
        home.write(".config/opencode/plugin/guard.js", PLUGIN)?;
    }
    let on = || "1".to_owned();
    let env = vec![("OPENCODE_DISABLE_MODELS_FETCH", on()), ("OPENCODE_DISABLE_AUTOUPDATE", on())];
    Ok(AgentInvocation { args: words(&["run", "hello"]), env })
}
