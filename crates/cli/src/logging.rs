//! The only subscriber: a file below `$HAFT_HOME/logs`, or standard error when `HAFT_LOG` asks for it.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::sync::Mutex;

use anyhow::Context as _;
use haft_config::Home;
use haft_core::sanitize::sanitize;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::exit::{Exit, OrExit as _};

/// The variable with the filter for standard error.
const VARIABLE: &str = "HAFT_LOG";

/// A log longer than this, in bytes, is begun anew at the next start; the old one is kept beside it.
const MAX_FILE: u64 = 10 * 1024 * 1024;

/// Starts logging. A log file that cannot be written is no reason not to work; nothing is logged then.
///
/// # Errors
/// When the filter in `HAFT_LOG` cannot be understood.
pub(crate) fn init(home: &Home) -> anyhow::Result<()> {
    match filter_from_env()? {
        Some(filter) => start(filter, || SanitizingWriter(io::stderr())),
        None => start_file_log(home, EnvFilter::new("info")),
    }
    Ok(())
}

/// The same beside a screen that standard error would be written over: then all of it goes into the file.
///
/// # Errors
/// When the filter in `HAFT_LOG` cannot be understood.
pub(crate) fn init_beside_screen(home: &Home) -> anyhow::Result<()> {
    if !io::stderr().is_terminal() {
        return init(home);
    }
    start_file_log(home, filter_from_env()?.unwrap_or_else(|| EnvFilter::new("info")));
    Ok(())
}

/// Reads `HAFT_LOG`.
fn filter_from_env() -> anyhow::Result<Option<EnvFilter>> {
    let Some(filter) = std::env::var(VARIABLE).ok().filter(|filter| !filter.is_empty()) else {
        return Ok(None);
    };
    let filter = EnvFilter::try_new(&filter)
        .with_context(|| format!("{VARIABLE}={filter:?} cannot be used"))
        .or_exit(Exit::Configuration)?;
    // At trace level the provider's library writes down whole conversations.
    let quiet = "rig=debug".parse().context("the filter of the provider's library")?;
    Ok(Some(filter.add_directive(quiet)))
}

fn start_file_log(home: &Home, filter: EnvFilter) {
    if let Ok(file) = log_file(home) {
        start(filter, Mutex::new(SanitizingWriter(file)));
    }
}

fn start(filter: EnvFilter, writer: impl for<'w> MakeWriter<'w> + Send + Sync + 'static) {
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(writer).init();
}

/// Lines that quote what extensions and models said, for whoever looks at them in a terminal.
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
    std::fs::create_dir_all(home.logs_dir())?;
    let path = home.log_file();
    if std::fs::metadata(&path).is_ok_and(|data| data.len() > MAX_FILE) {
        std::fs::rename(&path, path.with_extension("old.log"))?;
    }
    File::options().create(true).append(true).open(path)
}
