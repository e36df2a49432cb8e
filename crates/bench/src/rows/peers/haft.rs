//! haft itself. Its hook is an extension: a process that lives for the whole run.

use anyhow::Result;
use serde_json::json;

use super::{AgentHome, AgentInvocation, PeerAgent, words};
use crate::children::ChildProgram;
use crate::peers::PASS;

pub(super) const AGENT: PeerAgent =
    PeerAgent { name: "haft", tool: "bash", args: |command| json!({ "command": command }), set_up };

fn set_up(home: &AgentHome) -> Result<AgentInvocation> {
    if home.hooked {
        let ChildProgram { path, args } = ChildProgram::in_role(PASS)?;
        let manifest = json!({"name": "guard", "version": "1.0.0", "exec": path, "args": args, "language": "rust",
            "enabled": true, "intercept": [{"event": "tool_call", "role": "gate"}]});
        home.write("haft/extensions/guard/extension.json", manifest.to_string())?;
    }
    let env = vec![
        ("HAFT_HOME", home.path("haft")),
        ("ANTHROPIC_API_KEY", "sk-bench".to_owned()),
        ("ANTHROPIC_BASE_URL", home.url.clone()),
    ];
    Ok(AgentInvocation { args: words(&["-p", "--provider", "anthropic", "hello"]), env })
}
