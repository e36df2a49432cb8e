//! `ClientSink`: the connection to the client. Any task can add lines without waiting; one writer
//! takes them out.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_protocol::rpc::{ClientEvent, RpcResponse, ServerLine};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use crate::outbox::{ClientOutbox, LineEncoding, OutboxLimits};

/// The maximum size of one write, unless one line is longer: the amount that a pipe accepts at
/// once.
const PIECE: usize = 64 * 1024;

/// A handle to the sink. Clones are cheap and share the same sink.
#[derive(Clone)]
pub(crate) struct ClientSink(Arc<SinkShared>);

struct SinkShared {
    state: Mutex<SinkState>,
    /// Signals that a line was added, or that no more lines follow.
    more: Notify,
    /// Signals that a line was taken.
    taken: Notify,
}

struct SinkState {
    outbox: ClientOutbox,
    /// The amount that the client has taken, in bytes or in lines.
    written: u64,
    /// Events before the authentication of the client; `None` afterwards.
    held: Option<ClientOutbox>,
    closed: bool,
    /// True if the client no longer accepts data.
    broken: bool,
}

impl ClientSink {
    /// Creates a sink. If `holds` is true, events wait until [`release_held`](Self::release_held).
    pub(crate) fn new(room: OutboxLimits, form: LineEncoding, holds: bool) -> Self {
        let held = holds.then(|| ClientOutbox::new(room, form));
        let outbox = ClientOutbox::new(room, form);
        let state = Mutex::new(SinkState { outbox, written: 0, held, closed: false, broken: false });
        Self(Arc::new(SinkShared { state, more: Notify::new(), taken: Notify::new() }))
    }

    pub(crate) fn reply(&self, reply: RpcResponse) {
        self.add(|state| state.outbox.reply(reply));
    }

    /// Adds an event, or drops it according to the rules of [`ClientOutbox`].
    pub(crate) fn event(&self, session: Option<&str>, event: impl Into<ClientEvent>) {
        let session = session.map(str::to_owned);
        self.add(|SinkState { outbox, held, .. }| held.as_mut().unwrap_or(outbox).event(session, event));
    }

    /// Releases the held events after the client was authenticated.
    pub(crate) fn release_held(&self) {
        self.add(|SinkState { outbox, held, .. }| held.take().map_or(Ok(()), |held| outbox.append(held)));
    }

    fn add(&self, put: impl FnOnce(&mut SinkState) -> Result<(), serde_json::Error>) {
        let outcome = put(&mut self.lock());
        if let Err(error) = outcome {
            tracing::error!(%error, "a line has no JSON form");
        }
        self.0.more.notify_one();
    }

    /// Waits until commands may be read. Otherwise their replies would also wait.
    pub(crate) async fn wait_for_room(&self) {
        loop {
            let taken = self.0.taken.notified();
            if !self.lock().outbox.is_full() {
                return;
            }
            taken.await;
        }
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.0.more.notify_one();
    }

    /// Writes lines until no more follow. A sink has one writer.
    ///
    /// # Errors
    /// If the output no longer accepts data.
    pub(crate) async fn write(&self, output: impl AsyncWrite + Unpin) -> std::io::Result<()> {
        let written = self.write_out(output).await;
        self.lock().broken = written.is_err();
        written
    }

    async fn write_out(&self, mut output: impl AsyncWrite + Unpin) -> std::io::Result<()> {
        while let Some(piece) = self.next(|outbox| outbox.take(PIECE)).await? {
            self.write_piece(&mut output, piece.as_bytes()).await?;
        }
        Ok(())
    }

    /// Sends lines to a client in the same process until no more follow, instead of
    /// [`write`](Self::write).
    ///
    /// # Errors
    /// If the client is gone.
    pub(crate) async fn send_lines(&self, lines: mpsc::Sender<ServerLine>) -> std::io::Result<()> {
        let told = tokio::select! {
            told = self.send_all(&lines) => told,
            // Detects a closed channel even if there is no line to send.
            () = lines.closed() => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        self.lock().broken = told.is_err();
        told
    }

    /// Waits for the next line of a [`LineEncoding::Typed`] sink without a writer; `None` after the last one.
    pub(crate) async fn next_line(&self) -> Option<ServerLine> {
        self.next(ClientOutbox::take_line).await.unwrap_or_else(|error| {
            tracing::error!(%error, "a line has no JSON form");
            None
        })
    }

    /// Takes the next line of such a sink, if one waits.
    pub(crate) fn take_line(&self) -> Option<ServerLine> {
        let taken = self.lock().outbox.take_line().ok().flatten();
        self.0.taken.notify_one();
        taken
    }

    async fn send_all(&self, lines: &mpsc::Sender<ServerLine>) -> std::io::Result<()> {
        while let Some(line) = self.next(ClientOutbox::take_line).await? {
            lines.send(line).await.map_err(|_| std::io::ErrorKind::BrokenPipe)?;
            self.lock().written += 1;
        }
        Ok(())
    }

    /// Waits for the next lines; `None` if no more follow. Dropping the future loses nothing.
    async fn next<T>(
        &self,
        take: impl Fn(&mut ClientOutbox) -> Result<Option<T>, serde_json::Error>,
    ) -> std::io::Result<Option<T>> {
        loop {
            let more = self.0.more.notified();
            let (taken, closed) = {
                let mut state = self.lock();
                (take(&mut state.outbox).map_err(std::io::Error::other)?, state.closed)
            };
            match taken {
                Some(taken) => {
                    self.0.taken.notify_one();
                    return Ok(Some(taken));
                }
                None if closed => return Ok(None),
                None => more.await,
            }
        }
    }

    async fn write_piece(
        &self,
        output: &mut (impl AsyncWrite + Unpin),
        mut piece: &[u8],
    ) -> std::io::Result<()> {
        while !piece.is_empty() {
            let written = output.write(piece).await?;
            if written == 0 {
                return Err(std::io::ErrorKind::WriteZero.into());
            }
            piece = piece.get(written..).unwrap_or_default();
            self.lock().written += written as u64;
        }
        output.flush().await
    }

    /// Waits until the writer has written the remaining lines, as long as the client takes some
    /// within `patience`. Returns true if all lines were written. A failed writer is not polled
    /// again.
    pub(crate) async fn drain(
        &self,
        mut writer: Pin<&mut impl Future<Output = std::io::Result<()>>>,
        patience: Duration,
    ) -> bool {
        if self.lock().broken {
            return false;
        }
        loop {
            let before = self.lock().written;
            match timeout(patience, writer.as_mut()).await {
                Ok(written) => return written.is_ok(),
                Err(_) if self.lock().written == before => return false,
                Err(_) => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, SinkState> {
        // A panic never leaves an incomplete line in the outbox.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ClientSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").field("waiting", &self.lock().outbox.waiting_bytes()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::event::{AgentEvent, NoteLevel};
    use haft_protocol::ids::ExtensionName;
    use haft_protocol::rpc::{CommandFailure, CommandKind, ErrorCode};

    use super::*;

    fn note() -> AgentEvent {
        let message = "still here".repeat(10);
        AgentEvent::ExtNotify { extension: ExtensionName::new("clock"), level: NoteLevel::Info, message }
    }

    #[test]
    fn held_events_share_the_limits() {
        let room = OutboxLimits { pieces: 1000, notes: 2000 };
        let outlet = ClientSink::new(room, LineEncoding::Text, true);
        for _ in 0..1000 {
            outlet.event(Some("1"), note());
        }
        let refusal = CommandFailure::new(ErrorCode::AuthRequired, "no");
        outlet.reply(RpcResponse::failure(None, CommandKind::Ping, refusal));
        let before = outlet.lock().outbox.waiting_bytes();
        assert!(before < 200, "only the reply is sent before authentication");

        outlet.release_held();
        let all = outlet.lock().outbox.take(usize::MAX).unwrap().unwrap();
        assert!(all.len() < 3000 && all[before..].starts_with(r#"{"type":"ext_notify","#), "{all}");
        assert!(all.contains(r#"{"type":"event_gap","lost":"#), "{all}");
        outlet.event(None, note());
        assert!(outlet.lock().outbox.waiting_bytes() > 0, "no events are held after release");
    }
}
