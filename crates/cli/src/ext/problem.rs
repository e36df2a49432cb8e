//! What is wrong with an extension, and the next step.

use std::time::SystemTime;

use haft_host::LastFailure;
use haft_packages::Origin;
use haft_packages::install::State;
use haft_packages::install::lock::{Came, Entry};

use super::list::Listed;
use super::tools;
use crate::session::age;

/// One thing that is wrong. Nothing in it is safe to be shown as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// What, without the extension's name.
    pub(crate) text: String,
    /// What to do, as it is typed into a shell; none where the text says all there is to say.
    pub(crate) next: Option<String>,
    /// What that does; empty where the text says it.
    does: &'static str,
}

impl Problem {
    pub(super) fn new(text: impl Into<String>, next: impl Into<String>, does: &'static str) -> Self {
        Self { text: text.into(), next: Some(next.into()), does }
    }

    /// The whole of it in a sentence.
    pub(crate) fn sentence(&self) -> String {
        match (&self.next, self.does) {
            (None, _) | (Some(_), "") => self.text.clone(),
            (Some(next), does) => format!("{}; `{next}` {does}", self.text),
        }
    }
}

/// Everything that is wrong with one.
pub(super) fn problems(listed: &Listed, now: SystemTime) -> Vec<Problem> {
    let Listed { row, failure, .. } = listed;
    let (name, held) = (&row.name, row.entry.as_ref());
    if listed.is_untrusted() {
        return vec![Problem::new(
            "is not run, because the project is not trusted",
            "haft trust",
            "shows and allows it",
        )];
    }
    if let Some(first) = listed.behind.as_ref().filter(|_| row.state == State::Enabled) {
        let text = format!("is not run: {} has the same name, and comes first", first.display());
        return vec![Problem { text, next: None, does: "" }];
    }
    if held.is_some_and(|entry| entry.waiting.is_some()) {
        let text = "is disabled, because its new version asks for more than was granted";
        return vec![Problem::new(text, format!("haft ext update {name}"), "shows it, and asks")];
    }
    let state = match &row.state {
        State::Broken(why) => Some(Problem { text: why.clone(), next: None, does: "" }),
        // That says already what to do.
        State::Changed(why) => Some(Problem::new(why, again(name, held).0, "")),
        State::NotApproved => Some(Problem::new(
            "is not run, because it was not approved",
            format!("haft ext trust {name}"),
            "shows it, and asks",
        )),
        State::Enabled => failure.as_ref().map(|failure| failed(name, row.origin, held, failure, now)),
        State::Disabled => None,
    };
    let locked = held.filter(|_| row.state == State::Enabled).into_iter();
    let slow = listed.is_slow.then(|| slow(name));
    state.into_iter().chain(slow).chain(locked.flat_map(|entry| tools::locked(name, entry))).collect()
}

/// It did not say hello in time.
pub(crate) fn slow(name: &str) -> Problem {
    let text = "was slow to start, so a run does not wait for it: its tools come late, or not at all";
    Problem::new(text, format!("haft ext logs {name}"), "shows all it printed")
}

/// How it failed, and what there is to be done.
pub(crate) fn failed(
    name: &str,
    origin: Origin,
    held: Option<&Entry>,
    LastFailure { at, code, message }: &LastFailure,
    now: SystemTime,
) -> Problem {
    let text = format!("failed {} ({code}): {message}", age(now, *at));
    match code.as_str() {
        "pin_mismatch" if origin == Origin::Project => {
            Problem::new(text, "haft trust", "shows what changed, and asks")
        }
        "pin_mismatch" => {
            let (next, does) = again(name, held);
            // The next step says the same better.
            Problem::new(text.trim_end_matches("; install or approve it again"), next, does)
        }
        "sandbox_unavailable" => Problem::new(text, "haft doctor", "tells what this machine can do"),
        _ => Problem::new(
            format!("{text}. The next run starts it anew"),
            format!("haft ext logs {name}"),
            "shows all it printed",
        ),
    }
}

/// The next step for what is not what was approved, and what that does.
pub(crate) fn again(name: &str, held: Option<&Entry>) -> (String, &'static str) {
    match held.map(|entry| &entry.source) {
        Some(Came::Placed { path, .. }) if path.symlink_metadata().is_err() => {
            (format!("haft ext remove {name}"), "forgets that it was approved")
        }
        None | Some(Came::Placed { .. }) => {
            (format!("haft ext trust {name}"), "shows what is there, and asks")
        }
        Some(Came::Git { .. } | Came::Directory { .. }) => {
            (format!("haft ext update {name}"), "fetches it again, shows it, and asks")
        }
    }
}
