//! The lines that the user sees before an approval.

use std::path::Path;

use super::super::interpreter::outside_paths;
use super::super::lock::{InstallOrigin, LockEntry};
use super::{InstallProposal, PermissionLine, PreviousApproval};
use crate::shell::shell_quote;

/// A line of the approval display. Its text is not sanitized for a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalLine {
    /// The text.
    pub text: String,
    /// True if the line is a warning.
    pub red: bool,
}

impl ApprovalLine {
    fn plain(text: String) -> Self {
        Self { text, red: false }
    }

    fn red(text: String) -> Self {
        Self { text, red: true }
    }
}

impl InstallProposal {
    /// Returns all lines to show before the approval.
    pub fn lines(&self) -> Vec<ApprovalLine> {
        let manifest = &self.manifest;
        let version = manifest.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let mut lines = vec![ApprovalLine::plain(format!("extension: {}{version}", manifest.name))];
        lines.extend(
            manifest.description.iter().map(|text| ApprovalLine::plain(format!("  description: {text}"))),
        );
        lines.push(ApprovalLine::plain(format!("  from: {}", self.entry.source)));
        lines.extend(self.execution_lines());
        lines.push(ApprovalLine::plain(format!(
            "  files: {}, {} bytes, digest {}",
            self.contents.file_count(),
            self.contents.bytes(),
            self.entry.tree
        )));
        if manifest.roles.required {
            lines.push(ApprovalLine::plain(
                "  required: the actions that it guards are blocked while it does not run".into(),
            ));
        }
        lines.extend(self.sandbox_lines());
        lines.extend(self.before.iter().flat_map(|before| self.change_lines(before)));
        lines
    }

    fn execution_lines(&self) -> Vec<ApprovalLine> {
        let Some(exec) = &self.manifest.exec else {
            return vec![ApprovalLine::plain("  runs: nothing; it contains only files".into())];
        };
        let words: Vec<String> =
            [&exec.program].into_iter().chain(&exec.args).map(|word| shell_quote(word)).collect();
        let mut lines = vec![ApprovalLine::plain(format!("  runs: {}", words.join(" ")))];
        if let Some(program) = &self.entry.interpreter {
            lines.push(ApprovalLine::plain(format!("  interpreter: {}", program.display())));
        }
        lines.extend(
            outside_paths(exec)
                .map(|path| ApprovalLine::red(format!("  OUTSIDE the extension's directory: {path}"))),
        );
        lines
    }

    fn sandbox_lines(&self) -> Vec<ApprovalLine> {
        if self.manifest.exec.is_none() {
            return Vec::new();
        }
        let Some(permissions) = &self.entry.permissions else {
            return vec![unsandboxed_line()];
        };
        let mut lines: Vec<ApprovalLine> =
            permissions.lines().iter().map(|line| permission_line("may", line)).collect();
        let level = self.entry.sandbox.map_or_else(|| "none".to_owned(), |level| level.to_string());
        lines.push(ApprovalLine { text: format!("  sandbox: {level}"), red: self.entry.sandbox.is_none() });
        lines
    }

    fn change_lines(&self, before: &PreviousApproval) -> Vec<ApprovalLine> {
        let PreviousApproval { entry, difference } = before;
        let mut lines = vec![ApprovalLine::plain(format!("  approved before: at {}", entry.approved.at))];
        match difference {
            None => lines.push(ApprovalLine::red(
                "  the code approved before is missing, so the changes are unknown".into(),
            )),
            Some(difference) if difference.is_empty() => {
                lines.push(ApprovalLine::plain("  files: unchanged".into()))
            }
            Some(difference) => {
                lines.push(ApprovalLine::plain(format!("  files changed since: {difference}")))
            }
        }
        if !entry.source.is_same_origin(&self.entry.source) {
            lines.push(ApprovalLine::red(format!("  previous source: {}", entry.source)));
        }
        lines.extend(self.excess_permissions().iter().map(|line| ApprovalLine {
            red: true,
            ..permission_line("requests MORE than was granted", line)
        }));
        lines.extend(self.entry.lost_requirement(entry));
        let named = |path: &Option<std::path::PathBuf>| {
            path.as_deref()
                .map_or_else(|| "its own files".to_owned(), |path: &Path| path.display().to_string())
        };
        if entry.interpreter != self.entry.interpreter {
            lines.push(ApprovalLine::red(format!("  previous interpreter: {}", named(&entry.interpreter))));
        }
        lines
    }
}

impl LockEntry {
    /// Returns the rights that the other version of the extension does not have, for the user. Empty if there are
    /// none.
    pub fn excess_rights(&self, other: &Self) -> Vec<ApprovalLine> {
        let mut lines = self.excess_permissions(other);
        lines.extend(self.lost_requirement(other));
        lines
    }

    /// Returns a warning if only the other version is required.
    fn lost_requirement(&self, other: &Self) -> Option<ApprovalLine> {
        let text = "  NO LONGER required: the actions that it guards would run without it";
        (other.required && !self.required).then(|| ApprovalLine::red(text.to_owned()))
    }

    fn excess_permissions(&self, other: &Self) -> Vec<ApprovalLine> {
        match (&self.permissions, &other.permissions) {
            (Some(these), Some(others)) => {
                let lines = these.excess_over(others);
                let verb = "has MORE rights than the other version";
                lines.iter().map(|line| ApprovalLine { red: true, ..permission_line(verb, line) }).collect()
            }
            (None, Some(_)) => vec![unsandboxed_line()],
            (_, None) => Vec::new(),
        }
    }
}

fn unsandboxed_line() -> ApprovalLine {
    let text = "  sandbox: none. The manifest requests no permissions, so the extension runs WITHOUT A \
    SANDBOX, with all your rights: it can read and change all your files, use the network and start \
    programs";
    ApprovalLine::red(text.to_owned())
}

fn permission_line(verb: &str, PermissionLine { permission, text, red }: &PermissionLine) -> ApprovalLine {
    ApprovalLine { text: format!("  {verb}: {permission}: {text}"), red: *red }
}

impl std::fmt::Display for InstallOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Git { url, commit: Some(commit) } => write!(f, "{url}, commit {commit}"),
            Self::Git { url, commit: None } => write!(f, "{url}, commit unknown"),
            Self::Directory { path } => write!(f, "the directory {}", path.display()),
            Self::Placed { path, .. } => write!(f, "{} (placed there by hand)", path.display()),
        }
    }
}

impl InstallOrigin {
    pub(super) fn is_same_origin(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Git { url, .. }, Self::Git { url: other, .. }) => url == other,
            (Self::Directory { path }, Self::Directory { path: other })
            | (Self::Placed { path, .. }, Self::Placed { path: other, .. }) => path == other,
            (Self::Git { .. } | Self::Directory { .. } | Self::Placed { .. }, _) => false,
        }
    }
}
