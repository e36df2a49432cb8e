//! How it is told that a request is sent again.

use std::time::Duration;

use haft_protocol::event::{AgentEvent, RetryReason};

use crate::model::ModelErrorKind;

/// The event of an attempt that failed.
pub(super) fn again(
    attempt: u32,
    delay: Duration,
    message: String,
    max_attempts: u32,
    kind: ModelErrorKind,
) -> AgentEvent {
    let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    AgentEvent::Retry { attempt, delay_ms, message, max_attempts: Some(max_attempts), reason: reason(kind) }
}

fn reason(kind: ModelErrorKind) -> Option<RetryReason> {
    match kind {
        ModelErrorKind::RateLimited => Some(RetryReason::RateLimited),
        ModelErrorKind::Unavailable => Some(RetryReason::Unavailable),
        ModelErrorKind::Connection | ModelErrorKind::Truncated => Some(RetryReason::Connection),
        ModelErrorKind::Auth
        | ModelErrorKind::Rejected
        | ModelErrorKind::Overflow
        | ModelErrorKind::Cancelled => None,
    }
}
