//! What a step works with and may be changed between two: the model, how much it thinks, the tools it is offered.

use std::sync::Arc;

use crate::model::{Model, Thinking};
use crate::session::entry::{EntryBody, ModelChange, Settings, ThinkingChange, ToolsChange};

/// What a step works with.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) thinking: Thinking,
    /// The names of the tools that are offered; all there are if none are named.
    pub(crate) active: Option<Arc<[String]>>,
}

impl Setup {
    /// Whether a tool of this name is offered.
    pub(crate) fn offers(&self, name: &str) -> bool {
        self.active.as_ref().is_none_or(|active| active.iter().any(|offered| offered == name))
    }

    /// What a log that says `known` has to be told, and what it says then.
    pub(crate) fn changes(&self, known: &Settings) -> (Vec<EntryBody>, Settings) {
        let (mut changes, mut settings) = (Vec::new(), known.clone());
        let info = self.model.info();
        let model = ModelChange { provider: info.provider, model: info.model };
        if known.model.as_ref() != Some(&model) {
            settings.model = Some(model.clone());
            changes.push(model.into());
        }
        // Nothing was said and nothing is wanted: that is not worth an entry.
        let level = self.thinking.name().to_owned();
        if known.thinking.as_ref() != Some(&level)
            && (known.thinking.is_some() || self.thinking != Thinking::default())
        {
            settings.thinking = Some(level.clone());
            changes.push(ThinkingChange { level }.into());
        }
        let active = self.active.as_deref().map(<[String]>::to_vec);
        if known.tools != active {
            settings.tools.clone_from(&active);
            changes.push(ToolsChange { active }.into());
        }
        (changes, settings)
    }
}
