//! The whole interface: scripts of events and their effects.

mod commands;
mod completions;
mod fake;
mod held;
mod inline;
mod kept;
mod late;
mod leaving;
mod lines;
mod panels;
mod random;
mod refused;
mod screens;
mod sessions;
mod settings;
mod typing;
