//! Behaviour of the agent seen from outside: a scripted model, real tools and hooks, the events in order.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod cancellation;
mod compaction;
mod fake;
mod gates;
mod messages;
mod queues;
mod sanitize;
mod steps;
mod tools;
