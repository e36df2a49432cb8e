//! The parts of a project that are not used, and the places in it that haft reads.

use std::path::PathBuf;

use haft_protocol::project::Project;

/// The most keys of one file that are named.
const MAX_NAMES: usize = 8;

/// The most that is shown of a key, in characters.
const MAX_NAME: usize = 40;

/// Something of a project that is not used, because the user does not trust it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrustedItem {
    /// The file or directory.
    pub path: PathBuf,
    /// The settings that it would make, for people; empty where its name says it.
    pub sets: Vec<String>,
}

/// Settings of the project, as [`ConfigFile`](crate::ConfigFile).
pub(crate) fn config_file(project: &Project) -> PathBuf {
    project.haft_dir().join("config.toml")
}

/// A system prompt of the project that replaces haft's own, and the user's.
pub(crate) fn system_prompt_file(project: &Project) -> PathBuf {
    project.haft_dir().join("SYSTEM.md")
}

impl UntrustedItem {
    /// The system prompt of a project that is not trusted, if it has one.
    pub fn system_prompt(project: &Project) -> Option<Self> {
        let path = system_prompt_file(project);
        (!project.is_trusted() && path.exists()).then(|| Self { path, sets: Vec::new() })
    }

    /// All that is not used in one sentence, with what to do; nothing where there is nothing. Where it `was_said` that the
    /// project is not trusted any more, that is not said again.
    pub fn summarize(unused: &[Self], project: &Project, was_said: bool) -> Option<String> {
        if unused.is_empty() {
            return None;
        }
        let names = unused.iter().map(|unused| {
            // As people in the project write it.
            let name = unused.path.strip_prefix(&project.dir).unwrap_or(&unused.path).display();
            match unused.sets.is_empty() {
                true => name.to_string(),
                false => format!("{name} (sets {})", first_names(&unused.sets)),
            }
        });
        let names = names.collect::<Vec<_>>().join(", ");
        Some(match was_said {
            true => format!("so this of it is not used: {names}"),
            false => {
                format!(
                    "not used, because the project is not trusted: {names}; `haft trust` shows and allows it"
                )
            }
        })
    }
}

/// The first of these names: a file that nobody trusts does not fill the screen.
fn first_names(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(MAX_NAMES).map(|name| truncate_name(name)).collect();
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn truncate_name(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME) {
        Some((at, _)) => format!("{}…", name.get(..at).unwrap_or_default()),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::project::ProjectTrust;

    use super::*;

    #[test]
    fn what_is_not_used_is_one_sentence() {
        let project = Project { dir: "/w".into(), trust: ProjectTrust::Untrusted };
        let config = UntrustedItem {
            path: "/w/.haft/config.toml".into(),
            sets: vec!["base_url".into(), "model".into()],
        };
        let context = UntrustedItem { path: "/AGENTS.md".into(), sets: Vec::new() };
        let expect = "not used, because the project is not trusted: .haft/config.toml (sets base_url, model), \
                      /AGENTS.md; `haft trust` shows and allows it";
        assert_eq!(UntrustedItem::summarize(&[config, context], &project, false).as_deref(), Some(expect));
        assert_eq!(UntrustedItem::summarize(&[], &project, false), None);
        let many = (0..60_000).map(|n| format!("k{n}")).collect();
        let told =
            UntrustedItem::summarize(&[UntrustedItem { path: "/w/c".into(), sets: many }], &project, false)
                .unwrap();
        assert!(told.contains("(sets k0, k1, k2, k3, k4, k5, k6, k7 and 59992 more); "), "{told:.400}");
        let long = UntrustedItem { path: "/w/c".into(), sets: vec!["k".repeat(60_000)] };
        assert!(UntrustedItem::summarize(&[long], &project, true).unwrap().len() < 200);
    }
}
