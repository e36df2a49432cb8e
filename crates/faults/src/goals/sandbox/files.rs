//! The attempts of the file tools in G9, with the expected outcome at each level.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Result, ensure};
use haft_test_support::sandbox::{SandboxScene, ToolProbeLevel};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use super::ProbeTally;
use FileOutcome::{Asks, Denied, Fails, Works};

/// The outcome of a call of a file tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileOutcome {
    /// The call succeeds.
    Works,
    /// The call needs an approval.
    Asks,
    /// The call is denied, and no approval can change that.
    Denied,
    /// The call fails for another reason, for example because the path is a device.
    Fails,
}

/// The result of a tool.
pub(super) struct ToolResult {
    pub(super) is_error: bool,
    pub(super) text: String,
}

/// A call of a file tool. Its path is relative to the workspace of the scene.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileProbe {
    pub(super) tool: &'static str,
    path: &'static str,
    /// The outcomes in the order of [`ToolProbeLevel`].
    expect: [FileOutcome; 3],
}

const fn call(tool: &'static str, path: &'static str, expect: [FileOutcome; 3]) -> FileProbe {
    FileProbe { tool, path, expect }
}

/// Reading is permitted at every level.
const READABLE: [FileOutcome; 3] = [Works, Works, Works];

/// The workspace.
const WRITABLE: [FileOutcome; 3] = [Asks, Works, Works];

/// Paths outside of the workspace, protected paths, and secrets.
const GUARDED: [FileOutcome; 3] = [Asks, Asks, Works];

/// haft's own files.
const OWN: [FileOutcome; 3] = [Denied, Denied, Works];

/// Files that are neither regular files nor directories.
const SPECIAL: [FileOutcome; 3] = [Fails, Fails, Fails];

/// All calls, in their order. A call may depend on the files that earlier calls wrote at level `full`.
pub(super) const FILE_PROBES: &[FileProbe] = &[
    // The workspace.
    call("read", "file", READABLE),
    call("grep", ".", READABLE),
    call("find", ".", READABLE),
    call("ls", ".", READABLE),
    call("edit", "file", WRITABLE),
    call("write", "new", WRITABLE),
    call("write", "new-dir/new", WRITABLE),
    // haft's own files, directly, through links and through /proc.
    call("read", "../home/auth.json", OWN),
    call("grep", "../home/auth.json", OWN),
    call("edit", "../home/auth.json", OWN),
    call("write", "../home/new", OWN),
    call("write", "../home/new-dir/new", OWN),
    call("grep", "../home", OWN),
    call("find", "../home", OWN),
    call("ls", "../home", OWN),
    call("read", "home-link/auth.json", OWN),
    call("grep", "home-link", OWN),
    call("find", "home-link", OWN),
    call("ls", "home-link", OWN),
    call("edit", "home-link/auth.json", OWN),
    call("write", "home-link/new", OWN),
    call("read", "/proc/self/cwd/../home/auth.json", OWN),
    call("write", "/proc/self/cwd/../home/new", OWN),
    call("read", "../home/results/1", READABLE),
    call("write", "../home/results/1", OWN),
    // Secrets of the user.
    call("read", "../user/.ssh/id", GUARDED),
    call("grep", "../user/.ssh/id", GUARDED),
    call("edit", "../user/.ssh/id", GUARDED),
    call("write", "../user/.ssh/new", GUARDED),
    call("grep", "../user/.ssh", GUARDED),
    call("find", "../user/.ssh", GUARDED),
    call("ls", "../user/.ssh", GUARDED),
    call("read", "../user/.netrc", GUARDED),
    call("read", "secret-link", GUARDED),
    call("grep", "secret-link", GUARDED),
    call("edit", "secret-link", GUARDED),
    call("read", "user-link/.ssh/id", GUARDED),
    call("ls", "user-link/.ssh", GUARDED),
    // Other files of the user and of the system.
    call("read", "../user/notes", READABLE),
    call("grep", "..", READABLE),
    call("find", "..", READABLE),
    call("ls", "../user", READABLE),
    call("edit", "../user/notes", GUARDED),
    call("write", "../user/new", GUARDED),
    call("read", "link", READABLE),
    call("edit", "link", GUARDED),
    call("write", "link", GUARDED),
    call("write", "dangling", [Asks, Fails, Fails]),
    call("write", "user-link/other", GUARDED),
    call("write", "user-link/new-dir/new", GUARDED),
    // Paths that make code run later.
    call("read", ".git/config", READABLE),
    call("edit", ".git/config", GUARDED),
    call("write", ".git/hooks/pre-commit", GUARDED),
    call("write", ".haft/config.toml", GUARDED),
    call("write", ".vscode/tasks.json", GUARDED),
    call("write", ".envrc", GUARDED),
    call("write", ".git/../.git/hooks/pre-push", GUARDED),
    call("write", "hooks-link/post-commit", GUARDED),
    // Paths through a missing directory are resolved before the gates.
    call("write", "missing/../.git/hooks/pre-push", GUARDED),
    call("write", "missing-too/../../user/missing", GUARDED),
    call("write", "missing-as-well/../../home/missing", OWN),
    // Files without an end, and the environment and memory of haft itself.
    call("read", "fifo", SPECIAL),
    call("edit", "fifo", [Asks, Fails, Fails]),
    call("write", "fifo", [Asks, Fails, Fails]),
    call("read", "/dev/zero", SPECIAL),
    call("write", "/dev/null", [Asks, Asks, Fails]),
    call("read", "/dev/tty", SPECIAL),
    call("read", "loop", SPECIAL),
    call("read", "../home/agent.sock", [Denied, Denied, Fails]),
    call("read", "/proc/self/environ", SPECIAL),
    call("read", "/proc/self/mem", SPECIAL),
    call("write", "/proc/self/mem", [Asks, Asks, Fails]),
];

impl FileProbe {
    pub(super) fn name(&self) -> String {
        format!("{}:{}", self.tool, self.path)
    }

    pub(super) fn call_args(&self) -> Value {
        let path = self.path;
        match self.tool {
            "edit" => json!({"path": path, "edits": [{"old_text": "xt", "new_text": "xts"}]}),
            "write" => json!({"path": path, "content": "text\n"}),
            "grep" => json!({"path": path, "pattern": "[a-z]"}),
            "find" => json!({"path": path, "glob": "*"}),
            _ => json!({ "path": path }),
        }
    }

    pub(super) fn expected_at(&self, level: ToolProbeLevel) -> FileOutcome {
        let [read_only, workspace, full] = self.expect;
        match level {
            ToolProbeLevel::ReadOnly => read_only,
            ToolProbeLevel::Workspace => workspace,
            ToolProbeLevel::Full => full,
        }
    }
}

/// Creates the links and the pipe in the workspace of the scene in `dir`.
pub(super) fn create_links(dir: &Path) -> Result<()> {
    let workspace = dir.join("workspace");
    for (name, target) in [
        ("link", "../user/notes"),
        ("secret-link", "../user/.ssh/id"),
        ("user-link", "../user"),
        ("home-link", "../home"),
        ("hooks-link", ".git/hooks"),
        ("dangling", "../user/created"),
        ("loop", "loop"),
    ] {
        symlink(target, workspace.join(name))?;
    }
    mknodat(CWD, workspace.join("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    Ok(())
}

/// Returns one line for each result, after checking that no secret and no change got past the sandbox.
pub(super) fn describe_results(results: &[ToolResult], level: ToolProbeLevel, dir: &Path) -> Result<String> {
    if level != ToolProbeLevel::Full {
        let told = results.iter().find(|result| result.text.contains(SandboxScene::SECRET));
        ensure!(told.is_none(), "a result contains a secret");
        ensure!(fs::read_to_string(dir.join("user/notes"))? == "text\n", "a file of the user was changed");
        for path in ["home/new", "home/missing", "user/new", "user/missing", "workspace/.git/hooks/pre-push"]
        {
            ensure!(!dir.join(path).exists(), "{path} was created");
        }
    }
    let line = |(probe, result): (&FileProbe, &ToolResult)| {
        let first = result.text.lines().next().unwrap_or_default();
        format!("{} {:?} {first}\n", probe.name(), classify_result(result))
    };
    Ok(FILE_PROBES.iter().zip(results).map(line).collect())
}

fn classify_result(result: &ToolResult) -> FileOutcome {
    match result.text.as_str() {
        _ if !result.is_error => Works,
        text if text.contains("needs the approval of a person") => Asks,
        text if [": is protected and cannot be ", " and only files in there can be "]
            .iter()
            .any(|denied| text.contains(denied)) =>
        {
            Denied
        }
        _ => Fails,
    }
}

/// Compares the lines with the expected outcomes.
pub(super) fn tally_results(lines: &str, level: ToolProbeLevel) -> ProbeTally {
    let difference = |probe: &FileProbe| {
        let (name, expected) = (probe.name(), format!("{:?} ", probe.expected_at(level)));
        match lines.lines().find_map(|line| line.strip_prefix(&format!("{name} "))) {
            None => Some(format!("{name}: no result")),
            Some(came) if came.starts_with(&expected) => None,
            Some(came) => Some(format!("{name}: expected {expected}, but the outcome is {came}")),
        }
    };
    let kept = FILE_PROBES.iter().filter(|probe| probe.expected_at(level) != Works).count();
    let wrong = FILE_PROBES.iter().filter_map(difference).collect();
    ProbeTally { all: FILE_PROBES.len(), tried: FILE_PROBES.len(), kept, wrong }
}
