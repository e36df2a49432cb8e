//! The calls of built-in tools that a person must approve: those that the sandbox does not permit.

use std::path::Path;

use haft_core::tool::ApprovalRequest;

use crate::environment::{AccessKind, Environment, EnvironmentError, RunApproval};
use crate::path;

/// The flag that permits all calls without an approval.
const PERMITTED_BY: &str = "--sandbox full";

/// The use of the environment by a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CallSubject<'a> {
    /// The call uses this path, as the model wrote it; `None` is the working directory.
    File(Option<&'a str>, AccessKind),
    /// The call runs a command: in the sandbox, or outside of it for the reason that the model gives.
    Command { outside: Option<&'a str> },
}

/// Returns the request for an approval; `None` if the sandbox permits the call, or denies it in any case.
pub(crate) async fn approval_request(
    environment: &dyn Environment,
    subject: CallSubject<'_>,
) -> Option<ApprovalRequest> {
    let reason = match subject {
        CallSubject::File(text, access) => {
            // The call itself reports an invalid path.
            let path = path::resolve_or_cwd(environment, text).ok()?;
            match environment.check_access(&path, access).await {
                Err(EnvironmentError::Outside { .. }) => outside_reason(environment, &path, access).await,
                Ok(()) | Err(_) => return None,
            }
        }
        CallSubject::Command { outside } => {
            environment.sandbox()?;
            match (outside, environment.needs_approval_to_run()) {
                (Some(why), _) => format!("run outside of the sandbox: {why}"),
                (None, Some(RunApproval { missing, keeps_sandbox: false })) => {
                    format!("run without a sandbox, because {missing}")
                }
                (None, Some(RunApproval { missing, keeps_sandbox: true })) => {
                    format!(
                        "run in a sandbox that does not protect .git/hooks and similar paths, because {missing}"
                    )
                }
                (None, None) => return None,
            }
        }
    };
    Some(ApprovalRequest { reason, permitted_by: Some(PERMITTED_BY.to_owned()) })
}

/// Returns the reason with the place to which the path leads.
async fn outside_reason(environment: &dyn Environment, path: &Path, access: AccessKind) -> String {
    let real = environment.resolve(path).await.map_or_else(|_| path.to_owned(), |place| place.path);
    let link = if real == path { String::new() } else { format!(" (through {})", path.display()) };
    match access {
        AccessKind::Read => format!("read a path with secrets: {}{link}", real.display()),
        AccessKind::Write => format!("write outside of the workspace: {}{link}", real.display()),
    }
}
