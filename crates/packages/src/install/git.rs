//! The only module that runs `git`: it clones a repository without executing anything that it fetches.

mod bounded_process;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use haft_protocol::defense::{Defense, is_up};

use super::interpreter::ProgramSearchPath;
use super::{GitUrl, InstallError};
use crate::approval::{MAX_BYTES, MAX_ENTRIES};
use crate::timeouts::CLONE;
use bounded_process::{ProcessEnd, ProcessLimits};

/// Variables of the user that `git` and `ssh` need. All other variables could change what they do.
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

/// Variables that are set for git, whatever the user's own are.
const SET: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", if cfg!(windows) { "NUL" } else { "/dev/null" }),
    ("GIT_TERMINAL_PROMPT", "0"),
    // No user may be there to answer, and a shared connection would outlive this process.
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oControlMaster=no -oPermitLocalCommand=no"),
    ("GIT_SSH_VARIANT", "ssh"),
    // Gives up on a server that sends fewer bytes per second for a minute.
    ("GIT_HTTP_LOW_SPEED_LIMIT", "1000"),
    ("GIT_HTTP_LOW_SPEED_TIME", "60"),
];

/// Hooks, helpers and file-system monitors could be started by the user's configuration, a template or the
/// repository.
const SETTINGS: &[&str] =
    &["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.symlinks=false"];

/// `--progress` makes git write regularly, so that it ends when haft is killed and its pipe is closed.
const CLONE_ARGS: &[&str] =
    &["clone", "--progress", "--template=", "--no-recurse-submodules", "--depth", "1", "--"];

/// The limits of a clone: the greatest tree that can be installed, its objects, which are hardly larger, and the few
/// files of the repository itself.
const BOUNDS: ProcessLimits =
    ProcessLimits { time: CLONE, bytes: 2 * MAX_BYTES, entries: MAX_ENTRIES + 1_000 };

/// The message if haft finds no git that it can trust.
const NO_GIT: &str = "git was not found in PATH; haft ignores relative directories, directories of the \
project, and directories that all users can write to; install git";

/// The maximum length of git's message in an error, in characters.
const MAX_DETAIL: usize = 2_000;

/// Clones the newest commit of `url` into `into`, which must not exist and is in a directory of its own. Only the
/// files of that commit remain, nothing of the repository. Returns the commit's name in hexadecimal digits.
pub(super) fn clone(
    url: &GitUrl,
    into: &Path,
    places: ProgramSearchPath<'_>,
) -> Result<String, InstallError> {
    clone_with_limits(url, into, places, "https:ssh", BOUNDS)
}

/// Clones with the given protocols and limits, otherwise like [`clone`].
fn clone_with_limits(
    url: &GitUrl,
    into: &Path,
    places: ProgramSearchPath<'_>,
    protocols: &str,
    bounds: ProcessLimits,
) -> Result<String, InstallError> {
    let failed = |detail: String| InstallError::Git { url: url.to_string(), detail };
    let dir = into.parent().unwrap_or(into);
    let git = GitRunner::find(places, dir, protocols).ok_or_else(|| failed(NO_GIT.into()))?;
    let mut command = git.command();
    command.args(CLONE_ARGS).arg(url.as_str()).arg(into);
    if !is_up(Defense::HardenedGit) {
        command = naive_clone_command(&git, url, into);
    }
    match bounded_process::run(command, dir, bounds).map_err(|error| failed(error.to_string()))? {
        ProcessEnd::Killed(why) => {
            let next = "clone it yourself and install the directory";
            return Err(failed(format!("{why}, and git was stopped; {next}")));
        }
        ProcessEnd::Exited(status, said) if !status.success() => {
            let said = error_detail(&said);
            let said = if said.is_empty() { status.to_string() } else { said };
            return Err(failed(format!("{said}; check the address and your access to the repository")));
        }
        ProcessEnd::Exited(..) => {}
    }
    let commit = git.head_commit(into).map_err(failed)?;
    // Removed before any file is read, so that git takes nothing of the rest for a repository.
    let repository = into.join(".git");
    std::fs::remove_dir_all(&repository).map_err(InstallError::io("remove", repository))?;
    Ok(commit)
}

/// `git` with its fixed arguments and environment.
struct GitRunner<'a> {
    program: std::path::PathBuf,
    dir: &'a Path,
    env: Vec<(OsString, OsString)>,
}

impl<'a> GitRunner<'a> {
    /// Finds a `git` where only the user and the system put programs. Programs that git starts are found there, too.
    fn find(places: ProgramSearchPath<'_>, dir: &'a Path, protocols: &str) -> Option<Self> {
        let program = places.find_program("git")?;
        let kept = KEPT.iter().filter_map(|&name| Some((name.into(), std::env::var_os(name)?)));
        let set = SET.iter().map(|&(name, value)| (name.into(), value.into()));
        let mut env: Vec<(OsString, OsString)> = kept.chain(set).collect();
        env.push(("GIT_ALLOW_PROTOCOL".into(), protocols.into()));
        env.extend(places.trusted_path().map(|path| ("PATH".into(), path)));
        Some(Self { program, dir, env })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "git is neither an extension nor a tool; this is the only module that runs it"
    )]
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(SETTINGS).current_dir(self.dir).env_clear().envs(self.env.iter().cloned());
        command
    }

    fn head_commit(&self, checkout: &Path) -> Result<String, String> {
        let mut command = self.command();
        command.arg("--git-dir").arg(checkout.join(".git"));
        command.args(["rev-parse", "--verify", "--quiet", "HEAD"]);
        let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let is_name = matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_name {
            Ok(name)
        } else {
            Err("the repository has no commits, so there is nothing to install".into())
        }
    }
}

/// Returns the command of a clone without hardening.
#[expect(clippy::disallowed_methods, reason = "compared with the hardened call, in tests only")]
fn naive_clone_command(git: &GitRunner<'_>, url: &GitUrl, into: &Path) -> Command {
    let mut command = Command::new(&git.program);
    command.args(["clone", "--depth", "1", url.as_str()]).arg(into).current_dir(git.dir);
    command
}

/// Returns git's message without its progress.
fn error_detail(said: &str) -> String {
    let progress =
        |line: &str| line.contains("% (") || line.ends_with("done.") || line.starts_with("Cloning into ");
    let lines: Vec<&str> =
        said.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty() && !progress(line)).collect();
    lines.join("\n").chars().take(MAX_DETAIL).collect()
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

    /// Returns the search path of the process that runs the tests.
    fn places() -> ProgramSearchPath<'static> {
        static PATH: std::sync::LazyLock<OsString> =
            std::sync::LazyLock::new(|| std::env::var_os("PATH").unwrap_or_default());
        ProgramSearchPath { path: Some(&PATH), workspace: None }
    }

    #[test]
    #[cfg(unix)]
    fn clone_has_files_and_no_links() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let into = to.path().join("checkout");
        let commit = clone_with_limits(&repository(from.path()), &into, places(), "file", BOUNDS).unwrap();
        assert!(commit.len() == 40 && !into.join(".git").exists(), "{commit}");
        assert!(into.join("extension.json").is_file());
        assert!(!into.join("link").is_symlink());
    }

    #[test]
    #[cfg(unix)]
    fn git_rejects_other_protocols() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let into = to.path().join("checkout");
        let error = clone(&repository(from.path()), &into, places()).unwrap_err().to_string();
        assert!(error.contains("not allowed"), "{error}");
        assert!(!into.exists());
    }

    #[test]
    #[cfg(unix)]
    fn stops_clone_that_grows_too_large() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let url = repository(from.path());
        // Each level names the one below it ten times: a small repository with a hundred thousand files.
        let script = "t=$(git hash-object -w extension.json); k='100644 blob'; \
                      for level in 1 2 3 4 5; do \
                        t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '%s %s\\t%s\\n' \"$k\" \"$t\" \"$i\"; done | git mktree); \
                        k='040000 tree'; done; \
                      git update-ref HEAD $(git -c user.name=t -c user.email=t@example.invalid commit-tree -m x $t)";
        shell(from.path(), script);
        let bounds = ProcessLimits { entries: 2_000, ..BOUNDS };
        let error = clone_with_limits(&url, &to.path().join("c"), places(), "file", bounds).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("it wrote more than 2000 files, and git was stopped"), "{error}");
    }

    #[expect(clippy::disallowed_methods, reason = "the test makes a repository to clone")]
    #[cfg(unix)]
    fn shell(dir: &Path, script: &str) {
        assert!(Command::new("sh").args(["-c", script]).current_dir(dir).status().unwrap().success());
    }

    #[test]
    #[cfg(unix)]
    fn rejects_repository_without_commit() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        git(from.path(), &["init"]);
        let url = GitUrl::unchecked(format!("file://{}", from.path().display()));
        let error = clone_with_limits(&url, &to.path().join("c"), places(), "file", BOUNDS).unwrap_err();
        assert!(error.to_string().contains("no commits"), "{error}");
    }

    #[test]
    fn callers_directory_and_variables_have_no_effect() {
        let dir = tempfile::tempdir().unwrap();
        let Some(git) = GitRunner::find(places(), dir.path(), "https:ssh") else { return };
        for (name, _) in &git.env {
            let name = name.to_str().unwrap();
            let known = KEPT.contains(&name) || SET.iter().any(|(set, _)| *set == name);
            assert!(known || ["GIT_ALLOW_PROTOCOL", "PATH"].contains(&name), "{name}");
        }
    }

    #[test]
    fn error_detail_has_no_progress() {
        let said = "Cloning into 'x'...\nremote: Counting objects:  50% (1/2)\rremote: Counting objects: 100% (2/2), \
                    done.\nfatal: early EOF\n\nPlease check.\n";
        assert_eq!(error_detail(said), "fatal: early EOF\nPlease check.");
    }

    #[test]
    fn reports_missing_git() {
        let to = tempfile::tempdir().unwrap();
        let url = GitUrl::unchecked("https://example.invalid/x".into());
        let places = ProgramSearchPath { path: Some(to.path().as_os_str()), workspace: None };
        let error = clone(&url, &to.path().join("c"), places).unwrap_err().to_string();
        assert!(error.contains("git was not found in PATH"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn never_runs_git_of_project_or_other_users() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let at = |path: &str| root.join(path);
        let mode = |path: &str, mode| {
            std::fs::set_permissions(at(path), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for dir in ["project/bin", "open", "safe", "loose"] {
            std::fs::create_dir_all(at(dir)).unwrap();
            // It prints no commit, so the clone fails; its calls are written to a file.
            let script = format!("#!/bin/sh\necho '{dir}' \"$PATH\" >> '{}'\n", at("ran").display());
            std::fs::write(at(dir).join("git"), script).unwrap();
            mode(&format!("{dir}/git"), 0o755);
        }
        mode("open", 0o777);
        mode("loose/git", 0o777);
        symlink(at("project/bin"), at("link")).unwrap();
        let hostile = [".".into(), "bin".into(), at("project/bin"), at("link"), at("open"), at("loose")];
        let url = GitUrl::unchecked("https://example.invalid/x".into());
        let ran = |dirs: &[std::path::PathBuf]| {
            let path = std::env::join_paths(dirs).unwrap();
            let places = ProgramSearchPath { path: Some(&path), workspace: Some(&at("project")) };
            clone(&url, &at("clone"), places).unwrap_err();
            std::fs::read_to_string(at("ran")).ok()
        };
        assert_eq!(ran(&hostile), None);
        let path = |dirs: [&str; 2]| dirs.map(|dir| at(dir).display().to_string()).join(":");
        let line = format!("safe {}\n", path(["loose", "safe"]));
        let text = ran(&[&hostile[..], &[at("safe")]].concat()).unwrap();
        assert!(!text.is_empty() && text.lines().all(|ran| format!("{ran}\n") == line), "{text}");
    }
}
