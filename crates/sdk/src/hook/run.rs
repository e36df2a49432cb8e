//! A hook as a process, and over other streams.

use std::process::ExitCode;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;

use super::{Hook, HookDispatcher};
use crate::error::ServeError;
use crate::run::{exit_code, on_stdio};
use crate::serve::on_streams;
use crate::work::runtimes::{Own, Runtimes};

impl Hook {
    /// Runs the hook on stdin and stdout until the host closes stdin. The body of `main`:
    ///
    /// ```no_run
    /// fn main() -> std::process::ExitCode {
    ///     haft_sdk::hook::Hook::new().run()
    /// }
    /// ```
    ///
    /// At the end of input, handlers that are under way have one second to finish; what is not answered then is answered
    /// with an error. Makes its own runtimes, when something needs them, so it must not be called inside one. An error goes
    /// to the log (stderr) and gives a failure code.
    ///
    /// # Panics
    /// When it is called inside a tokio runtime.
    #[must_use = "return it from main: it says whether the hook ran"]
    pub fn run(self) -> ExitCode {
        let outcome = self.check().and_then(|()| {
            on_stdio(|outbox| HookDispatcher::new(self, outbox, Runtimes::Own(Own::default()), None))
        });
        exit_code(outcome, "hook")
    }

    /// Serves one connection over any pair of byte streams, all handlers on the caller's runtime: for tests, and for hosts
    /// that run a hook in their own process.
    ///
    /// Returns at the end of input, when the handlers that were running are done or one second has passed. Must be polled
    /// inside a tokio runtime with its timer enabled.
    ///
    /// # Errors
    /// [`ServeError`] when two handlers are for one point, a tool is wrong, or the connection breaks.
    pub async fn serve_on<R, W>(self, reader: R, writer: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin,
        W: AsyncWrite + Send + Unpin,
    {
        serve(self, reader, writer, None).await
    }
}

/// `handled` is a line to send after each event that was dealt with; for the harness.
pub(crate) async fn serve<R, W>(
    hook: Hook,
    reader: R,
    writer: W,
    handled: Option<&'static str>,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    hook.check()?;
    let given = Runtimes::Given(Handle::current());
    on_streams(|outbox| HookDispatcher::new(hook, outbox, given, handled), reader, writer).await
}
