//! The project: the directory somebody works in, and what it may say.

use std::path::{Path, PathBuf};

/// The most keys of one file that are named.
const MAX_NAMES: usize = 8;

/// The most that is shown of a key, in characters.
const MAX_NAME: usize = 40;

/// A directory somebody works in, and whether what it says holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The directory, absolute.
    pub dir: PathBuf,
    /// Whether the user trusts it.
    pub trust: Trust,
}

/// Whether a project's files are obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The user said so.
    Trusted,
    /// Nobody said so: what is there is told, and nothing of it is used.
    Untrusted,
}

/// Something of a project that is not used, because the user does not trust it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unused {
    /// The file or directory.
    pub path: PathBuf,
    /// What it would set, for people; empty where its name says it.
    pub sets: Vec<String>,
}

impl Project {
    /// Whether the user trusts it.
    pub fn is_trusted(&self) -> bool {
        self.trust == Trust::Trusted
    }

    /// Settings of the project, as [`ConfigFile`](crate::ConfigFile).
    pub fn config_file(&self) -> PathBuf {
        self.dir.join(".haft").join("config.toml")
    }

    /// A system prompt that replaces haft's own, and the user's.
    pub fn system_prompt_file(&self) -> PathBuf {
        self.dir.join(".haft").join("SYSTEM.md")
    }

    /// A path as people in the project write it.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.dir).unwrap_or(path).display().to_string()
    }

    /// All that is not used in one sentence, with what to do; nothing where there is nothing.
    pub fn told(&self, unused: &[Unused]) -> Option<String> {
        if unused.is_empty() {
            return None;
        }
        let names = unused.iter().map(|unused| {
            let name = self.shown(&unused.path);
            match unused.sets.is_empty() {
                true => name,
                false => format!("{name} (sets {})", some(&unused.sets)),
            }
        });
        let names = names.collect::<Vec<_>>().join(", ");
        Some(format!("not used, because the project is not trusted: {names}; --trust-project uses it"))
    }
}

/// The first of these names: a file that nobody trusts does not fill the screen.
fn some(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(MAX_NAMES).map(|name| cut(name)).collect();
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn cut(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME) {
        Some((at, _)) => format!("{}…", name.get(..at).unwrap_or_default()),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_is_one_sentence() {
        let project = Project { dir: "/w".into(), trust: Trust::Untrusted };
        let config =
            Unused { path: "/w/.haft/config.toml".into(), sets: vec!["base_url".into(), "model".into()] };
        let context = Unused { path: "/AGENTS.md".into(), sets: Vec::new() };
        let expect = "not used, because the project is not trusted: .haft/config.toml (sets base_url, model), \
                      /AGENTS.md; --trust-project uses it";
        assert_eq!(project.told(&[config, context]).as_deref(), Some(expect));
        assert_eq!(project.told(&[]), None);
        let many = (0..60_000).map(|n| format!("k{n}")).collect();
        let told = project.told(&[Unused { path: "/w/c".into(), sets: many }]).unwrap();
        assert!(told.contains("(sets k0, k1, k2, k3, k4, k5, k6, k7 and 59992 more); "), "{told:.400}");
        let long = Unused { path: "/w/c".into(), sets: vec!["k".repeat(60_000)] };
        assert!(project.told(&[long]).unwrap().len() < 200);
    }
}
