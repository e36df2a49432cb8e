//! The calls of built-in tools that a person must approve: those that the sandbox does not permit.

use std::path::{Path, PathBuf};

use haft_core::sanitize::sanitize_line;
use haft_core::tool::ApprovalRequest;

use crate::environment::{AccessKind, Environment, EnvironmentError, ToolSandbox, has_protected_name};
use crate::path;

/// The flag that permits all calls without an approval.
const FULL: &str = "--sandbox full";

/// The reason for a path that commands could use to leave the sandbox later.
const PROTECTED: &str = "write to a protected path, which makes code run later";

/// The flag that permits changes in the working directory.
const WORKSPACE: &str = "--sandbox workspace";

/// The use of the environment by a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CallSubject<'a> {
    /// The call uses this path, as the model wrote it; `None` is the working directory.
    File(Option<&'a str>, AccessKind),
    /// The call runs a command: in the sandbox, or outside of it for the reason that the model gives.
    Command { outside: Option<&'a str> },
    /// The call is about a command that is running already.
    StartedCommand,
}

/// Returns the request for an approval; `None` if the sandbox permits the call, or denies it in any case.
pub(crate) async fn approval_request(
    environment: &dyn Environment,
    subject: CallSubject<'_>,
) -> Option<ApprovalRequest> {
    match subject {
        CallSubject::File(text, access) => {
            // The call itself reports an invalid path.
            let path = path::resolve_or_cwd(environment, text).ok()?;
            match environment.check_access(&path, access).await {
                Err(EnvironmentError::Outside { .. }) => Some(file_request(environment, &path, access).await),
                Ok(()) | Err(_) => None,
            }
        }
        CallSubject::StartedCommand => None,
        CallSubject::Command { outside } => {
            environment.sandbox()?;
            let reason = match (outside, environment.needs_approval_to_run()) {
                (Some(_), _) => "run outside of the sandbox".to_owned(),
                (None, Some(missing)) => format!("run without a sandbox, because {missing}"),
                (None, None) => return None,
            };
            let mut request = ApprovalRequest::new(reason).with_permitted_by(FULL);
            request.model_reason = outside.map(str::to_owned);
            Some(request)
        }
    }
}

/// Returns the request with the place to which the path leads.
async fn file_request(environment: &dyn Environment, path: &Path, access: AccessKind) -> ApprovalRequest {
    let real = resolve(environment, path).await;
    let link = if real == path { String::new() } else { format!(" (through {})", path.display()) };
    let (what, permitted_by) = match (access, environment.sandbox()) {
        (AccessKind::Read, _) => ("read a path with secrets", FULL),
        (AccessKind::Write, None) => ("write outside of the permitted paths", FULL),
        (AccessKind::Write, Some(sandbox)) => write_denial(environment, sandbox, &real).await,
    };
    // The path is the model's text.
    let reason = sanitize_line(&format!("{what}: {}{link}", real.display()));
    ApprovalRequest::new(reason).with_permitted_by(permitted_by)
}

/// Returns the cause why the sandbox does not permit a change, and the smallest setting that permits it.
async fn write_denial(
    environment: &dyn Environment,
    sandbox: &ToolSandbox,
    real: &Path,
) -> (&'static str, &'static str) {
    let cwd = [environment.cwd().to_owned()];
    let tools_write = if sandbox.read_only { "--sandbox workspace with tools.write" } else { "tools.write" };
    let is_home = environment.home().is_some_and(|home| home.starts_with(environment.cwd()));
    if is_below(environment, real, &sandbox.hide).await {
        ("write to a path with secrets", FULL)
    } else if is_protected_by_name(environment, sandbox, real).await
        || is_below(environment, real, &sandbox.protect).await
    {
        (PROTECTED, FULL)
    } else if !is_below(environment, real, &cwd).await {
        ("write outside of the workspace", tools_write)
    } else if is_home {
        ("write in a working directory that contains the home directory", tools_write)
    } else if sandbox.read_only {
        ("write in the working directory at the sandbox level read-only", WORKSPACE)
    } else {
        (PROTECTED, FULL)
    }
}

/// True if a resolved path has a protected name below the working directory or a writable one.
async fn is_protected_by_name(environment: &dyn Environment, sandbox: &ToolSandbox, real: &Path) -> bool {
    let cwd = environment.cwd().to_owned();
    for root in sandbox.write.iter().chain([&cwd]) {
        if has_protected_name(&resolve(environment, root).await, real) {
            return true;
        }
    }
    false
}

/// True if a resolved path is one of these paths or below one of them.
async fn is_below(environment: &dyn Environment, real: &Path, roots: &[PathBuf]) -> bool {
    for root in roots {
        if real.starts_with(resolve(environment, root).await) {
            return true;
        }
    }
    false
}

async fn resolve(environment: &dyn Environment, path: &Path) -> PathBuf {
    environment.resolve(path).await.map_or_else(|_| path.to_owned(), |place| place.path)
}
