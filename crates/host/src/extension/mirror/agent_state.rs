//! The state of an agent and its session, as a frame with all parts.

use haft_core::Agent;
use haft_core::ExtensionToolRunner;
use haft_core::json_shape::{ShapeLimits, check_shape};
use haft_core::session::Session;
use haft_protocol::RawJson;
use haft_protocol::ext::{MirrorPart, QueueData, StateFrame, ToolInfo};

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
            let mut queue = QueueData::from(&agent.queued_messages().user_messages());
            cut_texts(&mut queue);
            state.queue = Some(queue);
        }
        MirrorPart::Context => {
            state.context = Some(agent.stats().context.into());
        }
        MirrorPart::Tools => {
            let mut tools = agent.tool_infos();
            drop_long_schemas(&mut tools);
            state.tools = Some(tools);
        }
    }
}

/// Cuts each queued message.
fn cut_texts(QueueData { steering, follow_up, next_turn }: &mut QueueData) {
    let texts = steering.iter_mut().chain(follow_up).chain(next_turn);
    texts.for_each(|text| text.truncate(text.floor_char_boundary(MAX_QUEUED)));
}

/// Replaces the schemas beyond the limits by an empty object.
fn drop_long_schemas(tools: &mut [ToolInfo]) {
    let mut left = MAX_SCHEMAS;
    for tool in tools {
        let text = tool.schema.as_str();
        let shape = ShapeLimits { depth: MAX_SCHEMA_DEPTH, values: MAX_SCHEMAS };
        if text.len() > left || check_shape(text.as_bytes(), shape).is_err() {
            tool.schema = RawJson::empty_object();
        }
        left = left.saturating_sub(tool.schema.as_str().len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queued_messages_are_cut_between_characters() {
        let steering = vec!["é".repeat(MAX_QUEUED), "short".to_owned()];
        let mut queue =
            QueueData { steering, next_turn: vec!["n".repeat(MAX_QUEUED + 1)], ..QueueData::default() };
        cut_texts(&mut queue);
        let lengths = queue.steering.iter().chain(&queue.next_turn).map(String::len);
        assert_eq!(lengths.collect::<Vec<_>>(), [MAX_QUEUED, 5, MAX_QUEUED]);
    }

    #[test]
    fn schemas_beyond_the_limits_are_empty() {
        let nested = |levels: usize| "{\"a\":".repeat(levels - 1) + "{}" + &"}".repeat(levels - 1);
        let long = |bytes: usize| format!(r#"{{"d":"{}"}}"#, "x".repeat(bytes - 8));
        let schemas = [nested(MAX_SCHEMA_DEPTH), nested(MAX_SCHEMA_DEPTH + 1), long(MAX_SCHEMAS / 2)];
        let schemas = schemas.into_iter().chain([long(MAX_SCHEMAS / 2), "{\"type\":\"object\"}".to_owned()]);
        let tool = |schema: String| ToolInfo {
            name: "t".into(),
            description: String::new(),
            schema: RawJson::parse(&schema).unwrap(),
            active: true,
            extension: None,
            label: None,
        };
        let mut tools: Vec<_> = schemas.map(tool).collect();
        drop_long_schemas(&mut tools);
        let empty: Vec<_> = tools.iter().map(|tool| tool.schema.as_str() == "{}").collect();
        assert_eq!(empty, [false, true, false, true, false]);
    }
}
