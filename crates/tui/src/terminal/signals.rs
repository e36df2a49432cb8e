//! Signals that concern the terminal.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// A signal to terminate, with its number.
    End(i32),
    /// Ctrl+c while another program owned the terminal, or an interrupt signal.
    Interrupt(i32),
    /// The process continues after it was stopped.
    Continued,
}

#[cfg(unix)]
mod listen {
    use std::io;

    use futures::FutureExt as _;
    use rustix::process::{Signal as Raw, kill_current_process_group};
    use tokio::signal::unix::{Signal as Arrivals, SignalKind, signal};

    use super::Signal;
    use crate::timeouts;

    #[derive(Debug)]
    pub(in super::super) struct Signals {
        terminate: Arrivals,
        hang_up: Arrivals,
        interrupt: Arrivals,
        go_on: Arrivals,
    }

    impl Signals {
        pub(in super::super) fn listen() -> io::Result<Self> {
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                hang_up: signal(SignalKind::hangup())?,
                interrupt: signal(SignalKind::interrupt())?,
                go_on: signal(SignalKind::from_raw(Raw::CONT.as_raw()))?,
            })
        }

        pub(in super::super) async fn next(&mut self) -> Signal {
            let number = |kind: SignalKind| kind.as_raw_value();
            tokio::select! {
                _ = self.terminate.recv() => Signal::End(number(SignalKind::terminate())),
                _ = self.hang_up.recv() => Signal::End(number(SignalKind::hangup())),
                _ = self.interrupt.recv() => Signal::Interrupt(number(SignalKind::interrupt())),
                _ = self.go_on.recv() => Signal::Continued,
            }
        }

        /// Drops the interrupts received so far, which were meant for another program.
        pub(in super::super) async fn forget_interrupts(&mut self) {
            // The runtime polls signals only between its tasks.
            tokio::task::yield_now().await;
            while self.interrupt.recv().now_or_never().is_some() {}
        }

        /// Stops the process group until the shell continues it. Without a shell, the system ignores the stop, and
        /// the process continues.
        pub(in super::super) async fn stop(&mut self) -> io::Result<()> {
            kill_current_process_group(Raw::TSTP)?;
            // The stop may come a little later, on another thread.
            let _ = tokio::time::timeout(timeouts::STOPPED, self.go_on.recv()).await;
            Ok(())
        }
    }
}

#[cfg(not(unix))]
mod listen {
    use std::io;

    use super::Signal;

    /// This system has no such signals.
    #[derive(Debug)]
    pub(in super::super) struct Signals;

    impl Signals {
        #[expect(clippy::unnecessary_wraps, reason = "can fail where there are signals")]
        pub(in super::super) fn listen() -> io::Result<Self> {
            Ok(Self)
        }

        pub(in super::super) async fn next(&mut self) -> Signal {
            std::future::pending().await
        }

        pub(in super::super) async fn forget_interrupts(&mut self) {}

        /// Does nothing: on this system nothing could continue a stopped process.
        pub(in super::super) async fn stop(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}

pub(super) use listen::Signals;
