//! Each tool with real files and processes.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod agent;
mod bash;
mod canonical;
mod changed;
mod containment;
mod edit;
mod environment;
mod ground;
mod preview;
mod reach;
mod read;
mod sandbox;
mod search;
mod skill;
mod specs;
mod write;
