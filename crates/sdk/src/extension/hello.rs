//! The first frame of an extension: its name and capabilities.

use haft_protocol::ext::{Hello, InterceptKind, capability};

use super::{Extension, ToolCallHandler, ToolCallHandlerKind};

/// Returns the frame.
pub(super) fn build_hello(extension: &Extension) -> Hello {
    let has_intercepts = extension.intercept_kinds().next().is_some();
    let offered = [
        (!extension.commands.is_empty(), capability::COMMANDS),
        (!extension.tools.is_empty(), capability::TOOLS),
        (!extension.events.is_empty() || has_intercepts, capability::EVENTS),
        (!extension.panels.is_empty(), capability::PANELS),
        (!extension.panels.is_empty(), capability::PANEL_RESIZE),
    ];
    // Hooks without a capability are those of zot.
    let hooks = extension.hooks.subscribed_kinds().map(InterceptKind::name);
    let hooks = hooks.filter(|name| capability::ALL.contains(name)).map(|name| (true, name));
    let others = [
        (true, capability::PING),
        (!extension.events.is_empty(), capability::EVENT_GAP),
        (
            extension.events.reads_session_events() || extension.waits.subscribed_kinds().next().is_some(),
            capability::EVENTS_2,
        ),
        (!extension.mirror.is_empty(), capability::MIRROR),
        (may_end_turns(extension), capability::HOOKS_2),
        (extension.events.reads_bus(), capability::BUS),
        (true, capability::HOST_SERVICES),
        (extension.rejected.is_some(), capability::REGISTER_REJECTED),
        (!extension.tools.is_empty(), capability::TOOLS_2),
        (true, capability::PROGRESS),
        (!extension.tools.is_empty() || !extension.commands.is_empty() || has_intercepts, capability::CANCEL),
    ];
    let all = offered.into_iter().chain(hooks).chain(others);
    let capabilities = all.filter(|(present, _)| *present).map(|(_, name)| name.to_owned());
    Hello {
        name: extension.name.clone(),
        version: extension.version.clone(),
        capabilities: capabilities.collect(),
        protocol_version: None,
        mirror: extension.mirror.iter().map(|part| part.name().to_owned()).collect(),
    }
}

/// True if a handler may end a turn or answer a call. Gates only allow or block.
fn may_end_turns(extension: &Extension) -> bool {
    let is_gate = |handler: &ToolCallHandler| matches!(handler.kind, ToolCallHandlerKind::Gate(_));
    extension.hooks.tool_result.is_some()
        || extension.hooks.context.is_some()
        || extension.hooks.message_end.is_some()
        || !extension.tool_calls.iter().all(is_gate)
}
