//! Every question is answered exactly once, whatever becomes of its handler.

use std::marker::PhantomData;

use haft_protocol::event::Level;
use haft_protocol::ext::{
    AssistantMessageDecision, BeforeAgentStartDecision, CallTool, CommandAction, ExtensionFrame, Hook,
    InterceptAssistantMessage, InterceptBeforeAgentStart, InterceptToolCall, InterceptTurnStart,
    InvokeCommand, Notify, ToolCallDecision, TurnStartDecision,
};
use haft_protocol::ids::RequestId;

use crate::handler::Failure;
use crate::outbox::Outbox;
use crate::tool::ToolResult;

/// A question the host asks: how its answer looks on the wire, and what is answered when there is none.
pub(crate) trait Question {
    /// What a handler answers.
    type Answer: Send + 'static;

    /// The hook's name, where a failure lets things pass, so that the user must be told in a note.
    const PASSES: Option<&'static str>;

    /// The frame of an answer.
    fn frame(answer: Self::Answer, id: RequestId) -> ExtensionFrame;

    /// What is answered when the handler failed.
    fn failed(reason: String) -> Self::Answer;
}

impl Question for InvokeCommand {
    type Answer = CommandAction;

    const PASSES: Option<&'static str> = None;

    fn frame(answer: CommandAction, id: RequestId) -> ExtensionFrame {
        answer.respond(id).into()
    }

    fn failed(reason: String) -> CommandAction {
        CommandAction::Failed(reason)
    }
}

impl Question for CallTool {
    type Answer = ToolResult;

    const PASSES: Option<&'static str> = None;

    fn frame(answer: ToolResult, id: RequestId) -> ExtensionFrame {
        answer.respond(id).into()
    }

    fn failed(reason: String) -> ToolResult {
        ToolResult::error(reason)
    }
}

macro_rules! hook_questions {
    ($($hook:ident -> $decision:ident, $passes:expr, $failed:expr;)*) => { $(
        impl Question for $hook {
            type Answer = $decision;

            const PASSES: Option<&'static str> = $passes;

            fn frame(answer: $decision, id: RequestId) -> ExtensionFrame {
                <$hook as Hook>::respond(answer, id).into()
            }

            fn failed(reason: String) -> $decision {
                $failed(reason)
            }
        }
    )* };
}

// A gate that broke keeps shut; the others would only punish the user for the author's mistake.
hook_questions! {
    InterceptToolCall -> ToolCallDecision, None, ToolCallDecision::block;
    InterceptTurnStart -> TurnStartDecision, Some("turn_start"), |_| TurnStartDecision::Allow;
    InterceptAssistantMessage -> AssistantMessageDecision, Some("assistant_message"), |_| AssistantMessageDecision::Show;
    InterceptBeforeAgentStart -> BeforeAgentStartDecision, Some("before_agent_start"), |_| BeforeAgentStartDecision::Unchanged;
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

    /// Answers with what the handler came to.
    pub(crate) fn respond(mut self, outcome: Result<Q::Answer, Failure>) {
        self.settle(outcome);
    }

    fn settle(&mut self, outcome: Result<Q::Answer, Failure>) {
        let Some(id) = self.id.take() else { return };
        let answer = outcome.unwrap_or_else(|Failure(reason)| self.fail(reason));
        if let Err(error) = self.outbox.send(Q::frame(answer, id.clone())) {
            let answer = self.fail(error.to_string());
            self.outbox.push(Q::frame(answer, id));
        }
    }

    fn fail(&self, reason: String) -> Q::Answer {
        if let Some(hook) = Q::PASSES {
            let message = format!("{hook} intercept failed, passed unchanged: {reason}");
            self.outbox.push(Notify { level: Level::Error, message });
        }
        Q::failed(reason)
    }
}

impl<Q: Question> Drop for Responder<Q> {
    fn drop(&mut self) {
        self.settle(Err(Failure("handler was stopped before it answered".to_owned())));
    }
}
