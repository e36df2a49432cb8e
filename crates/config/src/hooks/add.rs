//! Writing hooks into the user's `config.toml`, with everything that stands there left as it is.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::HookTimeouts;
use crate::file::{ConfigError, MAX_FILE, ReadFile, read_text};
use crate::keys::{HookProcess, Hooks};

/// Hooks could not be added to a `config.toml`; it is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// What stands there, or would stand there, is not what it should be.
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
    /// It cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Adds the hooks of `from` to a `config.toml`, which is made where there is none; comments and the order of what is
/// there stay. The times that `from` says for all its hooks become those of each, so that no other hook's change. Of a
/// `from` that is not enabled no hook is.
///
/// # Errors
/// [`AddError`]; nothing is written then.
pub fn add_hooks(path: &Path, from: &Hooks) -> Result<(), AddError> {
    let write = |source| AddError::Write { path: path.into(), source };
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(write)?;
    // Two that write at the same time would each lose the other's. Closing the file ends the lock.
    let lock = File::create(dir.join("config.lock")).map_err(write)?;
    lock.lock().map_err(write)?;
    let text = match read_text(path, MAX_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text.map_err(|source| ConfigError::Read { path: path.into(), source })?,
    };
    let text = with_hooks(path, &text, from)?;
    // Who keeps the file elsewhere, behind a link, keeps the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    replace(&target, &text).map_err(write)
}

/// The text of a `config.toml` with these hooks in it.
pub(super) fn with_hooks(path: &Path, text: &str, from: &Hooks) -> Result<String, AddError> {
    let file = ReadFile::parse(path, text)?;
    let there = &file.content.hooks;
    let is_there = |name: &&String| there.processes.keys().any(|other| other.eq_ignore_ascii_case(name));
    let taken: Vec<String> = from.processes.keys().filter(is_there).cloned().collect();
    if !taken.is_empty() {
        return Err(AddError::Taken { path: path.into(), names: taken });
    }
    let mistake = |detail: String| AddError::Config(ConfigError::Parse { path: path.into(), detail });
    let mut document: DocumentMut = text.parse().map_err(|error| mistake(format!("{error}")))?;
    for (name, process) in standing_alone(from, there) {
        let added = process_item(&name, &process).map_err(mistake)?;
        let processes = table(document.as_table_mut(), "hooks").and_then(|hooks| table(hooks, "processes"));
        let processes = processes.ok_or_else(|| mistake("`hooks.processes` must be a table".to_owned()))?;
        processes.insert(&name, added);
    }
    let text = document.to_string().trim_start_matches('\n').to_owned();
    // What haft could not read again is not written.
    ReadFile::parse(path, &text)?;
    Ok(text)
}

/// Each hook with all that the rest of its table says about it.
fn standing_alone(from: &Hooks, into: &Hooks) -> BTreeMap<String, HookProcess> {
    let (here, there) = (from.timeouts(HookTimeouts::default()), into.timeouts(HookTimeouts::default()));
    let alone = |process: &HookProcess| {
        let mut process = process.clone();
        let times = here.of(&process);
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

/// The table of that name, which is made where there is none.
fn table<'a>(above: &'a mut dyn TableLike, name: &str) -> Option<&'a mut dyn TableLike> {
    let made = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    above.entry(name).or_insert_with(made).as_table_like_mut()
}

/// Writes beside the file and then puts the new one in its place, with the rights of the old one.
fn replace(target: &Path, text: &str) -> io::Result<()> {
    let dir = target.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    if let Ok(metadata) = fs::metadata(target) {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    // The name is what makes it permanent.
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}
