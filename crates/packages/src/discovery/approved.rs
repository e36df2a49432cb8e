//! The user's own extensions, where only what was approved runs.

use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;

use haft_protocol::ids::ExtensionName;

use super::{
    Collect, DiscoveryError, DiscoveryErrorKind, Held, Owned, SkipReason, Skipped, absolute, approvals, key,
    owned, spec,
};
use crate::approved::lock::{Approved, LockError};
use crate::file_name::dir_name;
use crate::manifest::{Launch, Lifecycle, Manifest, Roles};
use crate::spec::{Dialect, ExtensionSpec, Origin};

/// Why one does not run whose newer version asks for more.
fn waiting(name: &ExtensionName) -> String {
    format!(
        "its new version asks for more than was granted; `haft ext update {name}` shows what, and asks, and `haft ext enable \
         {name}` goes on with the old one"
    )
}

impl Collect<'_> {
    /// Takes what was approved, and names what was not.
    pub(super) fn take_owned(&mut self, approved: &Approved) {
        let global = self.search.global.as_deref().map(absolute);
        // Without a global directory the user wants no extensions of the user's own.
        let Some(global) = global else { return };
        approved.tidy();
        let (file, error) = approvals(approved);
        if let Some(error) = error {
            self.found.errors.push(unusable(approved, error));
        }
        for Owned { candidate, held } in owned(Some(&global), approved, &file) {
            match held {
                Some(held) => self.take_held(approved, candidate.dir, candidate.manifest, held),
                None => self.take_unapproved(candidate),
            }
        }
    }

    fn take_unapproved(&mut self, candidate: super::Candidate) {
        if self.is_known(&candidate) {
            return;
        }
        let (name, dir) = (candidate.name(), candidate.dir);
        let manifest = match candidate.manifest {
            Ok(manifest) => manifest,
            Err(kind) => {
                self.names.entry(key(&name)).or_insert_with(|| dir.clone());
                self.found.errors.push(DiscoveryError { name, dir, origin: Origin::Global, kind });
                return;
            }
        };
        let reason = self.reason_to_skip(Origin::Global, &manifest).unwrap_or(SkipReason::NotApproved);
        // What waits for an answer keeps its name, or a project could take the place of a guard.
        self.names.entry(key(&name)).or_insert_with(|| dir.clone());
        self.found.skipped.push(Skipped { name: manifest.name, dir, origin: Origin::Global, reason });
    }

    fn take_held(
        &mut self,
        approved: &Approved,
        place: PathBuf,
        manifest: Result<Manifest, DiscoveryErrorKind>,
        mut held: Held<'_>,
    ) {
        // What lies there now may say another name than what was approved.
        let says = manifest.as_ref().ok().filter(|_| held.changed.is_none());
        self.is_known_as(&place, says);
        let taken = match self.names.entry(key(held.name.as_str())) {
            Entry::Occupied(taken) => Some(taken.get().clone()),
            Entry::Vacant(free) => {
                free.insert(place.clone());
                None
            }
        };
        // One that waits for an answer was not switched off by the user.
        let waits = held.entry.waiting.as_ref().is_some_and(|waiting| waiting.enabled) && !held.entry.enabled;
        if waits && held.changed.is_none() {
            held.changed = Some(waiting(held.name));
        }
        let enabled = held.entry.enabled || waits;
        let reason = match (taken, held.changed.clone()) {
            (Some(by), _) => Some(SkipReason::NameTaken { by }),
            (None, _) if !enabled => Some(SkipReason::Disabled),
            // The host must know of a guard that must not start, or nobody would block what it guards.
            (None, Some(summary)) if !held.entry.required => Some(SkipReason::Changed { summary }),
            (None, _) => None,
        };
        if let Some(reason) = reason {
            self.found.skipped.push(Skipped {
                name: held.name.clone(),
                dir: place,
                origin: Origin::Global,
                reason,
            });
            return;
        }
        let spec = match manifest {
            Ok(manifest) if held.changed.is_none() => {
                self.found.warn_of_ignored(held.name, &manifest.ignored);
                approved_spec(approved, manifest, held)
            }
            Ok(manifest) => kept_out(approved, held, manifest.version),
            Err(_) => kept_out(approved, held, None),
        };
        self.found.specs.push(spec);
    }
}

/// As it was approved. That its files are there is looked at right before it starts.
fn approved_spec(approved: &Approved, mut manifest: Manifest, held: Held<'_>) -> ExtensionSpec {
    let pin = Some(Arc::new(held.pin(approved)));
    let launch = match manifest.exec.take() {
        None => Launch::ThemeOnly,
        Some(exec) => {
            let own = || held.dir.join(&exec.program).components().collect();
            let program = held.entry.interpreter.clone().unwrap_or_else(own);
            Launch::Process { program, args: exec.args }
        }
    };
    let (permissions, level) = (held.entry.permissions.clone(), held.entry.sandbox);
    let spec = spec(manifest, held.dir, launch, Origin::Global);
    ExtensionSpec { name: held.name.clone(), permissions, level, pin, ..spec }
}

/// A required one that must not start: what its manifest says counts no more, so it guards every tool call.
fn kept_out(approved: &Approved, held: Held<'_>, version: Option<String>) -> ExtensionSpec {
    let pin = held.pin(approved);
    ExtensionSpec {
        name: held.name.clone(),
        version,
        dir: held.dir,
        launch: Launch::Impossible { why: held.changed.unwrap_or_default() },
        dialect: Dialect::Native,
        origin: Origin::Global,
        roles: Roles { required: true, ..Roles::default() },
        permissions: None,
        level: held.entry.sandbox,
        description: None,
        lifecycle: Lifecycle::default(),
        pin: Some(Arc::new(pin)),
    }
}

fn unusable(approved: &Approved, error: LockError) -> DiscoveryError {
    let dir = approved.file();
    DiscoveryError { name: dir_name(&dir), dir, origin: Origin::Global, kind: error.into() }
}
