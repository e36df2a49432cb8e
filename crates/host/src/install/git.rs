//! The one place that runs `git`: a clone that executes nothing of what it fetches.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::{GitUrl, InstallError};
use crate::manifest::find_in_path;

/// Variables of the user that `git` and `ssh` need; all others could change what they do.
const KEPT: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "SSH_AUTH_SOCK",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "SystemRoot",
    "USERPROFILE",
    "TEMP",
    "TMP",
];

/// How much of what git says goes into an error, in characters.
const MAX_DETAIL: usize = 2_000;

/// Clones the newest commit of `url` into `into`, which must not exist.
pub(super) fn clone(url: &GitUrl, into: &Path, path: Option<&OsStr>) -> Result<(), InstallError> {
    clone_over(url, into, path, "https:ssh")
}

/// As [`clone`], over the given protocols.
fn clone_over(url: &GitUrl, into: &Path, path: Option<&OsStr>, protocols: &str) -> Result<(), InstallError> {
    let failed = |detail: String| InstallError::Git { url: url.to_string(), detail };
    let git =
        find_in_path("git", path).ok_or_else(|| failed("there is no git in PATH; install it".into()))?;
    let output = run(&git, url, into, path, protocols).map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: String = said.trim().chars().take(MAX_DETAIL).collect();
    Err(failed(if said.is_empty() { output.status.to_string() } else { said }))
}

#[expect(
    clippy::disallowed_methods,
    reason = "git is no extension and no tool; this is the only place that runs it"
)]
fn run(
    git: &Path,
    url: &GitUrl,
    into: &Path,
    path: Option<&OsStr>,
    protocols: &str,
) -> std::io::Result<Output> {
    let kept =
        KEPT.iter().filter_map(|&name| std::env::var_os(name).map(|value| (OsString::from(name), value)));
    Command::new(git)
        // Hooks, helpers and file-system monitors of the user's configuration, of a template and of the
        // repository itself are all programs that could be started.
        .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.symlinks=false"])
        .args(["clone", "--quiet", "--template=", "--no-recurse-submodules", "--depth", "1", "--"])
        .arg(url.as_str())
        .arg(into)
        .env_clear()
        .envs(kept)
        .envs(path.map(|path| ("PATH", path)))
        .env("GIT_ALLOW_PROTOCOL", protocols)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", if cfg!(windows) { "NUL" } else { "/dev/null" })
        .env("GIT_TERMINAL_PROMPT", "0")
        // A server that sends less than this for a minute is given up.
        .env("GIT_HTTP_LOW_SPEED_LIMIT", "1000")
        .env("GIT_HTTP_LOW_SPEED_TIME", "60")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the test makes a repository to clone")]
    fn git(dir: &Path, args: &[&str]) {
        let status = Command::new("git")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.invalid",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(args)
            .current_dir(dir)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "git {args:?}");
    }

    #[cfg(unix)]
    fn repository(dir: &Path) -> GitUrl {
        git(dir, &["init"]);
        std::fs::write(dir.join("extension.json"), r#"{"name":"x","exec":"./run"}"#).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.join("link")).unwrap();
        git(dir, &["add", "."]);
        git(dir, &["commit", "-m", "one"]);
        GitUrl::unchecked(format!("file://{}", dir.display()))
    }

    fn path() -> Option<OsString> {
        std::env::var_os("PATH")
    }

    #[test]
    #[cfg(unix)]
    fn a_clone_holds_the_files_and_no_links() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let into = to.path().join("checkout");
        clone_over(&repository(from.path()), &into, path().as_deref(), "file").unwrap();
        assert!(into.join("extension.json").is_file());
        assert!(!into.join("link").is_symlink());
    }

    #[test]
    #[cfg(unix)]
    fn git_itself_refuses_other_protocols() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let into = to.path().join("checkout");
        let error = clone(&repository(from.path()), &into, path().as_deref()).unwrap_err().to_string();
        assert!(error.contains("not allowed"), "{error}");
        assert!(!into.exists());
    }

    #[test]
    fn no_git_is_an_error_that_says_so() {
        let to = tempfile::tempdir().unwrap();
        let url = GitUrl::unchecked("https://example.invalid/x".into());
        let error = clone(&url, &to.path().join("c"), Some(to.path().as_os_str())).unwrap_err().to_string();
        assert!(error.contains("there is no git in PATH"), "{error}");
    }
}
