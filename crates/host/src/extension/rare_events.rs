//! Polls rare events only after one of them was woken.
//!
//! The task behind an extension waits for six sources, and nearly always one of two is ready. Polling the
//! other four every turn would be a large part of the cost of a query.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Decides whether to poll some futures. The futures must keep their progress when they are dropped and
/// created again.
#[derive(Debug)]
pub(super) struct RareEventPoller {
    mark: Arc<WakeFlag>,
    waker: Waker,
}

#[derive(Debug)]
struct WakeFlag {
    /// True if one of the futures is ready or has no waker yet.
    due: AtomicBool,
    task: Mutex<Waker>,
}

impl Default for RareEventPoller {
    fn default() -> Self {
        let mark = Arc::new(WakeFlag { due: AtomicBool::new(true), task: Mutex::new(Waker::noop().clone()) });
        Self { waker: Waker::from(Arc::clone(&mark)), mark }
    }
}

impl RareEventPoller {
    /// Polls the futures if one of them was woken since the last poll.
    pub(super) fn poll_if_woken<T>(
        &self,
        context: &mut Context<'_>,
        all: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.mark.set_waker(context.waker());
        if !self.mark.due.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let polled = all(&mut Context::from_waker(&self.waker));
        if polled.is_ready() {
            // The other futures may not have been polled.
            self.request_poll();
        }
        polled
    }

    /// Requests a poll for a new future, which has no waker yet.
    pub(super) fn request_poll(&self) {
        self.mark.due.store(true, Ordering::Release);
    }
}

impl WakeFlag {
    fn set_waker(&self, waker: &Waker) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if !task.will_wake(waker) {
            task.clone_from(waker);
        }
    }
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.due.store(true, Ordering::Release);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        task.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::pin::Pin;

    use tokio::sync::mpsc;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn polls_only_after_wake_and_misses_nothing() {
        let (one, mut ones) = mpsc::unbounded_channel();
        let (two, mut twos) = mpsc::unbounded_channel();
        let seldom = RareEventPoller::default();
        let mut polls = 0;
        let mut next = || {
            polls += 1;
            let mut all = poll_fn(|context| {
                seldom.poll_if_woken(context, |context| match ones.poll_recv(context) {
                    Poll::Pending => twos.poll_recv(context),
                    ready => ready,
                })
            });
            let mut nobody = Context::from_waker(Waker::noop());
            match Pin::new(&mut all).poll(&mut nobody) {
                Poll::Ready(item) => item,
                Poll::Pending => None,
            }
        };
        assert_eq!((next(), next()), (None, None));
        two.send(2).unwrap();
        one.send(1).unwrap();
        assert_eq!((next(), next(), next(), next()), (Some(1), Some(2), None, None));
        two.send(3).unwrap();
        assert_eq!(next(), Some(3));
        assert_eq!(polls, 7);
    }

    #[tokio::test]
    async fn wakes_the_task_that_polls() {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let waiting = tokio::spawn(async move {
            let seldom = RareEventPoller::default();
            let mut looked = 0;
            let item = poll_fn(|context| {
                seldom.poll_if_woken(context, |context| {
                    looked += 1;
                    receiver.poll_recv(context)
                })
            });
            (item.await, looked)
        });
        yield_now().await;
        sender.send(7).unwrap();
        assert_eq!(waiting.await.unwrap(), (Some(7), 2));
    }
}
