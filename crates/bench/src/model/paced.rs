//! A model server that writes at a steady pace until it is stopped, as load for a screen.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::http::{self, RequestReader};

/// Words of one token each, with all the Markdown that the renderer must handle.
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

/// A model server that listens until the program ends.
#[derive(Debug)]
pub(crate) struct PacedModel {
    address: SocketAddr,
    writes: Arc<AtomicBool>,
}

impl PacedModel {
    /// Starts to listen on a free port, with this number of tokens per second for each answer.
    pub(crate) fn start(tokens_per_second: u32) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("bind a loopback port")?;
        let address = listener.local_addr().context("read the port")?;
        let writes = Arc::new(AtomicBool::new(true));
        let running = Arc::clone(&writes);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let running = Arc::clone(&running);
                // A client that disconnects needs no answer.
                thread::spawn(move || drop(serve(stream, tokens_per_second, &running)));
            }
        });
        Ok(Self { address, writes })
    }

    /// Returns the address without a path.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends the answer that is being written.
    pub(crate) fn stop(&self) {
        self.writes.store(false, Ordering::Relaxed);
    }
}

fn serve(mut stream: TcpStream, tokens_per_second: u32, running: &AtomicBool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = RequestReader::default();
    while let Some(request) = reader.next(&mut stream)? {
        if request.path().split('?').next().is_some_and(|path| path.ends_with("/messages")) {
            answer(&mut stream, tokens_per_second, running)?;
        } else {
            http::write(&mut stream, request.fallback_body())?;
        }
    }
    Ok(())
}

/// Writes one answer. After a late token the next one follows at once, so the pace holds.
fn answer(stream: &mut TcpStream, tokens_per_second: u32, running: &AtomicBool) -> io::Result<()> {
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
        if !running.load(Ordering::Relaxed) {
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

/// Writes one event of the stream as a chunk.
fn event(stream: &mut TcpStream, event: &Value) -> io::Result<()> {
    let kind = event["type"].as_str().unwrap_or_default();
    let text = format!("event: {kind}\ndata: {event}\n\n");
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}
