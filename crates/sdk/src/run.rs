//! An extension as a process: two runtimes, stdin and stdout.

use std::process::ExitCode;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Handle};

use crate::error::ServeError;
use crate::extension::Extension;
use crate::logging::log;
use crate::serve::{self, Options};

mod stdio;

/// Fewest threads for tools, commands and events: one handler that blocks its thread must not stop the others.
const MIN_WORKERS: usize = 4;

impl Extension {
    /// Runs the extension on stdin and stdout until the host says `shutdown` or goes. The body of `main`:
    ///
    /// ```no_run
    /// fn main() -> std::process::ExitCode {
    ///     haft_sdk::Extension::new("quiet", "1.0.0").run()
    /// }
    /// ```
    ///
    /// Makes its own runtimes, so it must not be called inside one: the connection and the intercepts share this
    /// thread, everything else runs on others. An error goes to the log (stderr) and gives a failure code.
    #[must_use = "return it from main: it says whether the extension ran"]
    pub fn run(self) -> ExitCode {
        let name = self.name.clone();
        match run(self) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                log(format_args!("extension {name:?} stopped: {}", chain(&error)));
                ExitCode::FAILURE
            }
        }
    }
}

fn run(extension: Extension) -> Result<(), ServeError> {
    let threads = available_parallelism().map_or(MIN_WORKERS, |cores| cores.get().max(MIN_WORKERS));
    let workers =
        Builder::new_multi_thread().worker_threads(threads).thread_name("handler").enable_all().build()?;
    let wire = Builder::new_current_thread().enable_all().build()?;
    let outcome = wire.block_on(connect(extension, workers.handle().clone()));
    // A handler that blocks its thread is not waited for.
    workers.shutdown_background();
    outcome
}

async fn connect(extension: Extension, workers: Handle) -> Result<(), ServeError> {
    let output = stdio::output()?;
    let options = Options { workers, handled: None, pipe: output.pipe };
    let outcome = serve::serve(extension, stdio::input()?, output.writer, options).await;
    if let Some(thread) = output.thread {
        // Its input is closed, so it ends once everything is written. A panic there has nobody left to hear of it.
        let _ = tokio::task::spawn_blocking(move || thread.join()).await;
    }
    outcome
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
