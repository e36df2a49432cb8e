//! A place in the log, for the two that hold it: the extension's task, and whoever writes to the extension.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use haft_protocol::codec;
use haft_protocol::ext::{EventGap, HostFrame};
use tokio::runtime::Handle;

use super::Shared;
use crate::extension::fanout::filter::Filter;
use crate::extension::fanout::log::CursorId;
use crate::extension::fanout::member::Member;

/// What the extension's task holds. Dropping it gives the place up.
#[derive(Debug)]
pub(crate) struct Seat {
    thread: Handle,
    cursor: Cursor,
}

/// How far an extension has come.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    shared: Arc<Shared>,
    id: CursorId,
    member: Arc<Member>,
}

/// Bytes that go out together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    parts: VecDeque<Bytes>,
}

impl Seat {
    pub(super) fn new(thread: Handle, cursor: Cursor) -> Self {
        Self { thread, cursor }
    }

    /// The thread that writes events.
    pub(crate) fn thread(&self) -> &Handle {
        &self.thread
    }

    pub(crate) fn cursor(&self) -> Cursor {
        self.cursor.clone()
    }

    /// It subscribes to this from now on.
    pub(crate) fn refilter(&self, filter: Filter) {
        self.cursor.shared.log().refilter(self.cursor.id, filter);
    }

    /// It does more than watch: at the end of the next event it is told so.
    pub(crate) fn leave(&self) {
        self.cursor.shared.log().leave(self.cursor.id);
    }

    /// The extension gave a sign of life.
    pub(crate) fn heard(&self) {
        self.cursor.member.heard();
    }

    /// Where the log ends: what is told from now on comes behind this.
    pub(crate) fn stamp(&self) -> u64 {
        self.cursor.shared.log().stamp()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.cursor.give_up();
    }
}

impl Cursor {
    pub(super) fn new(shared: Arc<Shared>, id: CursorId, member: Arc<Member>) -> Self {
        Self { shared, id, member }
    }

    /// What is to be written next, up to a place in the log if one is given. Empty when there is nothing.
    pub(crate) fn read(&self, up_to: Option<u64>) -> Batch {
        let read = self.shared.log().read(self.id, up_to);
        let mut parts = read.parts;
        let gap = (read.lost > 0).then(|| codec::encode(&HostFrame::EventGap(EventGap { lost: read.lost })));
        if let Some(Ok(gap)) = gap {
            parts.push_front(gap.into());
        }
        Batch { parts }
    }

    /// Waits until there may be something to read, after a read that brought nothing. Safe to drop and to call again.
    pub(crate) async fn changed(&self) {
        self.member.woken().await;
    }

    /// Something was written to the extension.
    pub(crate) fn wrote(&self) {
        self.member.wrote();
    }

    /// Nothing more is read from here.
    pub(crate) fn give_up(&self) {
        self.shared.log().remove(self.id);
    }
}

impl From<String> for Batch {
    fn from(line: String) -> Self {
        Self { parts: [Bytes::from(line)].into() }
    }
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The parts, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().map(|part| &**part)
    }

    /// So many bytes were written.
    pub(crate) fn advance(&mut self, mut written: usize) {
        while let Some(part) = self.parts.front_mut() {
            if written < part.len() {
                return part.advance(written);
            }
            written -= part.len();
            self.parts.pop_front();
        }
    }
}
