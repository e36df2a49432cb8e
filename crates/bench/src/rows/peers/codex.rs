//! Codex CLI. Its hook is a program that runs for each call.

use anyhow::Result;
use serde_json::json;

use super::{AgentHome, AgentInvocation, PeerAgent, words};

pub(super) const AGENT: PeerAgent =
    PeerAgent { name: "codex", tool: "exec_command", args: |command| json!({ "cmd": command }), set_up };

fn set_up(home: &AgentHome) -> Result<AgentInvocation> {
    let config = format!(
        "model = \"gpt-5.1-codex\"\nmodel_provider = \"bench\"\ncheck_for_update_on_startup = false\n\
         [model_providers.bench]\nname = \"bench\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n\
         env_key = \"BENCH_KEY\"\n[analytics]\nenabled = false\n",
        home.url
    );
    home.write("codex/config.toml", config)?;
    if let Some(hook) = home.hook_program()? {
        let command = format!("{} {}", hook.path.display(), hook.args.join(" "));
        let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}});
        home.write("codex/hooks.json", hooks.to_string())?;
    }
    let args = [
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "--dangerously-bypass-hook-trust",
        "hello",
    ];
    let env = vec![("CODEX_HOME", home.path("codex")), ("BENCH_KEY", "sk-bench".to_owned())];
    Ok(AgentInvocation { args: words(&args), env })
}
