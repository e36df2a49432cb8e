//! The known state of the shown session.

use std::collections::BTreeMap;

use haft_protocol::ext::StyledSpan;
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::TokenUsage;
use haft_protocol::rpc::{ContextData, ExtensionInfo, JobInfo, StateData};
use haft_protocol::thinking::ThinkingLevel;

use super::NO_MODEL;
use super::status_item::ExtensionStatusItem;

/// The maximum characters of a description: more than a title or a row of a list shows.
const LONGEST: usize = 200;

/// The known state of the shown session.
#[derive(Debug, Default)]
pub(super) struct CurrentSession {
    /// The provider of the present model. During a fallback, the provider differs from the session's own.
    pub(super) provider: String,
    pub(super) model: String,
    /// The session's own model as `PROVIDER/MODEL`, or `None` until it is known.
    pub(super) own_model: Option<String>,
    pub(super) thinking: ThinkingLevel,
    /// The level that the user requested last. A model without this level uses the nearest one.
    pub(super) wanted_thinking: Option<ThinkingLevel>,
    pub(super) cwd: String,
    pub(super) name: Option<String>,
    pub(super) first_text: Option<String>,
    pub(super) usage: TokenUsage,
    pub(super) context: u64,
    pub(super) window: Option<u64>,
    pub(super) extensions: Vec<ExtensionInfo>,
    /// The background commands of the model.
    pub(super) jobs: Vec<JobInfo>,
    /// The items of extensions in the status line, by owner and key.
    pub(super) status_items: BTreeMap<(ExtensionName, String), ExtensionStatusItem>,
}

impl CurrentSession {
    pub(super) fn update(&mut self, data: StateData) {
        let ContextData { tokens, window, .. } = data.context;
        self.name = data.name.filter(|name| !name.is_empty());
        self.set_own_model(data.provider, data.model);
        self.thinking = data.thinking;
        (self.cwd, self.usage) = (data.cwd, data.usage);
        (self.context, self.window) = (tokens, window);
    }

    /// Sets or removes an item of an extension in the status line.
    pub(super) fn set_status_item(
        &mut self,
        extension: ExtensionName,
        key: String,
        text: Option<&str>,
        styled: &[StyledSpan],
    ) {
        match text.map(|text| ExtensionStatusItem::new(&extension, text, styled)) {
            Some(item) => self.status_items.insert((extension, key), item),
            None => self.status_items.remove(&(extension, key)),
        };
    }

    /// True if no model is configured, so that one must be selected before the first prompt.
    pub(super) fn has_no_model(&self) -> bool {
        self.provider == NO_MODEL
    }

    /// Returns the name of the model for a status.
    pub(super) fn model_name(&self) -> &str {
        if self.has_no_model() { "no model" } else { &self.model }
    }

    pub(super) fn set_own_model(&mut self, provider: String, model: String) {
        self.own_model = Some(format!("{provider}/{model}"));
        (self.provider, self.model) = (provider, model);
    }

    pub(super) fn set_first_text(&mut self, text: &str) {
        let from = text.find(|c: char| !c.is_whitespace()).unwrap_or(text.len());
        self.first_text = Some(truncate_description(text.get(from..).unwrap_or_default()).to_owned());
    }

    /// Returns a description in one line: the name or the first prompt. Its length is limited, so that the cost does
    /// not depend on the length of the prompt.
    pub(super) fn description(&self) -> Option<&str> {
        let about = self.name.as_deref().or(self.first_text.as_deref())?;
        truncate_description(about).lines().next().filter(|line| !line.is_empty())
    }

    /// Sets the present model from `PROVIDER/MODEL`.
    pub(super) fn set_model(&mut self, whole: &str) {
        if let Some((provider, model)) = whole.split_once('/') {
            (self.provider, self.model) = (provider.to_owned(), model.to_owned());
        }
    }

    pub(super) fn context_percent(&self) -> Option<u64> {
        let window = self.window.filter(|window| *window > 0)?;
        Some(self.context.saturating_mul(100) / window)
    }

    pub(super) fn unready_extensions(&self) -> impl Iterator<Item = &ExtensionInfo> {
        self.extensions
            .iter()
            .filter(|info| !matches!(info.state.as_str(), "ready" | "idle") || info.gates_off)
    }

    /// Replaces the states and items of the extensions. Returns the extensions that are running again after a failure.
    pub(super) fn set_extensions(&mut self, extensions: Vec<ExtensionInfo>) -> Vec<String> {
        self.status_items.clear();
        for info in &extensions {
            for item in &info.status {
                let (name, key) = (info.name.clone(), item.key.clone());
                self.set_status_item(name, key, Some(&item.text), &item.styled);
            }
        }
        let before = std::mem::replace(&mut self.extensions, extensions);
        let was_down = |info: &&ExtensionInfo| {
            let down = |before: &ExtensionInfo| matches!(before.state.as_str(), "restarting" | "failed");
            info.state == "ready" && before.iter().any(|before| before.name == info.name && down(before))
        };
        self.extensions.iter().filter(was_down).map(|info| info.name.to_string()).collect()
    }

    /// Returns the number of background commands that run.
    pub(super) fn running_jobs(&self) -> usize {
        self.jobs.iter().filter(|job| job.end.is_none()).count()
    }

    /// Replaces the background commands. Returns a line for each that has ended since.
    pub(super) fn set_jobs(&mut self, jobs: Vec<JobInfo>) -> Vec<String> {
        let before = std::mem::replace(&mut self.jobs, jobs);
        let was_running = |job: &JobInfo| before.iter().any(|old| old.job == job.job && old.end.is_none());
        let ended = self.jobs.iter().filter(|job| was_running(job));
        ended.filter_map(|job| Some(format!("job {} has ended: {}", job.job, job.end.as_deref()?))).collect()
    }

    pub(super) fn has_changing_extensions(&self) -> bool {
        let soon = |state: &str| matches!(state, "starting" | "restarting" | "stopping");
        self.extensions.iter().any(|info| soon(&info.state))
    }
}

fn truncate_description(text: &str) -> &str {
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_length_of_description() {
        let long = format!("  {}", "é\u{200b}".repeat(5 << 20));
        let mut session = CurrentSession::default();
        session.set_first_text(&long);
        assert_eq!(session.first_text.as_deref().map(|text| text.chars().count()), Some(LONGEST));
        assert_eq!(session.description().map(|about| about.chars().count()), Some(LONGEST));
        session.name = Some(long);
        assert_eq!(session.description().map(|about| about.chars().count()), Some(LONGEST));
        session.name = Some("a name\nof two lines".into());
        assert_eq!(session.description(), Some("a name"));
        session.set_first_text("\n \n\tfirst\nsecond");
        session.name = None;
        assert_eq!(session.description(), Some("first"));
    }
}
