//! The files of one skill.

use std::path::{Component, Path, PathBuf};

/// The most files that are listed.
const MAX_LISTED: usize = 100;

/// The most directories inside each other that are looked into.
const MAX_DEPTH: usize = 4;

/// The files beside `SKILL.md`, relative to the directory and in order. Hidden ones and links are left out.
pub(super) fn list(dir: &Path) -> Vec<String> {
    let mut files = Vec::new();
    add(dir, "", 0, &mut files);
    files.retain(|file| file != super::SKILL_FILE);
    files.sort();
    if files.len() > MAX_LISTED {
        files.truncate(MAX_LISTED);
        files.push("and more".to_owned());
    }
    files
}

fn add(dir: &Path, prefix: &str, depth: usize, files: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        // One more than are listed is enough to know that there are more.
        if files.len() > MAX_LISTED + 1 {
            return;
        }
        let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
        if name.starts_with('.') || name == "node_modules" || name == "__pycache__" {
            continue;
        }
        if kind.is_file() {
            files.push(format!("{prefix}{name}"));
        } else if kind.is_dir() && depth < MAX_DEPTH {
            add(&entry.path(), &format!("{prefix}{name}/"), depth + 1, files);
        }
    }
}

/// The real path of a file within a directory.
pub(super) fn within(dir: &Path, file: &str) -> Result<PathBuf, String> {
    let outside = || format!("{file} lies outside of the skill's directory; name a file of the skill");
    let plain =
        Path::new(file).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !plain {
        return Err(outside());
    }
    let missing = |error: std::io::Error| format!("cannot read {file}: {error}");
    let root = dir.canonicalize().map_err(missing)?;
    let path = root.join(file).canonicalize().map_err(missing)?;
    if path.starts_with(&root) { Ok(path) } else { Err(outside()) }
}
