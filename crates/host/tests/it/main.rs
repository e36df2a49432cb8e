//! The host over extensions in memory, in virtual time, and over real processes where only they show something.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by a panic")]

mod commands;
mod hooks;
mod lifecycle;
mod misbehaviour;
mod processes;
mod scripts;
mod support;
mod tools;
