//! Sizes that both sides of a connection keep to; boundary values, in bytes unless said otherwise.

/// The longest line a peer may send at any time: 1 MiB.
pub const MAX_LINE: usize = 1024 * 1024;

/// The longest line while a tool call to that extension is open: 8 MiB, so that images fit in a result.
/// Also the longest line the host sends.
pub const MAX_RESULT_LINE: usize = 8 * 1024 * 1024;

/// Nested arrays and objects in one frame, the frame itself counted as 1.
pub const MAX_DEPTH: usize = 64;

/// Values and keys in one frame.
pub const MAX_NODES: usize = 200_000;

/// The longest description of a tool.
pub const MAX_TOOL_DESCRIPTION: usize = 4 * 1024;

/// The longest schema of a tool.
pub const MAX_TOOL_SCHEMA: usize = 64 * 1024;

/// The longest name of a tool or command, in characters.
pub const MAX_NAME: usize = 64;

/// Tools one extension may register.
pub const MAX_TOOLS: usize = 128;
