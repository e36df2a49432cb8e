//! The lines that people are shown before they approve something.

use std::path::Path;

use super::super::interpreter::elsewhere;
use super::super::lock::{Came, Entry};
use super::{Before, PermissionLine, Proposal};

/// A line of what is shown. Nothing in it is safe to be shown as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The text.
    pub text: String,
    /// True if it must not be overlooked.
    pub red: bool,
}

impl Line {
    fn plain(text: String) -> Self {
        Self { text, red: false }
    }

    fn red(text: String) -> Self {
        Self { text, red: true }
    }
}

impl Proposal {
    /// All that is to be known before it is approved.
    pub fn lines(&self) -> Vec<Line> {
        let manifest = &self.manifest;
        let version = manifest.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let mut lines = vec![Line::plain(format!("extension: {}{version}", manifest.name))];
        lines
            .extend(manifest.description.iter().map(|text| Line::plain(format!("  says of itself: {text}"))));
        lines.push(Line::plain(format!("  from: {}", self.entry.source)));
        lines.extend(self.execution());
        lines.push(Line::plain(format!(
            "  files: {}, {} bytes, digest {}",
            self.contents.files(),
            self.contents.bytes(),
            self.entry.tree
        )));
        if manifest.roles.required {
            lines.push(Line::plain(
                "  required: what it guards does not happen while it is not in place".into(),
            ));
        }
        lines.extend(self.confinement());
        lines.extend(self.before.iter().flat_map(|before| self.changes(before)));
        lines
    }

    fn execution(&self) -> Vec<Line> {
        let Some(exec) = &self.manifest.exec else {
            return vec![Line::plain("  runs: nothing, it only brings files".into())];
        };
        let words: Vec<String> =
            [&exec.program].into_iter().chain(&exec.args).map(|word| quoted(word)).collect();
        let mut lines = vec![Line::plain(format!("  runs: {}", words.join(" ")))];
        if let Some(program) = &self.entry.interpreter {
            lines.push(Line::plain(format!("  by the program: {}", program.display())));
        }
        lines.extend(
            elsewhere(exec).map(|path| Line::red(format!("  OUTSIDE of the extension's own files: {path}"))),
        );
        lines
    }

    fn confinement(&self) -> Vec<Line> {
        if self.manifest.exec.is_none() {
            return Vec::new();
        }
        let Some(permissions) = &self.entry.permissions else {
            return vec![unconfined()];
        };
        let mut lines: Vec<Line> = permissions.lines().iter().map(|line| permission("may", line)).collect();
        let level = self.entry.sandbox.map_or_else(|| "none".to_owned(), |level| level.to_string());
        lines.push(Line { text: format!("  sandbox: {level}"), red: self.entry.sandbox.is_none() });
        lines
    }

    fn changes(&self, before: &Before) -> Vec<Line> {
        let Before { entry, difference } = before;
        let mut lines = vec![Line::plain(format!("  approved before: at {}", entry.approved.at))];
        match difference {
            None => {
                lines.push(Line::red("  what was approved before is gone, so nothing can be compared".into()))
            }
            Some(difference) if difference.is_empty() => {
                lines.push(Line::plain("  files: the same as before".into()))
            }
            Some(difference) => lines.push(Line::plain(format!("  files, since then: {difference}"))),
        }
        if !entry.source.is_same_place(&self.entry.source) {
            lines.push(Line::red(format!("  it came from somewhere else before: {}", entry.source)));
        }
        lines.extend(
            self.excess()
                .iter()
                .map(|line| Line { red: true, ..permission("asks for MORE than was granted", line) }),
        );
        let named = |path: &Option<std::path::PathBuf>| {
            path.as_deref()
                .map_or_else(|| "its own files".to_owned(), |path: &Path| path.display().to_string())
        };
        if entry.interpreter != self.entry.interpreter {
            lines.push(Line::red(format!("  it was run by {} before", named(&entry.interpreter))));
        }
        lines
    }
}

impl Entry {
    /// Returns the rights that another version of the same extension does not have, for people; none when there are no
    /// more.
    pub fn beyond(&self, other: &Self) -> Vec<Line> {
        match (&self.permissions, &other.permissions) {
            (Some(these), Some(others)) => {
                let lines = these.excess(others);
                let verb = "may do MORE than the other version";
                lines.iter().map(|line| Line { red: true, ..permission(verb, line) }).collect()
            }
            (None, Some(_)) => vec![unconfined()],
            (_, None) => Vec::new(),
        }
    }
}

fn unconfined() -> Line {
    let text = "  sandbox: none. Its manifest asks for no permissions, so it runs UNCONFINED, with all your rights: it \
                can read and change all your files, use the network and start programs";
    Line::red(text.to_owned())
}

fn permission(verb: &str, PermissionLine { permission, text, red }: &PermissionLine) -> Line {
    Line { text: format!("  {verb}: {permission}: {text}"), red: *red }
}

/// As a shell would need it, where that makes a difference.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

impl std::fmt::Display for Came {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Git { url, commit: Some(commit) } => write!(f, "{url}, commit {commit}"),
            Self::Git { url, commit: None } => write!(f, "{url}, commit unknown"),
            Self::Directory { path } => write!(f, "the directory {}", path.display()),
            Self::Placed { path, .. } => write!(f, "{}, where it was put by hand", path.display()),
        }
    }
}

impl Came {
    pub(super) fn is_same_place(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Git { url, .. }, Self::Git { url: other, .. }) => url == other,
            (Self::Directory { path }, Self::Directory { path: other })
            | (Self::Placed { path, .. }, Self::Placed { path: other, .. }) => path == other,
            (Self::Git { .. } | Self::Directory { .. } | Self::Placed { .. }, _) => false,
        }
    }
}
