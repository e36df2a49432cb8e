//! Who tells an extension its events: its own task, or the log for those who only watch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use futures::channel::mpsc;
use haft_protocol::ext::capability;

use super::{Command, EventCount};
use crate::extension::backlog::Backlog;
use crate::extension::fanout::{Fanout, Filter, Member, Seat, Word};
use crate::session::offers::Offers;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Watching {
    fanout: Arc<Fanout>,
    /// The log tells it.
    by_log: Arc<AtomicBool>,
    /// It is one of the host's, and not one that a reload has yet to put in its place.
    in_place: Arc<AtomicBool>,
    /// Events that it has yet to be told, and first of all.
    backlog: Option<Arc<Backlog>>,
}

impl Watching {
    pub(crate) fn new(fanout: Arc<Fanout>, backlog: Option<Arc<Backlog>>) -> Self {
        Self { fanout, by_log: Arc::default(), in_place: Arc::default(), backlog }
    }

    /// From here on it is told what happens.
    pub(crate) fn put_in_place(&self) {
        self.in_place.store(true, Ordering::Relaxed);
    }

    /// Whether the log tells it.
    pub(crate) fn is_told_by_log(&self) -> bool {
        self.by_log.load(Ordering::Relaxed)
    }

    /// A place in the log for an extension with these offers; none while older events wait for it elsewhere, or another
    /// one of its name is still told.
    pub(super) fn join(
        &self,
        offers: &Offers,
        commands: Weak<mpsc::UnboundedSender<Command>>,
        count: &Arc<EventCount>,
    ) -> Option<Seat> {
        let waits = self.backlog.as_ref().is_some_and(|backlog| !backlog.is_over());
        if waits || !self.in_place.load(Ordering::Relaxed) {
            return None;
        }
        let (by_log, count) = (Arc::clone(&self.by_log), Arc::clone(count));
        let member = Member::new(offers.announced(capability::EVENT_GAP), move |word| {
            let is_news = match word {
                Word::Joined | Word::Left => {
                    by_log.store(word == Word::Joined, Ordering::Relaxed);
                    true
                }
                Word::Written => true,
                Word::Lost(events) => count.lose(usize::try_from(events).unwrap_or(usize::MAX)),
            };
            // Events that were told by itself are in the same queue, before this. One that is gone needs no word.
            if let Some(commands) = commands.upgrade().filter(|_| is_news) {
                _ = commands.unbounded_send(Command::Log(word));
            }
        });
        self.fanout.join(Filter::of(offers), member)
    }

    /// Its task is over, or panicked without a word.
    pub(crate) fn end(&self) {
        self.by_log.store(false, Ordering::Relaxed);
    }
}

impl EventCount {
    /// So many more were dropped. Says whether they are the first.
    pub(super) fn lose(&self, events: usize) -> bool {
        self.dropped.fetch_add(events, Ordering::Relaxed) == 0
    }
}
