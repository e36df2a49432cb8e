//! Interventions of extensions in a call, a message or a turn, as the log records them for people.
//!
//! The transcript contains the model's call and the final result, but not the extensions in between. It contains the
//! model's message, even if the user saw another text.

use haft_protocol::ids::ToolCallId;
use haft_protocol::{RawJson, names};
use serde::{Deserialize, Serialize};

use super::entry::Custom;

/// The owner of haft's own records beside the transcript; no extension has this name.
pub const OWNER: &str = names::HAFT;

const KIND: &str = "intervention";

/// An intervention of hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HookIntervention {
    /// The call; `None` if the intervention concerns the model's last message or the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<ToolCallId>,
    /// The action.
    pub action: InterventionAction,
    /// The extensions, in order.
    pub by: Vec<String>,
}

/// The kind of an intervention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterventionAction {
    /// A hook blocked the call.
    Blocked,
    /// The call did not run; an extension returned the result.
    Answered,
    /// The call ran with other arguments.
    Rewritten,
    /// A hook ended the turn. A call, if there is one, did not run; otherwise no request was sent.
    TurnEnded,
    /// The call ran, and a hook changed the result for the model.
    Edited,
    /// A hook replaced the text of the model's last message for the user.
    Replaced,
    /// A hook hid the model's last message from the user.
    Suppressed,
    /// A hook changed the model's last message.
    AnswerEdited,
    /// The model answered, and a hook removed the answer from the conversation.
    AnswerDropped,
    /// A hook removed everything since the user's last message from the conversation.
    Discarded,
}

impl InterventionAction {
    /// Returns the verb before the names of the extensions.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Blocked => "blocked by",
            Self::Answered => "answered by",
            Self::Rewritten => "rewritten by",
            Self::TurnEnded => "turn ended by",
            Self::Edited => "result changed by",
            Self::Replaced => "message replaced by",
            Self::Suppressed => "message hidden by",
            Self::AnswerEdited => "answer changed by",
            Self::AnswerDropped => "answer dropped by",
            Self::Discarded => "turn discarded by",
        }
    }

    /// True if the intervention prevented the tool from running.
    pub fn is_stop(self) -> bool {
        match self {
            Self::Blocked | Self::Answered | Self::TurnEnded => true,
            Self::Rewritten
            | Self::Edited
            | Self::Replaced
            | Self::Suppressed
            | Self::AnswerEdited
            | Self::AnswerDropped
            | Self::Discarded => false,
        }
    }
}

impl HookIntervention {
    /// Creates an intervention outside of a tool call.
    pub fn new(action: InterventionAction, by: Vec<String>) -> Self {
        Self { call_id: None, action, by }
    }

    /// Converts to an entry; `None` if it cannot be serialized.
    pub fn to_custom(&self) -> Option<Custom> {
        let data = RawJson::from_value(self).ok()?;
        Some(Custom { owner: OWNER.to_owned(), kind: KIND.to_owned(), data, answer: None })
    }

    /// Converts from an entry; `None` if the entry is not an intervention.
    pub fn from_custom(custom: &Custom) -> Option<Self> {
        let is_one = custom.owner == OWNER && custom.kind == KIND;
        is_one.then(|| custom.data.read().ok()).flatten()
    }

    /// Sets [`call_id`](Self::call_id).
    #[must_use]
    pub fn with_call_id(self, call_id: impl Into<Option<ToolCallId>>) -> Self {
        Self { call_id: call_id.into(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervention_round_trips() {
        let blocked = HookIntervention {
            call_id: Some(ToolCallId::new("call_1")),
            action: InterventionAction::TurnEnded,
            by: vec!["guard".to_owned()],
        };
        let custom = blocked.to_custom().unwrap();
        assert_eq!(custom.data.as_str(), r#"{"call_id":"call_1","action":"turn_ended","by":["guard"]}"#);
        assert_eq!(HookIntervention::from_custom(&custom), Some(blocked.clone()));
        let turn = HookIntervention { call_id: None, ..blocked };
        let data = turn.to_custom().unwrap().data;
        assert_eq!(data.as_str(), r#"{"action":"turn_ended","by":["guard"]}"#);
        assert_eq!(HookIntervention::from_custom(&Custom { data, ..custom.clone() }), Some(turn));
        assert_eq!(HookIntervention::from_custom(&Custom { owner: "guard".to_owned(), ..custom }), None);
    }
}
