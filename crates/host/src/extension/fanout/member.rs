//! One extension, as the log knows it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// What an extension's own task is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// From the next event on, it is told by the log.
    Joined,
    /// From the next event on, it is told by itself again.
    Left,
    /// Something was written to it, the first since it was heard.
    Written,
    /// It lost so many events.
    Lost(u64),
}

/// See the module.
pub(crate) struct Member {
    /// Whether it understands `event_gap`.
    pub(super) knows_gaps: bool,
    say: Box<dyn Fn(Word) + Send + Sync>,
    /// It was told that something was written, and has not been heard since.
    written: AtomicBool,
    wake: Notify,
}

impl Member {
    /// `say` is called under the log's lock: it must not wait, and must not come back.
    pub(crate) fn new(knows_gaps: bool, say: impl Fn(Word) + Send + Sync + 'static) -> Self {
        Self { knows_gaps, say: Box::new(say), written: AtomicBool::new(false), wake: Notify::new() }
    }

    pub(super) fn say(&self, word: Word) {
        (self.say)(word);
    }

    pub(super) fn wrote(&self) {
        if !self.written.swap(true, Ordering::Relaxed) {
            self.say(Word::Written);
        }
    }

    pub(super) fn heard(&self) {
        self.written.store(false, Ordering::Relaxed);
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("knows_gaps", &self.knows_gaps).finish_non_exhaustive()
    }
}
