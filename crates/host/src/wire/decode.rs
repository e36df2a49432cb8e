//! Decodes lines and describes invalid ones. Long lines are decoded on another thread than the one that all
//! extensions share, one line of an extension at a time: the bytes behind it wait in the pipe. With one
//! processor, only very long lines are, because a change of threads costs more than it gains.

use std::collections::BTreeMap;
use std::future::pending;
use std::panic::resume_unwind;
use std::pin::Pin;

use bytes::Bytes;
use haft_protocol::RawJson;
use haft_protocol::codec::{self, DecodeOutcome, LineLimits, PlainSpan};
use haft_protocol::error::DecodeError;
use haft_protocol::ext::{ExtensionFrame, RegisterTool, ToolResultFrame};
use haft_protocol::foreign::TranslatedPart;
use haft_protocol::ids::RequestId;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::wire::translator::SharedTranslator;

/// The length from which decoding a line takes longer than waking another thread.
pub(crate) const LONG_FRAME: usize = 256 * 1024;

/// The length from which a line is decoded on another thread even with one processor, so that queries to
/// other extensions need not wait for all of it.
const VERY_LONG_FRAME: usize = 2 * 1024 * 1024;

const MAX_EXCERPT: usize = 80;

/// The number of lines of all extensions that are decoded at the same time. Each takes memory, and more
/// threads than processors gain nothing.
static AT_ONCE: Semaphore = Semaphore::const_new(4);

/// The decoder of a connection's lines, usable without the connection.
#[derive(Debug, Clone)]
pub(crate) enum LineDecoder {
    Frames {
        bounds: LineLimits,
        /// True if the extension announced the capability `tools_2`, without which its fields are unknown.
        has_tools_2: bool,
    },
    /// The extension speaks another protocol.
    Foreign { bounds: LineLimits, translator: SharedTranslator },
}

/// The content of a line.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "boxing each frame costs more than the memory it saves")]
pub(crate) enum LineContent {
    Frame(Result<DecodeOutcome<ExtensionFrame>, MalformedLine>),
    Translated(Vec<TranslatedPart>),
}

#[derive(Debug)]
pub(crate) struct DecodedLine {
    pub(crate) bytes: usize,
    pub(crate) content: LineContent,
}

/// A line that is not a frame, with a description.
#[derive(Debug)]
pub(crate) struct MalformedLine {
    pub(crate) error: DecodeError,
    /// The query that the line answers, if it has an id: the query then fails immediately instead of at its
    /// deadline.
    pub(crate) id: Option<RequestId>,
    /// True if the line is not text: invalid UTF-8, or accidental UTF-8 such as UTF-16, zeros, or text with a
    /// byte order mark.
    pub(crate) garbled: bool,
    /// The beginning of the line, for messages.
    pub(crate) excerpt: String,
}

impl LineDecoder {
    pub(crate) fn decode(self, line: &Bytes, known: PlainSpan) -> DecodedLine {
        let said = match self {
            Self::Frames { bounds, has_tools_2 } => {
                let frame = match codec::read_with_plain_span(line, bounds, known) {
                    Err(error) if !has_tools_2 => decode_without_tools_2(&error, line, bounds).ok_or(error),
                    frame => frame,
                };
                LineContent::Frame(frame.map_err(|error| malformed_line(error, line)))
            }
            Self::Foreign { bounds, translator } => {
                LineContent::Translated(translator.lock().translate_line(line, bounds, known))
            }
        };
        DecodedLine { bytes: line.len(), content: said }
    }
}

pub(crate) fn is_slow_to_decode(line: &[u8]) -> bool {
    line.len() >= VERY_LONG_FRAME || (line.len() >= LONG_FRAME && has_another_processor())
}

/// True if this thread may use more than one processor.
#[cfg(target_os = "linux")]
fn has_another_processor() -> bool {
    use rustix::thread::sched_getaffinity;
    sched_getaffinity(None).map_or(true, |processors| processors.count() > 1)
}

#[cfg(not(target_os = "linux"))]
fn has_another_processor() -> bool {
    true
}

/// A long line that is being decoded.
pub(crate) struct BackgroundDecode {
    /// True if the line ended with the stream and not with a newline.
    pub(crate) is_tail: bool,
    /// The decoded line. The future may be polled again after an interruption until it is ready.
    pub(crate) decoded: Pin<Box<dyn Future<Output = Box<DecodedLine>> + Send>>,
}

impl BackgroundDecode {
    /// Creates the work, which begins with the first poll. Once begun, dropped work still runs to its end.
    pub(crate) fn new(line: Bytes, known: PlainSpan, ear: LineDecoder, is_tail: bool) -> Self {
        Self { is_tail, decoded: Box::pin(decode_off_thread(line, known, ear)) }
    }
}

async fn decode_off_thread(line: Bytes, known: PlainSpan, ear: LineDecoder) -> Box<DecodedLine> {
    let permit = AT_ONCE.acquire().await.expect("the semaphore is never closed");
    let read = spawn_blocking(move || {
        // The permit is held until the work is done, also without a caller.
        let _permit = permit;
        Box::new(ear.decode(&line, known))
    });
    match read.await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(heard) => heard,
        Err(Ok(panic)) => resume_unwind(panic),
        // The runtime ends.
        Err(Err(_)) => pending().await,
    }
}

/// Reads a malformed frame without the fields of the capability `tools_2`. Returns `None` if they were not the reason.
#[cold]
fn decode_without_tools_2(
    error: &DecodeError,
    line: &[u8],
    bounds: LineLimits,
) -> Option<DecodeOutcome<ExtensionFrame>> {
    let DecodeError::Malformed { kind, .. } = error else { return None };
    let unknown = match kind.as_str() {
        "register_tool" => RegisterTool::TOOLS_2_FIELDS,
        "tool_result" => ToolResultFrame::TOOLS_2_FIELDS,
        _ => return None,
    };
    let mut fields: BTreeMap<String, RawJson> = serde_json::from_slice(line).ok()?;
    fields.retain(|name, _| !unknown.contains(&name.as_str()));
    let known = RawJson::from_value(&fields).ok()?;
    let line = Bytes::copy_from_slice(known.as_str().as_bytes());
    codec::read_with_plain_span(&line, bounds, PlainSpan::default()).ok()
}

#[cold]
pub(crate) fn malformed_line(error: DecodeError, line: &[u8]) -> MalformedLine {
    let by_accident = || line.contains(&0) || line.starts_with("\u{feff}".as_bytes());
    MalformedLine {
        id: answered_id(&error, line),
        garbled: matches!(error, DecodeError::NotUtf8) || by_accident(),
        excerpt: excerpt(line),
        error,
    }
}

/// Reads only the `id`, so that no line needs more memory than its own length.
fn answered_id(error: &DecodeError, line: &[u8]) -> Option<RequestId> {
    #[derive(serde::Deserialize)]
    struct FrameHead {
        id: RequestId,
    }
    if let DecodeError::Malformed { id, .. } = error {
        return id.clone();
    }
    serde_json::from_slice(line).ok().map(|head: FrameHead| head.id)
}

pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let start = bytes.get(..MAX_EXCERPT).unwrap_or(bytes);
    let more = if bytes.len() > MAX_EXCERPT { "…" } else { "" };
    format!("{}{more}", String::from_utf8_lossy(start))
}
