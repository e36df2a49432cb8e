//! A clean home, a clean environment, and `haft` running in them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use haft_packages::install::ExtensionStore;
use haft_packages::install::lock::ApprovalMethod;
use tempfile::TempDir;

/// The directories of one test.
pub(crate) struct World {
    root: TempDir,
}

/// The outcome of one run of `haft`.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self { root: tempfile::tempdir().unwrap() };
        std::fs::create_dir(world.project()).unwrap();
        world
    }

    /// Returns `$HAFT_HOME`.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Returns the working directory of `haft`.
    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// Creates the directory of an extension in the project.
    pub(crate) fn extension(&self, dir: &str, manifest: &str) -> PathBuf {
        let dir = self.project().join(dir);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("extension.json"), manifest).unwrap();
        dir
    }

    /// Approves an extension in a directory of the home, as the user would.
    pub(crate) fn approve(&self, dir: &Path) {
        let store = ExtensionStore::for_home(&self.home(), std::env::var_os("PATH"));
        store.propose_in_place(dir).unwrap().accept(ApprovalMethod::Yes, "test").unwrap();
    }

    /// Trusts the project in its current state, if it needs trust.
    #[track_caller]
    pub(crate) fn trust(&self) {
        let shown = self.haft(&["trust", "--show", "--json"]).stdout;
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        let trusted = self.haft(&["trust", "--digest", shown["digest"].as_str().unwrap()]);
        assert_eq!(trusted.code, 0, "{trusted:?}");
    }

    /// Returns `haft`, not yet started. Of the tester's environment, it receives only `PATH`.
    #[expect(clippy::disallowed_methods, reason = "the program that is tested")]
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command.args(args).current_dir(self.project()).env_clear();
        command.env("HAFT_HOME", self.home()).envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn haft(&self, args: &[&str]) -> Ended {
        self.ended(self.command(args).output().unwrap())
    }

    /// Runs `haft` like [`haft`](Self::haft), with piped input.
    pub(crate) fn haft_reading(&self, args: &[&str], input: &str) -> Ended {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // A command that does not read its input may have ended already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        self.ended(child.wait_with_output().unwrap())
    }

    pub(crate) fn ended(&self, output: Output) -> Ended {
        let text = |bytes| self.scrubbed(String::from_utf8(bytes).unwrap());
        Ended {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Replaces the directory of this test with `ROOT`.
    fn scrubbed(&self, text: String) -> String {
        let shown = |path: &Path| path.display().to_string();
        let real = self.root.path().canonicalize().unwrap();
        text.replace(&shown(&real), "ROOT").replace(&shown(self.root.path()), "ROOT")
    }
}

impl Ended {
    /// Returns the exit code and both outputs, each with a heading if it is not empty.
    pub(crate) fn transcript(&self) -> String {
        let part = |name: &str, text: &str| {
            if text.is_empty() { String::new() } else { format!("\n--- {name}\n{}", text.trim_end()) }
        };
        format!("code {}{}{}", self.code, part("stdout", &self.stdout), part("stderr", &self.stderr))
    }
}
