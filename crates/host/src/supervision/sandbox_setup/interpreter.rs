//! The library directories of interpreters below the user's home, without which they cannot run.

use std::path::{Path, PathBuf};

/// Returns the directory trees for a program below `home` and for the interpreter in its first line. Other
/// trees belong to the system or must be granted.
pub(super) fn interpreter_trees(program: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Some(home) = home else { return Vec::new() };
    let mut all: Vec<PathBuf> = Vec::new();
    for file in haft_launch::sandbox::started_by(program) {
        // A virtual environment links to another interpreter and needs both.
        let real = file.canonicalize().ok();
        for path in std::iter::once(file).chain(real) {
            all.extend(tree_of(&path, home));
            all.push(path);
        }
    }
    all.retain(|path| path.starts_with(home) && path.exists());
    all.sort();
    all.dedup();
    all
}

/// True if a program below `home` is started through a shim, as with pyenv and asdf: a script that selects
/// the version, using the system's programs.
pub(super) fn has_shim(program: &Path, home: Option<&Path>) -> bool {
    let is_shim = |file: &PathBuf| {
        let dir = file.parent().and_then(Path::file_name);
        dir.is_some_and(|dir| dir == "shims") && home.is_some_and(|home| file.starts_with(home))
    };
    haft_launch::sandbox::started_by(program).iter().any(is_shim)
}

/// Returns the tree of an interpreter: `…` for `…/bin/python3`, if the tree holds only the interpreter and is
/// not shared like `~/.local` and `~/.cargo`. For `…/shims/python3`, returns the tree that contains the
/// versions.
fn tree_of(file: &Path, home: &Path) -> Option<PathBuf> {
    let dir = file.parent()?;
    let root = dir.parent()?;
    if !root.starts_with(home) || root == home {
        return None;
    }
    let is_environment = root.join("pyvenv.cfg").is_file();
    let is_hidden = root.file_name()?.to_string_lossy().starts_with('.');
    let is_shared = root.parent() == Some(home) && is_hidden;
    let is_tree = match dir.file_name()?.to_str()? {
        "bin" => is_environment || (root.join("lib").is_dir() && !is_shared),
        "shims" => true,
        _ => false,
    };
    is_tree.then(|| root.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the trees of a program below a home with these files; all paths are relative to the home.
    #[track_caller]
    fn check(files: &[&str], program: &str, expect: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap().join("home");
        for file in files {
            std::fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            std::fs::write(home.join(file), "").unwrap();
        }
        let found = interpreter_trees(&home.join(program), Some(&home));
        let found: Vec<_> =
            found.iter().map(|path| path.strip_prefix(&home).unwrap().to_str().unwrap()).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn detects_shims_below_home() {
        let home = Some(Path::new("/h/u"));
        assert!(has_shim(Path::new("/h/u/.pyenv/shims/python3"), home));
        assert!(!has_shim(Path::new("/h/u/.pyenv/versions/3.13/bin/python3"), home));
        assert!(!has_shim(Path::new("/opt/shims/python3"), home));
        assert!(!has_shim(Path::new("/h/u/.pyenv/shims/python3"), None));
    }

    #[test]
    fn grants_only_library_tree_of_interpreter() {
        let pyenv = ".pyenv/versions/3.13/bin/python3";
        check(&[pyenv, ".pyenv/versions/3.13/lib/os.py"], pyenv, &[".pyenv/versions/3.13", pyenv]);
        let shim = ".pyenv/shims/python3";
        check(&[shim, ".pyenv/libexec/pyenv"], shim, &[".pyenv", shim]);
        let node = ".nvm/versions/node/v22/bin/node";
        check(&[node, ".nvm/versions/node/v22/lib/x"], node, &[".nvm/versions/node/v22", node]);
        check(&[".venv/bin/python", ".venv/pyvenv.cfg"], ".venv/bin/python", &[".venv", ".venv/bin/python"]);
        check(&[".local/bin/tool", ".local/lib/x"], ".local/bin/tool", &[".local/bin/tool"]);
        check(&[".cargo/bin/tool", ".cargo/credentials.toml"], ".cargo/bin/tool", &[".cargo/bin/tool"]);
        check(&["bin/tool", "lib/x"], "bin/tool", &["bin/tool"]);
        check(&["tool"], "tool", &["tool"]);
        check(&[], "/bin/sh", &[]);
    }
}
