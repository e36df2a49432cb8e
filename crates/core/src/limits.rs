//! The sizes and counts of this crate that bound what a session file contains. Other limits are beside their code.

/// The bytes of one line of a session: 64 MiB, enough for a message with nine images of 5 MiB. A longer line is damaged
/// or made by another program; it is skipped without keeping it in memory.
pub(crate) const MAX_SESSION_LINE: usize = 64 * 1024 * 1024;

/// The repairs of a session that are listed; further ones are counted. A person reads a few.
pub(crate) const MAX_REPAIRS: usize = 20;

/// The damaged lines that are searched for the lost parent of an entry. Each lost parent searches all of them.
pub(crate) const MAX_DAMAGED: usize = 100;
