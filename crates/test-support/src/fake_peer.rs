//! `FakePeer`: an extension in memory that a test controls frame by frame.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

use crate::PATIENCE;

/// The capacity of each direction in bytes, like a pipe's.
const PIPE: usize = 64 * 1024;

/// The extension's end of a host's connection.
#[derive(Debug)]
pub struct FakePeer {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl FakePeer {
    /// Creates a peer, with the reader and the writer for the host.
    pub fn pair() -> (Self, ReadHalf<DuplexStream>, WriteHalf<DuplexStream>) {
        let (near, far) = tokio::io::duplex(PIPE);
        let (reader, writer) = tokio::io::split(near);
        let (host_reader, host_writer) = tokio::io::split(far);
        (Self { lines: BufReader::new(reader).lines(), writer }, host_reader, host_writer)
    }

    /// Sends one frame.
    ///
    /// # Panics
    /// Panics if the host has closed the connection.
    pub async fn send(&mut self, frame: Value) {
        self.send_raw(format!("{frame}\n").as_bytes()).await;
    }

    /// Sends bytes unchanged.
    ///
    /// # Panics
    /// Panics if the host has closed the connection.
    pub async fn send_raw(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.expect("the host has closed the connection");
    }

    /// Sends bytes until the host stops reading or closes the connection.
    pub async fn send_as_far_as_read(&mut self, bytes: &[u8]) {
        _ = self.writer.write_all(bytes).await;
    }

    /// Sends `hello`, these frames and `ready`, and receives the host's greeting.
    ///
    /// # Panics
    /// Panics if the host does not greet.
    pub async fn greet(&mut self, name: &str, frames: impl IntoIterator<Item = Value>) {
        self.greet_with(name, &[], frames).await;
    }

    /// Sends `hello` with these capabilities, these frames and `ready`, and receives the host's greeting.
    ///
    /// # Panics
    /// Panics if the host does not greet.
    pub async fn greet_with(
        &mut self,
        name: &str,
        capabilities: &[&str],
        frames: impl IntoIterator<Item = Value>,
    ) {
        let mut hello = json!({"type": "hello", "name": name, "version": "1.0.0"});
        if !capabilities.is_empty() {
            hello["capabilities"] = capabilities.into();
        }
        self.send(hello).await;
        self.expect("hello_ack").await;
        for frame in frames {
            self.send(frame).await;
        }
        self.send(json!({"type": "ready"})).await;
    }

    /// Returns the host's next call of a process hook, which must be of this method.
    ///
    /// # Panics
    /// Panics if the next call has another method or if there is none.
    pub async fn expect_call(&mut self, method: &str) -> Value {
        let call = self.next().await.expect("the host has closed the connection");
        assert_eq!(call["method"], method, "{call}");
        call
    }

    /// Answers a call with this result.
    ///
    /// # Panics
    /// Panics if the host has closed the connection.
    pub async fn reply(&mut self, call: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": call["id"], "result": result})).await;
    }

    /// Returns the host's next frame, or `None` if the host has closed its side.
    ///
    /// # Panics
    /// Panics if no frame arrives for two minutes, or if a line is not JSON.
    pub async fn next(&mut self) -> Option<Value> {
        let line =
            tokio::time::timeout(PATIENCE, self.lines.next_line()).await.expect("no frame from the host");
        let line = line.expect("cannot read from the host")?;
        Some(serde_json::from_str(&line).expect("the host wrote a line that is not JSON"))
    }

    /// Returns the next frame, which must be of this type.
    ///
    /// # Panics
    /// Panics if the next frame has another type or if there is none.
    pub async fn expect(&mut self, kind: &str) -> Value {
        let frame = self.next().await.expect("the host has closed the connection");
        assert_eq!(frame["type"], kind, "{frame}");
        frame
    }

    /// Answers a frame with its id and these fields.
    ///
    /// # Panics
    /// Panics if the host has closed the connection.
    pub async fn answer(&mut self, question: &Value, kind: &str, mut fields: Value) {
        fields["type"] = kind.into();
        fields["id"] = question["id"].clone();
        self.send(fields).await;
    }
}
