//! The end of a run, which hooks can prevent.

use std::sync::Arc;

use haft_protocol::message::Message;

use super::answer::AnswerDemand;
use crate::hooks::{BeforeSettle, MAX_CONTINUATIONS, SettleDecision, SettlingRun};
use crate::run_context::{NoDecision, RunContext};

/// A run that would stop.
pub(super) struct RunSettlement<'a> {
    pub(super) run: &'a RunContext,
    /// The number of times that hooks already made the run go on.
    pub(super) continued: u32,
}

impl RunSettlement<'_> {
    /// Returns a message to the model if its answer does not have the form that the program demands. A message of the
    /// user comes first.
    pub(super) fn find_correction(&self, demand: &mut AnswerDemand) -> Option<String> {
        if self.run.cancel.is_cancelled() || self.run.agent.queues.continues_run() {
            return None;
        }
        match self.run.agent.transcript.messages().last() {
            Some(Message::Assistant(answer)) => demand.next_correction(&answer.text()),
            // A tool has answered the prompt.
            Some(Message::User { .. } | Message::Tool(_)) | None => None,
        }
    }

    /// Asks the hooks for a message. A message of the user comes first.
    pub(super) async fn find_continuation(&self) -> Option<String> {
        let agent = Arc::clone(&self.run.agent);
        let may_go_on = || !agent.queues.continues_run();
        if self.continued >= MAX_CONTINUATIONS || self.run.cancel.is_cancelled() || !may_go_on() {
            return None;
        }
        let settling = SettlingRun { text: self.last_text(), continued: self.continued };
        for hook in agent.current_hooks::<dyn BeforeSettle>() {
            match self.run.await_decision(hook.before_settle(&self.run.cancel, &settling)).await {
                Ok(SettleDecision::GoOn { text }) if !text.trim().is_empty() => {
                    return Some(text).filter(|_| may_go_on());
                }
                Ok(SettleDecision::GoOn { .. } | SettleDecision::Settle) | Err(NoDecision::Panicked) => {}
                Err(NoDecision::Cancelled) => return None,
            }
        }
        None
    }

    /// Returns the text of the model's last answer.
    fn last_text(&self) -> String {
        let messages = self.run.agent.transcript.messages();
        let answer = messages.iter().rev().find_map(|message| match message {
            Message::Assistant(answer) => Some(answer.text()),
            Message::User { .. } | Message::Tool(_) => None,
        });
        answer.unwrap_or_default()
    }
}
