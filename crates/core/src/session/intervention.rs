//! Interventions of extensions in a call, a message or a turn, as the log records them for people.
//!
//! The transcript has the call as the model wrote it and the result as the model was told it; who came between the two
//! is in neither. It has the message that the model wrote, and not that the user saw another one.

use haft_protocol::ids::ToolCallId;
use haft_protocol::{RawJson, names};
use serde::{Deserialize, Serialize};

use super::entry::Custom;

/// The owner of what haft itself keeps beside the transcript; no extension has this name.
pub const OWNER: &str = names::HAFT;

const KIND: &str = "intervention";

/// Something that did not go its usual way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookIntervention {
    /// The call; none when it was no call but the model's last message, or the turn.
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
    /// The call did not run.
    Blocked,
    /// The call did not run; somebody else gave the result.
    Answered,
    /// The call ran with other arguments.
    Rewritten,
    /// The turn ended; with a call, that one did not run, and without one the model was not asked.
    TurnEnded,
    /// The call ran, and the model was told another result than the tool's.
    Edited,
    /// The user was shown another text than the model wrote in its last message.
    Replaced,
    /// The user was not shown the model's last message.
    Suppressed,
    /// The model's last message is not as the model wrote it.
    AnswerEdited,
    /// The model answered, and what it said is not part of the conversation.
    AnswerDropped,
    /// Everything since the user's last message is left out of the conversation.
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
            Self::Replaced => "shown otherwise by",
            Self::Suppressed => "not shown because of",
            Self::AnswerEdited => "answer changed by",
            Self::AnswerDropped => "answer dropped by",
            Self::Discarded => "turn discarded by",
        }
    }

    /// True if the tool did not run because of it.
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
    /// As an entry; none if it has no form on disk.
    pub fn to_custom(&self) -> Option<Custom> {
        let data = RawJson::from_value(self).ok()?;
        Some(Custom { owner: OWNER.to_owned(), kind: KIND.to_owned(), data })
    }

    /// Out of an entry, if it is one.
    pub fn from_custom(custom: &Custom) -> Option<Self> {
        let is_one = custom.owner == OWNER && custom.kind == KIND;
        is_one.then(|| custom.data.read().ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_again() {
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
