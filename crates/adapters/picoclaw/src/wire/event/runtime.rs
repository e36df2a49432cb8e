//! `hook.runtime_event`: the form of events since PicoClaw 0.2.9.

use serde::{Deserialize, Serialize};

use super::{EventSeverity, TurnEvent};
use crate::wire::TurnMeta;
use haft_protocol::RawJson;

/// The params of `hook.runtime_event`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RuntimeEvent {
    /// The id, counted for each process: `evt-1`.
    pub id: String,
    /// The kind of the event: a name of the table of events.
    pub kind: String,
    /// The time, RFC 3339.
    pub time: String,
    /// The source of the event.
    pub source: EventSource,
    /// The scope of the event.
    pub scope: EventScope,
    /// The correlation of the event.
    pub correlation: EventCorrelation,
    /// The severity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<EventSeverity>,
    /// The data of the event: see the table of events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<RawJson>,
    /// Further attributes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attrs: Option<EventAttributes>,
}

/// The source of an event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EventSource {
    /// The component: `agent`.
    pub component: String,
    /// The name of the component: `main`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// The scope of an event. Absent parts are unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EventScope {
    /// The id of the host process.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub runtime_id: String,
    /// The id of the agent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent_id: String,
    /// The id of the session.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub session_key: String,
    /// The id of the turn.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub turn_id: String,
    /// The channel: `cli`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub channel: String,
    /// The account on the channel.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub account: String,
    /// The conversation on the channel: `direct`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub chat_id: String,
    /// The thread of the conversation.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub topic_id: String,
    /// The server or workspace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub space_id: String,
    /// The kind of that space.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub space_type: String,
    /// `direct`, `group` or `channel`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub chat_type: String,
    /// The sender's id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sender_id: String,
    /// The id of the message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message_id: String,
}

/// The correlation of an event. Absent parts are unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EventCorrelation {
    /// The place in the turn: `meta.TracePath` of other calls.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub trace_id: String,
    /// The parent turn.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub parent_turn_id: String,
    /// The request that the event belongs to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request_id: String,
    /// The message that the event replies to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reply_to_id: String,
}

/// Further attributes of an event of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EventAttributes {
    /// The acting part: `meta.Source` of other calls.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent_source: String,
    /// The number of the request to the model in the turn; absent before the first.
    #[serde(skip_serializing_if = "is_zero")]
    pub iteration: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl TurnEvent {
    /// Converts the event to the form of PicoClaw since 0.2.9, as the `number`th event of its
    /// process.
    ///
    /// # Errors
    /// None for values that this crate can build; callers must not rely on that.
    pub fn to_runtime_event(&self, number: u64) -> Result<RuntimeEvent, serde_json::Error> {
        let kind = self.payload.kind();
        let TurnMeta { agent_id, turn_id, parent_turn_id, session_key, iteration, source, .. } = &self.meta;
        let attrs = EventAttributes { agent_source: source.clone(), iteration: *iteration };
        Ok(RuntimeEvent {
            id: format!("evt-{number}"),
            kind: kind.name().to_owned(),
            time: self.time.clone(),
            source: EventSource { component: "agent".to_owned(), name: agent_id.clone() },
            scope: EventScope {
                agent_id: agent_id.clone(),
                session_key: session_key.clone(),
                turn_id: turn_id.clone(),
                ..self.inbound_scope()
            },
            correlation: EventCorrelation {
                trace_id: self.trace_path().to_owned(),
                parent_turn_id: parent_turn_id.clone(),
                ..EventCorrelation::default()
            },
            severity: Some(self.payload.severity()),
            payload: Some(RawJson::from_value(&self.payload)?),
            attrs: (attrs != EventAttributes::default()).then_some(attrs),
        })
    }

    pub(super) fn trace_path(&self) -> &str {
        match self.meta.trace_path.as_str() {
            "" => self.payload.kind().trace_path(),
            path => path,
        }
    }

    fn inbound_scope(&self) -> EventScope {
        let Some(inbound) = self.context.as_ref().and_then(|context| context.inbound.clone()) else {
            return EventScope::default();
        };
        EventScope {
            channel: inbound.channel,
            account: inbound.account,
            chat_id: inbound.chat_id,
            topic_id: inbound.topic_id,
            space_id: inbound.space_id,
            space_type: inbound.space_type,
            chat_type: inbound.chat_type,
            sender_id: inbound.sender_id,
            message_id: inbound.message_id,
            ..EventScope::default()
        }
    }
}
