//! The project's files, its git branch, and images from files.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use haft_config::{Snapshot, read_text};
use haft_core::image;
use haft_protocol::content::Image;
use haft_tools::walk_tree;
use haft_tui::app::FileList;

use super::UiContext;

/// The maximum number of files in the list.
const MOST: usize = 50_000;

/// The maximum size of a git file, in bytes.
const LONGEST: u64 = 4096;

/// The number of digits of a commit id that are shown.
const SHORT: usize = 8;

/// Returns the files below a directory that git does not ignore, including hidden ones. Directories end with `/`.
pub(super) fn list_files(dir: &Path) -> FileList {
    let mut named = walk_tree(dir).flatten().filter(|entry| entry.depth() > 0).filter_map(|entry| {
        let below = entry.path().strip_prefix(dir).ok()?;
        let names: Option<Vec<&str>> = below.components().map(|name| name.as_os_str().to_str()).collect();
        let slash = if entry.file_type().is_some_and(|kind| kind.is_dir()) { "/" } else { "" };
        Some(names?.join("/") + slash)
    });
    let paths = named.by_ref().take(MOST).collect();
    FileList { paths, is_cut: named.next().is_some() }
}

/// Returns the entries of a directory, each with the typed path before it. `~/` is the home directory.
pub(super) fn list_directory(cwd: &Path, typed: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(resolve_path(cwd, Path::new(typed))) else { return Vec::new() };
    let named = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let slash = if entry.path().is_dir() { "/" } else { "" };
        Some(format!("{typed}{name}{slash}"))
    });
    let mut named: Vec<String> = named.take(MOST).collect();
    named.sort_unstable();
    named
}

/// Returns the branch if the project is trusted, or needs no trust. Runs no program.
pub(super) fn current_branch(context: &UiContext) -> Option<String> {
    read_head(&accepted_project(context)?)
}

/// Returns the directory of the project if the project is trusted, or needs no trust.
pub(super) fn accepted_project(context: &UiContext) -> Option<PathBuf> {
    let project = context.trust_decision().ok()?.project;
    let brings_nothing =
        || Snapshot::take(&context.home, &project.dir).is_ok_and(|snapshot| snapshot.files().is_empty());
    (project.is_trusted() || brings_nothing()).then_some(project.dir)
}

fn read_head(dir: &Path) -> Option<String> {
    let text = read_text(&find_git_dir(dir)?.join("HEAD"), LONGEST).ok()?;
    let text = text.trim();
    match text.strip_prefix("ref: ") {
        Some(name) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
        None => {
            let is_commit = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_commit.then(|| text.chars().take(SHORT).collect())
        }
    }
}

/// Returns the `.git` of the nearest parent directory; a file of that name contains the path.
fn find_git_dir(dir: &Path) -> Option<PathBuf> {
    let (place, git) =
        dir.ancestors().map(|place| (place, place.join(".git"))).find(|(_, git)| git.exists())?;
    if git.is_dir() {
        return Some(git);
    }
    let text = read_text(&git, LONGEST).ok()?;
    Some(place.join(text.strip_prefix("gitdir: ")?.trim()))
}

/// Reads an image. Its bytes decide the format. `~/` is the home directory.
pub(super) fn read_image(cwd: &Path, path: &Path) -> anyhow::Result<Image> {
    let path = resolve_path(cwd, path);
    let shown = path.display();
    let about = fs::metadata(&path).with_context(|| format!("cannot read {shown}"))?;
    anyhow::ensure!(about.is_file(), "{shown} is not a file");
    let too_big = || anyhow::anyhow!("{shown} is larger than 5 MiB; reduce its size first");
    let most = image::MAX_BYTES as u64;
    if about.len() > most {
        return Err(too_big());
    }
    let mut bytes = Vec::new();
    let file = File::open(&path).with_context(|| format!("cannot read {shown}"))?;
    file.take(most + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {shown}"))?;
    if bytes.len() > image::MAX_BYTES {
        return Err(too_big());
    }
    let mime_type = image::check(&bytes).with_context(|| format!("{shown} cannot be shown"))?.to_owned();
    Ok(Image { mime_type, data: BASE64_STANDARD.encode(&bytes).into() })
}

pub(super) fn resolve_path(cwd: &Path, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => cwd.join(path),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn omits_ignored_files() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["src/main.rs", "target/x", ".git/config", ".github/ci.yml", "a b.txt"] {
            write(dir.path().join(name), "");
        }
        write(dir.path().join(".gitignore"), "target\n");
        let expect = [".github/", ".github/ci.yml", ".gitignore", "a b.txt", "src/", "src/main.rs"];
        let expect = expect.map(str::to_owned).to_vec();
        assert_eq!(list_files(dir.path()), FileList { paths: expect, is_cut: false });
        assert_eq!(list_files(&dir.path().join("gone")), FileList::default());
    }

    #[test]
    fn lists_typed_directory_even_if_ignored() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["target/b.txt", "target/a/x"] {
            write(dir.path().join(name), "");
        }
        write(dir.path().join(".gitignore"), "target\n");
        assert_eq!(list_directory(dir.path(), "target/"), ["target/a/", "target/b.txt"]);
        let absolute = format!("{}/target/a/", dir.path().display());
        assert_eq!(list_directory(Path::new("/"), &absolute), [format!("{absolute}x")]);
        assert_eq!(list_directory(dir.path(), "gone/"), Vec::<String>::new());
    }

    #[test]
    fn reads_branch_of_repository_and_worktree() {
        let dir = tempfile::tempdir().unwrap();
        let head_is = |text: &str| {
            write(dir.path().join(".git/HEAD"), text);
            fs::create_dir_all(dir.path().join("a/b")).unwrap();
            read_head(&dir.path().join("a/b"))
        };
        assert_eq!(head_is("ref: refs/heads/fix/one\n").as_deref(), Some("fix/one"));
        assert_eq!(head_is("0123456789abcdef0123456789abcdef01234567\n").as_deref(), Some("01234567"));
        assert_eq!(head_is("what is this"), None);
        assert_eq!(head_is(""), None);
        write(dir.path().join("tree/.git"), "gitdir: ../.git/worktrees/tree\n");
        write(dir.path().join(".git/worktrees/tree/HEAD"), "ref: refs/heads/two\n");
        assert_eq!(read_head(&dir.path().join("tree")).as_deref(), Some("two"));
    }

    const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;";

    #[test]
    fn detects_image_format_from_bytes() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.png"), GIF).unwrap();
        let shown = read_image(dir.path(), Path::new("a.png")).unwrap();
        assert_eq!(shown.mime_type, "image/gif");
        assert_eq!(shown, read_image(Path::new("/"), &dir.path().join("a.png")).unwrap());
    }

    #[test]
    fn rejects_files_that_are_no_images() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("text.png"), "text").unwrap();
        File::create(dir.path().join("big.png")).unwrap().set_len(6 * 1024 * 1024).unwrap();
        let error_of = |name: &str| {
            let error = format!("{:#}", read_image(dir.path(), Path::new(name)).unwrap_err());
            error.replace(&dir.path().display().to_string(), "DIR")
        };
        assert!(error_of("text.png").starts_with("DIR/text.png cannot be shown: not a PNG"));
        assert_eq!(error_of("big.png"), "DIR/big.png is larger than 5 MiB; reduce its size first");
        assert!(error_of("gone.png").starts_with("cannot read DIR/gone.png: "));
        assert!(error_of(".").ends_with("is not a file"));
    }
}
