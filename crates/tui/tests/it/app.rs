//! The whole interface: scripts of events and their effects.

mod commands;
mod completions;
mod connecting;
mod deferred_input;
mod fake;
mod inline;
mod leaving;
mod lines;
mod panels;
mod random;
mod refused;
mod reports;
mod screens;
mod sessions;
mod settings;
mod stray_keys;
mod typing;
mod unsent_text;
