//! The check that every gate for tool calls guards an existing tool.

use haft_core::sanitize::sanitize_line;
use haft_host::Host;

use crate::console::note;
use crate::exit::Exit;

/// Fails if a required gate names only tools that do not exist, and warns about other gates that do. Waits for slow
/// extensions, which may register one of the tools.
pub(super) async fn check_guarded_tools(
    host: &Host,
    tool_names: impl Fn() -> Vec<String>,
) -> anyhow::Result<()> {
    if host.gates_without_tool(&tool_names()).is_empty() {
        return Ok(());
    }
    host.wait_until_settled().await;
    let known = tool_names();
    for (name, is_required) in host.gates_without_tool(&known) {
        let text = format!(
            "the extension {name} guards no tool: no tool has a name from `tools` of its subscription to tool_call; \
             available tools: {}",
            known.join(", ")
        );
        if is_required {
            return Exit::RequiredExtension.fail(text);
        }
        note(&sanitize_line(&format!("haft: warning: {text}")));
    }
    Ok(())
}
