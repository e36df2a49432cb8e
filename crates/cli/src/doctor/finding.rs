//! A finding of the report, and the spelling of paths.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The area of a finding; the report has a section for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingArea {
    Home,
    Settings,
    Keys,
    Project,
    Extensions,
    Machine,
    Sessions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingStatus {
    Ok,
    Note,
    /// A problem: something does not work, or differs from the user's decision.
    Wrong,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) area: FindingArea,
    pub(super) name: String,
    pub(super) state: FindingStatus,
    pub(super) text: String,
    /// The next step, as a shell command.
    pub(super) next: Option<String>,
}

impl FindingArea {
    /// All areas, in the order of the report.
    pub(super) const ALL: &[Self] = &[
        Self::Home,
        Self::Settings,
        Self::Keys,
        Self::Project,
        Self::Extensions,
        Self::Machine,
        Self::Sessions,
    ];

    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Home => "haft's own files",
            Self::Settings => "settings",
            Self::Keys => "keys",
            Self::Project => "this project",
            Self::Extensions => "extensions",
            Self::Machine => "this machine",
            Self::Sessions => "sessions",
        }
    }

    fn code(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Settings => "settings",
            Self::Keys => "keys",
            Self::Project => "project",
            Self::Extensions => "extensions",
            Self::Machine => "machine",
            Self::Sessions => "sessions",
        }
    }

    pub(super) fn ok(self, name: impl Into<String>, text: impl Into<String>) -> Finding {
        self.make_finding(FindingStatus::Ok, name, text, None)
    }

    pub(super) fn note(self, name: impl Into<String>, text: impl Into<String>) -> Finding {
        self.make_finding(FindingStatus::Note, name, text, None)
    }

    /// Returns a problem; `next` is the step that fixes it.
    pub(super) fn wrong(
        self,
        name: impl Into<String>,
        text: impl Into<String>,
        next: impl Into<String>,
    ) -> Finding {
        self.make_finding(FindingStatus::Wrong, name, text, Some(next.into()))
    }

    fn make_finding(
        self,
        state: FindingStatus,
        name: impl Into<String>,
        text: impl Into<String>,
        next: Option<String>,
    ) -> Finding {
        Finding { area: self, name: name.into(), state, text: text.into(), next }
    }
}

impl FindingStatus {
    /// Returns the label in the report.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Wrong => "WRONG",
        }
    }
}

impl Finding {
    /// Adds a next step.
    pub(super) fn with_next_step(self, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..self }
    }

    pub(super) fn to_json(&self) -> Value {
        let state = self.state.label().to_ascii_lowercase();
        json!({"area": self.area.code(), "name": self.name, "state": state, "text": self.text, "next": self.next})
    }

    pub(super) fn is_wrong(&self) -> bool {
        self.state == FindingStatus::Wrong
    }
}

/// Formats paths.
#[derive(Debug)]
pub(super) struct PathFormatter {
    user_home: Option<PathBuf>,
}

impl PathFormatter {
    pub(super) fn new(user_home: Option<PathBuf>) -> Self {
        Self { user_home: user_home.filter(|home| home.components().count() > 1) }
    }

    /// Returns a path for people: below the home directory with `~`.
    pub(super) fn display_path(&self, path: &Path) -> String {
        match self.user_home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }

    pub(super) fn shorten_paths(&self, text: &str) -> String {
        let Some(home) = &self.user_home else { return text.to_owned() };
        let below = format!("{}/", home.display());
        let text = text.replace(&format!(" {below}"), " ~/");
        text.strip_prefix(&below).map(|rest| format!("~/{rest}")).unwrap_or(text)
    }

    /// Returns a path as one word of a shell command.
    pub(super) fn shell_word(&self, path: &Path) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
        let shown = self.display_path(path);
        let below = shown.strip_prefix("~/").unwrap_or(&shown);
        match below.chars().all(is_plain) {
            true => shown,
            false => format!("'{}'", path.display().to_string().replace('\'', r"'\''")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, shown: &str, word: &str) {
        let words = PathFormatter::new(Some("/u/me".into()));
        assert_eq!(
            (words.display_path(Path::new(path)), words.shell_word(Path::new(path))),
            (shown.into(), word.into())
        );
    }

    #[test]
    fn formats_paths_for_people_and_shells() {
        check("/u/me/.local/x", "~/.local/x", "~/.local/x");
        check("/srv/x", "/srv/x", "/srv/x");
        check("/u/me/a b", "~/a b", "'/u/me/a b'");
        check("/srv/it's; rm", "/srv/it's; rm", r"'/srv/it'\''s; rm'");
        check("/srv/~", "/srv/~", "'/srv/~'");
        let words = PathFormatter::new(Some("/u/me".into()));
        assert_eq!(
            words.shorten_paths("/u/me/a is not /u/me/b but /u/mean/c, /x/u/me/d"),
            "~/a is not ~/b but /u/mean/c, /x/u/me/d"
        );
        assert_eq!(PathFormatter::new(Some("/".into())).shell_word(Path::new("/srv")), "/srv");
    }
}
