//! `TerminalRequestWatch`: detects a background program that requests the terminal.
//!
//! A separate process group is not a separate session: its programs see the terminal of this process and may request
//! it. The system then stops the whole group, and the group never resumes by itself.

#[cfg(unix)]
mod imp {
    use std::future::pending;
    use std::io;

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
    use tokio::signal::unix::{Signal as Arrivals, SignalKind, signal};

    /// Detects when a program is stopped because it requests the terminal.
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

        /// Waits until the program is stopped for that reason. Cancel-safe, and may be called again.
        pub async fn wait(&mut self) {
            while !self.is_stopped() {
                if self.arrivals.recv().await.is_none() {
                    pending::<()>().await;
                }
            }
        }

        /// True if the program is stopped because it requests the terminal. Leaves the status for the call that waits
        /// for the program's end.
        fn is_stopped(&self) -> bool {
            let Some(program) = self.program else { return false };
            let look = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let status = waitid(WaitId::Pid(program), look).ok().flatten();
            let stopped_by = status.and_then(|status| status.stopping_signal());
            [Signal::TTIN, Signal::TTOU].iter().any(|signal| stopped_by == Some(signal.as_raw()))
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use std::io;

    /// A watch that never reports a request.
    #[derive(Debug)]
    pub struct TerminalRequestWatch;

    impl TerminalRequestWatch {
        #[expect(clippy::unnecessary_wraps, reason = "can fail where there are signals")]
        pub(crate) fn for_process(_: u32) -> io::Result<Self> {
            Ok(Self)
        }

        /// Waits forever.
        pub async fn wait(&mut self) {
            std::future::pending().await
        }
    }
}

pub use imp::TerminalRequestWatch;
