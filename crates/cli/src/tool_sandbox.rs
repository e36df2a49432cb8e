//! The environment of haft's own tools: the sandbox that the settings describe.

mod paths;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use haft_config::{Home, ToolSandboxLevel, ToolSettings};
use haft_launch::Launcher;
use haft_tools::{HostEnvironment, ToolSandbox};

pub(crate) use paths::{ToolPathReader, check_path_list};

use crate::token::VARIABLES as TOKEN_VARIABLES;
use paths::ToolPaths;

/// Paths below the home directory that usually contain secrets: keys, tokens, passwords, browser profiles, histories.
/// `docs/sandbox.md` lists them.
const SECRETS: &[&str] = &[
    ".aws",
    ".azure",
    ".bash_history",
    ".cache/huggingface/token",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude",
    ".claude.json",
    ".codex",
    ".config/Bitwarden CLI",
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/containers/auth.json",
    ".config/doctl",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".cursor",
    ".docker/config.json",
    ".gem/credentials",
    ".gemini",
    ".git-credentials",
    ".gnupg",
    ".gradle/gradle.properties",
    ".kube",
    ".local/share/atuin",
    ".local/share/fish/fish_history",
    ".local/share/keyrings",
    ".local/share/opencode/auth.json",
    ".local/share/password-store",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".mozilla",
    ".my.cnf",
    ".mysql_history",
    ".netrc",
    ".node_repl_history",
    ".npmrc",
    ".oci",
    ".password-store",
    ".pgpass",
    ".pi",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".s3cfg",
    ".ssh",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".thunderbird",
    ".vault-token",
    ".zot",
    ".zsh_history",
    "Library/Application Support/Bitwarden CLI",
    "Library/Application Support/BraveSoftware",
    "Library/Application Support/Firefox",
    "Library/Application Support/Google/Chrome",
    "Library/Keychains",
];

/// Paths below the working directory that make code run later, outside of the sandbox.
const PROTECTED: &[&str] = &[
    ".claude",
    ".envrc",
    ".git/config",
    ".git/hooks",
    ".haft",
    ".idea",
    ".mcp.json",
    ".pi",
    ".vscode",
    ".zot",
];

/// haft's own directories, which the sandbox of the tools protects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProtectedDirs<'a> {
    pub(crate) home: &'a Home,
    /// The directories of gates that run without an approval. They are only readable.
    pub(crate) gates: &'a [PathBuf],
}

/// Creates the environment of the tools in `cwd`.
///
/// # Errors
/// An invalid path in the settings, a working directory in haft's home directory, or no private directory for commands.
pub(crate) fn tool_environment(
    dirs: ProtectedDirs<'_>,
    cwd: &Path,
    settings: &ToolSettings,
    launcher: Launcher,
) -> anyhow::Result<HostEnvironment> {
    let home = dirs.home;
    let environment = HostEnvironment::new(cwd)
        .with_scratch(home.results_dir())
        .with_backup_dir(home.state_dir().join("in-place"))
        .with_launcher(launcher)
        .with_variables(settings.env.value.iter().map(String::as_str))
        .without_variables(TOKEN_VARIABLES);
    match tool_sandbox(dirs, cwd, settings)? {
        None => Ok(environment),
        Some(sandbox) => {
            create_hook_directories(&sandbox.write);
            environment.with_sandbox(sandbox).context("cannot prepare the sandbox of the tools")
        }
    }
}

/// Returns what the model must know about the sandbox; `None` at level `full`.
pub(crate) fn sandbox_fact(settings: &ToolSettings) -> Option<String> {
    let write = match settings.sandbox.value {
        ToolSandboxLevel::Full => return None,
        ToolSandboxLevel::ReadOnly => "$TMPDIR",
        ToolSandboxLevel::Workspace => "the working directory and $TMPDIR",
    };
    let network = if settings.network.value { "with" } else { "without" };
    Some(format!("Sandbox: commands can write only to {write}, {network} network; other calls ask the user"))
}

/// Returns the sandbox for people: the level, and the network if it is open.
pub(crate) fn sandbox_label(settings: &ToolSettings) -> String {
    let level = settings.sandbox.value;
    let is_open = settings.network.value && level != ToolSandboxLevel::Full;
    format!("{}{}", level.name(), if is_open { ", network" } else { "" })
}

/// Returns the sandbox that the settings describe; `None` at level `full`.
fn tool_sandbox(
    dirs: ProtectedDirs<'_>,
    cwd: &Path,
    settings: &ToolSettings,
) -> anyhow::Result<Option<ToolSandbox>> {
    let user_home = std::env::home_dir();
    let ToolPaths { write: more, hide } = ToolPathReader::new(dirs.home, cwd).read(settings)?;
    let read_only = match settings.sandbox.value {
        ToolSandboxLevel::Full => return Ok(None),
        ToolSandboxLevel::ReadOnly => true,
        ToolSandboxLevel::Workspace => false,
    };
    let own = dirs.home.root();
    anyhow::ensure!(
        !paths::resolve_existing(cwd).starts_with(paths::resolve_existing(own)),
        "the working directory is in haft's home directory, {}, which tools can never change; start haft in another \
         directory, or with --sandbox full",
        own.display()
    );
    let mut write = if read_only { Vec::new() } else { more };
    // A home directory is not a workspace: programs run code from its files, and some contain secrets.
    if !read_only && !user_home.as_ref().is_some_and(|user_home| user_home.starts_with(cwd)) {
        write.extend([cwd.to_owned()].into_iter().chain(git_directories(cwd)));
    }
    // The protected paths of the working directory are also known where it is not writable, for the text of a denial.
    let only_readable = Some(cwd).filter(|cwd| !write.iter().any(|root| root == cwd));
    let roots = write.iter().map(PathBuf::as_path).chain(only_readable);
    let protect = roots.flat_map(protected_paths).chain(dirs.gates.iter().cloned()).collect();
    let secrets = user_home.iter().flat_map(|user_home| secret_places(user_home));
    Ok(Some(ToolSandbox {
        hide: secrets.chain(hide).collect(),
        write,
        protect,
        never: vec![dirs.home.root().to_owned()],
        read: vec![dirs.home.results_dir()],
        network: settings.network.value,
        read_only,
    }))
}

/// Returns the paths below a user's home directory that usually contain secrets.
fn secret_places(user_home: &Path) -> impl Iterator<Item = PathBuf> {
    SECRETS.iter().map(|path| user_home.join(path))
}

/// Creates the directory of hooks in each writable repository without one. A missing path cannot be protected, and git
/// would run a hook that a command writes there.
fn create_hook_directories(writable: &[PathBuf]) {
    for root in writable {
        let git = root.join(".git");
        let is_repository = |dir: &Path| dir.join("HEAD").is_file() && dir.join("objects").is_dir();
        // A link could lead to a directory that commands cannot change.
        let below = Some(git).filter(|git| !git.is_symlink());
        for dir in below.into_iter().chain([root.clone()]).filter(|dir| is_repository(dir)) {
            let hooks = dir.join("hooks");
            match std::fs::create_dir(&hooks) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    tracing::warn!(%error, path = %hooks.display(), "cannot create the directory of git hooks");
                }
                Ok(()) | Err(_) => {}
            }
        }
    }
}

/// Returns the paths below a writable directory that stay read-only. `.git` is one of them if it is a file, which
/// names the directory of the repository.
fn protected_paths(root: &Path) -> impl Iterator<Item = PathBuf> {
    let git = root.join(".git");
    let git_file = git.is_file().then_some(git);
    let bare = [root.join("hooks"), root.join("config")].into_iter().filter(|_| root.join("HEAD").is_file());
    PROTECTED.iter().map(move |path| root.join(path)).chain(git_file).chain(bare)
}

/// Returns the directories of a repository of which `cwd` is a worktree: its own and the shared one, which commits
/// change. The repository must name this worktree, because a project could name any repository.
fn git_directories(cwd: &Path) -> Vec<PathBuf> {
    let named = |file: PathBuf, prefix: &str| {
        let text = std::fs::read_to_string(&file).ok()?;
        file.parent()?.join(text.strip_prefix(prefix)?.trim()).canonicalize().ok()
    };
    let Some(own) = named(cwd.join(".git"), "gitdir:") else { return Vec::new() };
    let names_this = named(own.join("gitdir"), "") == cwd.join(".git").canonicalize().ok();
    let common = named(own.join("commondir"), "");
    [Some(own), common].into_iter().flatten().filter(|_| names_this).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    /// Compares the places in the code with those in the documentation.
    #[test]
    fn documentation_lists_every_hidden_place() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox.md");
        let page = fs::read_to_string(page).unwrap();
        let section = page.split("<a id=\"secrets\"></a>").nth(1).unwrap();
        let list = section.lines().skip_while(|line| !line.starts_with("* "));
        let list: Vec<_> = list.take_while(|line| !line.is_empty()).collect();
        let listed: BTreeSet<_> = list.iter().flat_map(|line| line.split('`').skip(1).step_by(2)).collect();
        let places: Vec<_> = SECRETS.iter().map(|place| format!("~/{place}")).collect();
        let places: BTreeSet<_> = places.iter().map(String::as_str).chain(["results/"]).collect();
        assert_eq!(listed, places);
    }

    #[test]
    fn missing_hook_directory_of_repository_is_created() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for repository in ["project/.git", "bare", "linked-to"] {
            fs::create_dir_all(at(repository).join("objects")).unwrap();
            fs::write(at(repository).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        fs::create_dir_all(at("plain/.git")).unwrap();
        fs::create_dir_all(at("link")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(at("linked-to"), at("link/.git")).unwrap();
        create_hook_directories(&["project", "bare", "plain", "link", "missing"].map(at));
        assert!(at("project/.git/hooks").is_dir() && at("bare/hooks").is_dir());
        for other in ["plain/.git/hooks", "plain/hooks", "linked-to/hooks", "missing"] {
            assert!(!at(other).exists(), "{other}");
        }
    }

    #[test]
    fn label_names_level_and_open_network() {
        let mut settings = ToolSettings::default();
        assert_eq!(sandbox_label(&settings), "workspace");
        settings.network.value = true;
        assert_eq!(sandbox_label(&settings), "workspace, network");
        settings.sandbox.value = ToolSandboxLevel::Full;
        assert_eq!(sandbox_label(&settings), "full");
    }
}
