//! A model that writes at a steady pace until it is told to stop: what a screen has to keep up with.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::http::{self, RequestReader};

/// Words of which a token each is written, with all that Markdown has to look at.
const WORDS: [&str; 12] = [
    "The ",
    "`parser` ",
    "reads ",
    "**one** ",
    "line ",
    "at ",
    "a ",
    "time, ",
    "and ",
    "so ",
    "on.\n",
    "\n* item ",
];

/// A model that listens until the program ends.
#[derive(Debug)]
pub(crate) struct PacedModel {
    address: SocketAddr,
    writes: Arc<AtomicBool>,
}

impl PacedModel {
    /// Begins to listen on a free port; an answer has so many tokens a second.
    pub(crate) fn start(tokens_per_second: u32) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("bind a loopback port")?;
        let address = listener.local_addr().context("read the port")?;
        let writes = Arc::new(AtomicBool::new(true));
        let goes_on = Arc::clone(&writes);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let goes_on = Arc::clone(&goes_on);
                // A client that hangs up needs no answer.
                thread::spawn(move || drop(serve(stream, tokens_per_second, &goes_on)));
            }
        });
        Ok(Self { address, writes })
    }

    /// Where it is, without a path.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The answer that is being written ends.
    pub(crate) fn stop(&self) {
        self.writes.store(false, Ordering::Relaxed);
    }
}

fn serve(mut stream: TcpStream, tokens_per_second: u32, goes_on: &AtomicBool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = RequestReader::default();
    while let Some(request) = reader.next(&mut stream)? {
        if request.path().split('?').next().is_some_and(|path| path.ends_with("/messages")) {
            answer(&mut stream, tokens_per_second, goes_on)?;
        } else {
            http::write(&mut stream, request.fallback_body())?;
        }
    }
    Ok(())
}

/// Writes one answer; a token that is late is followed by the next at once, so the pace holds.
fn answer(stream: &mut TcpStream, tokens_per_second: u32, goes_on: &AtomicBool) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "bench", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
    event(stream, &json!({"type": "message_start", "message": message}))?;
    let block = json!({"type": "text", "text": ""});
    event(stream, &json!({"type": "content_block_start", "index": 0, "content_block": block}))?;
    let (start, each) = (Instant::now(), Duration::from_secs(1) / tokens_per_second);
    for (number, word) in (0..).zip(WORDS.iter().cycle()) {
        if !goes_on.load(Ordering::Relaxed) {
            break;
        }
        thread::sleep((start + each * number).saturating_duration_since(Instant::now()));
        let delta = json!({"type": "text_delta", "text": word});
        event(stream, &json!({"type": "content_block_delta", "index": 0, "delta": delta}))?;
    }
    event(stream, &json!({"type": "content_block_stop", "index": 0}))?;
    event(
        stream,
        &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"output_tokens": 2}}),
    )?;
    event(stream, &json!({"type": "message_stop"}))?;
    stream.write_all(b"0\r\n\r\n")
}

/// One event of the stream, as a chunk.
fn event(stream: &mut TcpStream, event: &Value) -> io::Result<()> {
    let kind = event["type"].as_str().unwrap_or_default();
    let text = format!("event: {kind}\ndata: {event}\n\n");
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}
