//! `$HAFT_HOME`: what is there, who may change it, and whether sessions can be recorded and read.

use std::path::Path;

use haft_config::{AuthError, AuthFile, TrustFile};
use haft_core::session::store::SessionStore;
use haft_packages::install::lock::{ApprovalStore, LockError, LockFile};
use haft_packages::install::{LostExtension, lost_extensions};

use super::InstallationState;
use super::finding::{Finding, FindingArea};

/// Files that say what is run or sent where; whoever may change them decides about that.
const FILES: &[&str] = &["config.toml", "models.json", "SYSTEM.md", "AGENTS.md"];

/// Directories with code, keys beside them, and what is told to models.
const DIRS: &[&str] = &["extensions", "store", "copies", "data", "state", "sessions", "skills", "prompts"];

pub(super) fn check_home(seen: &InstallationState) -> Vec<Finding> {
    let root = seen.home.root();
    let shown = seen.path_formatter.display_path(root);
    if !root.exists() {
        return vec![FindingArea::Home.note(shown, "is not there yet; the first run makes it")];
    }
    let mut findings = vec![match changed_by_others(root) {
        None if root.is_dir() => FindingArea::Home.ok(shown, "is yours alone to change"),
        None => {
            let word = seen.path_formatter.shell_word(root);
            FindingArea::Home.wrong(shown, "is no directory", format!("mv {word} {word}.old"))
        }
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
            .ok("auth.json", format!("is read by you alone; keys: {}", auth.providers().count())),
        Err(AuthError::Exposed { mode, .. }) => FindingArea::Home.wrong(
            "auth.json",
            format!("can be read by other users (mode {mode:03o}), so its keys are not used"),
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
            FindingArea::Home.ok("trust.json", format!("projects you trust: {}", file.records().count()))
        }
        Err(error) => {
            // One that others could write may hold what they wrote.
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
            let text = format!("extensions you approved: {}", file.extensions.len());
            let found = FindingArea::Home.ok("extensions.lock.json", text);
            std::iter::once(found).chain(lost.iter().map(|lost| lost_extension_finding(seen, lost))).collect()
        }
        Ok(_) => lost.iter().map(|lost| lost_extension_finding(seen, lost)).collect(),
        Err(error) => {
            // Moved away, it takes with it what was approved.
            let next = match matches!(error, LockError::Damaged { .. }) {
                _ if error.is_writable_by_others() => format!("chmod 600 {word}"),
                true => editor_command(&word),
                false => format!("ls -l {word}"),
            };
            let why = error_chain_text(&error).replace(" (`haft doctor` names it)", "");
            let text = format!("{why}{}", lost_extension_names(&lost));
            vec![FindingArea::Home.wrong("extensions.lock.json", text, next)]
        }
    }
}

/// Returns the names that the lock file should have, as the store still has them.
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
    format!(". The store holds the code of {}", all.join(", "))
}

/// One that does not run any more, and nobody has taken it away.
fn lost_extension_finding(seen: &InstallationState, lost: &LostExtension) -> Finding {
    let word = seen.path_formatter.shell_word(&lost.dir);
    let what = "its code is in the store, and no lock file says that you approved it, so it does not run";
    let drop = format!("`chmod -R u+w {word} && rm -r {word}` drops it");
    let next = format!("haft ext install {word}");
    match lost.required {
        true => {
            let text = format!("{what} and, though it is required, guards nothing; {drop}");
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
        Some(format!("can be changed by other users (mode {mode:03o})"))
    } else {
        None
    }
}

#[cfg(not(unix))]
fn changed_by_others(_: &Path) -> Option<String> {
    None
}

/// The most sessions that are read, the newest ones.
const READ: usize = 50;

pub(super) fn check_sessions(seen: &InstallationState) -> Vec<Finding> {
    let dir = seen.home.sessions_dir();
    let name = seen.path_formatter.display_path(&dir);
    if !dir.exists() {
        return vec![FindingArea::Sessions.ok(name, "is not there yet; the first session makes it")];
    }
    if !may_write(&dir) {
        let next = format!("chmod u+rwx {}", seen.path_formatter.shell_word(&dir));
        return vec![FindingArea::Sessions.wrong(name, "cannot be written, so no session is recorded", next)];
    }
    let all = match SessionStore::new(&dir).list_all() {
        Ok(all) => all,
        Err(error) => {
            let next = format!("ls -la {}", seen.path_formatter.shell_word(&dir));
            return vec![FindingArea::Sessions.wrong(name, error_chain_text(&error), next)];
        }
    };
    let mut findings =
        vec![FindingArea::Sessions.ok(name, format!("can be written; sessions: {}", all.len()))];
    for found in all.iter().take(READ) {
        if let Err(error) = found.summary() {
            let next = format!("ls -la {}", seen.path_formatter.shell_word(&found.path));
            findings.push(FindingArea::Sessions.wrong(found.id.to_string(), error_chain_text(&error), next));
        }
    }
    findings
}

#[cfg(unix)]
fn may_write(dir: &Path) -> bool {
    use rustix::fs::{Access, access};
    access(dir, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn may_write(dir: &Path) -> bool {
    dir.metadata().is_ok_and(|metadata| !metadata.permissions().readonly())
}
