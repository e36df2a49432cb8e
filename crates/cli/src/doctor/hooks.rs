//! Mistakes that keep a process hook from starting, as far as they are visible before a run.

use std::path::{Path, PathBuf};

use haft_config::ProcessHook;
use haft_packages::{ExtensionSpec, LaunchPlan};

/// Interpreters: programs that run the file in their first argument.
const INTERPRETERS: &[&str] = &["python", "node", "sh", "bash", "dash", "zsh", "ruby", "perl", "php", "lua"];

/// Options that are followed by code or a module instead of a file.
const NO_FILE: &[&str] = &["-c", "-e", "-m", "-p", "--eval", "--print"];

/// The file name extensions of scripts without a directory.
const SCRIPTS: &[&str] = &["py", "js", "mjs", "cjs", "ts", "sh", "rb", "pl", "php", "lua"];

/// Directories that every program can read, in any sandbox.
const SYSTEM: &[&str] = &["/usr", "/bin", "/lib", "/lib64", "/etc", "/nix/store"];

/// Returns the reason why a hook cannot start, with the fix. `readable` lists what its sandbox can read besides its
/// `dir`.
pub(super) fn start_obstacle(
    spec: &ExtensionSpec,
    hook: &ProcessHook,
    readable: Option<&[PathBuf]>,
) -> Option<String> {
    if !spec.dir.is_dir() {
        return Some(format!("`dir` is not an existing directory: {}", spec.dir.display()));
    }
    let (program, args) = match &spec.launch {
        LaunchPlan::Process { program, args } => (program, args),
        LaunchPlan::Impossible { why } => return command_hint(hook).map(|hint| format!("{why}; {hint}")),
        LaunchPlan::ThemeOnly => return None,
    };
    if !program.exists() {
        let hint = command_hint(hook).map(|hint| format!("; {hint}")).unwrap_or_default();
        return Some(format!("{} does not exist{hint}", program.display()));
    }
    if !is_executable(program) {
        return Some(format!("{} is not executable (chmod +x)", program.display()));
    }
    let script = script_argument(program, args)?;
    let path = spec.dir.join(script);
    if !path.exists() {
        let hint = if script.starts_with("~/") { "; `~` is not expanded in commands" } else { "" };
        return Some(format!("{} does not exist{hint}", path.display()));
    }
    let own = [spec.dir.as_path()].into_iter().chain(program.parent().and_then(Path::parent));
    let readable = readable?.iter().map(PathBuf::as_path).chain(own).chain(SYSTEM.iter().map(Path::new));
    let mut readable = readable.filter(|place| place.parent().is_some());
    (!readable.any(|place| path.starts_with(place))).then(|| {
        format!(
            "its sandbox cannot read {}; set `dir` in [hooks.processes.{name}] to the directory of the file, \
             or add that directory to grant.{name}.read",
            path.display(),
            name = spec.name
        )
    })
}

pub(super) fn missing_files(spec: &ExtensionSpec) -> Vec<&str> {
    let LaunchPlan::Process { program, args } = &spec.launch else { return Vec::new() };
    let script = script_argument(program, args);
    let words = args.iter().map(String::as_str).filter(|word| Some(*word) != script);
    words.filter(|word| looks_like_path(word) && !spec.dir.join(word).exists()).collect()
}

/// Returns a hint about the likely mistake in a command.
fn command_hint(hook: &ProcessHook) -> Option<String> {
    let first = hook.command.first()?;
    if first.starts_with("~/") {
        return Some("`~` is not expanded in commands".to_owned());
    }
    let words: Vec<_> = first.split_whitespace().map(|word| format!("{word:?}")).collect();
    (words.len() > 1).then(|| format!("write each word as its own string: command = [{}]", words.join(", ")))
}

/// Returns the script that an interpreter runs.
fn script_argument<'a>(program: &Path, args: &'a [String]) -> Option<&'a str> {
    let name = program.file_name()?.to_str()?;
    let name = name.trim_end_matches(".exe").trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    let before = args.iter().take_while(|word| !NO_FILE.contains(&word.as_str()));
    before.map(String::as_str).find(|word| looks_like_path(word))
}

/// True if a word can only be a file.
fn looks_like_path(word: &str) -> bool {
    let is_plain = !word.starts_with('-') && !word.contains(|c: char| c.is_whitespace() || c == '=');
    let is_script = Path::new(word).extension().is_some_and(|end| SCRIPTS.iter().any(|known| end == *known));
    is_plain && !word.contains("://") && (word.contains('/') || is_script)
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
