//! The hook `project_trust`: extensions that decide whether the person trusts a project.

use haft_protocol::ext::{InterceptKind, InterceptProjectTrust, ProjectTrustDecision};
use haft_protocol::ids::ExtensionName;
use tokio::time::timeout;

use super::host_state::HostState;
use crate::wire::fault::FaultCode;

/// The decision of an extension about the trust in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtensionTrust {
    /// The name of the extension.
    pub extension: ExtensionName,
    /// True if the project is trusted.
    pub trusts: bool,
    /// True if the decision is to be stored.
    pub remember: bool,
}

impl ExtensionTrust {
    /// Creates a decision.
    pub fn new(extension: ExtensionName, trusts: bool, remember: bool) -> Self {
        Self { extension, trusts, remember }
    }
}

/// Asks the extensions one after the other. The first opinion counts.
pub(super) async fn ask_for_opinion(
    inner: &HostState,
    question: &InterceptProjectTrust,
) -> Option<ExtensionTrust> {
    let shared = &inner.shared;
    for entry in inner.active_extensions() {
        if !entry.is_ready_for(InterceptKind::ProjectTrust) || inner.gates.is_disabled(entry.name()) {
            continue;
        }
        // The deadline of the query is paused while the extension waits for a person, whom this host does not have.
        let within = 2 * shared.timeouts.intercept_within(&entry.spec, InterceptKind::ProjectTrust);
        let Ok(answer) = timeout(within, entry.query(&shared.closing, question.clone())).await else {
            let text = format!("project_trust intercept: no answer within {} s", within.as_secs_f64());
            shared.reporter(entry.name()).report_fault(FaultCode::HookTimeout, text);
            continue;
        };
        let extension = entry.name().clone();
        match answer {
            Ok(ProjectTrustDecision::Trust { remember }) => {
                return Some(ExtensionTrust { extension, trusts: true, remember });
            }
            Ok(ProjectTrustDecision::Distrust) => {
                return Some(ExtensionTrust { extension, trusts: false, remember: false });
            }
            Ok(ProjectTrustDecision::Undecided) | Err(_) => {}
        }
    }
    None
}
