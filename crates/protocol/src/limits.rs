//! Default values of [`ext::Limits`](crate::ext::Limits): sizes, counts and rates of a connection.
//! A value equal to the limit is allowed. Sizes are in bytes.

/// The longest line of a peer at any time: 1 MiB.
pub const MAX_LINE: usize = 1024 * 1024;

/// The longest line while a tool call to that extension is open: 8 MiB, so that images fit in a
/// result. Also the longest line of the host.
pub const MAX_RESULT_LINE: usize = 8 * 1024 * 1024;

/// The maximum nesting of arrays and objects in one frame, with the frame as 1.
pub const MAX_DEPTH: usize = 64;

/// The maximum number of values and keys in one frame.
pub const MAX_NODES: usize = 200_000;

/// The longest text of a message that an extension sends to the model: 64 KiB.
pub const MAX_MESSAGE_TEXT: usize = 64 * 1024;

/// The maximum number of parts of a styled text in the status line.
pub const MAX_STATUS_SPANS: usize = 16;

/// The longest description of a tool.
pub const MAX_TOOL_DESCRIPTION: usize = 4 * 1024;

/// The longest schema of a tool.
pub const MAX_TOOL_SCHEMA: usize = 64 * 1024;

/// The longest name of a tool or command, in characters.
pub const MAX_NAME: usize = 64;

/// The maximum number of tools of one extension.
pub const MAX_TOOLS: usize = 128;

/// The maximum number of tools of all extensions.
pub const MAX_TOOLS_IN_ALL: usize = 512;

/// The maximum number of commands of one extension.
pub const MAX_COMMANDS: usize = 256;

/// The maximum number of completions of one command.
pub const MAX_COMPLETIONS: usize = 100;

/// The longest text of a completion, in characters.
pub const MAX_COMPLETION_TEXT: usize = 200;

/// The maximum number of open host calls of one extension.
pub const MAX_HOST_CALLS: u32 = 16;

/// The maximum number of open questions of one extension to the person.
pub const MAX_ASKS: u32 = 4;

/// The number of unread events that the host keeps before it drops events.
pub const QUEUE_FRAMES: usize = 256;

/// The bytes of unread events that the host keeps before it drops events: 4 MiB.
pub const QUEUE_BYTES: usize = 4 * 1024 * 1024;

/// The rate per second of lines of one extension that answer no request.
pub const FRAMES_PER_SECOND: u32 = 200;

/// The burst of such lines.
pub const FRAME_BURST: u32 = 2_000;

/// The rate of notes of one extension per second.
pub const NOTES_PER_SECOND: u32 = 10;

/// The burst of notes.
pub const NOTE_BURST: u32 = 50;

/// The maximum number of status line texts of one extension.
pub const MAX_STATUS_ITEMS: usize = 8;

/// The longest text in the status line, in characters.
pub const MAX_STATUS_TEXT: usize = 80;

/// The rate of panel contents of one extension per second that the host shows.
pub const PANELS_PER_SECOND: u32 = 30;

/// The bytes of standard error per second that the host keeps: 64 KiB.
pub const STDERR_PER_SECOND: usize = 64 * 1024;

/// The size of a log file: 1 MiB. The host keeps one older log file.
pub const MAX_LOG: usize = 1024 * 1024;

/// The text of one tool result that a model gets: 50 KiB.
pub const MAX_RESULT_TEXT: usize = 50 * 1024;

/// The lines of one tool result that a model gets.
pub const MAX_RESULT_LINES: usize = 2_000;

/// The size of one image, decoded: 5 MiB.
pub const MAX_IMAGE: usize = 5 * 1024 * 1024;

/// The maximum number of images in one tool result.
pub const MAX_IMAGES: usize = 8;

/// The number of failures after which the host stops restarting an extension.
pub const MAX_CRASHES: u32 = 5;
