//! Files of zot, another coding agent: finds those that haft can use. Runs nothing.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The maximum number of files of one kind that are found.
const MAX_FOUND: usize = 10_000;

/// The directories of zot for the user and for a project, with what haft can use of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ZotFiles {
    /// zot's home directory, if it exists.
    pub(crate) home: Option<PathBuf>,
    /// The directories of the user's extensions with code.
    pub(crate) extensions: Vec<PathBuf>,
    /// The names and files of the user's themes.
    pub(crate) themes: Vec<(String, PathBuf)>,
    /// The directories of the user's skills.
    pub(crate) skills: Vec<PathBuf>,
    /// The session files.
    pub(crate) sessions: Vec<PathBuf>,
    /// The directories of the project's extensions.
    pub(crate) project_extensions: Vec<PathBuf>,
}

impl ZotFiles {
    /// Finds the files below zot's home directory and the project `cwd`.
    pub(crate) fn find(cwd: &Path) -> Self {
        let home = home_dir(|name| std::env::var_os(name)).filter(|home| home.is_dir());
        Self::find_below(home, cwd)
    }

    fn find_below(home: Option<PathBuf>, cwd: &Path) -> Self {
        let project_extensions = directories_with(&cwd.join(".zot/extensions"), "extension.json");
        let Some(root) = &home else { return Self { project_extensions, ..Self::default() } };
        let (mut extensions, mut themes) = (Vec::new(), Vec::new());
        for dir in directories_with(&root.join("extensions"), "extension.json") {
            match theme_file(&dir) {
                Some(theme) => themes.push((file_name(&dir), theme)),
                None => extensions.push(dir),
            }
        }
        let of_files = list_entries(&root.join("themes")).into_iter().filter(|path| is_file(path, "json"));
        themes.extend(of_files.map(|path| (file_name(&path).trim_end_matches(".json").to_owned(), path)));
        let skills = directories_with(&root.join("skills"), "SKILL.md");
        let projects = list_entries(&root.join("sessions")).into_iter().filter(|path| is_directory(path));
        let sessions = projects.flat_map(|dir| list_entries(&dir)).filter(|path| is_file(path, "jsonl"));
        let sessions = sessions.take(MAX_FOUND).collect();
        Self { home, extensions, themes, skills, sessions, project_extensions }
    }

    /// True if haft can use none of the files.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { home: _, extensions, themes, skills, sessions, project_extensions } = self;
        let lists = [extensions, skills, sessions, project_extensions];
        themes.is_empty() && lists.into_iter().all(Vec::is_empty)
    }
}

/// Returns zot's home directory: `ZOT_HOME`, or its place on this system.
fn home_dir(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let named = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = named("ZOT_HOME") {
        return Some(home);
    }
    if cfg!(target_os = "macos") {
        return Some(named("HOME")?.join("Library/Application Support/zot"));
    }
    if cfg!(windows) {
        return Some(named("LOCALAPPDATA")?.join("zot"));
    }
    let state = named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local/state")))?;
    Some(state.join("zot"))
}

/// Returns the theme of an extension that consists of a theme only.
fn theme_file(dir: &Path) -> Option<PathBuf> {
    let manifest = fs::read(dir.join("extension.json")).ok()?;
    let manifest: Value = serde_json::from_slice(&manifest).ok()?;
    let is_code = manifest["exec"].as_str().is_some_and(|exec| !exec.is_empty());
    let theme = ["theme.json", "themes/theme.json"].map(|name| dir.join(name)).into_iter();
    theme.filter(|_| !is_code).find(|path| is_file(path, "json"))
}

/// Returns the directories that contain this file.
fn directories_with(dir: &Path, name: &str) -> Vec<PathBuf> {
    list_entries(dir).into_iter().filter(|path| is_directory(path) && path.join(name).is_file()).collect()
}

/// Returns the entries of a directory in order; none if it cannot be read.
fn list_entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(MAX_FOUND);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// True for a directory that is not a link.
fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

/// True for a regular file, which is not a link, with this extension.
fn is_file(path: &Path, extension: &str) -> bool {
    let is_regular = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    is_regular && path.extension().is_some_and(|found| found == extension)
}

/// Returns the last component of a path.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn finds_usable_files_and_no_others() {
        let root = tempfile::tempdir().unwrap();
        put(
            root.path(),
            &[
                ("zot/extensions/todo/extension.json", r#"{"name":"todo","exec":"./run"}"#),
                ("zot/extensions/night/extension.json", r#"{"name":"night"}"#),
                ("zot/extensions/night/themes/theme.json", "{}"),
                ("zot/extensions/empty/notes.txt", ""),
                ("zot/themes/day.json", "{}"),
                ("zot/skills/release/SKILL.md", "x"),
                ("zot/sessions/0011/20260501-080000-aa.jsonl", "x"),
                ("zot/sessions/0011/notes.txt", "x"),
                ("work/.zot/extensions/lint/extension.json", "{}"),
            ],
        );
        let (home, work) = (root.path().join("zot"), root.path().join("work"));
        let found = ZotFiles::find_below(Some(home.clone()), &work);
        assert_eq!(found.extensions, [home.join("extensions/todo")]);
        let themes = [("night", "extensions/night/themes/theme.json"), ("day", "themes/day.json")];
        assert_eq!(found.themes, themes.map(|(name, path)| (name.to_owned(), home.join(path))));
        assert_eq!(found.skills, [home.join("skills/release")]);
        assert_eq!(found.sessions, [home.join("sessions/0011/20260501-080000-aa.jsonl")]);
        assert_eq!(found.project_extensions, [work.join(".zot/extensions/lint")]);
        assert!(!found.is_empty() && ZotFiles::find_below(None, root.path()).is_empty());
    }

    #[test]
    fn home_is_named_by_the_variable() {
        let named = |name: &str| (name == "ZOT_HOME").then(|| OsString::from("/z"));
        assert_eq!(home_dir(named), Some(PathBuf::from("/z")));
        let default = |name: &str| Some(OsString::from(if name == "ZOT_HOME" { "" } else { "/h" }));
        assert!(home_dir(default).unwrap().starts_with("/h") && home_dir(|_| None).is_none());
    }
}
