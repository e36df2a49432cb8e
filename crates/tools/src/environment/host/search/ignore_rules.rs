//! The rules of ignore files: `.gitignore`, `.ignore` and `.git/info/exclude`, and the user's rules for git.
//!
//! A cloned project or another user can put anything in the place of an ignore file: a link to a device that never
//! ends, a pipe, a sparse file of 1 TiB. haft therefore reads the files itself, and gives their lines to the library.

use std::io;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::git_settings::user_ignore_file;
use super::ignore_file::read_ignore_file;
use crate::limits::{MAX_GLOB, MAX_IGNORE_BYTES, MAX_IGNORE_RULES};

/// The rules that apply to the entries of one directory.
#[derive(Debug)]
pub(super) struct IgnoreRules {
    /// The root of the tree that ignore files may link to: the repository, or else the searched directory.
    top: PathBuf,
    /// The rules of the current directory and its parents, outermost first.
    dirs: Vec<DirRules>,
    /// The user's rules for all repositories.
    global: Gitignore,
}

/// The rules of the files in one directory.
#[derive(Debug)]
struct DirRules {
    dir: PathBuf,
    plain: Gitignore,
    git: Gitignore,
    exclude: Gitignore,
    is_repository: bool,
    bytes: usize,
    rules: usize,
}

impl IgnoreRules {
    /// Reads the rules for the directory `root`, an absolute path without links. Above the repository, only files count
    /// that belong to root or to the owner of `root`, because any user can create files in `/tmp`.
    pub(super) fn new(root: &Path) -> Self {
        Self::with_owners(root, user_ignore_file().as_deref(), owner_ids)
    }

    /// Context files have the same rule of owners: see `config/src/context.rs`.
    fn with_owners(root: &Path, user: Option<&Path>, owners: impl Fn(&Path) -> Vec<u32>) -> Self {
        let own = owners(root).last().copied();
        let trusted = |path: &Path| {
            let theirs = owners(path);
            !theirs.is_empty() && theirs.iter().all(|owner| *owner == 0 || own == Some(*owner))
        };
        let is_ours = |path: &Path| trusted(path) && path.parent().is_some_and(trusted);
        let is_repository = |dir: &&Path| dir.join(".git").exists() && is_ours(&dir.join(".git"));
        let top = root.ancestors().find(is_repository).unwrap_or(root).to_owned();
        let global = user.map_or_else(Gitignore::empty, |file| read_user_rules(file, &top));
        let mut rules = Self { top, dirs: Vec::new(), global };
        let mut outwards: Vec<&Path> = root.ancestors().collect();
        outwards.reverse();
        for dir in outwards {
            let inside = dir.starts_with(&rules.top);
            rules.enter_dir(dir, &|file| inside || is_ours(file));
        }
        rules
    }

    /// True if a rule excludes the entry, which must be in the root or below it.
    pub(super) fn is_excluded(&mut self, path: &Path, is_dir: bool) -> bool {
        self.move_to(path.parent().unwrap_or(path));
        let (mut plain, mut git, mut exclude) = (Match::None, Match::None, Match::None);
        let mut in_repository = true;
        for rules in self.dirs.iter().rev() {
            plain = plain.or(rules.plain.matched(path, is_dir));
            if in_repository {
                git = git.or(rules.git.matched(path, is_dir));
                exclude = exclude.or(rules.exclude.matched(path, is_dir));
            }
            in_repository &= !rules.is_repository;
        }
        plain.or(git).or(exclude).or(self.global.matched(path, is_dir)).is_ignore()
    }

    /// Forgets the directories that do not contain `dir`, and reads the rules of those on the way to it.
    fn move_to(&mut self, dir: &Path) {
        if self.dirs.last().is_some_and(|last| last.dir == dir) {
            return;
        }
        while self.dirs.last().is_some_and(|last| !dir.starts_with(&last.dir)) {
            self.dirs.pop();
        }
        let known = self.dirs.len();
        let mut missing: Vec<&Path> = dir.ancestors().collect();
        missing.reverse();
        for dir in missing.into_iter().skip(known) {
            self.enter_dir(dir, &|_| true);
        }
    }

    fn enter_dir(&mut self, dir: &Path, counts: &dyn Fn(&Path) -> bool) {
        let mut new = DirRules {
            dir: dir.to_owned(),
            plain: Gitignore::empty(),
            git: Gitignore::empty(),
            exclude: Gitignore::empty(),
            is_repository: dir.join(".git").exists() && counts(&dir.join(".git")),
            bytes: self.dirs.last().map_or(0, |last| last.bytes),
            rules: self.dirs.last().map_or(0, |last| last.rules),
        };
        new.plain = self.read(&mut new, ".ignore", counts);
        new.git = self.read(&mut new, ".gitignore", counts);
        new.exclude = self.read(&mut new, ".git/info/exclude", counts);
        self.dirs.push(new);
    }

    /// Reads one file; without rules if it is missing or cannot be used.
    fn read(&self, dir: &mut DirRules, name: &str, counts: &dyn Fn(&Path) -> bool) -> Gitignore {
        let file = dir.dir.join(name);
        match read_or_warn(&file, Some(&self.top)) {
            Some(text) if counts(&file) => {
                parse_rules(&text, &file, &dir.dir, &mut dir.rules, &mut dir.bytes)
            }
            Some(_) | None => Gitignore::empty(),
        }
    }
}

/// Reads the user's rules for all repositories, which begin at `top`. The file may be a link to any file.
fn read_user_rules(file: &Path, top: &Path) -> Gitignore {
    let text = read_or_warn(file, None).unwrap_or_default();
    parse_rules(&text, file, top, &mut 0, &mut 0)
}

/// Reads an ignore file; `None` if it is missing or cannot be used.
fn read_or_warn(file: &Path, top: Option<&Path>) -> Option<String> {
    match read_ignore_file(file, top) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!(file = %file.display(), %error, "ignore file not used");
            None
        }
    }
}

/// Parses the rules of a file for paths below `dir`. `count` and `bytes` are those of the rules so far.
fn parse_rules(text: &str, file: &Path, dir: &Path, count: &mut usize, bytes: &mut usize) -> Gitignore {
    let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
    let mut builder = GitignoreBuilder::new(dir);
    let usable = lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    for line in usable.filter(|line| line.len() <= MAX_GLOB) {
        if *count >= MAX_IGNORE_RULES || *bytes + line.len() > MAX_IGNORE_BYTES {
            tracing::warn!(file = %file.display(), "too many ignore rules; the rest is not used");
            break;
        }
        // A line that is not a glob is skipped, as git does.
        if builder.add_line(None, line).is_ok() {
            *count += 1;
            *bytes += line.len();
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Returns the owners of a path and of its link target; empty if the system does not report them.
#[cfg(unix)]
fn owner_ids(path: &Path) -> Vec<u32> {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    let both = [fs::symlink_metadata(path), fs::metadata(path)];
    let both: io::Result<Vec<_>> = both.into_iter().map(|read| read.map(|data| data.uid())).collect();
    both.unwrap_or_default()
}

#[cfg(not(unix))]
fn owner_ids(_: &Path) -> Vec<u32> {
    vec![0]
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::limits::MAX_IGNORE_FILE;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(files: &[(&str, &str)]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            for (name, text) in files {
                let path = tree.path(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            tree
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        #[track_caller]
        fn check(&self, rules: &mut IgnoreRules, names: &[(&str, bool)]) {
            for (name, expect) in names {
                assert_eq!(
                    rules.is_excluded(&self.path(name.trim_end_matches('/')), name.ends_with('/')),
                    *expect,
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn nearer_rules_and_plain_rules_take_precedence() {
        let tree = Tree::new(&[
            ("repo/.git/info/exclude", "secret"),
            ("repo/.gitignore", "\u{feff}*.log\n# comment\n\n/out/\n"),
            ("repo/a/.gitignore", "!keep.log\n*.txt"),
            ("repo/a/.ignore", "!b.txt\n"),
            (".gitignore", "*.rs"),
            (".ignore", "*.tmp"),
        ]);
        let mut rules = IgnoreRules::new(&tree.path("repo"));
        let names = [
            ("repo/a/x.log", true),
            ("repo/a/keep.log", false),
            ("repo/keep.log", true),
            ("repo/out/", true),
            ("repo/a/out/", false),
            ("repo/a/a.txt", true),
            ("repo/a/b.txt", false),
            ("repo/b.txt", false),
            ("repo/secret", true),
            ("repo/x.rs", false),
            ("repo/x.tmp", true),
        ];
        tree.check(&mut rules, &names);
    }

    #[test]
    fn files_of_other_users_above_the_repository_do_not_count() {
        let files = [("repo/.git/HEAD", ""), (".ignore", "*"), ("repo/.ignore", "*.o")];
        let tree = Tree::new(&files);
        let rules_of = |theirs: &str| {
            let theirs = tree.path(theirs);
            IgnoreRules::with_owners(&tree.path("repo"), None, |path| {
                vec![if path == theirs { 7 } else { 5 }]
            })
        };
        tree.check(&mut rules_of("none"), &[("repo/a.rs", true)]);
        tree.check(&mut rules_of(".ignore"), &[("repo/a.rs", false), ("repo/a.o", true)]);
        tree.check(&mut rules_of("repo/.ignore"), &[("repo/a.o", true)]);
        // The owner of the directory can rename files in it.
        tree.check(&mut rules_of(""), &[("repo/a.rs", false)]);
        // Another user's `.git` does not make a repository.
        tree.check(&mut rules_of("repo/.git"), &[("repo/a.o", true)]);
    }

    #[test]
    fn files_and_rules_are_bounded() {
        let long = format!("{}\n*.a\n", "x".repeat(MAX_GLOB + 1));
        let many = "?b\n".repeat(MAX_IGNORE_RULES - 1);
        let too_long = "*.c\n".repeat(MAX_IGNORE_FILE);
        let braces = format!("{}\n", "{".repeat(MAX_GLOB));
        let tree = Tree::new(&[
            (".ignore", &long),
            ("d/.ignore", &too_long),
            ("d/e/.ignore", &many),
            ("d/e/.gitignore", "*.e"),
            ("d/f/.ignore", &braces),
        ]);
        let mut rules = IgnoreRules::new(&tree.path(""));
        let names =
            [("x.a", true), ("d/x.c", false), ("d/e/xb", true), ("d/e/x.e", false), ("d/f/x.e", false)];
        tree.check(&mut rules, &names);
    }

    #[test]
    #[cfg(unix)]
    fn rules_of_the_user_are_read_with_limits() {
        use std::os::unix::fs::symlink;
        let too_long = "*.c\n".repeat(MAX_IGNORE_FILE);
        let tree = Tree::new(&[("repo/.git/HEAD", ""), ("rules", "*.a\n/out\n"), ("long", &too_long)]);
        symlink("rules", tree.path("link")).unwrap();
        symlink("/dev/zero", tree.path("zero")).unwrap();
        let rules_of =
            |user: &str| IgnoreRules::with_owners(&tree.path("repo"), Some(&tree.path(user)), owner_ids);
        let names = [("repo/x.a", true), ("repo/d/x.a", true), ("repo/out", true), ("repo/d/out", false)];
        tree.check(&mut rules_of("rules"), &names);
        tree.check(&mut rules_of("link"), &names);
        tree.check(&mut rules_of("long"), &[("repo/x.c", false)]);
        tree.check(&mut rules_of("zero"), &[("repo/x.a", false)]);
        tree.check(&mut rules_of("missing"), &[("repo/x.a", false)]);
    }

    #[test]
    #[cfg(unix)]
    fn links_lead_to_files_in_the_tree_only() {
        use std::os::unix::fs::symlink;
        let tree = Tree::new(&[("out", "*.b"), ("repo/.git/HEAD", ""), ("repo/rules", "*.a")]);
        symlink("../rules", tree.path("repo/.git/link")).unwrap();
        symlink("rules", tree.path("repo/.ignore")).unwrap();
        symlink("../out", tree.path("repo/.gitignore")).unwrap();
        symlink("repo/rules", tree.path(".ignore")).unwrap();
        let mut rules = IgnoreRules::new(&tree.path("repo"));
        tree.check(&mut rules, &[("repo/x.a", true), ("repo/x.b", false)]);
    }
}
