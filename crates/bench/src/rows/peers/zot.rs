//! zot. Its hook is an extension: a process that lives as long as the run, and the same one as haft's.

use anyhow::Result;
use serde_json::json;

use super::{Agent, Home, Invocation, words};
use crate::children::Program;
use crate::peers::PASS;

pub(super) const AGENT: Agent =
    Agent { name: "zot", tool: "bash", args: |command| json!({ "command": command }), set_up };

fn set_up(home: &Home) -> Result<Invocation> {
    if home.hooked {
        let Program { path, args } = Program::own(PASS)?;
        let manifest = json!({"name": "guard", "version": "1.0.0", "exec": path, "args": args, "language": "rust",
            "enabled": true});
        home.write("zot/extensions/guard/extension.json", manifest.to_string())?;
    }
    let args = ["-p", "--provider", "anthropic", "--api-key", "sk-bench", "--base-url", &home.url, "hello"];
    Ok(Invocation { args: words(&args), env: vec![("ZOT_HOME", home.path("zot"))] })
}
