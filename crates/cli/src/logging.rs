//! Logging: to a file in `$HAFT_HOME/logs`, or to standard error if `HAFT_LOG` is set.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::sync::Mutex;

use anyhow::Context as _;
use haft_config::Home;
use haft_core::sanitize::sanitize;
use haft_host::open_log;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::exit::{Exit, OrExit as _};

/// The environment variable with the filter for standard error.
const VARIABLE: &str = "HAFT_LOG";

/// The size in bytes at which the next start rotates the log; the old log is kept.
const MAX_FILE: u64 = 10 * 1024 * 1024;

/// Starts logging. If the log file cannot be written, nothing is logged.
///
/// # Errors
/// The filter in `HAFT_LOG` is invalid.
pub(crate) fn init(home: &Home) -> anyhow::Result<()> {
    match filter_from_env()? {
        Some(filter) => start(filter, || SanitizingWriter(io::stderr())),
        None => start_file_log(home, default_filter()),
    }
    Ok(())
}

/// Starts logging while a screen covers standard error: everything is written to the file.
///
/// # Errors
/// The filter in `HAFT_LOG` is invalid.
pub(crate) fn init_beside_screen(home: &Home) -> anyhow::Result<()> {
    if !io::stderr().is_terminal() {
        return init(home);
    }
    start_file_log(home, filter_from_env()?.unwrap_or_else(default_filter));
    Ok(())
}

fn default_filter() -> Targets {
    Targets::new().with_default(LevelFilter::INFO)
}

/// Reads `HAFT_LOG`.
fn filter_from_env() -> anyhow::Result<Option<Targets>> {
    let Some(filter) = std::env::var(VARIABLE).ok().filter(|filter| !filter.is_empty()) else {
        return Ok(None);
    };
    let filter = filter
        .parse::<Targets>()
        .with_context(|| format!("{VARIABLE}={filter:?} is not a valid filter"))
        .or_exit(Exit::Configuration)?;
    Ok(Some(filter))
}

fn start_file_log(home: &Home, filter: Targets) {
    if let Ok(file) = log_file(home) {
        start(filter, Mutex::new(SanitizingWriter(file)));
        log_panics();
    }
}

/// Writes every panic to the log before it is printed. The terminal's hook, which is set later, prints none over the
/// screen.
fn log_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        tracing::error!(panic = %info, "a thread panicked");
        before(info);
    }));
}

fn start(filter: Targets, writer: impl for<'w> MakeWriter<'w> + Send + Sync + 'static) {
    // On a full disk, the layer would print the error of each line over the screen.
    let lines =
        tracing_subscriber::fmt::layer().with_ansi(false).log_internal_errors(false).with_writer(writer);
    tracing_subscriber::registry().with(filter).with(lines).init();
}

/// Sanitizes log lines, which can quote extensions and models.
pub(crate) struct SanitizingWriter<W>(pub(crate) W);

impl<W: io::Write> io::Write for SanitizingWriter<W> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.0.write_all(sanitize(&String::from_utf8_lossy(lines)).as_bytes())?;
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn log_file(home: &Home) -> io::Result<File> {
    let path = home.log_file();
    if std::fs::metadata(&path).is_ok_and(|data| data.len() > MAX_FILE) {
        std::fs::rename(&path, path.with_extension("old.log"))?;
    }
    open_log(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test program has no other log, so the subscriber and the hook can stay.
    #[test]
    fn panic_of_any_thread_is_in_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        start_file_log(&home, default_filter());
        let panicked = std::thread::spawn(|| panic!("too many \x1b[2Jbraces")).join();
        assert!(panicked.is_err());
        let log = std::fs::read_to_string(home.log_file()).unwrap();
        assert!(log.contains("a thread panicked") && log.contains("too many"), "{log}");
        assert!(!log.contains('\u{1b}'), "{log:?}");
    }
}
