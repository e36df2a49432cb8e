//! `haft ext logs`: the standard error output of an extension.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use anyhow::{Context as _, bail};
use haft_config::Home;
use haft_core::sanitize::Sanitizer;
use haft_host::log_path;
use haft_packages::install::{ExtensionStore, InstallError};
use haft_protocol::ids::ExtensionName;

use crate::console;
use crate::timeouts::FOLLOW_POLL;

/// Prints the log. With `follow`, prints additions until the user interrupts.
pub(super) fn print(store: &ExtensionStore, home: &Home, name: &str, follow: bool) -> anyhow::Result<()> {
    let path = log_path(&home.logs_dir(), &manifest_name(store, name)?);
    if !path.is_file() {
        bail!("no log of {name:?} in {}; haft writes it when the extension runs", path.display());
    }
    let mut tail = LogTail::open(&path)?;
    loop {
        tail.print_rest()?;
        if !follow {
            return Ok(());
        }
        std::thread::sleep(FOLLOW_POLL);
        tail.reopen_if_replaced(&path)?;
    }
}

/// Returns the name in the manifest, which names the log. An extension of `--ext` has a log although it is not
/// installed.
fn manifest_name(store: &ExtensionStore, name: &str) -> anyhow::Result<ExtensionName> {
    match store.find(name, None) {
        Ok(row) => Ok(ExtensionName::new(row.name)),
        Err(InstallError::NotFound { .. } | InstallError::Ambiguous { .. }) => Ok(ExtensionName::new(name)),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn sanitize_log_line(sanitizer: &mut Sanitizer, line: &[u8]) -> String {
    sanitizer.push(&String::from_utf8_lossy(line))
}

/// A file that is read while it grows.
struct LogTail {
    file: BufReader<File>,
    read: u64,
    sanitizer: Sanitizer,
}

impl LogTail {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self { file: BufReader::new(file), read: 0, sanitizer: Sanitizer::default() })
    }

    fn print_rest(&mut self) -> anyhow::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let count = self.file.read_until(b'\n', &mut line)?;
            if count == 0 {
                return Ok(());
            }
            self.read += count as u64;
            console::write(sanitize_log_line(&mut self.sanitizer, &line).as_bytes())?;
        }
    }

    fn reopen_if_replaced(&mut self, path: &Path) -> anyhow::Result<()> {
        let shorter = std::fs::metadata(path).is_ok_and(|data| data.len() < self.read);
        if shorter {
            *self = Self::open(path)?;
        }
        Ok(())
    }
}
