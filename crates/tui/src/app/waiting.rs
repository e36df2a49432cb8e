//! What the person said and nobody has read yet, as it is shown.

use crate::queue::When;

use super::state::State;

/// What something waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// The agent's next step.
    Step,
    /// That the agent is done.
    Done,
    /// The person's next prompt.
    Prompt,
    /// A session and its conversation.
    Session,
}

impl State {
    /// What waits, in the order in which it is read. A command of the person's is what it was, not what it printed.
    pub(super) fn waiting(&self) -> Vec<(Until, String)> {
        let works = self.work.is_on();
        let at_agent = self.queue.waiting().map(|waiting| {
            let until = match (waiting.when, waiting.shell) {
                (When::FollowUp, _) => Until::Done,
                (When::Now | When::Steer, true) if !works => Until::Prompt,
                (When::Now | When::Steer, _) => Until::Step,
            };
            let mark = if waiting.shell { "!" } else { "" };
            (until, format!("{mark}{}", waiting.text))
        });
        let unsent = self.held.unsent.iter().map(|unsent| (Until::Session, unsent.submission.text.clone()));
        at_agent.chain(unsent).collect()
    }
}
