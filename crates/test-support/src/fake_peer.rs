//! `FakePeer`: an extension that a test plays by hand, in memory.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

use crate::PATIENCE;

/// Bytes that fit into each direction before a writer has to wait: a pipe's worth.
const PIPE: usize = 64 * 1024;

/// The other end of a host's connection.
#[derive(Debug)]
pub struct FakePeer {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl FakePeer {
    /// A peer, and the reader and writer for the host.
    pub fn pair() -> (Self, ReadHalf<DuplexStream>, WriteHalf<DuplexStream>) {
        let (near, far) = tokio::io::duplex(PIPE);
        let (reader, writer) = tokio::io::split(near);
        let (host_reader, host_writer) = tokio::io::split(far);
        (Self { lines: BufReader::new(reader).lines(), writer }, host_reader, host_writer)
    }

    /// Sends one frame.
    ///
    /// # Panics
    /// When the host has closed the connection.
    pub async fn send(&mut self, frame: Value) {
        self.send_raw(format!("{frame}\n").as_bytes()).await;
    }

    /// Sends these bytes as they are.
    ///
    /// # Panics
    /// When the host has closed the connection.
    pub async fn send_raw(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.expect("the host reads");
    }

    /// Sends these bytes, as far as the host reads them before it closes the connection.
    pub async fn send_as_far_as_read(&mut self, bytes: &[u8]) {
        _ = self.writer.write_all(bytes).await;
    }

    /// Says hello, sends these frames, then `ready`, and takes the host's greeting.
    ///
    /// # Panics
    /// When the host does not greet.
    pub async fn greet(&mut self, name: &str, frames: impl IntoIterator<Item = Value>) {
        self.send(json!({"type": "hello", "name": name, "version": "1.0.0"})).await;
        self.expect("hello_ack").await;
        for frame in frames {
            self.send(frame).await;
        }
        self.send(json!({"type": "ready"})).await;
    }

    /// The next call of the host, of one that is a process hook, which must be of this method.
    ///
    /// # Panics
    /// When it is another one, or none.
    pub async fn expect_call(&mut self, method: &str) -> Value {
        let call = self.next().await.expect("the host is still there");
        assert_eq!(call["method"], method, "{call}");
        call
    }

    /// Answers a call with this result.
    ///
    /// # Panics
    /// When the host has closed the connection.
    pub async fn reply(&mut self, call: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": call["id"], "result": result})).await;
    }

    /// The next frame of the host; `None` when it has closed its side.
    ///
    /// # Panics
    /// When nothing comes for two minutes, or what comes is not JSON.
    pub async fn next(&mut self) -> Option<Value> {
        let line =
            tokio::time::timeout(PATIENCE, self.lines.next_line()).await.expect("the host says something");
        let line = line.expect("the connection works")?;
        Some(serde_json::from_str(&line).expect("the host writes JSON"))
    }

    /// The next frame, which must be of this type.
    ///
    /// # Panics
    /// When it is another one, or none.
    pub async fn expect(&mut self, kind: &str) -> Value {
        let frame = self.next().await.expect("the host is still there");
        assert_eq!(frame["type"], kind, "{frame}");
        frame
    }

    /// Answers a frame: with its id, and these fields.
    ///
    /// # Panics
    /// When the host has closed the connection.
    pub async fn answer(&mut self, question: &Value, kind: &str, mut fields: Value) {
        fields["type"] = kind.into();
        fields["id"] = question["id"].clone();
        self.send(fields).await;
    }
}
