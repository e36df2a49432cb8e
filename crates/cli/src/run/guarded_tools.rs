//! The check that gates for tool calls and `tools.approve` name existing tools.

use haft_core::sanitize::sanitize_line;
use haft_host::Host;
use haft_protocol::ids::ExtensionName;
use haft_protocol::names::unknown_tools;

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
        let text = problem_text(&name, &known);
        if is_required {
            return Exit::RequiredExtension.fail(text);
        }
        note(&sanitize_line(&format!("haft: warning: {text}")));
    }
    Ok(())
}

/// Warns about names in `tools.approve` that no tool has. Waits for slow extensions, which may register one.
pub(super) async fn warn_unknown_approvals(
    approve: &[String],
    host: &Host,
    tool_names: impl Fn() -> Vec<String>,
) {
    let unknown = || unknown_tools(approve, tool_names().iter().map(String::as_str));
    if unknown().is_empty() {
        return;
    }
    host.wait_until_settled().await;
    for name in unknown() {
        note(&sanitize_line(&format!(
            "haft: warning: tools.approve names {name}, but no tool has that name, so no approval is requested"
        )));
    }
}

/// Fails if a required gate guards no tool at the end of a run. A gate may get its filter late, and then blocks all
/// tools.
pub(super) fn check_required_gates(host: &Host, known: &[String]) -> anyhow::Result<()> {
    match host.gates_without_tool(known).iter().find(|(_, is_required)| *is_required) {
        None => Ok(()),
        Some((name, _)) => Exit::RequiredExtension.fail(problem_text(name, known)),
    }
}

fn problem_text(name: &ExtensionName, known: &[String]) -> String {
    format!(
        "the extension {name} guards no tool: no tool has a name from `tools` of its subscription to tool_call; \
         available tools: {}",
        known.join(", ")
    )
}
