//! Every question is answered exactly once, whatever becomes of its handler.

use std::marker::PhantomData;

use haft_protocol::ext::{
    AssistantMessageDecision, BeforeAgentStartDecision, BeforeCompactDecision, CallTool, CommandAction,
    CommandCompletionsResponse, CompleteCommand, EventInterceptResponse, ExtensionFrame, Hook,
    InterceptAssistantMessage, InterceptBeforeAgentStart, InterceptBeforeCompact, InterceptToolCall,
    InterceptTurnStart, InvokeCommand, ToolCallDecision, TurnStartDecision,
};
use haft_protocol::ids::RequestId;

use crate::completion::Completion;
use crate::extension::GateDecision;
use crate::handler::Failure;
use crate::logging::log;
use crate::outbox::Outbox;
use crate::tool::ToolResult;

/// A question the host asks: how its answer looks on the wire, and what is answered when there is none.
pub(crate) trait Question {
    type Answer: Send + 'static;

    fn frame(answer: Self::Answer, id: RequestId) -> ExtensionFrame;

    fn failed(reason: String, id: RequestId) -> ExtensionFrame;
}

impl Question for InvokeCommand {
    type Answer = CommandAction;

    fn frame(answer: CommandAction, id: RequestId) -> ExtensionFrame {
        answer.respond(id).into()
    }

    fn failed(reason: String, id: RequestId) -> ExtensionFrame {
        Self::frame(CommandAction::Failed(reason), id)
    }
}

impl Question for CompleteCommand {
    type Answer = Vec<Completion>;

    fn frame(items: Vec<Completion>, id: RequestId) -> ExtensionFrame {
        let items = items.into_iter().map(Into::into).collect();
        CommandCompletionsResponse { id, items }.into()
    }

    // Whoever types is not stopped by it: the log says why there is nothing.
    fn failed(reason: String, id: RequestId) -> ExtensionFrame {
        log(format_args!("completion failed: {reason}"));
        Self::frame(Vec::new(), id)
    }
}

impl Question for CallTool {
    type Answer = ToolResult;

    fn frame(answer: ToolResult, id: RequestId) -> ExtensionFrame {
        answer.respond(id).into()
    }

    fn failed(reason: String, id: RequestId) -> ExtensionFrame {
        Self::frame(ToolResult::error(reason), id)
    }
}

macro_rules! hook_questions {
    ($($hook:ident -> $decision:ident;)*) => { $(
        impl Question for $hook {
            type Answer = $decision;

            fn frame(answer: $decision, id: RequestId) -> ExtensionFrame {
                <$hook as Hook>::respond(answer, id).into()
            }

            // What a failure means is the host's to say: a gate keeps shut, others let pass, the user is told.
            fn failed(reason: String, id: RequestId) -> ExtensionFrame {
                EventInterceptResponse::failed(<$hook as Hook>::KIND, id, reason).into()
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
}

/// A tool call that a gate is asked about: it says yes or no in so many words.
pub(crate) enum GateQuestion {}

impl Question for GateQuestion {
    type Answer = GateDecision;

    fn frame(answer: GateDecision, id: RequestId) -> ExtensionFrame {
        let (block, reason) = match answer {
            GateDecision::Allow => (false, String::new()),
            GateDecision::Block { reason } => (true, reason),
        };
        EventInterceptResponse { block: Some(block), reason, ..EventInterceptResponse::pass(id) }.into()
    }

    fn failed(reason: String, id: RequestId) -> ExtensionFrame {
        <InterceptToolCall as Question>::failed(reason, id)
    }
}

/// The duty to answer one question. Dropping it unanswered answers that the handler failed.
#[must_use = "dropping it answers that the handler failed"]
pub(crate) struct Responder<Q: Question> {
    outbox: Outbox,
    /// `None` once answered.
    id: Option<RequestId>,
    question: PhantomData<fn(Q)>,
}

impl<Q: Question> Responder<Q> {
    pub(crate) fn new(outbox: Outbox, id: RequestId) -> Self {
        Self { outbox, id: Some(id), question: PhantomData }
    }

    pub(crate) fn respond(mut self, outcome: Result<Q::Answer, Failure>) {
        self.settle(outcome);
    }

    fn settle(&mut self, outcome: Result<Q::Answer, Failure>) {
        let Some(id) = self.id.take() else { return };
        let frame = match outcome {
            Ok(answer) => Q::frame(answer, id.clone()),
            Err(Failure(reason)) => Q::failed(reason, id.clone()),
        };
        if let Err(error) = self.outbox.send(frame) {
            self.outbox.push(Q::failed(error.to_string(), id));
        }
    }
}

impl<Q: Question> Drop for Responder<Q> {
    fn drop(&mut self) {
        self.settle(Err(Failure("handler was stopped before it answered".to_owned())));
    }
}
