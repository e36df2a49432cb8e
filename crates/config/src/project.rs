//! Files of a project that haft reads, and those that are not used.

use std::path::PathBuf;

use haft_protocol::project::Project;

/// The maximum number of keys of one file to list.
const MAX_NAMES: usize = 8;

/// The maximum number of characters to show of a key.
const MAX_NAME: usize = 40;

/// A file or directory of a project that is not used because the user does not trust the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrustedItem {
    /// The file or directory.
    pub path: PathBuf,
    /// The settings that the file would make, as readable text; empty if its name is enough.
    pub sets: Vec<String>,
}

/// The project's settings; see [`ConfigFile`](crate::ConfigFile).
pub(crate) fn config_file(project: &Project) -> PathBuf {
    project.haft_dir().join("config.toml")
}

/// The project's system prompt, which replaces haft's own and the user's.
pub(crate) fn system_prompt_file(project: &Project) -> PathBuf {
    project.haft_dir().join("SYSTEM.md")
}

impl UntrustedItem {
    /// Returns the system prompt of an untrusted project, if it has one.
    pub fn system_prompt(project: &Project) -> Option<Self> {
        let path = system_prompt_file(project);
        (!project.is_trusted() && path.exists()).then(|| Self { path, sets: Vec::new() })
    }

    /// Returns one sentence about all items that are not used, including the next step; `None` if there are none. With
    /// `was_said` a message has already said that the project is no longer trusted, so the sentence leaves that out.
    pub fn summarize(unused: &[Self], project: &Project, was_said: bool) -> Option<String> {
        if unused.is_empty() {
            return None;
        }
        let names = unused.iter().map(|unused| {
            // Uses paths relative to the project.
            let name = unused.path.strip_prefix(&project.dir).unwrap_or(&unused.path).display();
            match unused.sets.is_empty() {
                true => name.to_string(),
                false => format!("{name} (sets {})", first_names(&unused.sets)),
            }
        });
        let names = names.collect::<Vec<_>>().join(", ");
        Some(match was_said {
            true => format!("these project files are not used: {names}"),
            false => {
                format!(
                    "not used, because the project is not trusted: {names}; run `haft trust` to review and trust it"
                )
            }
        })
    }
}

/// Returns the first of these names, so that an untrusted file cannot fill the screen.
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
    fn summarizes_unused_items_in_one_sentence() {
        let project = Project { dir: "/w".into(), trust: ProjectTrust::Untrusted };
        let config = UntrustedItem {
            path: "/w/.haft/config.toml".into(),
            sets: vec!["base_url".into(), "model".into()],
        };
        let context = UntrustedItem { path: "/AGENTS.md".into(), sets: Vec::new() };
        let expect = "not used, because the project is not trusted: .haft/config.toml (sets base_url, model), \
                      /AGENTS.md; run `haft trust` to review and trust it";
        assert_eq!(UntrustedItem::summarize(&[config, context], &project, false).as_deref(), Some(expect));
        assert_eq!(UntrustedItem::summarize(&[], &project, false), None);
        let many = (0..60_000).map(|n| format!("k{n}")).collect();
        let message =
            UntrustedItem::summarize(&[UntrustedItem { path: "/w/c".into(), sets: many }], &project, false)
                .unwrap();
        assert!(message.contains("(sets k0, k1, k2, k3, k4, k5, k6, k7 and 59992 more); "), "{message:.400}");
        let long = UntrustedItem { path: "/w/c".into(), sets: vec!["k".repeat(60_000)] };
        assert!(UntrustedItem::summarize(&[long], &project, true).unwrap().len() < 200);
    }
}
