//! Where a line is read, and what is said of one that makes no sense. What is long is read beside the thread that all
//! extensions share, one line of an extension at a time: what follows it waits in its pipe. Where there is one processor
//! only what is very long is: a change of threads would gain nothing there.

use std::future::pending;
use std::panic::resume_unwind;
use std::pin::Pin;

use bytes::Bytes;
use haft_protocol::codec::{self, DecodeOutcome, LineLimits, PlainSpan};
use haft_protocol::error::DecodeError;
use haft_protocol::ext::ExtensionFrame;
use haft_protocol::hook::{HookReply, UnreadableLine, read_reply};
use haft_protocol::ids::RequestId;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// A line of so many bytes takes longer to read than another thread to wake.
pub(crate) const LONG_FRAME: usize = 256 * 1024;

/// A line of so many bytes is read beside even where there is only one processor: there the system sees to it that
/// whoever asks another extension meanwhile need not wait for all of it.
const VERY_LONG_FRAME: usize = 2 * 1024 * 1024;

const QUOTED: usize = 80;

/// The number of lines that are read beside at once, of all extensions: each takes memory, and more threads than processors gain
/// nothing.
static AT_ONCE: Semaphore = Semaphore::const_new(4);

/// The decoder of a connection's lines, also where the connection is not at hand.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LineDecoder {
    Frames(LineLimits),
    Replies(LineLimits),
}

/// The content of a line.
#[derive(Debug)]
pub(crate) enum LineContent {
    Frame(Result<DecodeOutcome<ExtensionFrame>, MalformedLine>),
    Reply(Result<HookReply, NonReplyLine>),
}

/// A line of a hook that is no reply.
#[derive(Debug)]
pub(crate) struct NonReplyLine {
    pub(crate) unread: UnreadableLine,
    /// Its beginning, for messages.
    pub(crate) excerpt: String,
}

#[derive(Debug)]
pub(crate) struct DecodedLine {
    pub(crate) bytes: usize,
    pub(crate) content: LineContent,
}

/// A line that is no frame, and what is said of it.
#[derive(Debug)]
pub(crate) struct MalformedLine {
    pub(crate) error: DecodeError,
    /// The question that it answers, if it says so: whoever asked must not wait for a better answer until the deadline.
    pub(crate) id: Option<RequestId>,
    /// It is no text: not UTF-8, or UTF-8 by accident, as UTF-16 and zeros are, or behind a byte order mark.
    pub(crate) garbled: bool,
    /// Its beginning, for messages.
    pub(crate) excerpt: String,
}

impl LineDecoder {
    pub(crate) fn decode(self, line: &Bytes, known: PlainSpan) -> DecodedLine {
        let said = match self {
            Self::Frames(bounds) => {
                let frame = codec::read_with_plain_span(line, bounds, known);
                LineContent::Frame(frame.map_err(|error| malformed_line(error, line)))
            }
            Self::Replies(bounds) => {
                let reply = read_reply(line, bounds, known);
                LineContent::Reply(reply.map_err(|unread| NonReplyLine { unread, excerpt: excerpt(line) }))
            }
        };
        DecodedLine { bytes: line.len(), content: said }
    }
}

pub(crate) fn is_slow_to_decode(line: &[u8]) -> bool {
    line.len() >= VERY_LONG_FRAME || (line.len() >= LONG_FRAME && has_another_processor())
}

/// True if there is a processor beside the one that this runs on, as far as this thread may use it.
#[cfg(target_os = "linux")]
fn has_another_processor() -> bool {
    use rustix::thread::sched_getaffinity;
    sched_getaffinity(None).map_or(true, |processors| processors.count() > 1)
}

#[cfg(not(target_os = "linux"))]
fn has_another_processor() -> bool {
    true
}

/// A long line that is being read.
pub(crate) struct BackgroundDecode {
    /// It ended with the stream and not with a newline.
    pub(crate) is_tail: bool,
    /// The decoded line. May be left and waited for again, until it is known.
    pub(crate) decoded: Pin<Box<dyn Future<Output = Box<DecodedLine>> + Send>>,
}

impl BackgroundDecode {
    /// Begins as soon as it is waited for. One that is dropped comes to its end on its own.
    pub(crate) fn new(line: Bytes, known: PlainSpan, ear: LineDecoder, is_tail: bool) -> Self {
        Self { is_tail, decoded: Box::pin(decode_off_thread(line, known, ear)) }
    }
}

async fn decode_off_thread(line: Bytes, known: PlainSpan, ear: LineDecoder) -> Box<DecodedLine> {
    let permit = AT_ONCE.acquire().await.expect("nobody closes it");
    let read = spawn_blocking(move || {
        // Until the work is done, whoever waits for it.
        let _permit = permit;
        Box::new(ear.decode(&line, known))
    });
    match read.await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(heard) => heard,
        Err(Ok(panic)) => resume_unwind(panic),
        // The runtime ends, and everybody with it.
        Err(Err(_)) => pending().await,
    }
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

/// Reads the `id` alone, so that no line costs more memory than it has bytes.
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
    let start = bytes.get(..QUOTED).unwrap_or(bytes);
    let more = if bytes.len() > QUOTED { "…" } else { "" };
    format!("{}{more}", String::from_utf8_lossy(start))
}
