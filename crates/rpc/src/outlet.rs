//! `Outlet`: the way to the client. Everybody puts lines into it and waits for nothing; one writer takes them out.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_protocol::rpc::{Event, Line, Response};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use crate::outbox::{Form, Outbox, Room};

/// The number of bytes of one write, unless one line is longer: what a pipe takes at once.
const PIECE: usize = 64 * 1024;

/// Cheap to clone; the clones are one.
#[derive(Clone)]
pub(crate) struct Outlet(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    /// Something was put in, or nothing more comes.
    more: Notify,
    /// Something was taken out.
    taken: Notify,
}

struct State {
    outbox: Outbox,
    /// The number of bytes that the client has taken: bytes, or lines.
    written: u64,
    /// Events of before somebody was let in, while nobody is: they are nobody's business yet.
    held: Option<Outbox>,
    closed: bool,
    /// The client took something no more.
    broken: bool,
}

impl Outlet {
    /// `holds`: events wait until [`open`](Self::open).
    pub(crate) fn new(room: Room, form: Form, holds: bool) -> Self {
        let held = holds.then(|| Outbox::new(room, form));
        let outbox = Outbox::new(room, form);
        let state = Mutex::new(State { outbox, written: 0, held, closed: false, broken: false });
        Self(Arc::new(Inner { state, more: Notify::new(), taken: Notify::new() }))
    }

    pub(crate) fn reply(&self, reply: Response) {
        self.add(|state| state.outbox.reply(reply));
    }

    /// Adds an event, or leaves it out, as [`Outbox`] says.
    pub(crate) fn event(&self, session: Option<&str>, event: impl Into<Event>) {
        let session = session.map(str::to_owned);
        self.add(|State { outbox, held, .. }| held.as_mut().unwrap_or(outbox).event(session, event));
    }

    /// Somebody was let in: what was held comes next.
    pub(crate) fn open(&self) {
        self.add(|State { outbox, held, .. }| held.take().map_or(Ok(()), |held| outbox.append(held)));
    }

    fn add(&self, put: impl FnOnce(&mut State) -> Result<(), serde_json::Error>) {
        let outcome = put(&mut self.lock());
        if let Err(error) = outcome {
            tracing::error!(%error, "a line has no JSON form");
        }
        self.0.more.notify_one();
    }

    /// Waits until commands may be read: their replies would only wait, too.
    pub(crate) async fn room(&self) {
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

    /// Writes what comes until nothing more does. There is one writer.
    ///
    /// # Errors
    /// When the output takes nothing more.
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

    /// Tells a client in the same process what comes until nothing more does, in place of [`write`](Self::write).
    ///
    /// # Errors
    /// When the client is gone.
    pub(crate) async fn tell(&self, lines: mpsc::Sender<Line>) -> std::io::Result<()> {
        let told = tokio::select! {
            told = self.tell_all(&lines) => told,
            // It is noticed although there is nothing to tell.
            () = lines.closed() => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        self.lock().broken = told.is_err();
        told
    }

    async fn tell_all(&self, lines: &mpsc::Sender<Line>) -> std::io::Result<()> {
        while let Some(line) = self.next(Outbox::take_line).await? {
            lines.send(line).await.map_err(|_| std::io::ErrorKind::BrokenPipe)?;
            self.lock().written += 1;
        }
        Ok(())
    }

    /// Waits for what comes next; `None` when nothing more does. Nothing is lost when the future is dropped.
    async fn next<T>(
        &self,
        take: impl Fn(&mut Outbox) -> Result<Option<T>, serde_json::Error>,
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

    /// Waits until the writer has written the rest, as long as the client takes some of it within `patience`. Says whether
    /// it has; a writer that has failed is not asked again.
    pub(crate) async fn drained(
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

    fn lock(&self) -> MutexGuard<'_, State> {
        // A line that was half made when something panicked is not in the box.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").field("waiting", &self.lock().outbox.waiting()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::event::{AgentEvent, Level};
    use haft_protocol::ids::ExtensionName;
    use haft_protocol::rpc::{CommandKind, ErrorCode, Failure};

    use super::*;

    fn note() -> AgentEvent {
        let message = "still here".repeat(10);
        AgentEvent::ExtNotify { extension: ExtensionName::new("clock"), level: Level::Info, message }
    }

    #[test]
    fn what_is_held_has_no_more_room_than_what_waits() {
        let room = Room { pieces: 1000, notes: 2000 };
        let outlet = Outlet::new(room, Form::Text, true);
        for _ in 0..1000 {
            outlet.event(Some("1"), note());
        }
        let refusal = Failure::new(ErrorCode::AuthRequired, "no");
        outlet.reply(Response::failure(None, CommandKind::Ping, refusal));
        let before = outlet.lock().outbox.waiting();
        assert!(before < 200, "nothing but the reply is told before somebody is let in");

        outlet.open();
        let all = outlet.lock().outbox.take(usize::MAX).unwrap().unwrap();
        assert!(all.len() < 3000 && all[before..].starts_with(r#"{"type":"ext_notify","#), "{all}");
        assert!(all.contains(r#"{"type":"event_gap","lost":"#), "{all}");
        outlet.event(None, note());
        assert!(outlet.lock().outbox.waiting() > 0, "nothing is held any more");
    }
}
