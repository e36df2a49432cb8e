//! Gemini CLI. Its hook is a program that runs for each call.

use anyhow::Result;
use serde_json::json;

use super::{AgentHome, AgentInvocation, PeerAgent, words};

pub(super) const AGENT: PeerAgent = PeerAgent {
    name: "gemini",
    tool: "run_shell_command",
    args: |command| json!({"command": command, "description": "Prints its number"}),
    set_up,
};

fn set_up(home: &AgentHome) -> Result<AgentInvocation> {
    // The last setting keeps Gemini CLI from treating 50 similar commands as a loop.
    let mut settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
        "telemetry": {"enabled": false},
        "privacy": {"usageStatisticsEnabled": false},
        "general": {"disableAutoUpdate": true, "disableUpdateNag": true},
        "model": {"disableLoopDetection": true},
    });
    if let Some(hook) = home.hook_program()? {
        let command = format!("{} {}", hook.path.display(), hook.args.join(" "));
        let hook = json!({"matcher": "*", "hooks": [{"type": "command", "command": command}]});
        settings["hooks"] = json!({ "BeforeTool": [hook] });
    }
    home.write(".gemini/settings.json", settings.to_string())?;
    let args = ["--model", "gemini-2.5-flash", "--yolo", "-p", "hello"];
    let env = vec![
        ("GEMINI_API_KEY", "bench".to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", home.url.clone()),
        ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
    ];
    Ok(AgentInvocation { args: words(&args), env })
}
