//! The lines of a connection that is served by tasks.

use std::future::pending;
use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::Outbox;

/// The other end of an [`Outbox`]; see [`write_all`].
pub(crate) type Queue = mpsc::UnboundedReceiver<Outgoing>;

/// One thing for the writer to do.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// Write this, newline included.
    Line(String),
    /// Look when the next panel is to be drawn.
    Alarm,
    /// Nothing follows.
    Close,
}

/// Writes what is sent, one write each, until the outbox is closed.
pub(crate) async fn write_all<W: AsyncWrite + Unpin>(
    outbox: &Outbox,
    mut queue: Queue,
    mut writer: W,
) -> io::Result<()> {
    loop {
        let alarm = outbox.show_panels();
        let next = tokio::select! {
            () = at(alarm) => continue,
            next = queue.recv() => next,
        };
        match next {
            Some(Outgoing::Line(line)) => {
                writer.write_all(line.as_bytes()).await?;
                writer.flush().await?;
            }
            Some(Outgoing::Alarm) => {}
            Some(Outgoing::Close) | None => return writer.shutdown().await,
        }
    }
}

async fn at(alarm: Option<Instant>) {
    match alarm {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}
