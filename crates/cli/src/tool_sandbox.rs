//! The environment of haft's own tools: the sandbox that the settings describe.

mod worktree;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use haft_config::{Home, SourcedValue, ToolSandboxLevel, ToolSettings, list_items};
use haft_launch::Launcher;
use haft_packages::GrantedPath;
use haft_tools::{HostEnvironment, ToolSandbox, ToolSandboxGap};

use crate::token::VARIABLES as TOKEN_VARIABLES;
use worktree::{RepositoryLimits, shared_git_dir};

/// Paths below the home directory that usually contain secrets: keys, tokens, passwords, browser profiles, histories.
const SECRETS: &[&str] = &[
    ".aws",
    ".azure",
    ".bash_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude",
    ".codex",
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/op",
    ".docker/config.json",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".local/share/password-store",
    ".m2/settings.xml",
    ".mozilla",
    ".mysql_history",
    ".netrc",
    ".node_repl_history",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pi",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".ssh",
    ".terraform.d/credentials.tfrc.json",
    ".thunderbird",
    ".vault-token",
    ".zsh_history",
    ".zot",
    "Library/Application Support/BraveSoftware",
    "Library/Application Support/Firefox",
    "Library/Application Support/Google/Chrome",
    "Library/Keychains",
];

/// Paths that the sandbox of the tools protects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProtectedDirs<'a> {
    /// haft's home directory.
    pub(crate) home: &'a Home,
    /// Code that runs without an approval, often without a sandbox. It is only readable.
    pub(crate) unpinned_code: &'a [PathBuf],
}

/// Creates the environment of the tools in `cwd`.
///
/// # Errors
/// An invalid path in the settings, or no private directory for commands.
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
        Some(sandbox) => environment.with_sandbox(sandbox).context("cannot prepare the sandbox of the tools"),
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

/// Returns the gap of the sandbox that this machine cannot enforce; `None` if there is none, or no sandbox is wanted.
pub(crate) fn sandbox_gap(settings: &ToolSettings) -> Option<ToolSandboxGap> {
    (settings.sandbox.value != ToolSandboxLevel::Full).then(ToolSandbox::find_gap)?
}

/// Describes a gap and its effect for a person.
pub(crate) fn gap_text(level: ToolSandboxLevel, gap: &ToolSandboxGap) -> String {
    let name = level.name();
    match gap {
        ToolSandboxGap::NoSandbox(why) => {
            format!("sandbox {name} is not available, so each command asks you: {why}")
        }
        ToolSandboxGap::ProtectedPaths(why) if level == ToolSandboxLevel::ReadOnly => {
            format!("sandbox {name} is incomplete, so commands can change the permissions of files: {why}")
        }
        ToolSandboxGap::ProtectedPaths(why) => {
            format!(
                "sandbox {name} is incomplete, so each command asks you, because it could change .git/hooks and the \
                 like: {why}"
            )
        }
    }
}

/// Returns the sandbox that the settings describe; `None` at level `full`.
fn tool_sandbox(
    dirs: ProtectedDirs<'_>,
    cwd: &Path,
    settings: &ToolSettings,
) -> anyhow::Result<Option<ToolSandbox>> {
    if settings.sandbox.value == ToolSandboxLevel::Full {
        return Ok(None);
    }
    check_working_directory(dirs.home, cwd, settings)?;
    let user_home = std::env::home_dir();
    let secrets = user_home.iter().flat_map(|user_home| SECRETS.iter().map(|path| user_home.join(path)));
    let hide: Vec<PathBuf> =
        secrets.chain(paths("tools.hide", &settings.hide, cwd, user_home.as_deref())?).collect();
    let never = vec![dirs.home.root().to_owned()];
    let write = match settings.sandbox.value {
        ToolSandboxLevel::Full | ToolSandboxLevel::ReadOnly => Vec::new(),
        ToolSandboxLevel::Workspace => {
            let mut write = paths("tools.write", &settings.write, cwd, user_home.as_deref())?;
            // A home directory is not a workspace: programs run code from its files, and some contain secrets.
            if !user_home.as_ref().is_some_and(|user_home| is_at_or_below(cwd, user_home)) {
                write.push(cwd.to_owned());
                let not_above: Vec<PathBuf> = user_home.iter().chain(&never).cloned().collect();
                let not_in = [never.as_slice(), &hide].concat();
                write
                    .extend(shared_git_dir(cwd, RepositoryLimits { not_above: &not_above, not_in: &not_in }));
            }
            write
        }
    };
    Ok(Some(ToolSandbox {
        write,
        protect: dirs.unpinned_code.to_vec(),
        hide,
        never,
        read: vec![dirs.home.results_dir()],
        network: settings.network.value,
    }))
}

/// Checks that the working directory is not one of haft's own, because tools in a sandbox never use those.
///
/// # Errors
/// The working directory is in haft's home directory.
pub(crate) fn check_working_directory(
    home: &Home,
    cwd: &Path,
    settings: &ToolSettings,
) -> anyhow::Result<()> {
    anyhow::ensure!(
        settings.sandbox.value == ToolSandboxLevel::Full || !is_at_or_below(home.root(), cwd),
        "the working directory {} is in haft's home directory, where tools have no access; start haft in another \
         directory, or with --sandbox full",
        cwd.display()
    );
    Ok(())
}

/// True if a path is a directory or below it, after links were resolved.
fn is_at_or_below(dir: &Path, path: &Path) -> bool {
    let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    resolve(path).starts_with(resolve(dir))
}

/// Checks the paths in the settings.
///
/// # Errors
/// An invalid path, with the origin of the setting.
pub(crate) fn check_tool_paths(cwd: &Path, settings: &ToolSettings) -> anyhow::Result<()> {
    let user_home = std::env::home_dir();
    paths("tools.write", &settings.write, cwd, user_home.as_deref())?;
    paths("tools.hide", &settings.hide, cwd, user_home.as_deref())?;
    Ok(())
}

/// Checks a list of paths as a person types it in `/settings`.
///
/// # Errors
/// An invalid path.
pub(crate) fn check_path_list(text: &str) -> anyhow::Result<()> {
    let user_home = std::env::home_dir();
    list_items(text).try_for_each(|path| Ok(GrantedPath::parse(path, user_home.as_deref()).map(drop)?))
}

fn paths(
    key: &str,
    set: &SourcedValue<Vec<String>>,
    cwd: &Path,
    home: Option<&Path>,
) -> anyhow::Result<Vec<PathBuf>> {
    let parsed = set.value.iter().map(|text| Ok(GrantedPath::parse(text, home)?.resolve(cwd, cwd)));
    parsed.collect::<anyhow::Result<_>>().with_context(|| format!("{}: {key}", set.origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn working_directory_is_not_in_the_home_directory_of_haft() {
        let settings = ToolSettings::default();
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("haft");
        std::fs::create_dir_all(root.join("extensions")).unwrap();
        let home = Home::at(&root);
        for inside in [root.clone(), root.join("extensions"), root.join("extensions/../../haft")] {
            let error = check_working_directory(&home, &inside, &settings).unwrap_err().to_string();
            assert!(error.contains("is in haft's home directory"), "{error}");
        }
        check_working_directory(&home, dir.path(), &settings).unwrap();
    }

    #[test]
    fn text_of_a_gap_names_its_effect() {
        let check = |level, gap: fn(String) -> ToolSandboxGap, expect: &str| {
            let text = gap_text(level, &gap("no namespaces".to_owned()));
            assert!(text.contains(expect) && text.ends_with(": no namespaces"), "{text}");
        };
        check(
            ToolSandboxLevel::Workspace,
            ToolSandboxGap::NoSandbox,
            "workspace is not available, so each command",
        );
        check(
            ToolSandboxLevel::Workspace,
            ToolSandboxGap::ProtectedPaths,
            "incomplete, so each command asks you",
        );
        check(
            ToolSandboxLevel::ReadOnly,
            ToolSandboxGap::ProtectedPaths,
            "incomplete, so commands can change",
        );
    }
}
