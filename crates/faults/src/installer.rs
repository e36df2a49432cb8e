//! Installs one extension in a separate process, with its own environment and home directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use haft_packages::install::lock::ApprovalMethod;
use haft_packages::install::{ExtensionStore, InstallError, InstallSource};

use crate::defense;
use crate::world::sibling_binary;

/// The first argument of such a process.
pub(crate) const INSTALLER: &str = "installer";

/// The outcome of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InstallOutcome {
    /// The extension is installed in this directory.
    Installed(PathBuf),
    /// The installation failed, with this error code and message.
    Refused(String, String),
}

/// The environment of an installation.
pub(crate) struct Installer {
    /// The value of `$HAFT_HOME`.
    pub(crate) home: PathBuf,
    /// The working directory.
    pub(crate) cwd: PathBuf,
    /// The complete environment; `PATH` is inherited if it is not included.
    pub(crate) env: Vec<(String, String)>,
}

impl Installer {
    /// Installs or updates an extension in a separate process.
    pub(crate) fn install(&self, source: &str) -> Result<InstallOutcome> {
        let words = [INSTALLER, &self.home.display().to_string(), source].map(str::to_owned);
        let output =
            self.command(&sibling_binary("haft-faults"), &words).output().context("start an installer")?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = said.trim_end().splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some("installed"), Some(dir), None) => Ok(InstallOutcome::Installed(dir.into())),
            (Some("refused"), Some(code), Some(why)) => {
                Ok(InstallOutcome::Refused(code.to_owned(), why.to_owned()))
            }
            _ => bail!("an installer ended with {} and {said:?}", output.status),
        }
    }

    /// Returns a command for any program in this environment.
    #[expect(clippy::disallowed_methods, reason = "starts this program and git")]
    pub(crate) fn command(&self, program: &Path, args: &[String]) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .args(args)
            .current_dir(&self.cwd)
            .env_clear()
            .env("PATH", path)
            .envs(self.env.iter().cloned())
            .envs(defense::inherited());
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// Runs the installation in the separate process.
pub(crate) fn run(home: &Path, source: &str) -> ExitCode {
    match install(home, source) {
        Ok(dir) => println!("installed {}", dir.display()),
        Err(error) => {
            let code = error.code().unwrap_or("-");
            println!("refused {code} {:#}", anyhow::Error::from(error));
        }
    }
    ExitCode::SUCCESS
}

/// Removes a directory with an installation, whose files are write-protected.
pub(crate) fn clear(dir: &Path) -> Result<()> {
    make_writable(dir)
        .and_then(|()| fs::remove_dir_all(dir))
        .with_context(|| format!("remove {}", dir.display()))
}

fn make_writable(dir: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

fn install(home: &Path, source: &str) -> Result<PathBuf, InstallError> {
    let cwd = std::env::current_dir().unwrap_or_default();
    let store = ExtensionStore::for_home(home, std::env::var_os("PATH"));
    let source = InstallSource::parse(source, &cwd)?;
    let accepted = store.propose(&source)?.accept(ApprovalMethod::Yes, "test")?;
    Ok(store.approved.tree_store().tree_path(&accepted.entry.tree))
}
