//! What the loop waits for.

use std::time::Instant;

use tokio::sync::mpsc;

use super::{Driver, Gallery, Happening, Interface, MOST_LINES, Program, rpc};
use crate::timeouts;

impl<I: Interface, P: Program> Driver<I, P> {
    /// The next thing that happens. Whatever else has happened by then is kept for the next time.
    pub(super) async fn happening(&mut self) -> Happening {
        let now = Instant::now();
        if self.tick_due.is_none_or(|at| at > now) {
            self.tick_due = self.tick_at(now);
        }
        let wakes_at = self.wakes_at();
        tokio::select! {
            signal = self.signals.next() => Happening::Signal(signal),
            events = self.input.next() => Happening::Input(events),
            count = lines(&mut self.lines, &mut self.batch) => Happening::Lines(count),
            Some(answer) = self.answers.recv() => Happening::Answer(answer),
            Some(done) = self.tasks.join_next() => Happening::Done(done),
            () = image(&mut self.gallery) => Happening::Image,
            () = until(wakes_at) => Happening::Time,
        }
    }

    /// When there is something to do though nothing happens.
    fn wakes_at(&self) -> Option<Instant> {
        let frame = self.pace.due_at().filter(|_| !self.input.is_paused()).map(|at| at.max(self.draws_from));
        [frame, self.tick_due, self.replies.gives_up_at()].into_iter().flatten().min()
    }

    /// When the interface is told the time. It cannot keep the loop busy with it.
    fn tick_at(&self, now: Instant) -> Option<Instant> {
        let wanted = self.interface.wakes_at(now)?;
        Some(self.ticked_at.map_or(wanted, |at| wanted.max(at + timeouts::FRAME)))
    }
}

/// How many lines have come; none once none comes any more.
async fn lines(lines: &mut Option<mpsc::Receiver<rpc::Line>>, batch: &mut Vec<rpc::Line>) -> usize {
    match lines {
        Some(lines) => lines.recv_many(batch, MOST_LINES).await,
        None => std::future::pending().await,
    }
}

/// An image is ready.
async fn image(gallery: &mut Option<Gallery>) {
    match gallery {
        Some(gallery) => gallery.ready().await,
        None => std::future::pending().await,
    }
}

pub(in super::super) async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
