//! The state of an agent and its session, as a frame with all parts.

use haft_core::ExtensionToolRunner;
use haft_core::session::Session;
use haft_core::tool::ToolSpec;
use haft_core::{Agent, ContextUsage, Prompt};
use haft_protocol::ext::{ContextData, MirrorPart, QueueData, StateFrame, ToolInfo};
use haft_protocol::ids::ExtensionName;

use crate::session::mirror_parts::MirrorParts;

/// Reads these parts of the state. Parts of an agent that does not exist yet are absent.
pub(super) fn read_state(
    parts: MirrorParts,
    runner: Option<&ExtensionToolRunner>,
    session: &Session,
) -> StateFrame {
    let agent = runner.and_then(Agent::of_tool_runner);
    let mut state = StateFrame { session: session.id().to_string(), ..StateFrame::default() };
    for &part in MirrorPart::ALL.iter().filter(|part| parts.contains(**part)) {
        match (part, &agent) {
            (MirrorPart::Entries, _) => {}
            // Both are in memory after the first call, which may read the file.
            (MirrorPart::Name, _) => state.name = session.name().ok().map(Option::unwrap_or_default),
            (MirrorPart::Tags, _) => state.tags = session.tags().ok(),
            (part, Some(agent)) => read_agent(part, agent, &mut state),
            (_, None) => {}
        }
    }
    state
}

fn read_agent(part: MirrorPart, agent: &Agent, state: &mut StateFrame) {
    match part {
        MirrorPart::Entries | MirrorPart::Name | MirrorPart::Tags => {}
        MirrorPart::Model => {
            let model = agent.model();
            (state.provider, state.model) = (Some(model.provider), Some(model.model));
        }
        MirrorPart::Thinking => {
            state.thinking = Some(agent.model_facts().clamp_thinking(agent.thinking()));
        }
        MirrorPart::Busy => state.busy = Some(agent.takes_queued()),
        MirrorPart::Queue => {
            let queued = agent.queued_messages();
            let texts = |prompts: &[Prompt]| prompts.iter().map(Prompt::summary).collect();
            state.queue = Some(QueueData {
                steering: texts(&queued.steering),
                follow_up: texts(&queued.follow_up),
                next_turn: texts(&queued.next_turn),
            });
        }
        MirrorPart::Context => {
            let ContextUsage { tokens, estimated, window } = agent.stats().context;
            state.context = Some(ContextData { tokens, estimated, window });
        }
        MirrorPart::Tools => {
            let offered = agent.tools();
            let is_active = |tool: &ToolSpec| offered.iter().any(|offered| offered.name == tool.name);
            let tools = agent.all_tools();
            state.tools = Some(tools.iter().map(|tool| tool_info(tool, is_active(tool))).collect());
        }
    }
}

fn tool_info(tool: &ToolSpec, active: bool) -> ToolInfo {
    ToolInfo {
        name: tool.name.clone(),
        description: tool.description.clone(),
        schema: tool.schema.clone(),
        active,
        extension: tool.owner.extension().map(ExtensionName::new),
        label: tool.label.clone(),
    }
}
