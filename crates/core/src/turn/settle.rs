//! The end of a run, which hooks can prevent.

use std::sync::Arc;

use haft_protocol::message::Message;

use super::TurnDriver;
use super::state::TurnInput;
use crate::hooks::{MAX_CONTINUATIONS, SettleDecision, SettlingRun};
use crate::queue::Prompt;
use crate::run_context::NoDecision;

impl TurnDriver {
    /// Takes the message of a hook or of the user that continues a run which would stop. Without one, the run ends.
    pub(super) async fn settle_run(&mut self) -> TurnInput {
        let Some(text) = self.find_continuation().await else { return self.take_queued(true) };
        self.continued += 1;
        self.mark_origin();
        let added = self.add_user_message(&Prompt::from(text));
        added.map_or_else(TurnInput::from, |()| TurnInput::Taken { any: true })
    }

    /// Asks the hooks for a message. A message of the user comes first.
    async fn find_continuation(&mut self) -> Option<String> {
        let agent = Arc::clone(&self.run.agent);
        let may_go_on = || !agent.queues.continues_run();
        if self.continued >= MAX_CONTINUATIONS || self.run.cancel.is_cancelled() || !may_go_on() {
            return None;
        }
        let settling = SettlingRun { text: self.last_text(), continued: self.continued };
        for hook in agent.current_hooks().before_settle {
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
