//! Where what extensions send arrives: one place for all that a thread reads. One that waits for its extension holds no
//! room of its own, and nearly all extensions wait nearly always.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;

use tokio::io::{AsyncRead, ReadBuf};

pub(crate) const LARGEST: usize = 64 * 1024;

thread_local! {
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Reads what is there, at most so many bytes, and hands it over; no bytes at the end. Safe to drop and to call again.
pub(crate) async fn read<T>(
    from: &mut (impl AsyncRead + Unpin),
    most: usize,
    mut to: impl FnMut(&[u8]) -> T,
) -> io::Result<T> {
    poll_fn(|context| {
        // Taken out meanwhile: whoever is read from might read here, too.
        let mut room = ROOM.take();
        room.resize(LARGEST, 0);
        let mut into = ReadBuf::new(room.get_mut(..most).unwrap_or_default());
        let polled = Pin::new(&mut *from).poll_read(context, &mut into).map_ok(|()| to(into.filled()));
        ROOM.set(room);
        polled
    })
    .await
}
