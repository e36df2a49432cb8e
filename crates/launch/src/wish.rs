//! `TerminalRequestWatch`: a program in the background that wants the terminal.
//!
//! A process group of its own is no session of its own: the programs in it see the terminal of this process and may ask
//! for it. The system then stops all of the group, and nothing of it ever goes on by itself.

#[cfg(unix)]
mod stops {
    use std::future::pending;
    use std::io;

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
    use tokio::signal::unix::{Signal as Arrivals, SignalKind, signal};

    /// Sees when a program is stopped because it wants the terminal.
    #[derive(Debug)]
    pub struct TerminalRequestWatch {
        program: Option<Pid>,
        arrivals: Arrivals,
    }

    impl TerminalRequestWatch {
        pub(crate) fn for_process(id: u32) -> io::Result<Self> {
            let program = i32::try_from(id).ok().and_then(Pid::from_raw);
            Ok(Self { program, arrivals: signal(SignalKind::child())? })
        }

        /// Waits until the program is stopped for it. Safe to drop and to call again.
        pub async fn wait(&mut self) {
            while !self.is_there() {
                if self.arrivals.recv().await.is_none() {
                    pending::<()>().await;
                }
            }
        }

        /// True if the program is stopped because it wants the terminal. Leaves its status for the waiter of its end.
        fn is_there(&self) -> bool {
            let Some(program) = self.program else { return false };
            let look = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let status = waitid(WaitId::Pid(program), look).ok().flatten();
            let stopped_by = status.and_then(|status| status.stopping_signal());
            [Signal::TTIN, Signal::TTOU].iter().any(|signal| stopped_by == Some(signal.as_raw()))
        }
    }
}

#[cfg(not(unix))]
mod stops {
    use std::io;

    /// Nothing is stopped here.
    #[derive(Debug)]
    pub struct TerminalRequestWatch;

    impl TerminalRequestWatch {
        #[expect(clippy::unnecessary_wraps, reason = "can fail where there are signals")]
        pub(crate) fn for_process(_: u32) -> io::Result<Self> {
            Ok(Self)
        }

        /// Waits for ever.
        pub async fn wait(&mut self) {
            std::future::pending().await
        }
    }
}

pub use stops::TerminalRequestWatch;
