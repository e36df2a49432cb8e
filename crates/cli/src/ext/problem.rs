//! Problems of an extension, with the next step.

use std::time::SystemTime;

use haft_core::age::age_text;
use haft_host::LastFailure;
use haft_packages::ExtensionOrigin;
use haft_packages::install::lock::{InstallOrigin, LockEntry};

/// A problem of an extension. The texts are not sanitized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExtensionProblem {
    /// The problem, without the extension's name.
    pub(crate) text: String,
    /// The next step as a shell command; `None` if the text is complete.
    pub(crate) next: Option<String>,
    /// The effect of the next step; empty if the text states it.
    effect: &'static str,
}

impl ExtensionProblem {
    pub(super) fn new(text: impl Into<String>, next: impl Into<String>, does: &'static str) -> Self {
        Self { text: text.into(), next: Some(next.into()), effect: does }
    }

    pub(super) fn without_step(text: impl Into<String>) -> Self {
        Self { text: text.into(), next: None, effect: "" }
    }

    pub(crate) fn sentence(&self) -> String {
        match (&self.next, self.effect) {
            (None, _) | (Some(_), "") => self.text.clone(),
            (Some(next), does) => format!("{}; `{next}` {does}", self.text),
        }
    }
}

/// Returns a message without its last clause if that clause contains `step`.
pub(crate) fn without_next_step<'a>(message: &'a str, step: &str) -> &'a str {
    let clauses = message.rsplit_once("; ").filter(|(_, last)| last.contains(step));
    clauses.map_or(message, |(problem, _)| problem)
}

/// Returns the problem of an extension that was slow to send `hello`.
pub(crate) fn slow_start_problem(name: &str) -> ExtensionProblem {
    let text = "starts slowly, so haft does not wait for it: its tools are available late or not at all";
    ExtensionProblem::new(text, format!("haft ext logs {name}"), "shows its output")
}

pub(crate) fn failure_problem(
    name: &str,
    origin: ExtensionOrigin,
    held: Option<&LockEntry>,
    LastFailure { at, code, message, .. }: &LastFailure,
    now: SystemTime,
) -> ExtensionProblem {
    let text = format!("failed {} ({code}): {message}", age_text(now, *at));
    match code.as_str() {
        "pin_mismatch" if origin == ExtensionOrigin::Project => {
            ExtensionProblem::new(text, "haft trust", "shows the changes and asks")
        }
        "pin_mismatch" => {
            let (next, does) = reapproval_step(name, held);
            // The next step of the problem replaces the one in the message.
            ExtensionProblem::new(without_next_step(&text, "approve it again"), next, does)
        }
        "sandbox_unavailable" => {
            ExtensionProblem::new(text, "haft doctor", "shows which sandboxes this machine supports")
        }
        _ => ExtensionProblem::new(
            format!("{text}. The next run starts it again"),
            format!("haft ext logs {name}"),
            "shows its output",
        ),
    }
}

/// Returns the next step for an extension that differs from its approval, and the effect of that step.
pub(crate) fn reapproval_step(name: &str, held: Option<&LockEntry>) -> (String, &'static str) {
    match held.map(|entry| &entry.source) {
        Some(InstallOrigin::Placed { path, .. }) if path.symlink_metadata().is_err() => {
            (format!("haft ext remove {name}"), "removes the approval")
        }
        None | Some(InstallOrigin::Placed { .. }) => {
            (format!("haft ext trust {name}"), "shows the changes and asks")
        }
        Some(InstallOrigin::Git { .. } | InstallOrigin::Directory { .. }) => {
            (format!("haft ext update {name}"), "fetches it again, shows the changes and asks")
        }
    }
}
