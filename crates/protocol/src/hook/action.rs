//! The actions that a reply of an interceptor names.

use serde::{Deserialize, Serialize};

/// What a hook wants to happen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Go on, with what the payload changes. An empty action means the same.
    #[default]
    Continue,
    /// Go on, with what the payload changes.
    Modify,
    /// `before_tool`: the tool does not run, this is its result.
    Respond,
    /// `before_tool`: the tool does not run.
    DenyTool,
    /// The turn ends with an error.
    AbortTurn,
    /// The turn ends and nothing of it stays.
    HardAbort,
}

impl Action {
    /// Every action.
    pub const ALL: &'static [Self] =
        &[Self::Continue, Self::Modify, Self::Respond, Self::DenyTool, Self::AbortTurn, Self::HardAbort];

    /// The action of that name; the empty one is [`Continue`](Self::Continue).
    pub fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().copied().find(|action| action.name() == name);
        found.or_else(|| name.is_empty().then_some(Self::Continue))
    }

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Modify => "modify",
            Self::Respond => "respond",
            Self::DenyTool => "deny_tool",
            Self::AbortTurn => "abort_turn",
            Self::HardAbort => "hard_abort",
        }
    }
}
