//! What a trusted project's file sets and may not.

use std::path::Path;

use crate::file::ReadFile;

/// What of a project's file is not used though the project is trusted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Refused {
    /// Keys that only the user may set.
    keys: Vec<String>,
    /// Hooks that the user has one of the same name of.
    hooks: Vec<String>,
}

impl Refused {
    /// Takes it out of the project's file.
    pub(super) fn take_out(project: &mut ReadFile, user: &ReadFile) -> Self {
        let content = &mut project.content;
        let mut refused = Self::default();
        let removed = content.remove_user_only();
        refused.keys.extend(removed.iter().filter_map(|key| Some(key.split('.').next()?.to_owned())));
        let users = &user.content.hooks.processes;
        content.hooks.processes.retain(|name, process| {
            let is_users = users.keys().any(|other| other.eq_ignore_ascii_case(name));
            if is_users {
                refused.hooks.push(name.clone());
            }
            let own = [("on_timeout", process.on_timeout.is_some()), ("vouches", process.vouches.is_some())];
            let set = own.iter().filter(|(_, is_set)| *is_set && !is_users);
            refused.keys.extend(set.map(|(key, _)| format!("hooks.processes.{name}.{key}")));
            process.remove_user_only();
            !is_users
        });
        refused
    }

    /// All of it as a sentence, with what becomes of it.
    pub(super) fn told(&self, path: &Path) -> Option<String> {
        let path = path.display();
        let keys = (!self.keys.is_empty()).then(|| {
            format!(
                "{path} sets {}, which only the user's own config.toml may: ignored",
                self.keys.join(", ")
            )
        });
        let hooks = (!self.hooks.is_empty()).then(|| {
            let names = self.hooks.join(", ");
            format!(
                "{path} has hooks of the names of the user's, which a project cannot change: {names} ignored"
            )
        });
        let told: Vec<_> = keys.into_iter().chain(hooks).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}
