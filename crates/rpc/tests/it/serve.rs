//! Whole conversations: what a client says and what it hears, as it stands on the wire.

mod prompts;
