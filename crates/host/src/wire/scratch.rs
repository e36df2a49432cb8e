//! One shared read buffer for each thread. A reader that waits for its extension holds no buffer, and nearly
//! all readers wait nearly always.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;

use tokio::io::{AsyncRead, ReadBuf};

pub(crate) const LARGEST: usize = 64 * 1024;

thread_local! {
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Reads at most this number of bytes and passes them on; no bytes at the end. Cancel-safe.
pub(crate) async fn read<T>(
    from: &mut (impl AsyncRead + Unpin),
    most: usize,
    mut to: impl FnMut(&[u8]) -> T,
) -> io::Result<T> {
    poll_fn(|context| {
        // Taken out during the read: the source might also read here.
        let mut room = ROOM.take();
        room.resize(LARGEST, 0);
        let mut into = ReadBuf::new(room.get_mut(..most).unwrap_or_default());
        let polled = Pin::new(&mut *from).poll_read(context, &mut into).map_ok(|()| to(into.filled()));
        ROOM.set(room);
        polled
    })
    .await
}
