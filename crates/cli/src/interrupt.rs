//! Interrupts: the first asks to stop, the second stops at once.

use anyhow::Context as _;
use tokio::sync::mpsc;

/// Interrupts of this process, in order: Ctrl-C, and on Unix a polite request to end or a closed terminal.
pub(crate) struct InterruptListener {
    arrived: mpsc::UnboundedReceiver<()>,
    received: usize,
}

impl InterruptListener {
    /// Begins to listen; from here on an interrupt no longer ends the process by itself.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        Self::listen_to(forward)
    }

    /// The same without Ctrl-C, which is somebody else's.
    pub(crate) fn listen_for_end() -> anyhow::Result<Self> {
        Self::listen_to(forward_end)
    }

    fn listen_to(forward: fn(mpsc::UnboundedSender<()>) -> std::io::Result<()>) -> anyhow::Result<Self> {
        let (sender, arrived) = mpsc::unbounded_channel();
        forward(sender).context("cannot listen for interrupts")?;
        Ok(Self { arrived, received: 0 })
    }

    pub(crate) async fn next(&mut self) {
        if self.arrived.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
        self.received += 1;
    }

    /// True if nothing is to be waited for any more.
    pub(crate) fn is_immediate(&self) -> bool {
        self.received >= 2
    }

    pub(crate) fn has_received_any(&self) -> bool {
        self.received > 0
    }

    pub(crate) async fn run_until_first<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.next() => None,
            done = work => Some(done),
        }
    }

    /// Works on after one interrupt, but not after two, those heard before included.
    pub(crate) async fn run_until_second(&mut self, work: impl Future<Output = ()>) {
        tokio::pin!(work);
        while !self.is_immediate() {
            tokio::select! {
                biased;
                () = self.next() => {}
                () = &mut work => return,
            }
        }
    }
}

#[cfg(unix)]
fn forward(sender: mpsc::UnboundedSender<()>) -> std::io::Result<()> {
    use tokio::signal::unix::SignalKind;

    forward_all(&[SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()], &sender)
}

#[cfg(unix)]
fn forward_end(sender: mpsc::UnboundedSender<()>) -> std::io::Result<()> {
    use tokio::signal::unix::SignalKind;

    forward_all(&[SignalKind::terminate(), SignalKind::hangup()], &sender)
}

#[cfg(unix)]
fn forward_all(
    kinds: &[tokio::signal::unix::SignalKind],
    sender: &mpsc::UnboundedSender<()>,
) -> std::io::Result<()> {
    for kind in kinds {
        let (mut signals, sender) = (tokio::signal::unix::signal(*kind)?, sender.clone());
        tokio::spawn(async move { while signals.recv().await.is_some() && sender.send(()).is_ok() {} });
    }
    Ok(())
}

#[cfg(not(unix))]
fn forward(sender: mpsc::UnboundedSender<()>) -> std::io::Result<()> {
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).is_ok() {} });
    Ok(())
}

/// Nothing else is told here. The sender stays, so that nobody takes its end for an interrupt.
#[cfg(not(unix))]
fn forward_end(sender: mpsc::UnboundedSender<()>) -> std::io::Result<()> {
    tokio::spawn(async move { sender.closed().await });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn the_second_is_the_second_whatever_was_under_way_at_the_first() {
        let (sender, arrived) = mpsc::unbounded_channel();
        let mut interrupts = InterruptListener { arrived, received: 0 };
        sender.send(()).unwrap();
        assert_eq!(interrupts.next().now_or_never(), Some(()));
        assert_eq!(interrupts.run_until_second(pending()).now_or_never(), None);
        sender.send(()).unwrap();
        assert_eq!(interrupts.run_until_second(pending()).now_or_never(), Some(()));
        // From here on nothing is waited for, without a third.
        assert_eq!(interrupts.run_until_second(pending()).now_or_never(), Some(()));
    }
}
