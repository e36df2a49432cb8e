//! `$HAFT_HOME`: what is there, and who may change it.

use std::path::Path;

use haft_config::{Auth, AuthError, TrustFile};
use haft_host::install::lock::Approved;

use super::Seen;
use super::finding::{Area, Finding};

/// Files that say what is run or sent where; whoever may change them decides about that.
const FILES: &[&str] = &["config.toml", "models.json", "SYSTEM.md", "AGENTS.md"];

/// Directories with code, keys beside them, and what is told to models.
const DIRS: &[&str] = &["extensions", "store", "copies", "data", "state", "sessions", "skills", "prompts"];

pub(super) fn look(seen: &Seen) -> Vec<Finding> {
    let root = seen.home.root();
    let shown = seen.words.path(root);
    if !root.exists() {
        return vec![Area::Home.note(shown, "is not there yet; the first run makes it")];
    }
    let mut findings = vec![match changed_by_others(root) {
        None if root.is_dir() => Area::Home.ok(shown, "is yours alone to change"),
        None => {
            let word = seen.words.word(root);
            Area::Home.wrong(shown, "is no directory", format!("mv {word} {word}.old"))
        }
        Some(what) => Area::Home.wrong(shown, what, format!("chmod go-w {}", seen.words.word(root))),
    }];
    findings.extend(keys(seen));
    findings.extend(trust(seen));
    findings.extend(approvals(seen));
    for name in FILES.iter().chain(DIRS) {
        let path = root.join(name);
        if let Some(what) = path.exists().then(|| changed_by_others(&path)).flatten() {
            findings.push(Area::Home.wrong(*name, what, format!("chmod go-w {}", seen.words.word(&path))));
        }
    }
    findings
}

fn keys(seen: &Seen) -> Option<Finding> {
    let path = seen.home.auth_file();
    if path.symlink_metadata().is_err() {
        return None;
    }
    let word = seen.words.word(&path);
    Some(match Auth::load(&path) {
        Ok(auth) => {
            Area::Home.ok("auth.json", format!("is read by you alone; keys: {}", auth.providers().count()))
        }
        Err(AuthError::Exposed { mode, .. }) => Area::Home.wrong(
            "auth.json",
            format!("can be read by other users (mode {mode:03o}), so its keys are not used"),
            format!("chmod 600 {word}"),
        ),
        Err(error) => Area::Home.wrong("auth.json", with_causes(&error), editor(&word)),
    })
}

fn trust(seen: &Seen) -> Option<Finding> {
    let path = seen.home.trust_file();
    if path.symlink_metadata().is_err() {
        return None;
    }
    let word = seen.words.word(&path);
    Some(match TrustFile::load(&seen.home) {
        Ok(file) => Area::Home.ok("trust.json", format!("projects you trust: {}", file.records().count())),
        Err(error) => {
            // One that others could write may hold what they wrote.
            Area::Home.wrong("trust.json", with_causes(&error), format!("mv {word} {word}.old"))
        }
    })
}

fn approvals(seen: &Seen) -> Option<Finding> {
    let approved = Approved::at(seen.home.root());
    let path = approved.file();
    if path.symlink_metadata().is_err() {
        return None;
    }
    let word = seen.words.word(&path);
    Some(match approved.load() {
        Ok(file) => {
            let text = format!("extensions you approved: {}", file.extensions.len());
            Area::Home.ok("extensions.lock.json", text)
        }
        Err(error) => {
            let next = match error.is_loose() {
                true => format!("chmod 600 {word}"),
                // What was approved is forgotten with it.
                false => format!("mv {word} {word}.old"),
            };
            Area::Home.wrong("extensions.lock.json", with_causes(&error), next)
        }
    })
}

/// An error with its causes.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", with_causes(source)),
        None => error.to_string(),
    }
}

/// Opens a file, which is a word already.
pub(super) fn editor(word: &str) -> String {
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
