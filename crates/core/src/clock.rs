//! The clock that stamps messages and entries where the embedder gives none.

use haft_protocol::message::Time;

/// Returns the current time in the form of all time stamps.
pub(crate) fn now() -> Time {
    let now = jiff::Timestamp::now();
    Time(format!("{now:.3}"))
}
