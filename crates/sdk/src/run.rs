//! Runs an extension as a process over stdin and stdout, or over any pair of streams.
//!
//! One thread reads stdin, selects the handler, and writes the response of a hook that need not
//! wait. That takes two system calls per request for every kind of stdin (pipe, file, socket,
//! terminal). tokio's stdin would pass every frame through a second thread, and a pipe in a reactor
//! takes a third call.

use std::fmt;
use std::io::{self, Read};
use std::process::ExitCode;
use std::time::Instant;

use haft_protocol::ext::ShutdownAck;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Handle};

use crate::dispatch::{DispatchOutcome, FrameDispatcher, LineHandler};
use crate::error::ServeError;
use crate::extension::Extension;
use crate::logging::log;
use crate::outbox::FrameOutbox;
use crate::platform;
use crate::running_handlers::runtimes::{HandlerRuntimes, OwnRuntimes};
use crate::serve;
use crate::serve::lines::{LineSplitter, end_of_reset};
use crate::timeouts::HANDLER_GRACE;

impl Extension {
    /// Runs the extension on stdin and stdout until the host sends `shutdown` or closes the
    /// connection. Use it as the body of `main`:
    ///
    /// ```no_run
    /// fn main() -> std::process::ExitCode {
    ///     haft_sdk::Extension::new("quiet", "1.0.0").run()
    /// }
    /// ```
    ///
    /// Creates its own runtimes when needed, so it must not be called inside one. This thread
    /// serves the connection and runs the handlers of hooks; a handler that has to wait continues
    /// on another thread. Commands, tools and events share four other threads. An error goes to the
    /// log (stderr) and results in a failure exit code.
    ///
    /// # Panics
    /// If it is called inside a tokio runtime.
    #[must_use = "return it from main: it says whether the extension ran"]
    pub fn run(self) -> ExitCode {
        let name = self.name.clone();
        exit_code(run(self), format_args!("extension {name:?}"))
    }

    /// Serves one connection over any pair of byte streams, with all handlers on the caller's
    /// runtime: for tests, and for hosts that run an extension in their own process.
    ///
    /// Returns after `shutdown` or the end of input, when all running handlers are done or one
    /// second has passed. Must be polled inside a tokio runtime with its timer enabled.
    ///
    /// # Errors
    /// [`ServeError`] if the registrations are invalid, the connection breaks, or the host has
    /// another protocol version.
    pub async fn serve_on<R, W>(self, reader: R, writer: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin,
        W: AsyncWrite + Send + Unpin,
    {
        serve::serve(self, reader, writer, None).await
    }
}

fn run(extension: Extension) -> Result<(), ServeError> {
    extension.check()?;
    serve_stdio(|outbox| {
        outbox.push_all(&extension.start_frames().opening_frames());
        FrameDispatcher::new(extension, outbox, HandlerRuntimes::Own(OwnRuntimes::default()), None)
    })
}

/// Serves one connection on stdin and stdout, with the calling thread as its reader.
///
/// # Errors
/// [`ServeError`] if the connection breaks.
pub fn serve_stdio<D: LineHandler>(dispatcher: impl FnOnce(FrameOutbox) -> D) -> Result<(), ServeError> {
    if let Ok(around) = Handle::try_current() {
        // Panics inside a runtime: better here than at the first request.
        around.block_on(async {});
    }
    let outbox = FrameOutbox::for_stdout()?;
    let outcome = run_connection(dispatcher(outbox.clone()), &outbox);
    outbox.close();
    outcome?;
    Ok(outbox.finish()?)
}

/// Reads and dispatches until the connection ends, then waits for the handlers.
fn run_connection<D: LineHandler>(mut dispatcher: D, outbox: &FrameOutbox) -> Result<(), ServeError> {
    let mut stdin = io::stdin().lock();
    let mut cutter = LineSplitter::new(D::LONGEST_LINE);
    let mut flow = DispatchOutcome::Continue;
    while flow == DispatchOutcome::Continue {
        flow = match cutter.next_line()? {
            Some(line) => dispatcher.handle_line(cutter.get(line))?,
            None => match read(&mut stdin, cutter.read_buffer())? {
                0 => DispatchOutcome::EndOfInput,
                read => {
                    cutter.advance(read);
                    DispatchOutcome::Continue
                }
            },
        };
        outbox.check()?;
    }
    let until = Instant::now() + HANDLER_GRACE;
    let work = dispatcher.end();
    let runtimes = match work.is_busy() {
        true => Builder::new_current_thread().enable_time().build()?.block_on(work.finish()),
        false => work.into_runtimes(),
    };
    runtimes.finish(until);
    if flow == DispatchOutcome::Shutdown {
        outbox.push(ShutdownAck {});
    }
    Ok(())
}

/// Reads from stdin, waiting for input; 0 bytes mean its end.
fn read(stdin: &mut io::StdinLock<'_>, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match end_of_reset(stdin.read(room)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Another process that shares stdin made it non-blocking.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => platform::wait_readable(stdin)?,
            read => return read,
        }
    }
}

/// Returns the exit code of `main` and logs an error.
pub fn exit_code(outcome: Result<(), ServeError>, who: impl fmt::Display) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(format_args!("{who} stopped: {}", error_chain(&error)));
            ExitCode::FAILURE
        }
    }
}

fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
