//! The task that writes to an extension that only watches: events from the log, and lines of its session between them.

use std::io::IoSlice;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::time::timeout;

use super::{Item, Lines, Outlet, Released, Waiting, WriterEnd};
use crate::extension::fanout::{Batch, Cursor};

/// Parts that are written at once; more than these the system may refuse.
const PARTS: usize = 64;

/// Runs on the thread for events. A line goes out when all events before it have.
pub(super) async fn write_log(
    outlet: Outlet,
    lines: Lines,
    cursor: Cursor,
    waiting: Arc<Waiting>,
    stall: Duration,
) -> WriterEnd {
    let end = match outlet.moved() {
        Ok(outlet) => write_all(outlet, lines, &cursor, &waiting, stall).await,
        Err(error) => Err(WriterEnd::Broken(error)),
    };
    cursor.give_up();
    end.unwrap_or_else(|end| end)
}

async fn write_all(
    mut outlet: Outlet,
    mut lines: Lines,
    cursor: &Cursor,
    waiting: &Waiting,
    stall: Duration,
) -> Result<WriterEnd, WriterEnd> {
    let (mut next, mut closed) = (None, false);
    loop {
        if next.is_none() && !closed {
            match lines.try_recv() {
                Ok(line) => next = Some(line),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => closed = true,
            }
        }
        if closed && next.is_none() {
            return outlet.shutdown().await.map(|()| WriterEnd::Done).map_err(WriterEnd::Broken);
        }
        let batch = cursor.read(next.as_ref().map(|placed| placed.after));
        if !batch.is_empty() {
            cursor.wrote();
            write_batch(&mut outlet, batch, stall).await?;
            continue;
        }
        match next.take().map(|placed| placed.item) {
            Some(Item::Line(line)) => {
                let (number, bytes, droppable) = (line.number, line.text.len(), line.droppable);
                write_batch(&mut outlet, line.text.into(), stall).await?;
                waiting.left(number, bytes, droppable);
            }
            Some(Item::Release { to_log }) => {
                return Ok(WriterEnd::Released(Released { outlet, lines, to_log }));
            }
            None => tokio::select! {
                line = lines.recv() => match line {
                    Some(line) => next = Some(line),
                    None => closed = true,
                },
                () = cursor.changed() => {}
            },
        }
    }
}

/// Writes a batch; any progress starts the stall's time again.
async fn write_batch(outlet: &mut Outlet, mut batch: Batch, stall: Duration) -> Result<(), WriterEnd> {
    while !batch.is_empty() {
        let mut slices = [IoSlice::new(&[]); PARTS];
        let used =
            slices.iter_mut().zip(batch.parts()).map(|(slice, part)| *slice = IoSlice::new(part)).count();
        let parts = slices.get(..used).unwrap_or_default();
        let written = match timeout(stall, outlet.write_vectored(parts)).await {
            Err(_) => return Err(WriterEnd::Stalled),
            Ok(Err(error)) => return Err(WriterEnd::Broken(error)),
            Ok(Ok(0)) => return Err(WriterEnd::Broken(std::io::ErrorKind::WriteZero.into())),
            Ok(Ok(written)) => written,
        };
        batch.advance(written);
    }
    Ok(())
}
