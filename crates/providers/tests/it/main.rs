//! The providers against a model server on loopback, every dialect through the same scenarios.

mod answers;
mod cancelling;
mod choosing;
mod failures;
mod history;
mod requests;
mod scripted;
mod secrets;
mod support;
