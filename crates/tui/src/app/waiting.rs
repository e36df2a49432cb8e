//! The person's messages that wait for the agent, as they are shown.

use crate::queue::{DeliveryTime, MessageQueue};

use super::held::DeferredInput;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeliveryPoint {
    Step,
    Done,
    Prompt,
    Session,
}

/// Returns everything that waits, in the order in which it is read. A command of the person's is shown as it was typed,
/// without its output.
pub(super) fn list_waiting_messages(
    queue: &MessageQueue,
    held: &DeferredInput,
    works: bool,
) -> Vec<(DeliveryPoint, String)> {
    let at_agent = queue.waiting_messages().map(|waiting| {
        let until = match (waiting.when, waiting.shell) {
            (DeliveryTime::FollowUp, _) => DeliveryPoint::Done,
            (DeliveryTime::Now | DeliveryTime::Steer, true) if !works => DeliveryPoint::Prompt,
            (DeliveryTime::Now | DeliveryTime::Steer, _) => DeliveryPoint::Step,
        };
        let mark = if waiting.shell { "!" } else { "" };
        (until, format!("{mark}{}", waiting.text))
    });
    let unsent = held.unsent.iter().map(|unsent| (DeliveryPoint::Session, unsent.submission.text.clone()));
    at_agent.chain(unsent).collect()
}
