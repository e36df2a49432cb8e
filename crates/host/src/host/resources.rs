//! The hook `resources`: skills and prompt templates that extensions add.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::join_all;
use haft_packages::ExtensionOrigin;
use haft_protocol::ext::{InterceptKind, InterceptResources, ResourcesDecision, ResourcesReason};
use haft_protocol::ids::ExtensionName;
use tokio::time::timeout;

use super::host_state::HostState;
use crate::agent::managed_extension::ManagedExtension;
use crate::wire::fault::FaultCode;

/// The skills and prompt templates that an extension adds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtensionResources {
    /// The name of the extension.
    pub extension: ExtensionName,
    /// The directory of the extension, to which its relative paths refer.
    pub dir: PathBuf,
    /// The origin of the extension.
    pub origin: ExtensionOrigin,
    /// True if a sandbox limits the files that the extension can read.
    pub is_confined: bool,
    /// The answer of the extension; empty after a failure.
    pub paths: ResourcesDecision,
}

impl ExtensionResources {
    /// Creates the answer of an extension.
    pub fn new(
        extension: ExtensionName,
        dir: impl Into<PathBuf>,
        origin: ExtensionOrigin,
        is_confined: bool,
        paths: ResourcesDecision,
    ) -> Self {
        Self { extension, dir: dir.into(), origin, is_confined, paths }
    }
}

/// Asks the extensions that are not in `known`, all at the same time.
pub(super) async fn find(
    inner: &HostState,
    reason: ResourcesReason,
    known: &[ExtensionResources],
) -> Vec<ExtensionResources> {
    let is_known = |name: &ExtensionName| known.iter().any(|found| found.extension == *name);
    let entries = inner.active_extensions();
    let asked = entries.iter().filter(|entry| {
        let takes_part = entry.with_view(|now| now.takes_part(InterceptKind::Resources));
        takes_part && !inner.gates.is_disabled(entry.name()) && !is_known(entry.name())
    });
    join_all(asked.map(|entry| ask_for_resources(inner, entry, reason))).await
}

async fn ask_for_resources(
    inner: &HostState,
    entry: &Arc<ManagedExtension>,
    reason: ResourcesReason,
) -> ExtensionResources {
    let shared = &inner.shared;
    let question = InterceptResources { cwd: shared.config.cwd.display().to_string(), reason };
    // The deadline of the query is paused while the extension waits for a person, who cannot answer before the
    // session is open.
    let within = 2 * shared.timeouts.intercept_within(&entry.spec, InterceptKind::Resources);
    let answer = timeout(within, entry.query(&shared.closing, question)).await;
    if answer.is_err() {
        let text = format!("resources intercept: no answer within {} s", within.as_secs_f64());
        shared.reporter(entry.name()).report_fault(FaultCode::HookTimeout, text);
    }
    ExtensionResources {
        extension: entry.name().clone(),
        dir: entry.spec.dir.clone(),
        origin: entry.spec.origin,
        is_confined: shared.config.level_of(&entry.spec).is_some(),
        paths: answer.ok().and_then(Result::ok).unwrap_or_default(),
    }
}
