//! `hello_ack.limits`: everything that a connection keeps to, in numbers.

use serde::{Deserialize, Serialize};

use crate::limits;

macro_rules! limits {
    ($($(#[$doc:meta])* $field:ident: $kind:ty = $default:expr,)*) => {
        /// Every limit of a connection. Sizes are bytes, times milliseconds, and the limit itself is still allowed.
        ///
        /// A peer that leaves one out is read as if it had named the default, so that older ones stay readable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(default)]
        pub struct Limits {
            $($(#[$doc])* pub $field: $kind,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
}

limits! {
    /// Longest line.
    max_line: usize = limits::MAX_LINE,
    /// Longest line while a tool call is open; also the longest line the host sends.
    max_result_line: usize = limits::MAX_RESULT_LINE,
    /// Deepest nesting, the frame counted as 1.
    max_depth: usize = limits::MAX_DEPTH,
    /// Values and keys in one frame.
    max_nodes: usize = limits::MAX_NODES,
    /// Longest name of a tool or command, in characters.
    max_name: usize = limits::MAX_NAME,
    /// Tools one extension may register.
    max_tools: usize = limits::MAX_TOOLS,
    /// Tools that all extensions together can have.
    max_tools_in_all: usize = limits::MAX_TOOLS_IN_ALL,
    /// Commands one extension may register.
    max_commands: usize = limits::MAX_COMMANDS,
    /// Items of one `command_completions_response`.
    max_completions: usize = limits::MAX_COMPLETIONS,
    /// Longest text of such an item, in characters.
    max_completion_text: usize = limits::MAX_COMPLETION_TEXT,
    /// Longest description of a tool; also its guidelines together.
    max_tool_description: usize = limits::MAX_TOOL_DESCRIPTION,
    /// Longest schema of a tool.
    max_tool_schema: usize = limits::MAX_TOOL_SCHEMA,
    /// From the start to `hello`.
    hello_ms: u64 = 10_000,
    /// From `hello` to `ready`.
    ready_ms: u64 = 10_000,
    /// From a `command_invoked` to its answer.
    command_ms: u64 = 30_000,
    /// From a `command_completions` to its answer.
    completions_ms: u64 = 1_000,
    /// From a `tool_call` to its answer.
    tool_call_ms: u64 = 60_000,
    /// `host_call`s that may be under way at once.
    max_host_calls: u32 = limits::MAX_HOST_CALLS,
    /// From the approval of a `host_call` that reads or changes a file to its end, its wait for others that change the
    /// file included.
    host_call_ms: u64 = 30_000,
    /// From an `event_intercept` to its answer.
    intercept_ms: u64 = 5_000,
    /// How long a person is waited for who is asked about an extension.
    approval_ms: u64 = 60_000,
    /// Frames that may wait to be read by the extension before events are dropped.
    queue_frames: usize = limits::QUEUE_FRAMES,
    /// Bytes that may wait before events are dropped.
    queue_bytes: usize = limits::QUEUE_BYTES,
    /// Longest time in which the extension takes nothing of what is written to it.
    write_stall_ms: u64 = 10_000,
    /// From the first byte of a line to its newline.
    partial_line_ms: u64 = 30_000,
    /// Frames a second that answer nothing, and lines that are no frames. A line counts once for each 64 KiB begun.
    frames_per_second: u32 = limits::FRAMES_PER_SECOND,
    /// As many of them may come at once.
    frame_burst: u32 = limits::FRAME_BURST,
    /// An extension that is over this rate without a pause for longer is ended.
    overrun_ms: u64 = 10_000,
    /// Notes a second.
    notes_per_second: u32 = limits::NOTES_PER_SECOND,
    /// As many notes may come at once.
    note_burst: u32 = limits::NOTE_BURST,
    /// Items in the status line. They change as often as there are notes; of more changes, the last one counts.
    max_status_items: usize = limits::MAX_STATUS_ITEMS,
    /// Longest item in the status line, in characters.
    max_status_text: usize = limits::MAX_STATUS_TEXT,
    /// Panel contents a second that are shown; of more, the last one is.
    panels_per_second: u32 = limits::PANELS_PER_SECOND,
    /// Silence of an extension that has something to do, after which it is asked for a sign of life.
    ping_ms: u64 = 5_000,
    /// From a `ping` to any sign of life.
    pong_ms: u64 = 10_000,
    /// Bytes of standard error that are kept a second.
    stderr_per_second: usize = limits::STDERR_PER_SECOND,
    /// Size of one log file; there is one older one.
    max_log: usize = limits::MAX_LOG,
    /// Text of one tool result that the model is shown.
    max_result_text: usize = limits::MAX_RESULT_TEXT,
    /// Lines of one tool result that the model is shown.
    max_result_lines: usize = limits::MAX_RESULT_LINES,
    /// One image, decoded.
    max_image: usize = limits::MAX_IMAGE,
    /// Images in one tool result.
    max_images: usize = limits::MAX_IMAGES,
    /// Pause before the first restart; each further one is twice as long.
    restart_min_ms: u64 = 500,
    /// Longest pause before a restart.
    restart_max_ms: u64 = 30_000,
    /// Failures within `crash_window_ms` after which an extension is not started again by itself.
    max_crashes: u32 = limits::MAX_CRASHES,
    /// The time in which failures are counted.
    crash_window_ms: u64 = 180_000,
    /// From `shutdown` to the request to terminate.
    shutdown_ms: u64 = 2_000,
    /// From the request to terminate to the kill.
    kill_ms: u64 = 1_000,
}
