//! What extensions did to a tool call, as it stands in the log for people who read it.
//!
//! The transcript has the call as the model wrote it and the result as the model was told it. Who came between the two
//! is in neither.

use haft_protocol::ids::ToolCallId;
use haft_protocol::{RawJson, names};
use serde::{Deserialize, Serialize};

use super::entry::Custom;

/// The owner of what haft itself keeps beside the transcript; no extension has this name.
pub const OWNER: &str = names::HAFT;

const KIND: &str = "intervention";

/// One call that did not go its usual way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervention {
    /// The call.
    pub call_id: ToolCallId,
    /// What was done to it.
    pub action: Action,
    /// Who did it, in order.
    pub by: Vec<String>,
}

/// What was done to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It did not run.
    Blocked,
    /// It did not run; somebody else gave the result.
    Answered,
    /// It ran with other arguments.
    Rewritten,
    /// It did not run, and the turn ended with it.
    TurnEnded,
}

impl Intervention {
    /// As an entry; none if it has no form on disk.
    pub fn to_custom(&self) -> Option<Custom> {
        let data = RawJson::from_value(self).ok()?;
        Some(Custom { owner: OWNER.to_owned(), kind: KIND.to_owned(), data })
    }

    /// Out of an entry, if it is one.
    pub fn of(custom: &Custom) -> Option<Self> {
        let is_one = custom.owner == OWNER && custom.kind == KIND;
        is_one.then(|| custom.data.read().ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_again() {
        let blocked = Intervention {
            call_id: ToolCallId::new("call_1"),
            action: Action::TurnEnded,
            by: vec!["guard".to_owned()],
        };
        let custom = blocked.to_custom().unwrap();
        assert_eq!(custom.data.as_str(), r#"{"call_id":"call_1","action":"turn_ended","by":["guard"]}"#);
        assert_eq!(Intervention::of(&custom), Some(blocked));
        assert_eq!(Intervention::of(&Custom { owner: "guard".to_owned(), ..custom }), None);
    }
}
