//! The project: the directory somebody works in, and what it may say.

use std::path::{Path, PathBuf};

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
                false => format!("{name} (sets {})", unused.sets.join(", ")),
            }
        });
        let names = names.collect::<Vec<_>>().join(", ");
        Some(format!("not used, because the project is not trusted: {names}; --trust-project uses it"))
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
    }
}
