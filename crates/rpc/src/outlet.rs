//! `Outlet`: the way to the client. Everybody puts lines into it and waits for nothing; one writer takes them out.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_protocol::rpc::{Event, Response};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::outbox::{Outbox, Room};

/// How much is written at a time, in bytes, unless one line is longer: what a pipe takes at once.
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
    /// How often the writer took something out.
    taken: u64,
    /// Events of before somebody was let in, while nobody is: they are nobody's business yet.
    held: Option<Vec<(Option<String>, Event)>>,
    closed: bool,
}

impl Outlet {
    /// `holds`: events wait until [`open`](Self::open).
    pub(crate) fn new(room: Room, holds: bool) -> Self {
        let held = holds.then(Vec::new);
        let state = Mutex::new(State { outbox: Outbox::new(room), taken: 0, held, closed: false });
        Self(Arc::new(Inner { state, more: Notify::new(), taken: Notify::new() }))
    }

    /// Adds a reply.
    pub(crate) fn reply(&self, reply: &Response) {
        self.add(|outbox| outbox.reply(reply));
    }

    /// Adds an event, or leaves it out, as [`Outbox`] says.
    pub(crate) fn event(&self, session: Option<&str>, event: impl Into<Event>) {
        let (session, event) = (session.map(str::to_owned), event.into());
        if let Some(held) = &mut self.lock().held {
            // Only what happens at the start: nothing is worked on for nobody.
            return held.push((session, event));
        }
        self.add(|outbox| outbox.event(session, event));
    }

    /// Somebody was let in: what was held comes next.
    pub(crate) fn open(&self) {
        let held = self.lock().held.take();
        for (session, event) in held.into_iter().flatten() {
            self.add(|outbox| outbox.event(session, event));
        }
    }

    fn add(&self, put: impl FnOnce(&mut Outbox) -> Result<(), serde_json::Error>) {
        let outcome = put(&mut self.lock().outbox);
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

    /// Nothing more comes.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.0.more.notify_one();
    }

    /// Writes what comes until nothing more does. There is one writer.
    ///
    /// # Errors
    /// When the output takes nothing more.
    pub(crate) async fn write(&self, mut output: impl AsyncWrite + Unpin) -> std::io::Result<()> {
        loop {
            let more = self.0.more.notified();
            let (piece, closed) = {
                let mut state = self.lock();
                let piece = state.outbox.take(PIECE).map_err(std::io::Error::other)?;
                state.taken += u64::from(piece.is_some());
                (piece, state.closed)
            };
            match piece {
                Some(piece) => {
                    self.0.taken.notify_one();
                    output.write_all(piece.as_bytes()).await?;
                    output.flush().await?;
                }
                None if closed => return Ok(()),
                None => more.await,
            }
        }
    }

    /// Waits until the writer has written the rest, as long as the client takes some of it within `patience`. Says whether
    /// it has.
    pub(crate) async fn drained(
        &self,
        mut writer: Pin<&mut impl Future<Output = std::io::Result<()>>>,
        patience: Duration,
    ) -> bool {
        loop {
            let before = self.lock().taken;
            match timeout(patience, writer.as_mut()).await {
                Ok(written) => return written.is_ok(),
                Err(_) if self.lock().taken == before => return false,
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
