//! Guarantees exactly one response to every request, even if its handler fails.

use std::marker::PhantomData;

use haft_protocol::ext::{
    ApproveDecision, AssistantMessageDecision, BeforeAgentStartDecision, BeforeCompactDecision,
    BeforeForkDecision, BeforeProviderRequestDecision, BeforeSettleDecision, BeforeSwitchDecision,
    BeforeTreeDecision, CallTool, CommandAction, CommandCompletionsResponse, ContextDecision,
    EventInterceptResponse, ExtensionCallResult, ExtensionFrame, InputDecision, InterceptAgentEnd,
    InterceptAgentStart, InterceptApprove, InterceptAssistantMessage, InterceptBeforeAgentStart,
    InterceptBeforeCompact, InterceptBeforeFork, InterceptBeforeProviderRequest, InterceptBeforeSettle,
    InterceptBeforeSwitch, InterceptBeforeTree, InterceptContext, InterceptHook, InterceptInput,
    InterceptMessageEnd, InterceptMessageStart, InterceptProjectTrust, InterceptResources,
    InterceptSessionShutdown, InterceptSessionStart, InterceptToolCall, InterceptToolEnd,
    InterceptToolResult, InterceptTurnEnd, InterceptTurnStart, InterceptUserBash, InvokeCommand,
    MessageEndDecision, PressShortcut, ProjectTrustDecision, QueryCompletions, ResourcesDecision,
    ToolCallDecision, ToolResultDecision, TurnStartDecision, UserBashDecision,
};
use haft_protocol::ids::RequestId;

use crate::completion::Completion;
use crate::extension::GateDecision;
use crate::handler::HandlerFailure;
use crate::logging::log;
use crate::outbox::FrameOutbox;
use crate::tool::ToolResult;

/// A request of the host: the wire form of its response, and the response after a failure.
pub(crate) trait HostQuestion {
    type Answer: Send + 'static;

    fn answer_frame(answer: Self::Answer, id: RequestId) -> ExtensionFrame;

    fn failure_frame(reason: String, id: RequestId) -> ExtensionFrame;
}

impl HostQuestion for InvokeCommand {
    type Answer = CommandAction;

    fn answer_frame(answer: CommandAction, id: RequestId) -> ExtensionFrame {
        answer.into_response(id).into()
    }

    fn failure_frame(reason: String, id: RequestId) -> ExtensionFrame {
        Self::answer_frame(CommandAction::Failed(reason), id)
    }
}

impl HostQuestion for QueryCompletions {
    type Answer = Vec<Completion>;

    fn answer_frame(items: Vec<Completion>, id: RequestId) -> ExtensionFrame {
        let items = items.into_iter().map(Into::into).collect();
        CommandCompletionsResponse { id, items }.into()
    }

    // A failed completion must not disturb the user who types, so only the log reports it.
    fn failure_frame(reason: String, id: RequestId) -> ExtensionFrame {
        log(format_args!("completion failed: {reason}"));
        Self::answer_frame(Vec::new(), id)
    }
}

impl HostQuestion for PressShortcut {
    type Answer = ();

    fn answer_frame((): (), id: RequestId) -> ExtensionFrame {
        ExtensionCallResult { id, error: String::new() }.into()
    }

    fn failure_frame(error: String, id: RequestId) -> ExtensionFrame {
        ExtensionCallResult { id, error }.into()
    }
}

impl HostQuestion for CallTool {
    type Answer = ToolResult;

    fn answer_frame(answer: ToolResult, id: RequestId) -> ExtensionFrame {
        answer.into_frame(id).into()
    }

    fn failure_frame(reason: String, id: RequestId) -> ExtensionFrame {
        Self::answer_frame(ToolResult::error(reason), id)
    }
}

macro_rules! hook_questions {
    ($($hook:ident -> $decision:ty;)*) => { $(
        impl HostQuestion for $hook {
            type Answer = $decision;

            fn answer_frame(answer: $decision, id: RequestId) -> ExtensionFrame {
                $hook::respond(answer, id).into()
            }

            // The host decides what a failure means: a gate blocks, other hooks pass, and the user
            // is told.
            fn failure_frame(reason: String, id: RequestId) -> ExtensionFrame {
                EventInterceptResponse::failed($hook::KIND, id, reason).into()
            }
        }
    )* };
}

hook_questions! {
    InterceptToolCall -> ToolCallDecision;
    InterceptTurnStart -> TurnStartDecision;
    InterceptAssistantMessage -> AssistantMessageDecision;
    InterceptBeforeAgentStart -> BeforeAgentStartDecision;
    InterceptBeforeCompact -> BeforeCompactDecision;
    InterceptSessionStart -> ();
    InterceptSessionShutdown -> ();
    InterceptAgentStart -> ();
    InterceptAgentEnd -> ();
    InterceptTurnEnd -> ();
    InterceptMessageStart -> ();
    InterceptToolEnd -> ();
    InterceptToolResult -> ToolResultDecision;
    InterceptInput -> InputDecision;
    InterceptMessageEnd -> MessageEndDecision;
    InterceptUserBash -> UserBashDecision;
    InterceptBeforeSwitch -> BeforeSwitchDecision;
    InterceptBeforeFork -> BeforeForkDecision;
    InterceptBeforeTree -> BeforeTreeDecision;
    InterceptResources -> ResourcesDecision;
    InterceptApprove -> ApproveDecision;
    InterceptProjectTrust -> ProjectTrustDecision;
    InterceptBeforeProviderRequest -> BeforeProviderRequestDecision;
    InterceptContext -> ContextDecision;
    InterceptBeforeSettle -> BeforeSettleDecision;
}

/// A tool call for a gate, whose response must contain `block`.
pub(crate) enum GateQuestion {}

impl HostQuestion for GateQuestion {
    type Answer = GateDecision;

    fn answer_frame(answer: GateDecision, id: RequestId) -> ExtensionFrame {
        let (block, reason) = match answer {
            GateDecision::Allow => (false, String::new()),
            GateDecision::Block { reason } => (true, reason),
        };
        EventInterceptResponse { block: Some(block), reason, ..EventInterceptResponse::pass_through(id) }
            .into()
    }

    fn failure_frame(reason: String, id: RequestId) -> ExtensionFrame {
        <InterceptToolCall as HostQuestion>::failure_frame(reason, id)
    }
}

/// The obligation to answer one request. Dropping it reports that the handler failed.
#[must_use = "dropping it reports that the handler failed"]
pub(crate) struct QuestionResponder<Q: HostQuestion> {
    outbox: FrameOutbox,
    /// `None` after the response.
    id: Option<RequestId>,
    question: PhantomData<fn(Q)>,
}

impl<Q: HostQuestion> QuestionResponder<Q> {
    pub(crate) fn new(outbox: FrameOutbox, id: RequestId) -> Self {
        Self { outbox, id: Some(id), question: PhantomData }
    }

    pub(crate) fn respond(mut self, outcome: Result<Q::Answer, HandlerFailure>) {
        self.send_answer(outcome);
    }

    fn send_answer(&mut self, outcome: Result<Q::Answer, HandlerFailure>) {
        let Some(id) = self.id.take() else { return };
        let frame = match outcome {
            Ok(answer) => Q::answer_frame(answer, id.clone()),
            Err(HandlerFailure(reason)) => Q::failure_frame(reason, id.clone()),
        };
        if let Err(error) = self.outbox.send(frame) {
            self.outbox.push(Q::failure_frame(error.to_string(), id));
        }
    }
}

impl<Q: HostQuestion> Drop for QuestionResponder<Q> {
    fn drop(&mut self) {
        self.send_answer(Err(HandlerFailure("handler was stopped before it answered".to_owned())));
    }
}
