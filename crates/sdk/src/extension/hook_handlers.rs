//! The handlers of hooks with a decision, except `tool_call`, which may have several.

use haft_protocol::ext::{
    ApproveDecision, AssistantMessageDecision, BeforeAgentStartDecision, BeforeCompactDecision,
    BeforeForkDecision, BeforeProviderRequestDecision, BeforeSettleDecision, BeforeSwitchDecision,
    BeforeTreeDecision, ContextDecision, InputDecision, InterceptApprove, InterceptAssistantMessage,
    InterceptBeforeAgentStart, InterceptBeforeCompact, InterceptBeforeFork, InterceptBeforeProviderRequest,
    InterceptBeforeSettle, InterceptBeforeSwitch, InterceptBeforeTree, InterceptContext, InterceptHook,
    InterceptInput, InterceptKind, InterceptMessageEnd, InterceptProjectTrust, InterceptResources,
    InterceptToolResult, InterceptTurnStart, InterceptUserBash, MessageEndDecision, ProjectTrustDecision,
    ResourcesDecision, ToolResultDecision, TurnStartDecision, UserBashDecision,
};

use crate::handler::BoxedHandler;

macro_rules! hook_handlers {
    ($($field:ident: $question:ident -> $decision:ident,)*) => {
        /// One handler for each hook.
        #[derive(Debug, Default)]
        pub(crate) struct HookHandlers {
            $(pub(crate) $field: Option<BoxedHandler<$question, $decision>>,)*
        }

        impl HookHandlers {
            /// Returns the hooks with a handler.
            pub(crate) fn subscribed_kinds(&self) -> impl Iterator<Item = InterceptKind> {
                let kinds = [$((self.$field.is_some(), $question::KIND),)*];
                kinds.into_iter().filter_map(|(present, kind)| present.then_some(kind))
            }
        }
    };
}

hook_handlers! {
    turn_start: InterceptTurnStart -> TurnStartDecision,
    assistant_message: InterceptAssistantMessage -> AssistantMessageDecision,
    before_agent_start: InterceptBeforeAgentStart -> BeforeAgentStartDecision,
    before_compact: InterceptBeforeCompact -> BeforeCompactDecision,
    tool_result: InterceptToolResult -> ToolResultDecision,
    input: InterceptInput -> InputDecision,
    before_settle: InterceptBeforeSettle -> BeforeSettleDecision,
    context: InterceptContext -> ContextDecision,
    message_end: InterceptMessageEnd -> MessageEndDecision,
    user_bash: InterceptUserBash -> UserBashDecision,
    before_switch: InterceptBeforeSwitch -> BeforeSwitchDecision,
    before_fork: InterceptBeforeFork -> BeforeForkDecision,
    before_tree: InterceptBeforeTree -> BeforeTreeDecision,
    resources: InterceptResources -> ResourcesDecision,
    approve: InterceptApprove -> ApproveDecision,
    project_trust: InterceptProjectTrust -> ProjectTrustDecision,
    before_provider_request: InterceptBeforeProviderRequest -> BeforeProviderRequestDecision,
}
