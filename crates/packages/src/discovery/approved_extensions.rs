//! The user's own extensions, of which only approved ones run.

use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;

use haft_protocol::ids::ExtensionName;

use super::{
    ApprovedVersion, DiscoveryCollector, DiscoveryError, DiscoveryErrorKind, SkipReason, SkippedExtension,
    UserExtension, build_spec, load_approvals, make_absolute, name_key, user_extensions,
};
use crate::approval::lock::{ApprovalStore, LockError};
use crate::file_name::dir_name;
use crate::manifest::{GuardRoles, LaunchPlan, Lifecycle, Manifest};
use crate::spec::{ExtensionDialect, ExtensionOrigin, ExtensionSpec};

/// Returns the reason why an extension with a pending update does not run.
fn pending_update_reason(name: &ExtensionName) -> String {
    format!(
        "its new version requests more permissions than were granted; `haft ext update {name}` shows them \
        and asks, and `haft ext enable {name}` keeps the old version"
    )
}

impl DiscoveryCollector<'_> {
    /// Adds the approved extensions, and reports the others as skipped.
    pub(super) fn add_user_extensions(&mut self, approved: &ApprovalStore) {
        let global = self.search.global.as_deref().map(make_absolute);
        // Without a global directory, the user runs no extensions of their own.
        let Some(global) = global else { return };
        approved.remove_leftovers();
        let (file, error) = load_approvals(approved);
        if let Some(error) = error {
            self.found.errors.push(lock_file_error(approved, error));
        }
        for UserExtension { candidate, approved_version: held } in
            user_extensions(Some(&global), approved, &file)
        {
            match held {
                Some(held) => self.add_approved(approved, candidate.dir, candidate.manifest, held),
                None => self.add_unapproved(candidate),
            }
        }
    }

    fn add_unapproved(&mut self, candidate: super::ExtensionCandidate) {
        if self.is_known(&candidate) {
            return;
        }
        let (name, dir) = (candidate.name(), candidate.dir);
        let manifest = match candidate.manifest {
            Ok(manifest) => manifest,
            Err(kind) => {
                self.names.entry(name_key(&name)).or_insert_with(|| dir.clone());
                self.found.errors.push(DiscoveryError { name, dir, origin: ExtensionOrigin::Global, kind });
                return;
            }
        };
        let reason =
            self.reason_to_skip(ExtensionOrigin::Global, &manifest).unwrap_or(SkipReason::NotApproved);
        // A pending update keeps its name, so that a project cannot replace a gate.
        self.names.entry(name_key(&name)).or_insert_with(|| dir.clone());
        self.found.skipped.push(SkippedExtension {
            name: manifest.name,
            dir,
            origin: ExtensionOrigin::Global,
            reason,
        });
    }

    fn add_approved(
        &mut self,
        approved: &ApprovalStore,
        place: PathBuf,
        manifest: Result<Manifest, DiscoveryErrorKind>,
        mut held: ApprovedVersion<'_>,
    ) {
        // The manifest in the directory may have another name than the approved extension.
        let says = manifest.as_ref().ok().filter(|_| held.changed.is_none());
        self.is_known_as(&place, says);
        let taken = match self.names.entry(name_key(held.name.as_str())) {
            Entry::Occupied(taken) => Some(taken.get().clone()),
            Entry::Vacant(free) => {
                free.insert(place.clone());
                None
            }
        };
        // A pending update disables the extension, but the user did not.
        let waits = held.entry.waiting.as_ref().is_some_and(|waiting| waiting.enabled) && !held.entry.enabled;
        if waits && held.changed.is_none() {
            held.changed = Some(pending_update_reason(held.name));
        }
        let enabled = held.entry.enabled || waits;
        let reason = match (taken, held.changed.clone()) {
            (Some(by), _) => Some(SkipReason::NameTaken { by }),
            (None, _) if !enabled => Some(SkipReason::Disabled),
            // The host must know of a gate that must not start, to block the actions that it guards.
            (None, Some(summary)) if !held.entry.required => Some(SkipReason::Changed { summary }),
            (None, _) => None,
        };
        if let Some(reason) = reason {
            self.found.skipped.push(SkippedExtension {
                name: held.name.clone(),
                dir: place,
                origin: ExtensionOrigin::Global,
                reason,
            });
            return;
        }
        let spec = match manifest {
            Ok(manifest) if held.changed.is_none() => {
                self.found.warn_about_ignored(held.name, &manifest.ignored);
                approved_spec(approved, manifest, held)
            }
            Ok(manifest) => blocked_spec(approved, held, manifest.version),
            Err(_) => blocked_spec(approved, held, None),
        };
        self.found.specs.push(spec);
    }
}

/// Returns the specification of an approved extension. Its files are checked right before it starts.
fn approved_spec(
    approved: &ApprovalStore,
    mut manifest: Manifest,
    held: ApprovedVersion<'_>,
) -> ExtensionSpec {
    let pin = Some(Arc::new(held.code_pin(approved)));
    let launch = match manifest.exec.take() {
        None => LaunchPlan::ThemeOnly,
        Some(exec) => {
            let own = || held.dir.join(&exec.program).components().collect();
            let program = held.entry.interpreter.clone().unwrap_or_else(own);
            LaunchPlan::Process { program, args: exec.args }
        }
    };
    let (permissions, level) = (held.entry.permissions.clone(), held.entry.sandbox);
    let spec = build_spec(manifest, held.dir, launch, ExtensionOrigin::Global);
    ExtensionSpec { name: held.name.clone(), permissions, level, pin, ..spec }
}

/// Returns the specification of a required extension that must not start. Its manifest cannot be trusted, so it
/// guards every tool call.
fn blocked_spec(
    approved: &ApprovalStore,
    held: ApprovedVersion<'_>,
    version: Option<String>,
) -> ExtensionSpec {
    let pin = held.code_pin(approved);
    ExtensionSpec {
        name: held.name.clone(),
        version,
        dir: held.dir,
        launch: LaunchPlan::Impossible { why: held.changed.unwrap_or_default() },
        dialect: ExtensionDialect::Native,
        origin: ExtensionOrigin::Global,
        roles: GuardRoles { required: true, ..GuardRoles::default() },
        permissions: None,
        level: held.entry.sandbox,
        description: None,
        lifecycle: Lifecycle::default(),
        pin: Some(Arc::new(pin)),
    }
}

fn lock_file_error(approved: &ApprovalStore, error: LockError) -> DiscoveryError {
    let dir = approved.lock_file_path();
    DiscoveryError { name: dir_name(&dir), dir, origin: ExtensionOrigin::Global, kind: error.into() }
}
