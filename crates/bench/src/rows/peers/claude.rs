//! Claude Code. Its hook is a program that runs for each call, without a shell.

use anyhow::Result;
use serde_json::json;

use super::{AgentHome, AgentInvocation, PeerAgent, words};

pub(super) const AGENT: PeerAgent = PeerAgent {
    name: "claude",
    tool: "Bash",
    args: |command| json!({"command": command, "description": "Prints its number"}),
    set_up,
};

fn set_up(home: &AgentHome) -> Result<AgentInvocation> {
    if let Some(hook) = home.hook_program()? {
        let hook = json!({"type": "command", "command": hook.path, "args": hook.args});
        let settings = json!({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}});
        home.write(".claude/settings.json", settings.to_string())?;
    }
    let args = ["-p", "--model", "claude-sonnet-4-5", "--allowedTools", "Bash", "--", "hello"];
    let on = || "1".to_owned();
    let env = vec![
        ("ANTHROPIC_BASE_URL", home.url.clone()),
        ("ANTHROPIC_API_KEY", "sk-bench".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
        ("DISABLE_TELEMETRY", on()),
        ("DISABLE_ERROR_REPORTING", on()),
        ("DISABLE_AUTOUPDATER", on()),
    ];
    Ok(AgentInvocation { args: words(&args), env })
}
