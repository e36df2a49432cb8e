//! Sizes, counts and rates that both sides of a connection keep to: the defaults of
//! [`ext::Limits`](crate::ext::Limits). The value itself is still allowed. Bytes unless said otherwise.

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

/// Tools that all extensions together can have.
pub const MAX_TOOLS_IN_ALL: usize = 512;

/// Commands one extension may register.
pub const MAX_COMMANDS: usize = 256;

/// The greatest number of candidates for one command.
pub const MAX_COMPLETIONS: usize = 100;

/// The longest text of one such item, in characters.
pub const MAX_COMPLETION_TEXT: usize = 200;

/// `host_call`s of one extension that may be under way at once.
pub const MAX_HOST_CALLS: u32 = 16;

/// Frames that may wait to be read by an extension before events are dropped.
pub const QUEUE_FRAMES: usize = 256;

/// Bytes that may wait to be read by an extension before events are dropped: 4 MiB.
pub const QUEUE_BYTES: usize = 4 * 1024 * 1024;

/// Frames a second of one extension that answer nothing, and lines that are no frames.
pub const FRAMES_PER_SECOND: u32 = 200;

/// As many of them may come at once.
pub const FRAME_BURST: u32 = 2_000;

/// Notes a second of one extension.
pub const NOTES_PER_SECOND: u32 = 10;

/// As many notes may come at once.
pub const NOTE_BURST: u32 = 50;

/// Items of one extension in the status line.
pub const MAX_STATUS_ITEMS: usize = 8;

/// The longest item in the status line, in characters.
pub const MAX_STATUS_TEXT: usize = 80;

/// Panel contents of one extension a second that are shown.
pub const PANELS_PER_SECOND: u32 = 30;

/// Bytes of standard error that are kept a second: 64 KiB.
pub const STDERR_PER_SECOND: usize = 64 * 1024;

/// The size of one log file: 1 MiB. There is one older one.
pub const MAX_LOG: usize = 1024 * 1024;

/// Text of one tool result that a model is shown: 50 KiB.
pub const MAX_RESULT_TEXT: usize = 50 * 1024;

/// Lines of one tool result that a model is shown.
pub const MAX_RESULT_LINES: usize = 2_000;

/// One image, decoded: 5 MiB.
pub const MAX_IMAGE: usize = 5 * 1024 * 1024;

/// Images in one tool result.
pub const MAX_IMAGES: usize = 8;

/// Failures in a row after which an extension is not started again by itself.
pub const MAX_CRASHES: u32 = 5;
