//! Writing hooks into the user's `config.toml`, with everything that stands there left as it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item};

use super::{EditError, edit_file, parse_error, table_entry};
use crate::file::{ConfigError, ParsedConfigFile};
use crate::hooks::HookTimeouts;
use crate::keys::{HookProcess, Hooks};

/// Hooks could not be added to a `config.toml`; it is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddHooksError {
    /// The file has a mistake, or would have one.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Hooks of these names are there.
    #[error("{} has hooks of these names already: {}; rename or remove them", path.display(), names.join(", "))]
    Taken {
        /// The file.
        path: PathBuf,
        /// As they are written there.
        names: Vec<String>,
    },
    /// It cannot be read or written.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// Adds the hooks of `from` to a `config.toml`, which is made where there is none; comments and the order of what is
/// there stay. The times that `from` says for all its hooks become those of each, so that no other hook's change. Of a
/// `from` that is not enabled no hook is.
///
/// # Errors
/// [`AddHooksError`]; nothing is written then.
pub fn add_hooks(path: &Path, from: &Hooks) -> Result<(), AddHooksError> {
    edit_file(path, |file, document| insert_hooks(path, file, document, from))
}

/// Adds the hooks of `from` to a document, which says the same as `file`.
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

/// Each hook with all that the rest of its table says about it.
fn self_contained_hooks(from: &Hooks, into: &Hooks) -> BTreeMap<String, HookProcess> {
    let (here, there) = (from.timeouts(HookTimeouts::default()), into.timeouts(HookTimeouts::default()));
    let alone = |process: &HookProcess| {
        let mut process = process.clone();
        let times = here.for_process(&process);
        let said = |time: std::time::Duration, otherwise| {
            (time != otherwise).then(|| i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
        };
        process.timeout_ms = said(times.interceptor, there.interceptor);
        process.approval_timeout_ms = said(times.approval, there.approval);
        process.enabled = process.enabled.map(|enabled| enabled && from.enabled != Some(false));
        process
    };
    from.processes.iter().map(|(name, process)| (name.clone(), alone(process))).collect()
}

/// A hook as a table of its own, quoted as the names in it need.
fn process_item(name: &str, process: &HookProcess) -> Result<Item, String> {
    let all = BTreeMap::from([(name, process)]);
    let text = toml::to_string(&all).map_err(|error| error.to_string())?;
    let mut document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    let mut item = document.remove(name).unwrap_or_default();
    if let Some(table) = item.as_table_mut() {
        // Where it stood in a text of its own means nothing here.
        table.set_position(None);
        table.decor_mut().set_prefix("\n");
    }
    Ok(item)
}
