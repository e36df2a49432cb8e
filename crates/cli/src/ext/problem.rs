//! Problems of an extension, with the next step.

use std::time::SystemTime;

use haft_host::LastFailure;
use haft_packages::ExtensionOrigin;
use haft_packages::install::lock::{InstallOrigin, LockEntry};

use crate::session::age_text;

/// One thing that is wrong. Nothing in it is safe to be shown as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExtensionProblem {
    /// The problem, without the extension's name.
    pub(crate) text: String,
    /// The next step, as it is typed into a shell; none where the text says all there is to say.
    pub(crate) next: Option<String>,
    /// The effect of the next step; empty where the text says it.
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

/// It did not say hello in time.
pub(crate) fn slow_start_problem(name: &str) -> ExtensionProblem {
    let text = "was slow to start, so a run does not wait for it: its tools come late, or not at all";
    ExtensionProblem::new(text, format!("haft ext logs {name}"), "shows all it printed")
}

pub(crate) fn failure_problem(
    name: &str,
    origin: ExtensionOrigin,
    held: Option<&LockEntry>,
    LastFailure { at, code, message }: &LastFailure,
    now: SystemTime,
) -> ExtensionProblem {
    let text = format!("failed {} ({code}): {message}", age_text(now, *at));
    match code.as_str() {
        "pin_mismatch" if origin == ExtensionOrigin::Project => {
            ExtensionProblem::new(text, "haft trust", "shows what changed, and asks")
        }
        "pin_mismatch" => {
            let (next, does) = reapproval_step(name, held);
            // The next step says the same better.
            ExtensionProblem::new(text.trim_end_matches("; install or approve it again"), next, does)
        }
        "sandbox_unavailable" => ExtensionProblem::new(text, "haft doctor", "tells what this machine can do"),
        _ => ExtensionProblem::new(
            format!("{text}. The next run starts it anew"),
            format!("haft ext logs {name}"),
            "shows all it printed",
        ),
    }
}

/// The next step for what is not what was approved, and what that does.
pub(crate) fn reapproval_step(name: &str, held: Option<&LockEntry>) -> (String, &'static str) {
    match held.map(|entry| &entry.source) {
        Some(InstallOrigin::Placed { path, .. }) if path.symlink_metadata().is_err() => {
            (format!("haft ext remove {name}"), "forgets that it was approved")
        }
        None | Some(InstallOrigin::Placed { .. }) => {
            (format!("haft ext trust {name}"), "shows what is there, and asks")
        }
        Some(InstallOrigin::Git { .. } | InstallOrigin::Directory { .. }) => {
            (format!("haft ext update {name}"), "fetches it again, shows it, and asks")
        }
    }
}
