//! Adds hooks to the user's `config.toml` and preserves all other content.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item};

use super::{EditError, edit_file, parse_error, table_entry};
use crate::file::{ConfigError, ParsedConfigFile};
use crate::hooks::HookTimeouts;
use crate::keys::{HookProcess, Hooks};

/// Hooks could not be added to a `config.toml`; the file is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddHooksError {
    /// The file has a mistake, or the change would introduce one.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file already has hooks with these names.
    #[error("{} already has hooks with these names: {}; rename or remove them", path.display(), names.join(", "))]
    Taken {
        /// The file.
        path: PathBuf,
        /// The names as written in the file.
        names: Vec<String>,
    },
    /// The file cannot be read or written.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// Adds the hooks of `from` to a `config.toml`, which is created if necessary. Comments and the order of the file are
/// preserved. The default timeouts of `from` are written into each added hook, so that other hooks do not change. If
/// `from` is disabled, the added hooks are disabled.
///
/// # Errors
/// [`AddHooksError`]; nothing is written then.
pub fn add_hooks(path: &Path, from: &Hooks) -> Result<(), AddHooksError> {
    edit_file(path, |file, document| insert_hooks(path, file, document, from))
}

/// Adds the hooks of `from` to a document that has the content of `file`.
pub(crate) fn insert_hooks(
    path: &Path,
    file: &ParsedConfigFile,
    document: &mut DocumentMut,
    from: &Hooks,
) -> Result<(), AddHooksError> {
    let there = &file.content.hooks;
    let is_there = |name: &&String| there.processes.keys().any(|other| other.eq_ignore_ascii_case(name));
    let taken: Vec<String> = from.processes.keys().filter(is_there).cloned().collect();
    if !taken.is_empty() {
        return Err(AddHooksError::Taken { path: path.into(), names: taken });
    }
    for (name, process) in self_contained_hooks(from, there) {
        let added = process_item(&name, &process).map_err(|detail| parse_error(path, detail))?;
        let processes =
            table_entry(document.as_table_mut(), "hooks").and_then(|hooks| table_entry(hooks, "processes"));
        let processes =
            processes.ok_or_else(|| parse_error(path, "`hooks.processes` must be a table".to_owned()))?;
        processes.insert(&name, added);
    }
    Ok(())
}

/// Returns each hook with the values that it inherits from its table.
fn self_contained_hooks(from: &Hooks, into: &Hooks) -> BTreeMap<String, HookProcess> {
    let (here, there) = (from.timeouts(HookTimeouts::default()), into.timeouts(HookTimeouts::default()));
    let alone = |process: &HookProcess| {
        let mut process = process.clone();
        let times = here.for_process(&process);
        let changed_millis = |time: std::time::Duration, otherwise| {
            (time != otherwise).then(|| i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
        };
        process.timeout_ms = changed_millis(times.interceptor, there.interceptor);
        process.approval_timeout_ms = changed_millis(times.approval, there.approval);
        process.enabled = process.enabled.map(|enabled| enabled && from.enabled != Some(false));
        process
    };
    from.processes.iter().map(|(name, process)| (name.clone(), alone(process))).collect()
}

/// Returns a hook as a separate table, with its names quoted if necessary.
fn process_item(name: &str, process: &HookProcess) -> Result<Item, String> {
    let all = BTreeMap::from([(name, process)]);
    let text = toml::to_string(&all).map_err(|error| error.to_string())?;
    let mut document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    let mut item = document.remove(name).unwrap_or_default();
    if let Some(table) = item.as_table_mut() {
        // The position in the temporary document has no meaning here.
        table.set_position(None);
        table.decor_mut().set_prefix("\n");
    }
    Ok(item)
}
