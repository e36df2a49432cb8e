//! zot. Its hook is an extension: a process that lives for the whole run. It is the same extension as haft's.

use anyhow::Result;
use serde_json::json;

use super::{AgentHome, AgentInvocation, PeerAgent, words};
use crate::children::ChildProgram;
use crate::peers::PASS;

pub(super) const AGENT: PeerAgent =
    PeerAgent { name: "zot", tool: "bash", args: |command| json!({ "command": command }), set_up };

fn set_up(home: &AgentHome) -> Result<AgentInvocation> {
    if home.hooked {
        let ChildProgram { path, args } = ChildProgram::in_role(PASS)?;
        let manifest = json!({"name": "guard", "version": "1.0.0", "exec": path, "args": args, "language": "rust",
            "enabled": true});
        home.write("zot/extensions/guard/extension.json", manifest.to_string())?;
    }
    let args = ["-p", "--provider", "anthropic", "--api-key", "sk-bench", "--base-url", &home.url, "hello"];
    Ok(AgentInvocation { args: words(&args), env: vec![("ZOT_HOME", home.path("zot"))] })
}
