//! The whole interface: scripts of events, and what comes of them.

mod commands;
mod completions;
mod fake;
mod lines;
mod random;
mod screens;
mod sessions;
mod settings;
mod typing;
