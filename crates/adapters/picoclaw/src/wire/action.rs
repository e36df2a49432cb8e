//! The actions in a reply of an interceptor.

use haft_protocol::foreign::named_enum;

named_enum! {
    /// The decision of a hook.
    #[derive(Default)]
    pub enum HookAction {
        /// Continue, with the changes in the payload. An empty action means the same.
        #[default]
        Continue = "continue",
        /// Continue, with the changes in the payload, which is required.
        Modify = "modify",
        /// `before_tool`: the tool does not run; the payload is its result.
        Respond = "respond",
        /// `before_tool`: the tool does not run.
        DenyTool = "deny_tool",
        /// The turn ends with an error.
        AbortTurn = "abort_turn",
        /// The turn ends and is removed from the conversation.
        HardAbort = "hard_abort",
    }
}
