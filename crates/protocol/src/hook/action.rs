//! The actions that a reply of an interceptor names.

use crate::named_enum::named_enum;

named_enum! {
    /// What a hook wants to happen.
    #[derive(Default)]
    pub enum HookAction {
        /// Go on, with what the payload changes. An empty action means the same.
        #[default]
        Continue = "continue",
        /// Go on, with what the payload changes.
        Modify = "modify",
        /// `before_tool`: the tool does not run, this is its result.
        Respond = "respond",
        /// `before_tool`: the tool does not run.
        DenyTool = "deny_tool",
        /// The turn ends with an error.
        AbortTurn = "abort_turn",
        /// The turn ends and nothing of it stays.
        HardAbort = "hard_abort",
    }
}
