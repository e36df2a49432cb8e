//! `required.json`: the user's required extensions, in a file separate from their approvals.
//!
//! A required extension that is missing must block the tools. If the lock file, a directory or a manifest were the only
//! record of it, its removal would remove the requirement as well. Only a command of the user removes a name from this
//! file.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ids::ExtensionName;
use serde::{Deserialize, Serialize};

use super::lock::{self, ApprovalStore, LockEntry, LockError, LockFile};

const VERSION: u32 = 1;

/// The name of the new file until it is complete.
const NEW: &str = "required.json.new";

/// The required extensions, each with its source, as text for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequiredExtensions {
    version: u32,
    required: BTreeMap<ExtensionName, String>,
}

impl Default for RequiredExtensions {
    fn default() -> Self {
        Self { version: VERSION, required: BTreeMap::new() }
    }
}

impl RequiredExtensions {
    /// Returns each name with its origin, for the user.
    pub fn iter(&self) -> impl Iterator<Item = (&ExtensionName, &str)> {
        self.required.iter().map(|(name, from)| (name, from.as_str()))
    }

    fn forget_name(&mut self, name: &str) -> bool {
        let before = self.required.len();
        self.required.retain(|known, _| !known.as_str().eq_ignore_ascii_case(name));
        self.required.len() < before
    }

    /// Follows a change of the lock file that the user made with a command.
    fn follow_lock_file(&mut self, before: &LockFile, now: &LockFile) {
        let gone =
            before.extensions.keys().filter(|name| is_required(before, name) && !is_required(now, name));
        gone.for_each(|name| _ = self.forget_name(name.as_str()));
        let present = now.extensions.iter().filter(|(name, _)| is_required(now, name));
        self.required.extend(present.map(|(name, entry)| (name.clone(), entry.source.to_string())));
    }
}

/// True if the extension is required and enabled. An update that waits for the user disables it only for now.
fn is_required(file: &LockFile, name: &ExtensionName) -> bool {
    let holds =
        |entry: &LockEntry| entry.enabled || entry.waiting.as_ref().is_some_and(|waiting| waiting.enabled);
    file.extensions.get(name).is_some_and(|entry| entry.required && holds(entry))
}

impl ApprovalStore {
    /// Reads the record of required extensions. Without a file, it is empty.
    ///
    /// # Errors
    /// [`LockError::Record`] if it is a link, belongs to another user, is writable by others, or is damaged;
    /// [`LockError::NewerRecord`].
    pub fn required_extensions(&self) -> Result<RequiredExtensions, LockError> {
        let path = self.required_file_path();
        let unusable = |why: String| LockError::Record { path: path.clone(), why };
        let text = match lock::read_private_file(&path) {
            Ok(None) => return Ok(RequiredExtensions::default()),
            Ok(Some((text, _))) => text,
            Err(LockError::Foreign { what, .. }) => return Err(unusable(what.to_owned())),
            Err(LockError::Read { source, .. }) => return Err(unusable(source.to_string())),
            Err(error) => return Err(error),
        };
        match serde_json::from_str::<RequiredExtensions>(&text) {
            Ok(file) if file.version == VERSION => Ok(file),
            Ok(_) => Err(LockError::NewerRecord { path }),
            Err(error) => Err(unusable(error.to_string())),
        }
    }

    /// Adds extensions that run as required, each with its place.
    ///
    /// # Errors
    /// [`LockError`] if the record cannot be read or written.
    pub fn remember_required(
        &self,
        found: impl IntoIterator<Item = (ExtensionName, String)>,
    ) -> Result<(), LockError> {
        self.edit_required(|record| record.required.extend(found))
    }

    /// Removes a name after a command of the user. Returns true if it was recorded.
    ///
    /// # Errors
    /// [`LockError`] if the record cannot be read or written.
    pub fn forget_required(&self, name: &str) -> Result<bool, LockError> {
        self.edit_required(|record| record.forget_name(name))
    }

    fn edit_required<T>(&self, change: impl FnOnce(&mut RequiredExtensions) -> T) -> Result<T, LockError> {
        let _lock = self.lock_files()?;
        let before = self.required_extensions()?;
        let mut now = before.clone();
        let outcome = change(&mut now);
        self.replace_required(&before, &now)?;
        Ok(outcome)
    }

    /// Returns the change of the record that follows a change of the lock file, for
    /// [`replace_required`](Self::replace_required).
    pub(super) fn required_change(
        &self,
        before: &LockFile,
        now: &LockFile,
    ) -> Result<(RequiredExtensions, RequiredExtensions), LockError> {
        let record = self.required_extensions()?;
        let mut next = record.clone();
        next.follow_lock_file(before, now);
        Ok((record, next))
    }

    /// Writes the record if it changed. The caller holds the lock.
    pub(super) fn replace_required(
        &self,
        before: &RequiredExtensions,
        now: &RequiredExtensions,
    ) -> Result<(), LockError> {
        if before == now {
            return Ok(());
        }
        let path = self.required_file_path();
        write_record(&path, now).map_err(|source| LockError::Write { path, source })
    }
}

fn write_record(path: &Path, record: &RequiredExtensions) -> io::Result<()> {
    if !is_up(Defense::RequiredRecord) {
        return Ok(());
    }
    lock::replace_file(path, NEW, record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::digest_of;
    use crate::approval::lock::{Approval, ApprovalMethod, InstallOrigin, PendingUpdate};

    fn entry(required: bool) -> LockEntry {
        LockEntry {
            source: InstallOrigin::Directory { path: "/src".into() },
            tree: digest_of(b"tree"),
            manifest: digest_of(b"manifest"),
            interpreter: None,
            required,
            is_gate: required,
            permissions: None,
            sandbox: None,
            enabled: true,
            tools: BTreeMap::new(),
            changed: BTreeMap::new(),
            locks: BTreeMap::new(),
            waiting: None,
            approved: Approval { at: String::new(), how: ApprovalMethod::Yes, haft: "1".into() },
            previous: Vec::new(),
        }
    }

    fn guard() -> ExtensionName {
        ExtensionName::new("guard")
    }

    fn store() -> (tempfile::TempDir, ApprovalStore) {
        let root = tempfile::tempdir().unwrap();
        let store = ApprovalStore::at(root.path());
        store.edit(|file| file.extensions.insert(guard(), entry(true))).unwrap();
        (root, store)
    }

    fn names(store: &ApprovalStore) -> Vec<String> {
        let record = store.required_extensions().unwrap();
        record.iter().map(|(name, from)| format!("{name} from {from}")).collect()
    }

    /// Checks the record after a command of the user changed the lock file.
    #[track_caller]
    fn check(change: impl FnOnce(&mut LockFile), is_recorded: bool) {
        let (_root, store) = store();
        assert_eq!(names(&store), ["guard from the directory /src"]);
        store.edit(change).unwrap();
        assert_eq!(!names(&store).is_empty(), is_recorded);
    }

    #[test]
    fn follows_commands_of_the_user() {
        check(|file| _ = file.extensions.insert(ExtensionName::new("other"), entry(false)), true);
        check(|file| _ = file.extensions.remove(&guard()), false);
        check(|file| file.extensions.get_mut(&guard()).unwrap().enabled = false, false);
        check(|file| file.extensions.get_mut(&guard()).unwrap().required = false, false);
        let waits = |file: &mut LockFile| {
            let guard = file.extensions.get_mut(&guard()).unwrap();
            guard.enabled = false;
            let source = guard.source.clone();
            guard.waiting = Some(PendingUpdate { tree: guard.tree, source, enabled: true });
        };
        check(waits, true);
    }

    #[test]
    fn survives_loss_of_lock_file() {
        let (_root, store) = store();
        std::fs::remove_file(store.lock_file_path()).unwrap();
        store.edit(|file| file.extensions.insert(ExtensionName::new("other"), entry(false))).unwrap();
        assert_eq!(names(&store), ["guard from the directory /src"]);
        assert!(store.forget_required("Guard").unwrap());
        assert!(!store.forget_required("guard").unwrap());
        assert_eq!(names(&store), [""; 0]);
    }

    #[test]
    fn rejects_damaged_record() {
        let (_root, store) = store();
        std::fs::write(store.required_file_path(), "{").unwrap();
        assert!(matches!(store.required_extensions(), Err(LockError::Record { .. })));
        let before = store.load().unwrap();
        store.edit(|file| file.extensions.clear()).unwrap_err();
        assert_eq!(store.load().unwrap(), before, "a name must not be lost with a damaged record");
    }
}
