//! Whole conversations: what a client says and what it hears, as it stands on the wire.

mod broken;
mod dialogs;
mod end;
mod extensions;
mod local;
mod names;
mod prompts;
mod queue;
mod random;
mod refusals;
mod sessions;
mod setup;
mod slow;
mod steering;
