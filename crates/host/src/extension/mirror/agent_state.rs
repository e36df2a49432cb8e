//! The state of an agent and its session, as a frame with all parts.

use std::collections::HashSet;

use haft_core::ExtensionToolRunner;
use haft_core::json_shape::{ShapeLimits, check_shape};
use haft_core::session::Session;
use haft_core::tool::ToolSpec;
use haft_core::{Agent, ContextUsage, Prompt};
use haft_protocol::RawJson;
use haft_protocol::ext::{ContextData, MirrorPart, QueueData, StateFrame, ToolInfo};
use haft_protocol::ids::ExtensionName;

use crate::session::mirror_parts::MirrorParts;

/// The bytes of one queued message in a mirror.
const MAX_QUEUED: usize = 4 * 1024;

/// The bytes of the schemas of all tools in a mirror: as many values as half of a frame may have.
const MAX_SCHEMAS: usize = 96 * 1024;

/// The nesting of a schema in a mirror. The frame, the list and the tool are around it.
const MAX_SCHEMA_DEPTH: usize = 60;

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
        MirrorPart::Busy => state.busy = Some(agent.is_running()),
        MirrorPart::Queue => {
            let queued = agent.queued_messages().user_messages();
            let texts = |prompts: &[Prompt]| prompts.iter().map(queued_text).collect();
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
            state.tools = Some(tool_infos(agent));
        }
    }
}

/// Returns the text of a queued message, at most [`MAX_QUEUED`] bytes of it.
fn queued_text(prompt: &Prompt) -> String {
    let mut text = prompt.summary();
    text.truncate(text.floor_char_boundary(MAX_QUEUED));
    text
}

/// Returns the tools. A schema beyond the limits is an empty object.
fn tool_infos(agent: &Agent) -> Vec<ToolInfo> {
    let offered = agent.tools();
    let offered: HashSet<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
    let mut left = MAX_SCHEMAS;
    let tools = agent.all_tools();
    let infos = tools.iter().map(|tool| {
        let mut info = tool_info(tool, offered.contains(tool.name.as_str()));
        let text = info.schema.as_str();
        let shape = ShapeLimits { depth: MAX_SCHEMA_DEPTH, values: MAX_SCHEMAS };
        if text.len() > left || check_shape(text.as_bytes(), shape).is_err() {
            info.schema = RawJson::empty_object();
        }
        left = left.saturating_sub(info.schema.as_str().len());
        info
    });
    infos.collect()
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
