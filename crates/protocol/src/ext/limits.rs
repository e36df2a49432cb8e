//! `hello_ack.limits`: all limits of a connection.

use serde::{Deserialize, Serialize};

use crate::limits;

macro_rules! limits {
    ($($(#[$doc:meta])* $field:ident: $kind:ty = $default:expr,)*) => {
        /// All limits of a connection. Sizes are in bytes, times in milliseconds; a value equal to
        /// the limit is allowed.
        ///
        /// An absent limit has its default, so that peers of older versions stay readable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The longest line of the extension.
    max_line: usize = limits::MAX_LINE,
    /// The longest line while a tool call or a hook with content is open, and the longest line of the
    /// host.
    max_result_line: usize = limits::MAX_RESULT_LINE,
    /// The maximum nesting, with the frame as 1.
    max_depth: usize = limits::MAX_DEPTH,
    /// The maximum number of values and keys in one frame.
    max_nodes: usize = limits::MAX_NODES,
    /// The longest name of a tool or command, in characters.
    max_name: usize = limits::MAX_NAME,
    /// The maximum number of tools of one extension.
    max_tools: usize = limits::MAX_TOOLS,
    /// The maximum number of tools of all extensions.
    max_tools_in_all: usize = limits::MAX_TOOLS_IN_ALL,
    /// The maximum number of commands of one extension.
    max_commands: usize = limits::MAX_COMMANDS,
    /// The maximum number of items in one `command_completions_response`.
    max_completions: usize = limits::MAX_COMPLETIONS,
    /// The longest text of a completion item, in characters.
    max_completion_text: usize = limits::MAX_COMPLETION_TEXT,
    /// The longest description of a tool, and the longest guidelines of a tool in total.
    max_tool_description: usize = limits::MAX_TOOL_DESCRIPTION,
    /// The longest schema of a tool.
    max_tool_schema: usize = limits::MAX_TOOL_SCHEMA,
    /// The time from the start to `hello`.
    hello_ms: u64 = 60_000,
    /// The time from `hello` to `ready`.
    ready_ms: u64 = 10_000,
    /// The time from `command_invoked` to its response.
    command_ms: u64 = 30_000,
    /// The time from `command_completions` to its response.
    completions_ms: u64 = 1_000,
    /// The time from `tool_call` to its response; also from a `before_compact` hook.
    tool_call_ms: u64 = 60_000,
    /// The maximum number of open `host_call` frames.
    max_host_calls: u32 = limits::MAX_HOST_CALLS,
    /// The maximum number of open questions to the person, which do not count as `host_call` frames.
    max_asks: u32 = limits::MAX_ASKS,
    /// The time of a `host_call` on a file, from its approval to its end, including the wait for
    /// other changes of the file.
    host_call_ms: u64 = 30_000,
    /// The time from `event_intercept` to its response; `before_compact` and `before_tree`
    /// have `tool_call_ms`, `approve` has `approval_ms`.
    intercept_ms: u64 = 5_000,
    /// The time in which a person must answer a question about an extension, and an extension a
    /// question of `approve`.
    approval_ms: u64 = 60_000,
    /// The number of unread events that the host keeps before it drops events.
    queue_frames: usize = limits::QUEUE_FRAMES,
    /// The bytes of unread events that the host keeps before it drops events.
    queue_bytes: usize = limits::QUEUE_BYTES,
    /// The time without a read by the extension after which the host ends it.
    write_stall_ms: u64 = 10_000,
    /// The time from the first byte of a line to its newline.
    partial_line_ms: u64 = 30_000,
    /// The rate per second of lines that answer no request. A line counts once for each 64 KiB that
    /// it begins.
    frames_per_second: u32 = limits::FRAMES_PER_SECOND,
    /// The burst of such lines.
    frame_burst: u32 = limits::FRAME_BURST,
    /// The time above this rate, without a pause, after which the host ends the extension.
    overrun_ms: u64 = 10_000,
    /// The rate of notes per second.
    notes_per_second: u32 = limits::NOTES_PER_SECOND,
    /// The burst of notes.
    note_burst: u32 = limits::NOTE_BURST,
    /// The maximum number of keys in the status line. Changes have the rate of notes; the last
    /// excess change counts.
    max_status_items: usize = limits::MAX_STATUS_ITEMS,
    /// The longest text in the status line, in characters.
    max_status_text: usize = limits::MAX_STATUS_TEXT,
    /// The rate of panel contents per second; the host shows only the last excess one.
    panels_per_second: u32 = limits::PANELS_PER_SECOND,
    /// The silence of an extension with work to do after which the host sends `ping`.
    ping_ms: u64 = 5_000,
    /// The time from `ping` to any sign of life.
    pong_ms: u64 = 10_000,
    /// The bytes of standard error per second that the host keeps.
    stderr_per_second: usize = limits::STDERR_PER_SECOND,
    /// The size of a log file. The host keeps one older log file.
    max_log: usize = limits::MAX_LOG,
    /// The bytes of text in one tool result that the model gets.
    max_result_text: usize = limits::MAX_RESULT_TEXT,
    /// The lines of text in one tool result that the model gets.
    max_result_lines: usize = limits::MAX_RESULT_LINES,
    /// The size of one image, decoded.
    max_image: usize = limits::MAX_IMAGE,
    /// The maximum number of images in one tool result.
    max_images: usize = limits::MAX_IMAGES,
    /// The delay before the first restart. Each further delay is twice as long.
    restart_min_ms: u64 = 500,
    /// The longest delay before a restart.
    restart_max_ms: u64 = 30_000,
    /// The number of failures within `crash_window_ms` after which the host stops restarting the
    /// extension.
    max_crashes: u32 = limits::MAX_CRASHES,
    /// The period in which the host counts failures.
    crash_window_ms: u64 = 180_000,
    /// The time from `shutdown` to the termination signal.
    shutdown_ms: u64 = 2_000,
    /// The time from the termination signal to the kill.
    kill_ms: u64 = 1_000,
}
