//! All sizes and counts of this crate that bound what a model server sends. Together they keep the memory of one
//! request below 64 MiB. A value equal to the limit is allowed.

/// The bytes of one event of an answer, or of one line of JSON: 4 MiB. The longest real events repeat a whole answer
/// (at most 1 MiB) or contain an image.
pub(crate) const MAX_EVENT: usize = 4 * 1024 * 1024;

/// The nesting of arrays and objects in one event. Real events have 12 levels and the arguments of a tool.
pub(crate) const MAX_EVENT_DEPTH: usize = 100;

/// The values in one event. Each costs the parsers about 300 bytes, and real events have 30 and the arguments of a
/// tool.
pub(crate) const MAX_EVENT_VALUES: usize = 50_000;

/// The events of one answer: twice as many as the longest answers of 128,000 tokens have, with one event for a token.
pub(crate) const MAX_EVENTS: usize = 256 * 1024;

/// The content of one answer: 4 MiB of text, reasoning, arguments and opaque data. The longest answers have 512 KiB,
/// which some providers repeat four times. haft keeps about three copies.
pub(crate) const MAX_CONTENT: usize = 4 * 1024 * 1024;

/// The content that a text or tool call counts as, in bytes, in addition to its text.
pub(crate) const BLOCK_COST: usize = 512;

/// The blocks of one answer: texts, reasoning and tool calls. Each costs up to 4 KiB; real answers have fewer than 100.
pub(crate) const MAX_BLOCKS: usize = 1_024;

/// The body of a failed request that is read: 64 KiB. Error messages quote 600 characters of it.
pub(crate) const MAX_ERROR_BODY: usize = 64 * 1024;
