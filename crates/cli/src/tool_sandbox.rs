//! The environment of haft's own tools: the sandbox that the settings describe.

mod paths;
mod worktree;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::Context as _;
use haft_config::{Home, ToolSandboxLevel, ToolSettings};
use haft_core::file_queue::FileQueue;
use haft_launch::Launcher;
use haft_tools::{HostEnvironment, ToolSandbox, ToolSandboxGap};

pub(crate) use paths::{ToolPathReader, check_path_list};

use crate::token::VARIABLES as TOKEN_VARIABLES;
use paths::{ToolPaths, resolve_existing};
use worktree::{RepositoryLimits, shared_git_dir};

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

/// Secrets of the system, which root could read.
const SYSTEM_SECRETS: &[&str] = &[
    "/etc/gshadow",
    "/etc/shadow",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssl/private",
];

/// Directories of home directories.
const HOMES: &[&str] = &["/home", "/Users"];

/// The home directory of root on Linux.
const ROOT_HOME: &str = "/root";

/// Paths that the sandbox of the tools protects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProtectedDirs<'a> {
    /// haft's home directory.
    pub(crate) home: &'a Home,
    /// Code that runs without an approval, often without a sandbox. It is only readable.
    pub(crate) unpinned_code: &'a [PathBuf],
}

/// The queue of all changes of files in this process: those of every session, and of their extensions.
static FILE_CHANGES: LazyLock<FileQueue> = LazyLock::new(FileQueue::default);

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
        .with_queue(FILE_CHANGES.clone())
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
    format!("sandbox {} is incomplete: {gap}", level.name())
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
    if settings.sandbox.value == ToolSandboxLevel::Full {
        return Ok(None);
    }
    check_working_directory(dirs.home, cwd, settings)?;
    let user_home = std::env::home_dir();
    let ToolPaths { write: more, hide } = ToolPathReader::new(dirs.home, cwd).read(settings)?;
    let mut hide: Vec<PathBuf> =
        places_with_secrets(cwd, dirs.home, user_home.as_deref()).into_iter().chain(hide).collect();
    let HiddenThroughLinks { paths: links, targets } = hidden_through_links(&hide);
    // haft's own programs, and links to hidden paths, which a command could replace.
    let protect = dirs.unpinned_code.iter().cloned().chain(own_programs()).chain(links).collect();
    // A link that leads elsewhere later must not make its present target readable.
    hide.extend(targets);
    let never = vec![dirs.home.root().to_owned()];
    let read_only = settings.sandbox.value == ToolSandboxLevel::ReadOnly;
    let mut write = if read_only { Vec::new() } else { more };
    // A home directory is not a workspace: programs run code from its files, and some contain secrets.
    if !read_only && !user_home.as_ref().is_some_and(|user_home| is_at_or_below(cwd, user_home)) {
        write.push(cwd.to_owned());
        let not_above: Vec<PathBuf> = user_home.iter().chain(&never).cloned().collect();
        let not_in = [never.as_slice(), &hide].concat();
        write.extend(shared_git_dir(cwd, RepositoryLimits { not_above: &not_above, not_in: &not_in }));
    }
    Ok(Some(ToolSandbox {
        write,
        protect,
        hide,
        never,
        read: vec![dirs.home.results_dir()],
        network: settings.network.value,
        read_only,
    }))
}

/// The hidden paths with a link in them.
#[derive(Debug, Default, PartialEq, Eq)]
struct HiddenThroughLinks {
    paths: Vec<PathBuf>,
    /// The places to which they lead now.
    targets: Vec<PathBuf>,
}

fn hidden_through_links(hide: &[PathBuf]) -> HiddenThroughLinks {
    let mut found = HiddenThroughLinks::default();
    for path in hide.iter().filter(|path| path.symlink_metadata().is_ok()) {
        match path.canonicalize() {
            Ok(real) if real == *path => {}
            Ok(real) => {
                found.paths.push(path.clone());
                found.targets.push(real);
            }
            // A link that leads nowhere.
            Err(_) => found.paths.push(path.clone()),
        }
    }
    found
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
    resolve_existing(path).starts_with(resolve_existing(dir))
}

/// Returns the paths below a user's home directory that usually contain secrets.
fn secret_places(user_home: &Path) -> impl Iterator<Item = PathBuf> {
    SECRETS.iter().map(|path| user_home.join(path))
}

/// Returns the places with secrets of the user, of the system and of other users.
fn places_with_secrets(cwd: &Path, home: &Home, user_home: Option<&Path>) -> Vec<PathBuf> {
    // Programs of another user's home directory stay usable.
    let programs = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect::<Vec<_>>();
    let used = [cwd, home.root()].into_iter().chain(programs.iter().map(PathBuf::as_path));
    let homes: Vec<&Path> = HOMES.iter().map(Path::new).collect();
    let (hidden, visible) = other_homes(&homes, user_home, used);
    let homes = user_home.into_iter().chain(visible.iter().map(PathBuf::as_path));
    let secrets = homes.flat_map(secret_places);
    secrets.chain(SYSTEM_SECRETS.iter().map(PathBuf::from)).chain(hidden).collect()
}

/// Returns the files of haft's program and of its launcher.
fn own_programs() -> impl Iterator<Item = PathBuf> {
    let program = std::env::current_exe().ok();
    program.into_iter().flat_map(|program| [program.with_file_name("haft-launcher"), program])
}

/// Returns the home directories in these places that this user can enter, without those that contain `own`: first those
/// to hide, then those that contain one of the paths `used`. All others are closed already.
fn other_homes<'a>(
    places: &[&Path],
    own: Option<&Path>,
    used: impl Iterator<Item = &'a Path>,
) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let own = own.map(resolve_existing);
    let used: Vec<PathBuf> = used.map(resolve_existing).collect();
    let homes = places.iter().flat_map(|place| std::fs::read_dir(place).into_iter().flatten().flatten());
    let homes = homes.map(|entry| entry.path()).chain([PathBuf::from(ROOT_HOME)]);
    let can_enter = |home: &PathBuf| home.join(".").metadata().is_ok_and(|data| data.is_dir());
    let homes = homes.filter(can_enter).map(|home| resolve_existing(&home));
    homes
        .filter(|home| !own.as_ref().is_some_and(|own| own.starts_with(home)))
        .partition(|home| !used.iter().any(|path| path.starts_with(home)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    #[test]
    fn working_directory_is_not_in_the_home_directory_of_haft() {
        let settings = ToolSettings::default();
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("haft");
        fs::create_dir_all(root.join("extensions")).unwrap();
        let home = Home::at(&root);
        for inside in [root.clone(), root.join("extensions"), root.join("extensions/../../haft")] {
            let error = check_working_directory(&home, &inside, &settings).unwrap_err().to_string();
            assert!(error.contains("is in haft's home directory"), "{error}");
        }
        check_working_directory(&home, dir.path(), &settings).unwrap();
    }

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
        let system = SYSTEM_SECRETS.iter().copied().chain(["results/"]);
        let places: BTreeSet<_> = places.iter().map(String::as_str).chain(system).collect();
        assert_eq!(listed, places);
    }

    #[cfg(unix)]
    #[test]
    fn present_target_of_a_hidden_link_is_hidden_too() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().canonicalize().unwrap();
        fs::write(place.join("secret"), "s").unwrap();
        fs::create_dir(place.join("real")).unwrap();
        fs::write(place.join("real/inner"), "s").unwrap();
        for (target, link) in
            [("secret", "second"), ("second", "first"), ("real", "way"), ("lost", "dangling")]
        {
            symlink(place.join(target), place.join(link)).unwrap();
        }
        let paths = |names: &[&str]| names.iter().map(|name| place.join(name)).collect::<Vec<_>>();
        let hide = paths(&["secret", "first", "way/inner", "dangling", "missing"]);
        assert_eq!(
            hidden_through_links(&hide),
            HiddenThroughLinks {
                paths: paths(&["first", "way/inner", "dangling"]),
                targets: paths(&["secret", "real/inner"])
            }
        );
    }

    #[test]
    fn readable_homes_of_others_are_hidden() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().canonicalize().unwrap();
        for name in ["me", "other", "owner/project"] {
            fs::create_dir_all(place.join(name)).unwrap();
        }
        fs::write(place.join("file"), "").unwrap();
        let (me, used) = (place.join("me"), [place.join("owner/project"), PathBuf::from(ROOT_HOME)]);
        let (hidden, visible) =
            other_homes(&[&place, Path::new("/none")], Some(&me), used.iter().map(PathBuf::as_path));
        assert_eq!(hidden, [place.join("other")]);
        assert!(!visible.contains(&me), "{visible:?}");
        assert!(visible.contains(&place.join("owner")), "{visible:?}");
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
