//! The sizes and counts of this crate that bound what a session file contains. Other limits are beside their code.

use crate::json_shape::ShapeLimits;

/// The bytes of one line of a session: 32 MiB. A prompt with its images has at most 16 MiB, the line of a client; a
/// result of a tool 8 MiB, the line of an extension; and an answer 4 MiB, which escapes can make six times longer. A
/// longer line is damaged or made by another program; it is skipped without keeping it in memory.
pub(crate) const MAX_SESSION_LINE: usize = 32 * 1024 * 1024;

/// The shape of one line of a session. A parsed value needs about 30 bytes, so the values of a line need 12 MB beside
/// its text. The frame of an extension has at most 200,000 values and keys, and an event of an answer 50,000.
pub(crate) const SESSION_LINE_SHAPE: ShapeLimits = ShapeLimits { depth: 128, values: 400_000 };

/// The repairs of a session that are listed; further ones are counted. A person reads a few.
pub(crate) const MAX_REPAIRS: usize = 20;

/// The damaged lines that are searched for the lost parent of an entry. Each lost parent searches all of them.
pub(crate) const MAX_DAMAGED: usize = 100;
