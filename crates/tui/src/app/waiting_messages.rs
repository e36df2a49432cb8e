//! The queued messages of the user, as they are shown.

use crate::queue::{DeliveryTime, MessageQueue};

use super::deferred_input::DeferredInput;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeliveryPoint {
    Step,
    Done,
    Prompt,
    Session,
}

/// Returns the queued messages in the order of delivery. A shell command is shown as it was typed, without its output.
pub(super) fn list_waiting_messages(
    queue: &MessageQueue,
    deferred: &DeferredInput,
    works: bool,
) -> Vec<(DeliveryPoint, String)> {
    let queued = queue.waiting_messages().map(|waiting| {
        let until = match (waiting.when, waiting.shell) {
            (DeliveryTime::FollowUp, _) => DeliveryPoint::Done,
            (DeliveryTime::Now | DeliveryTime::Steer, true) if !works => DeliveryPoint::Prompt,
            (DeliveryTime::Now | DeliveryTime::Steer, _) => DeliveryPoint::Step,
        };
        let mark = if waiting.shell { "!" } else { "" };
        (until, format!("{mark}{}", waiting.text))
    });
    let unsent =
        deferred.unsent.iter().map(|unsent| (DeliveryPoint::Session, unsent.submission.text.clone()));
    queued.chain(unsent).collect()
}
