//! Whole conversations: the lines of the client and of the server.

mod broken;
mod dialogs;
mod end;
mod extension_commands;
mod extensions;
mod local;
mod names;
mod prompts;
mod queue;
mod random;
mod records;
mod refusals;
mod session_changes;
mod sessions;
mod setup;
mod slow;
mod steering;
