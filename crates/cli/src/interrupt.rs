//! Interrupts: the first requests a stop, the second stops immediately.

use anyhow::Context as _;
use tokio::sync::mpsc;

/// The interrupts of this process, in order: Ctrl-C, and on Unix SIGTERM or SIGHUP.
pub(crate) struct InterruptListener {
    arrived: mpsc::UnboundedReceiver<()>,
    received: usize,
}

impl InterruptListener {
    /// Listens for interrupts. From now on, an interrupt no longer ends the process.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        Self::listen_to(forward)
    }

    /// Listens without Ctrl-C, which another program handles.
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

    /// True after the second interrupt: waiting must end.
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

    /// Continues the work after the first interrupt, but not after the second. Earlier interrupts count.
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

/// Receives no signals on this platform. The sender stays open, because its end would count as an interrupt.
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
    fn counts_interrupts_across_waits() {
        let (sender, arrived) = mpsc::unbounded_channel();
        let mut interrupts = InterruptListener { arrived, received: 0 };
        sender.send(()).unwrap();
        assert_eq!(interrupts.next().now_or_never(), Some(()));
        assert_eq!(interrupts.run_until_second(pending()).now_or_never(), None);
        sender.send(()).unwrap();
        assert_eq!(interrupts.run_until_second(pending()).now_or_never(), Some(()));
        // After the second interrupt, nothing waits.
        assert_eq!(interrupts.run_until_second(pending()).now_or_never(), Some(()));
    }
}
