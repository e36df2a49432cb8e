//! Integration tests of the providers against a model server on loopback, with the same scenarios for every dialect.

#![expect(clippy::unwrap_used, reason = "helpers of tests, not only tests, stop at the first surprise")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test picks the one event it is about")]

mod answers;
mod cancelling;
mod chat_only;
mod choosing;
mod clients;
mod failures;
mod fallback;
mod floods;
mod history;
mod interrupted;
mod models;
mod native;
mod options;
mod outputs;
mod placing;
mod requests;
mod scripted;
mod secrets;
mod support;
