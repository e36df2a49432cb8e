//! Context files: instructions of the user and the project for every agent, in `AGENTS.md`.

use std::path::{Path, PathBuf};

use haft_protocol::project::Project;

use crate::home::Home;
use crate::project::{self, UntrustedItem};
use crate::read;

/// The maximum number of bytes used of one file: 64 KiB.
const MAX_CONTEXT_FILE: u64 = 64 * 1024;

/// The maximum number of bytes used of all files together: 128 KiB.
const MAX_CONTEXT: u64 = 128 * 1024;

/// The names of context files; the first existing one in a directory is used.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

pub(crate) fn is_context_file_name(name: &str) -> bool {
    NAMES.contains(&name)
}

/// A context file in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// The file.
    pub path: PathBuf,
    /// The text; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// The number of bytes at the end that are not used.
    pub cut: u64,
}

/// The context files of a working directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextFiles {
    /// The user's file first, then the files from the outermost directory inwards.
    pub files: Vec<ContextFile>,
    /// Files that are not used because the project is not trusted.
    pub unused: Vec<UntrustedItem>,
    /// Problems, one sentence each.
    pub problems: Vec<String>,
}

impl ContextFiles {
    /// Finds the context files in `$HAFT_HOME` and, for a trusted project, in its directory and all directories above
    /// it. Above the repository a file must belong to root or to the owner of the directory, because any user can
    /// create files in `/tmp`.
    pub fn find(home: &Home, project: &Project) -> Self {
        let mut found = Self::default();
        let mut room = MAX_CONTEXT;
        let global = home.context_file();
        let users = found.read(&global, &mut room);
        let own = global.canonicalize().ok();
        let mut inwards = Vec::new();
        for path in context_files_outwards(&project.dir, owner_ids) {
            if own.is_some() && path.canonicalize().ok() == own {
                continue;
            }
            if project.is_trusted() {
                // The nearest file gets its share of the size limit first.
                inwards.extend(found.read(&path, &mut room));
            } else {
                found.unused.push(UntrustedItem { path, sets: Vec::new() });
            }
        }
        inwards.reverse();
        found.files = users.into_iter().chain(inwards).collect();
        found
    }

    fn read(&mut self, path: &Path, room: &mut u64) -> Option<ContextFile> {
        let limit = MAX_CONTEXT_FILE.min(*room);
        let (bytes, len) = match read::read_prefix(path, limit) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                self.problems.push(format!("{} is not used: {error}", path.display()));
                return None;
            }
        };
        let cut = len.saturating_sub(limit);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        // A character that the limit cuts in half is left out.
        let text = if cut > 0 { text.trim_end_matches('\u{fffd}') } else { text }.trim();
        if cut > 0 {
            let path = path.display();
            self.problems.push(format!("{path} is {len} bytes long; only the first {limit} bytes are used"));
        }
        *room -= bytes.len() as u64;
        (!text.is_empty()).then(|| ContextFile { path: path.into(), text: text.to_owned(), cut })
    }
}

/// Returns the context file of each directory from `dir` to the root.
pub(crate) fn context_files_outwards(dir: &Path, owners: impl Fn(&Path) -> Vec<u32>) -> Vec<PathBuf> {
    // Uses the owner of the target if `dir` is a symbolic link.
    let own = owners(dir).last().copied();
    let trusted = |path: &Path| {
        let theirs = owners(path);
        !theirs.is_empty() && theirs.iter().all(|owner| *owner == 0 || own == Some(*owner))
    };
    // The parent directory is checked too, because its owner can rename files in it.
    let is_ours = |path: &Path| trusted(path) && path.parent().is_some_and(&trusted);
    // Any user can create `.git` in `/tmp`: another user's `.git` does not make a repository.
    let is_repository = |dir: &&Path| dir.join(".git").exists() && is_ours(&dir.join(".git"));
    let repository = dir.ancestors().find(is_repository).unwrap_or(dir);
    let named = |dir: &Path| NAMES.map(|name| dir.join(name)).into_iter().find(|path| path.is_file());
    let counts = |path: &PathBuf| path.starts_with(repository) || is_ours(path);
    dir.ancestors().filter_map(named).filter(counts).collect()
}

/// Returns the owners of a path and of its link target; empty if the system does not report them.
#[cfg(unix)]
pub(crate) fn owner_ids(path: &Path) -> Vec<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let both = [std::fs::symlink_metadata(path), std::fs::metadata(path)];
    let both: Result<Vec<_>, _> = both.into_iter().map(|read| read.map(|metadata| metadata.uid())).collect();
    both.unwrap_or_default()
}

#[cfg(not(unix))]
pub(crate) fn owner_ids(_: &Path) -> Vec<u32> {
    vec![0]
}

/// Returns the text that replaces haft's own system prompt: the trusted project's, otherwise the user's.
///
/// # Errors
/// The path of a file that cannot be read, and the cause.
pub fn find_system_prompt(
    home: &Home,
    project: &Project,
) -> Result<Option<ContextFile>, (PathBuf, std::io::Error)> {
    let projects = project.is_trusted().then(|| project::system_prompt_file(project));
    for path in projects.into_iter().chain([home.system_prompt_file()]) {
        match read::text(&path, MAX_CONTEXT_FILE) {
            Ok(text) => return Ok(Some(ContextFile { path, text, cut: 0 })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err((path, error)),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_protocol::project::ProjectTrust;

    struct Fixture(tempfile::TempDir);

    impl Fixture {
        fn new(files: &[(&str, &str)]) -> Self {
            let fixture = Self(tempfile::tempdir().unwrap());
            std::fs::create_dir_all(fixture.0.path().join("src/repo/.git")).unwrap();
            std::fs::create_dir_all(fixture.0.path().join("src/repo/a/b")).unwrap();
            std::fs::create_dir_all(fixture.0.path().join("home")).unwrap();
            for (path, text) in files {
                std::fs::write(fixture.0.path().join(path), text).unwrap();
            }
            fixture
        }

        fn find(&self, trust: ProjectTrust) -> ContextFiles {
            let home = Home::at(self.0.path().join("home"));
            ContextFiles::find(&home, &Project { dir: self.0.path().join("src/repo/a/b"), trust })
        }

        fn names(&self, paths: impl Iterator<Item = PathBuf>) -> Vec<String> {
            paths.map(|path| path.strip_prefix(self.0.path()).unwrap().display().to_string()).collect()
        }
    }

    const ALL: [(&str, &str); 6] = [
        ("home/AGENTS.md", "users\n"),
        ("src/AGENTS.md", "outer"),
        ("src/repo/CLAUDE.md", "\u{feff}repo"),
        ("src/repo/a/AGENTS.md", "a"),
        ("src/repo/a/CLAUDE.md", "not this one"),
        ("src/repo/a/b/AGENTS.md", " \n"),
    ];

    #[test]
    fn orders_user_file_first_and_nearest_file_last() {
        let fixture = Fixture::new(&ALL);
        let found = fixture.find(ProjectTrust::Trusted);
        let names = fixture.names(found.files.iter().map(|file| file.path.clone()));
        assert_eq!(names, ["home/AGENTS.md", "src/AGENTS.md", "src/repo/CLAUDE.md", "src/repo/a/AGENTS.md"]);
        let texts: Vec<_> = found.files.iter().map(|file| file.text.as_str()).collect();
        assert_eq!(texts, ["users", "outer", "repo", "a"]);
        assert_eq!((found.unused, found.problems), (Vec::new(), Vec::new()));
    }

    #[test]
    fn ignores_files_of_other_users_outside_the_own_repository() {
        let fixture = Fixture::new(&ALL);
        let dir = fixture.0.path().join("src/repo/a/b");
        let of = |theirs: &'static str| {
            let owners = move |path: &Path| vec![if path.ends_with(theirs) { 7 } else { 5 }];
            fixture.names(context_files_outwards(&dir, owners).into_iter()).len()
        };
        assert_eq!(of("none"), 4);
        assert_eq!(of("repo/CLAUDE.md"), 4, "all files in the user's own repository are used");
        assert_eq!(of("src/AGENTS.md"), 3);
        let both =
            |path: &Path| vec![if path.ends_with("CLAUDE.md") || path.ends_with(".git") { 7 } else { 5 }];
        let found = fixture.names(context_files_outwards(&dir, both).into_iter());
        assert_eq!(found, ["src/repo/a/b/AGENTS.md", "src/repo/a/AGENTS.md", "src/AGENTS.md"]);
        assert_eq!(of("src/repo"), 3, "the owner of the directory is checked too");
    }

    #[test]
    fn reads_nothing_of_untrusted_project() {
        let fixture = Fixture::new(&ALL);
        let found = fixture.find(ProjectTrust::Untrusted);
        assert_eq!(fixture.names(found.files.into_iter().map(|file| file.path)), ["home/AGENTS.md"]);
        let unused = fixture.names(found.unused.into_iter().map(|unused| unused.path));
        assert_eq!(
            unused,
            ["src/repo/a/b/AGENTS.md", "src/repo/a/AGENTS.md", "src/repo/CLAUDE.md", "src/AGENTS.md"]
        );
    }

    #[test]
    fn truncates_outermost_files_first_and_reports_it() {
        let long = "é".repeat(40 * 1024);
        let fixture = Fixture::new(&[
            ("src/AGENTS.md", &long),
            ("src/repo/AGENTS.md", &long),
            ("src/repo/a/AGENTS.md", &long),
            ("home/AGENTS.md", "x"),
        ]);
        let found = fixture.find(ProjectTrust::Trusted);
        let cuts: Vec<_> = found.files.iter().map(|file| file.cut).collect();
        let whole = 80 * 1024;
        assert_eq!(cuts, [0, whole - MAX_CONTEXT_FILE + 1, whole - MAX_CONTEXT_FILE]);
        assert!(found.files.iter().all(|file| !file.text.contains('\u{fffd}')));
        assert_eq!(found.problems.len(), 3);
        assert!(
            found.problems[0].ends_with("is 81920 bytes long; only the first 65536 bytes are used"),
            "{found:?}"
        );
        assert!(found.problems[2].ends_with("only the first 0 bytes are used"));
    }

    #[test]
    #[cfg(unix)]
    fn skips_directories_and_uses_a_linked_file_once() {
        let fixture = Fixture::new(&[("home/AGENTS.md", "users"), ("src/repo/CLAUDE.md", "repo")]);
        let root = fixture.0.path();
        std::fs::create_dir(root.join("src/repo/AGENTS.md")).unwrap();
        std::os::unix::fs::symlink(root.join("home/AGENTS.md"), root.join("src/repo/a/AGENTS.md")).unwrap();
        let found = fixture.find(ProjectTrust::Trusted);
        let names = fixture.names(found.files.into_iter().map(|file| file.path));
        assert_eq!(names, ["home/AGENTS.md", "src/repo/CLAUDE.md"]);
    }

    #[test]
    fn trusted_projects_system_prompt_precedes_the_users() {
        let fixture = Fixture::new(&[("home/SYSTEM.md", "users")]);
        let dir = fixture.0.path().join("src/repo");
        std::fs::create_dir(dir.join(".haft")).unwrap();
        std::fs::write(dir.join(".haft/SYSTEM.md"), "projects").unwrap();
        let home = Home::at(fixture.0.path().join("home"));
        let prompt = |trust| {
            let found = find_system_prompt(&home, &Project { dir: dir.clone(), trust }).unwrap();
            found.map(|file| (file.path, file.text))
        };
        let projects = (dir.join(".haft/SYSTEM.md"), "projects".to_owned());
        assert_eq!(prompt(ProjectTrust::Trusted), Some(projects));
        assert_eq!(prompt(ProjectTrust::Untrusted), Some((home.system_prompt_file(), "users".to_owned())));
        std::fs::remove_file(home.system_prompt_file()).unwrap();
        assert_eq!(prompt(ProjectTrust::Untrusted), None);
    }
}
