//! Integration tests of the agent with a scripted model, real tools and hooks, and checks of the events in order.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test picks the one kind it is about")]

mod approvals;
mod branches;
mod cancellation;
mod canonical;
mod compaction;
mod custom_messages;
mod discards;
mod displays;
mod embedder;
mod entry_store;
mod fake;
mod function_tools;
mod gates;
mod handles;
mod inputs;
mod interrupts;
mod interventions;
mod messages;
mod mishaps;
mod options;
mod outputs;
mod panics;
mod patience;
mod queues;
mod renames;
mod requests;
mod responses;
mod sanitize;
mod schema;
mod session_reader;
mod session_records;
mod sessions;
mod settling;
mod small_window;
mod starts;
mod steps;
mod sub_agents;
mod tools;
mod waits;
