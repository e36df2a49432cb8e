//! `haft ext import zot`: installs the extensions of zot, and copies its themes and skills.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use haft_config::Home;
use haft_core::sanitize::sanitize_line;
use haft_packages::install::{ApprovalLine, ExtensionStore};

use super::super::approve::{self, print_lines};
use crate::console::{confirm_at_terminal, note};
use crate::zot::{ZotFiles, file_name};

/// The bytes of one file of a theme or a skill: 1 MiB.
const MAX_FILE: u64 = 1024 * 1024;

/// The files and directories of one skill.
const MAX_ENTRIES: usize = 500;

/// Lists what zot has and what it becomes, asks, copies, and installs each extension after its own approval.
pub(in crate::ext) fn import_zot(
    store: &ExtensionStore,
    home: &Home,
    cwd: &Path,
    yes: bool,
) -> anyhow::Result<()> {
    let found = ZotFiles::find(cwd);
    ensure!(!found.is_empty(), "no files of zot found; set ZOT_HOME to zot's home directory");
    let installed: Vec<String> = store.list().0.into_iter().map(|row| row.name).collect();
    let (known, new): (Vec<_>, Vec<_>) = found.extensions.iter().partition(|dir| {
        let name = manifest_name(dir).unwrap_or_else(|| file_name(dir));
        installed.iter().any(|known| known.eq_ignore_ascii_case(&name))
    });
    let copies = PendingCopy::find_all(&found, home);
    let mut lines = Vec::new();
    lines.extend(new.iter().map(|dir| format!("extension {}: installed after its approval", dir.display())));
    lines.extend(known.iter().map(|dir| format!("extension {}: already installed", dir.display())));
    lines.extend(copies.iter().map(PendingCopy::status_line));
    if !found.sessions.is_empty() {
        lines.push(format!("{} sessions: `haft session import` imports them", found.sessions.len()));
    }
    lines.extend(found.project_extensions.iter().map(|dir| {
        let step = "move it to .haft/extensions, then run `haft trust`";
        format!("extension of this project {}: {step}", dir.display())
    }));
    let line = |text: &String| ApprovalLine { text: sanitize_line(text), red: false };
    print_lines(&lines.iter().map(line).collect::<Vec<_>>())?;
    copy_new(copies, yes)?;
    let mut failed = 0;
    for dir in new {
        // The approval of one extension is independent of the others.
        if let Err(error) = approve::install(store, home, cwd, &dir.to_string_lossy(), yes) {
            note(&sanitize_line(&format!("haft: {}: {error:#}", dir.display())));
            failed += 1;
        }
    }
    ensure!(failed == 0, "{failed} extensions of zot were not installed");
    Ok(())
}

/// Returns the name of an extension.
fn manifest_name(dir: &Path) -> Option<String> {
    let manifest = fs::read(dir.join("extension.json")).ok()?;
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).ok()?;
    manifest["name"].as_str().map(str::to_owned)
}

/// Copies the themes and skills that haft lacks, after a question.
fn copy_new(copies: Vec<PendingCopy>, yes: bool) -> anyhow::Result<()> {
    let missing: Vec<_> = copies.into_iter().filter(|copy| !copy.has_target()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let question =
        format!("copy {} themes and skills? haft gives the texts of skills to the model", missing.len());
    if !yes && !confirm_at_terminal(&question)? {
        note("no theme and no skill was copied");
        return Ok(());
    }
    for copy in missing {
        copy_tree(&copy.from, &copy.to, &mut 0)
            .with_context(|| format!("cannot copy {} to {}", copy.from.display(), copy.to.display()))?;
        note(&sanitize_line(&format!("copied {}", copy.to.display())));
    }
    Ok(())
}

/// A theme or a skill of zot, and its place in haft's home.
struct PendingCopy {
    from: PathBuf,
    to: PathBuf,
}

impl PendingCopy {
    fn find_all(found: &ZotFiles, home: &Home) -> Vec<Self> {
        let themes = found.themes.iter().map(|(name, file)| {
            let to = home.themes_dir().join(format!("{name}.json"));
            Self { from: file.clone(), to }
        });
        let skills = found.skills.iter().map(|dir| {
            let to = home.skills_dir().join(file_name(dir));
            Self { from: dir.clone(), to }
        });
        themes.chain(skills).collect()
    }

    fn has_target(&self) -> bool {
        self.to.symlink_metadata().is_ok()
    }

    fn status_line(&self) -> String {
        let kind = if self.from.is_dir() { "skill" } else { "theme" };
        match self.has_target() {
            true => format!("{kind} {}: haft has {} already", self.from.display(), self.to.display()),
            false => format!("{kind} {}: copied to {}", self.from.display(), self.to.display()),
        }
    }
}

/// Copies regular files and directories; replaces nothing and follows no link.
fn copy_tree(from: &Path, to: &Path, count: &mut usize) -> anyhow::Result<()> {
    *count += 1;
    ensure!(*count <= MAX_ENTRIES, "it has more than {MAX_ENTRIES} files");
    let metadata = from.symlink_metadata()?;
    if metadata.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_tree(&entry.path(), &to.join(entry.file_name()), count)?;
        }
    } else if metadata.is_file() {
        ensure!(metadata.len() <= MAX_FILE, "{} has more than {MAX_FILE} bytes", from.display());
        let bytes = fs::read(from)?;
        if let Some(dir) = to.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::OpenOptions::new().write(true).create_new(true).open(to)?.write_all(&bytes)?;
    }
    Ok(())
}
