//! Events for extensions that only watch: one log for all of them, and a thread of its own that writes it out.
//!
//! An extension to which nothing is asked has a cursor in the [`log`] instead of a queue of its own. Who emits an
//! event puts it there once, under a short lock, and wakes the thread once, whatever the number of watchers. There,
//! a task a watcher writes what lies between its cursor and the end, as many events at once as fit into a pipe.
//! So a thousand events a second to a hundred watchers cost an interception nothing: its thread does none of it.
//!
//! The promise about order is per extension: everything it is told comes in the order it was told in. A question may
//! overtake an event on its way to somebody else, which nobody can see: who watches from here is asked nothing. An
//! extension that begins to offer something after all gets its own writer back, and what the session writes to it
//! until then carries a mark that says behind which event it belongs.
//!
//! Several may emit at once: parallel calls do, and agents that share a host. Each asks everybody in turn who tells
//! it, so a place changes when no event is on its way, and not in the middle of one: nobody is told twice or left out.

mod filter;
mod log;
mod member;
mod seat;
mod segment;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use haft_protocol::codec;
use haft_protocol::ext::{Event, HostFrame, Limits};
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::session::offers::Topic;
pub(crate) use filter::Filter;
use log::Log;
pub(crate) use member::{Member, Word};
pub(crate) use seat::{Batch, Cursor, Seat};

/// See the module.
#[derive(Debug)]
pub(crate) struct Fanout {
    shared: Arc<Shared>,
    /// None when the thread cannot be started: then everybody keeps a writer of its own.
    thread: OnceLock<Option<Thread>>,
}

/// An event on its way to everybody, until this is dropped.
#[derive(Debug)]
pub(crate) struct Emission<'a> {
    fanout: &'a Fanout,
}

/// What emitters, writers and seats work on.
#[derive(Debug)]
pub(crate) struct Shared {
    log: Mutex<Log>,
    /// There is something new for writers that had nothing to do.
    news: Notify,
    longest: usize,
}

/// The thread, until this is dropped.
#[derive(Debug)]
struct Thread {
    handle: Handle,
    _ends: DropGuard,
}

impl Fanout {
    pub(crate) fn new(limits: &Limits) -> Self {
        let log = Mutex::new(Log::new(limits));
        let shared = Shared { log, news: Notify::new(), longest: limits.max_result_line };
        Self { shared: Arc::new(shared), thread: OnceLock::new() }
    }

    /// A place for an extension that only watches. It takes effect at the end of an event; the member is told.
    /// None where there is no thread for it.
    pub(crate) fn join(&self, filter: Filter, member: Member) -> Option<Seat> {
        let thread = self.thread.get_or_init(|| match Thread::start(&self.shared) {
            Ok(thread) => Some(thread),
            Err(error) => {
                tracing::warn!(%error, "no thread for events: each extension keeps its own writer");
                None
            }
        });
        let handle = thread.as_ref()?.handle.clone();
        let member = Arc::new(member);
        let id = self.shared.log().join(filter, Arc::clone(&member));
        Some(Seat::new(handle, Cursor::new(Arc::clone(&self.shared), id, member)))
    }

    /// Somebody begins to tell everybody an event. Until that is over, nobody's place changes: who is told by the log
    /// and who by its own task stays as it was when the first of them was told.
    pub(crate) fn begin(&self) -> Emission<'_> {
        self.shared.log().begin();
        Emission { fanout: self }
    }

    /// One line; none when no extension would take it.
    fn encode(&self, event: Event) -> Option<String> {
        codec::encode(&HostFrame::Event(event)).ok().filter(|line| line.len() <= self.shared.longest)
    }
}

impl Emission<'_> {
    /// Tells those who watch from the log. Never waits.
    pub(crate) fn tell(self, topic: Topic<'_>, event: impl FnOnce() -> Option<Event>) {
        let shared = &self.fanout.shared;
        if !shared.log().is_wanted(topic) {
            return;
        }
        // Nobody shall wait for this: it takes as long as the event is large.
        let line = event().and_then(|event| self.fanout.encode(event));
        shared.log().append(topic, line.as_deref());
    }
}

impl Drop for Emission<'_> {
    fn drop(&mut self) {
        let wake = self.fanout.shared.log().turn();
        if wake {
            self.fanout.shared.news.notify_one();
        }
    }
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes writers that have nothing to do whenever there is something new.
    async fn spread(&self) {
        loop {
            self.news.notified().await;
            while self.wake_idle() {
                // They go first. What is emitted meanwhile is seen in the next round, without another wake.
                tokio::task::yield_now().await;
            }
        }
    }

    /// False when there is nothing new.
    fn wake_idle(&self) -> bool {
        let idle = self.log().idle();
        idle.iter().flatten().for_each(|member| member.wake());
        idle.is_some()
    }
}

impl Thread {
    /// The one runtime that this library builds: what is told to a hundred watchers must not keep the thread on which
    /// extensions are asked, and whoever embeds a host may have no other.
    fn start(shared: &Arc<Shared>) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (handle, end, shared) = (runtime.handle().clone(), CancellationToken::new(), Arc::clone(shared));
        let until = end.clone();
        std::thread::Builder::new()
            .name("haft-events".to_owned())
            .spawn(move || runtime.block_on(until.run_until_cancelled(shared.spread())))?;
        Ok(Self { handle, _ends: end.drop_guard() })
    }
}
