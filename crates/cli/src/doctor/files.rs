//! Checks `$HAFT_HOME`: its files, their permissions, and the sessions.

use std::path::Path;

use haft_config::{AuthError, AuthFile, TrustFile};
use haft_core::session::store::SessionStore;
use haft_packages::install::lock::{ApprovalStore, LockError, LockFile};
use haft_packages::install::{LostExtension, lost_extensions};

use super::InstallationState;
use super::finding::{Finding, FindingArea};

/// Files that decide what haft runs and where it sends data.
const FILES: &[&str] = &["config.toml", "models.json", "SYSTEM.md", "AGENTS.md"];

/// Directories with code, and with texts for models.
const DIRS: &[&str] = &["extensions", "store", "copies", "data", "state", "sessions", "skills", "prompts"];

pub(super) fn check_home(seen: &InstallationState) -> Vec<Finding> {
    let root = seen.home.root();
    let shown = seen.path_formatter.display_path(root);
    let problem =
        StorageProblem::of_directory(root).map(|problem| problem.to_finding(seen, FindingArea::Home, root));
    if !root.exists() {
        let created = FindingArea::Home.note(shown, "does not exist yet; the first run creates it");
        return vec![problem.unwrap_or(created)];
    }
    let mut findings = vec![match changed_by_others(root) {
        None => match problem {
            Some(problem) => problem,
            None => FindingArea::Home.ok(shown, "only you can change it"),
        },
        Some(what) => FindingArea::Home.wrong(
            shown,
            what,
            format!("chmod go-w {}", seen.path_formatter.shell_word(root)),
        ),
    }];
    findings.extend(check_auth_file(seen));
    findings.extend(check_trust_file(seen));
    findings.extend(check_lock_file(seen));
    for name in FILES.iter().chain(DIRS) {
        let path = root.join(name);
        if let Some(what) = path.exists().then(|| changed_by_others(&path)).flatten() {
            findings.push(FindingArea::Home.wrong(
                *name,
                what,
                format!("chmod go-w {}", seen.path_formatter.shell_word(&path)),
            ));
        }
    }
    findings
}

fn check_auth_file(seen: &InstallationState) -> Option<Finding> {
    let path = seen.home.auth_file();
    if path.symlink_metadata().is_err() {
        return None;
    }
    let word = seen.path_formatter.shell_word(&path);
    Some(match AuthFile::load(&path) {
        Ok(auth) => FindingArea::Home
            .ok("auth.json", format!("only you can read it; keys: {}", auth.providers().count())),
        Err(AuthError::Exposed { mode, .. }) => FindingArea::Home.wrong(
            "auth.json",
            format!("is readable by other users (mode {mode:03o}), so haft does not use its keys"),
            format!("chmod 600 {word}"),
        ),
        Err(error) => FindingArea::Home.wrong("auth.json", error_chain_text(&error), editor_command(&word)),
    })
}

fn check_trust_file(seen: &InstallationState) -> Option<Finding> {
    let path = seen.home.trust_file();
    if path.symlink_metadata().is_err() {
        return None;
    }
    let word = seen.path_formatter.shell_word(&path);
    Some(match TrustFile::load(&seen.home) {
        Ok(file) => {
            FindingArea::Home.ok("trust.json", format!("trusted projects: {}", file.records().count()))
        }
        Err(error) => {
            // A file that other users could write may contain their records.
            FindingArea::Home.wrong("trust.json", error_chain_text(&error), format!("mv {word} {word}.old"))
        }
    })
}

fn check_lock_file(seen: &InstallationState) -> Vec<Finding> {
    let approved = ApprovalStore::at(seen.home.root());
    let path = approved.lock_file_path();
    let loaded = approved.load();
    let lost = lost_extensions(&approved, loaded.as_ref().unwrap_or(&LockFile::default()));
    let word = seen.path_formatter.shell_word(&path);
    match loaded {
        Ok(file) if path.symlink_metadata().is_ok() => {
            let text = format!("approved extensions: {}", file.extensions.len());
            let found = FindingArea::Home.ok("extensions.lock.json", text);
            std::iter::once(found).chain(lost.iter().map(|lost| lost_extension_finding(seen, lost))).collect()
        }
        Ok(_) => lost.iter().map(|lost| lost_extension_finding(seen, lost)).collect(),
        Err(error) => {
            // Only haft writes this file. The approvals in a damaged one are lost anyway; required extensions are also
            // recorded elsewhere.
            let next = match matches!(error, LockError::Damaged { .. }) {
                _ if error.is_writable_by_others() => format!("chmod 600 {word}"),
                true => format!("mv {word} {word}.old"),
                false => format!("ls -l {word}"),
            };
            let why = without_doctor_hint(&error_chain_text(&error));
            let text = format!("{why}{}", lost_extension_names(&lost));
            vec![FindingArea::Home.wrong("extensions.lock.json", text, next)]
        }
    }
}

/// Removes the hint to run `haft doctor` from an error.
fn without_doctor_hint(text: &str) -> String {
    match text.split_once(" (`haft doctor`") {
        Some((before, rest)) => format!("{before}{}", rest.split_once(')').map_or("", |(_, after)| after)),
        None => crate::ext::problem::without_next_step(text, "`haft doctor`").to_owned(),
    }
}

/// Returns the names of extensions that are in the store but not in the lock file.
fn lost_extension_names(lost: &[LostExtension]) -> String {
    if lost.is_empty() {
        return String::new();
    }
    let title = |lost: &LostExtension| match lost.required {
        true => format!("{} (required)", lost.title),
        false => lost.title.clone(),
    };
    let mut all: Vec<_> = lost.iter().map(title).collect();
    all.dedup();
    format!(". The store contains the code of {}", all.join(", "))
}

/// Returns a finding about an extension in the store that the lock file no longer lists.
fn lost_extension_finding(seen: &InstallationState, lost: &LostExtension) -> Finding {
    let word = seen.path_formatter.shell_word(&lost.dir);
    let what = "does not run: its code is in the store, but the lock file does not list it as approved";
    let drop = format!("`chmod -R u+w {word} && rm -r {word}` deletes the code");
    let next = format!("haft ext install {word}");
    match lost.required {
        true => {
            let text = format!("{what}; it is required and guards nothing now; {drop}");
            FindingArea::Home.wrong(&lost.title, text, next)
        }
        false => FindingArea::Home.note(&lost.title, format!("{what}; {drop}")).with_next_step(next),
    }
}

pub(super) fn error_chain_text(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", error_chain_text(source)),
        None => error.to_string(),
    }
}

pub(super) fn editor_command(word: &str) -> String {
    format!("${{EDITOR:-vi}} {word}")
}

#[cfg(unix)]
fn changed_by_others(path: &Path) -> Option<String> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let metadata = path.metadata().ok()?;
    let mode = metadata.permissions().mode() & 0o7777;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        Some("belongs to another user".to_owned())
    } else if mode & 0o022 != 0 {
        Some(format!("is writable by other users (mode {mode:03o})"))
    } else {
        None
    }
}

#[cfg(not(unix))]
fn changed_by_others(_: &Path) -> Option<String> {
    None
}

/// The maximum number of sessions that are read, newest first.
const READ: usize = 50;

pub(super) fn check_sessions(seen: &InstallationState) -> Vec<Finding> {
    let dir = seen.home.sessions_dir();
    let name = seen.path_formatter.display_path(&dir);
    match StorageProblem::of_directory(&dir) {
        // The check of the home directory reports it.
        Some(_) if !dir.exists() => return Vec::new(),
        Some(problem) => return vec![problem.to_finding(seen, FindingArea::Sessions, &dir)],
        None if !dir.exists() => {
            return vec![FindingArea::Sessions.ok(name, "does not exist yet; the first session creates it")];
        }
        None => {}
    }
    let all = match SessionStore::new(&dir).list_all() {
        Ok(all) => all,
        Err(error) => {
            let next = format!("ls -la {}", seen.path_formatter.shell_word(&dir));
            return vec![FindingArea::Sessions.wrong(name, error_chain_text(&error), next)];
        }
    };
    let mut findings = vec![FindingArea::Sessions.ok(name, format!("is writable; sessions: {}", all.len()))];
    for found in all.iter().take(READ) {
        if let Err(error) = found.summary() {
            let next = format!("ls -la {}", seen.path_formatter.shell_word(&found.path));
            findings.push(FindingArea::Sessions.wrong(found.id.to_string(), error_chain_text(&error), next));
        }
    }
    findings
}

/// The reason why haft cannot store files in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StorageProblem {
    Forbidden,
    ReadOnlyDisk,
    FullDisk,
}

impl StorageProblem {
    /// Checks a directory, or the directory in which it would be created.
    #[cfg(unix)]
    fn of_directory(dir: &Path) -> Option<Self> {
        use rustix::fs::{Access, access, statvfs};
        use rustix::io::Errno;
        let existing = dir.ancestors().find(|dir| dir.exists())?;
        match access(existing, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
            Err(Errno::ROFS) => Some(Self::ReadOnlyDisk),
            Err(_) => Some(Self::Forbidden),
            Ok(()) => {
                // Some file systems count no blocks at all.
                let is_full = |disk: rustix::fs::StatVfs| disk.f_blocks > 0 && disk.f_bavail == 0;
                statvfs(existing).is_ok_and(is_full).then_some(Self::FullDisk)
            }
        }
    }

    #[cfg(not(unix))]
    fn of_directory(dir: &Path) -> Option<Self> {
        let existing = dir.ancestors().find_map(|dir| dir.metadata().ok())?;
        existing.permissions().readonly().then_some(Self::Forbidden)
    }

    fn to_finding(self, seen: &InstallationState, area: FindingArea, dir: &Path) -> Finding {
        let existing = dir.ancestors().find(|dir| dir.exists()).unwrap_or(dir);
        let word = seen.path_formatter.shell_word(existing);
        let (what, next) = match self {
            Self::Forbidden => ("is not writable", format!("chmod u+rwx {word}")),
            Self::ReadOnlyDisk => ("is on a read-only file system", "export HAFT_HOME=DIR".to_owned()),
            Self::FullDisk => ("is on a full disk", format!("df -h {word}")),
        };
        let text =
            format!("{what}, so sessions are not recorded; `haft --no-session` runs without a session file");
        area.wrong(seen.path_formatter.display_path(dir), text, next)
    }
}
