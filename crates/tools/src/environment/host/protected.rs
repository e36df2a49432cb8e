//! Paths in the writable directories that make code run later, outside of the sandbox.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Names from which editors, shells, agents and haft run commands.
const NAMES: &[&str] = &[".claude", ".envrc", ".haft", ".idea", ".mcp.json", ".pi", ".vscode", ".zot"];

/// Names in a git directory from which git runs programs, or which lead git to another directory.
const GIT_NAMES: &[&str] = &["commondir", "config", "config.worktree", "gitdir", "hooks"];

/// The deepest directory, below the working directory, in which a repository is looked for.
const DEPTH: usize = 4;

/// The maximum number of git directories.
const REPOSITORIES: usize = 64;

/// The maximum number of directories that are searched for repositories.
const DIRECTORIES: usize = 4096;

/// Directories of dependencies and build products, which are not searched.
const SKIPPED: &[&str] = &["node_modules", "target"];

/// The maximum number of links that are followed, as in the kernel.
const LINKS: usize = 40;

/// The largest file of git that is read.
const LONGEST: u64 = 64 * 1024;

/// True if a path below a writable directory has a protected name: as a part, or in a git directory, whatever its name
/// is. A file `.git` is protected, too, because it names a git directory.
pub(crate) fn has_protected_name(root: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(root) else { return false };
    let is_any = |name: &OsStr, names: &[&str]| names.iter().any(|other| name.eq_ignore_ascii_case(other));
    let mut in_git = root.file_name().is_some_and(|name| is_any(name, &[".git"]));
    let mut dir = root.to_owned();
    let mut parts = below.components().map(Component::as_os_str).peekable();
    while let Some(part) = parts.next() {
        let is_git = is_any(part, &[".git"]);
        let is_git_name = is_any(part, GIT_NAMES) && (in_git || is_git_dir(&dir) || is_worktree_dir(&dir));
        if is_any(part, NAMES) || is_git_name || (is_git && parts.peek().is_none()) {
            return true;
        }
        in_git |= is_git;
        dir.push(part);
    }
    false
}

/// Returns the protected paths of a writable directory itself. Repositories below it are not searched for.
pub(super) fn names_at_top(root: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = NAMES.iter().map(|name| root.join(name)).collect();
    let git = root.join(".git");
    all.extend(git_names(&git));
    if git.symlink_metadata().is_ok_and(|data| !data.is_dir()) {
        all.push(git);
    }
    if is_git_dir(root) {
        all.extend(git_names(root));
    }
    all
}

fn git_names(git_dir: &Path) -> impl Iterator<Item = PathBuf> {
    GIT_NAMES.iter().map(|name| git_dir.join(name))
}

/// True if git uses the directory as a git directory, or would after one entry is restored.
fn is_git_dir(dir: &Path) -> bool {
    let entries = [dir.join("HEAD").is_file(), dir.join("objects").is_dir(), dir.join("refs").is_dir()];
    entries.into_iter().filter(|exists| *exists).count() >= 2
}

/// True if the directory is that of a linked worktree.
fn is_worktree_dir(dir: &Path) -> bool {
    dir.join("commondir").is_file() && dir.join("gitdir").is_file()
}

/// The protected paths of a session.
#[derive(Debug)]
pub(super) struct ProtectedPaths {
    /// Paths that are read-only for commands while they exist.
    paths: Vec<PathBuf>,
    /// Protected names that do not exist, so that a command can create them.
    missing: Mutex<Vec<MissingName>>,
    is_partial: bool,
}

/// A protected name that does not exist.
#[derive(Debug)]
struct MissingName {
    path: PathBuf,
    /// True if it is removed when it appears.
    is_removed: bool,
}

/// The protected names that appeared while a command ran.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AppearedNames {
    pub(super) created: Vec<PathBuf>,
    pub(super) removed: Vec<PathBuf>,
}

impl ProtectedPaths {
    /// Finds the protected paths below the writable directories `roots`: the paths `more`, the names at the top of these
    /// directories and of `cwd`, and the repositories below `cwd`. All paths except `more` are resolved. Creates names in
    /// git directories that do not exist but have no effect when they are empty, because only an existing path can be
    /// protected. Blocks.
    pub(super) fn find(roots: &[PathBuf], cwd: &Path, more: &[PathBuf]) -> Self {
        let mut search = RepositorySearch::default();
        let mut paths = more.to_vec();
        let mut missing = Vec::new();
        let is_inside = roots.iter().any(|root| cwd.starts_with(root));
        let tops = roots.iter().map(PathBuf::as_path).chain(is_inside.then_some(cwd));
        for root in tops {
            paths.extend(names_at_top(root));
            search.add_git_entry(&root.join(".git"));
            if is_git_dir(root) {
                search.add_git_dir(root.to_owned());
            }
            let names = NAMES.iter().chain(&[".git"]).map(|name| root.join(name));
            missing.extend(names.map(|path| MissingName { path, is_removed: false }));
        }
        if is_inside {
            search.search_below(cwd);
        }
        paths.append(&mut search.entries);
        for GitDir { path, is_worktree } in &search.git_dirs {
            let is_writable =
                path.canonicalize().is_ok_and(|real| roots.iter().any(|root| real.starts_with(root)));
            if is_writable {
                create_harmless_names(path, *is_worktree);
            }
            paths.extend(git_names(path));
            if is_writable && !is_worktree {
                let name = |path: PathBuf| MissingName { is_removed: path.ends_with("commondir"), path };
                missing.extend(git_names(path).map(name));
            }
        }
        // A command can create the target of a link that leads nowhere.
        let targets = paths.iter().filter_map(|path| dangling_target(path));
        missing.extend(targets.map(|path| MissingName { path, is_removed: false }));
        missing.retain(|name| is_missing(&name.path));
        missing.sort_by(|one, other| one.path.cmp(&other.path));
        missing.dedup_by(|one, other| one.path == other.path);
        paths.sort();
        paths.dedup();
        Self { paths, missing: Mutex::new(missing), is_partial: search.is_full() }
    }

    /// True if the limit of git directories was reached, so that some may not be protected.
    pub(super) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Returns the protected paths that exist now below `roots`, resolved. If links lead to a path, they are protected,
    /// too.
    pub(super) fn existing_below(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for path in &self.paths {
            // One call; resolving reads each directory above for a link.
            if is_missing(path) {
                continue;
            }
            match path.canonicalize() {
                Ok(real) if real == *path => all.push(real),
                Ok(_) | Err(_) => {
                    let ResolvedLinks { links, real } = resolve_links(path);
                    all.extend(links.into_iter().chain(real));
                }
            }
        }
        all.retain(|path| roots.iter().any(|root| path.starts_with(root)));
        all.sort();
        all.dedup();
        all
    }

    /// Returns the protected names that exist since the last call. Names with which git would use another directory are
    /// removed.
    pub(super) fn take_appeared(&self) -> AppearedNames {
        let mut appeared = AppearedNames::default();
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.retain(|MissingName { path, is_removed }| {
            if is_missing(path) {
                return true;
            }
            // git cannot use a directory with this name. A link above it could lead to a file of somebody else.
            let is_gone = *is_removed && has_no_link_above(path) && fs::remove_file(path).is_ok();
            let list = if is_gone { &mut appeared.removed } else { &mut appeared.created };
            list.push(path.clone());
            is_gone
        });
        appeared
    }
}

fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| is_not_found(&error))
}

fn has_no_link_above(path: &Path) -> bool {
    path.parent().is_some_and(|dir| dir.canonicalize().is_ok_and(|real| real == dir))
}

/// Returns the target of a link that leads to a missing path.
fn dangling_target(path: &Path) -> Option<PathBuf> {
    let target = fs::read_link(path).ok()?;
    (!path.exists()).then_some(())?;
    Some(path.parent()?.canonicalize().ok()?.join(target))
}

fn is_not_found(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Creates an empty directory for hooks, and an empty `config.worktree` if git reads this file.
fn create_harmless_names(git_dir: &Path, is_worktree: bool) {
    let hooks = git_dir.join("hooks");
    if !is_worktree && git_dir.join("HEAD").is_file() && is_missing(&hooks) {
        // On failure, no command can create the directory either.
        let _ = fs::create_dir(hooks);
    }
    let common = if is_worktree { git_dir.join("../..") } else { git_dir.to_owned() };
    let config = read_start(&common.join("config")).unwrap_or_default();
    if config.to_ascii_lowercase().contains("worktreeconfig") {
        let _ = fs::File::create_new(git_dir.join("config.worktree"));
    }
}

/// Reads the first part of a regular file.
fn read_start(file: &Path) -> Option<String> {
    use io::Read as _;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(file).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A git directory: of a repository, of a submodule, or of a linked worktree.
#[derive(Debug)]
struct GitDir {
    path: PathBuf,
    is_worktree: bool,
}

/// A search for repositories.
#[derive(Debug, Default)]
struct RepositorySearch {
    git_dirs: Vec<GitDir>,
    /// Links and files named `.git`, which lead to a git directory.
    entries: Vec<PathBuf>,
}

impl RepositorySearch {
    fn is_full(&self) -> bool {
        self.git_dirs.len() + self.entries.len() >= REPOSITORIES
    }

    /// Searches the directories below `top`, the upper ones first.
    fn search_below(&mut self, top: &Path) {
        let mut queue = VecDeque::from([(top.to_owned(), 0)]);
        let mut searched = 0;
        while let Some((dir, depth)) = queue.pop_front() {
            if self.is_full() || searched >= DIRECTORIES {
                return;
            }
            searched += 1;
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                let name = entry.file_name();
                if name == ".git" {
                    if depth > 0 {
                        self.add_git_entry(&entry.path());
                    }
                } else if depth < DEPTH
                    && !SKIPPED.iter().any(|skipped| name == *skipped)
                    && entry.file_type().is_ok_and(|kind| kind.is_dir())
                {
                    queue.push_back((entry.path(), depth + 1));
                }
            }
        }
    }

    /// Adds an entry named `.git`: a directory, or a file or link that leads to one.
    fn add_git_entry(&mut self, entry: &Path) {
        let Ok(data) = entry.symlink_metadata() else { return };
        if !data.is_dir() {
            self.entries.push(entry.to_owned());
        }
        if entry.is_dir() {
            self.add_git_dir(entry.to_owned());
        } else if let Some(text) = read_start(entry)
            && let Some(named) = text.strip_prefix("gitdir:")
            && let Some(dir) = entry.parent().and_then(|dir| dir.join(named.trim()).canonicalize().ok())
            && dir.is_dir()
        {
            self.add_git_dir(dir);
        }
    }

    /// Adds a git directory and those of its worktrees and submodules.
    fn add_git_dir(&mut self, path: PathBuf) {
        if self.is_full() || self.git_dirs.iter().any(|known| known.path == path) {
            return;
        }
        let (worktrees, modules) = (path.join("worktrees"), path.join("modules"));
        let is_worktree = is_worktree_dir(&path);
        self.git_dirs.push(GitDir { path, is_worktree });
        for worktree in directories_in(&worktrees) {
            if !self.is_full() && is_worktree_dir(&worktree) {
                self.git_dirs.push(GitDir { path: worktree, is_worktree: true });
            }
        }
        self.add_modules(&modules, DEPTH);
    }

    /// Adds the git directories of submodules. The name of a submodule can have several parts.
    fn add_modules(&mut self, dir: &Path, depth: usize) {
        for module in directories_in(dir) {
            if module.join("HEAD").is_file() {
                self.add_git_dir(module);
            } else if depth > 0 && !self.is_full() {
                self.add_modules(&module, depth - 1);
            }
        }
    }
}

fn directories_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_dir = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.filter(is_dir).map(|entry| entry.path()).take(REPOSITORIES).collect()
}

/// The links on the way to a path, each at its resolved place, and the resolved path if it exists.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ResolvedLinks {
    pub(super) links: Vec<PathBuf>,
    pub(super) real: Option<PathBuf>,
}

/// Resolves an absolute path link by link.
pub(super) fn resolve_links(path: &Path) -> ResolvedLinks {
    let mut links = Vec::new();
    let mut real = PathBuf::from("/");
    let split = |path: &Path| -> VecDeque<OsString> {
        path.components().map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut rest = split(path);
    while let Some(name) = rest.pop_front() {
        match name.to_str() {
            Some(".") => continue,
            Some("..") => {
                real.pop();
                continue;
            }
            Some(_) | None => {}
        }
        // A root replaces the path so far.
        let next = real.join(&name);
        match fs::read_link(&next) {
            Ok(_) if links.len() == LINKS => return ResolvedLinks { links, real: None },
            Ok(target) => {
                links.push(next);
                let mut parts = split(&target);
                parts.append(&mut rest);
                rest = parts;
            }
            Err(error) if is_not_found(&error) => {
                return ResolvedLinks { links, real: None };
            }
            Err(_) => real = next,
        }
    }
    ResolvedLinks { links, real: Some(real) }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
