//! The whole interface: scripts of events, and what comes of them.

mod commands;
mod fake;
mod inline;
mod lines;
mod random;
mod screens;
mod sessions;
mod settings;
mod typing;
