//! The texts of tools, as they were first registered by what the user approved. A tool that comes with others is locked
//! until the user has seen them: whoever may change what the model reads may change what it does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::RawJson;
use haft_protocol::defence::{Defence, is_up};
use haft_protocol::ids::ExtensionName;
use serde::{Deserialize, Serialize};

use crate::extension::OfferedTool;
use crate::spec::{ExtensionSpec, Origin};

/// Where the texts of tools are kept, beside what else the user approved of an extension.
pub trait ToolPins: fmt::Debug + Send + Sync {
    /// The tools of an extension by their names, as far as they have been registered since it was approved; none for an
    /// extension that nobody approved, whose tools may change.
    fn pinned(&self, extension: &ExtensionName) -> Option<BTreeMap<String, PinnedTool>>;

    /// Adds the texts of tools that have none yet. Called once for each, when it is first registered; may take as long as
    /// writing a file.
    ///
    /// # Errors
    /// Why they cannot be kept, for people. The tools work all the same.
    fn pin(&self, extension: &ExtensionName, tools: BTreeMap<String, PinnedTool>) -> Result<(), String>;

    /// Keeps what the model would be told of tools that are locked, for the user to look at.
    ///
    /// # Errors
    /// Why that cannot be kept, for people. The tools are locked all the same.
    fn locked(&self, extension: &ExtensionName, tools: BTreeMap<String, PinnedTool>) -> Result<(), String>;
}

/// What the model is told of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedTool {
    /// Its description.
    pub description: String,
    /// The schema of its arguments.
    pub schema: RawJson,
    /// Its advice for the system prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guidelines: Vec<String>,
}

/// What is known of the texts since the last start or reload.
#[derive(Debug)]
pub(crate) struct Pins {
    kept: Option<Arc<dyn ToolPins>>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    extensions: BTreeMap<ExtensionName, Option<BTreeMap<String, PinnedTool>>>,
    /// Locked tools that were told.
    told: BTreeSet<(ExtensionName, String)>,
    /// To be kept.
    new: BTreeMap<ExtensionName, BTreeMap<String, PinnedTool>>,
    /// To be kept as locked.
    changed: BTreeMap<ExtensionName, BTreeMap<String, PinnedTool>>,
}

impl PinnedTool {
    fn of(tool: &OfferedTool) -> Self {
        let OfferedTool { description, schema, guidelines, .. } = tool;
        Self { description: description.clone(), schema: schema.clone(), guidelines: guidelines.clone() }
    }

    /// Whether the model is told the same. In which order a schema names its keys says nothing.
    pub fn is_same(&self, other: &Self) -> bool {
        let schema = |tool: &Self| tool.schema.read::<serde_json::Value>().ok();
        self.description == other.description
            && self.guidelines == other.guidelines
            && (self.schema == other.schema || schema(self) == schema(other))
    }
}

impl Pins {
    pub(crate) fn new(kept: Option<Arc<dyn ToolPins>>) -> Self {
        Self { kept, known: Mutex::default() }
    }

    /// What is kept may be other than before.
    pub(crate) fn forget(&self) {
        *self.known() = Known::default();
    }

    /// Whether a tool has other texts than it had. One that has none yet gets those that it has now.
    pub(crate) fn locks(&self, spec: &ExtensionSpec, tool: &OfferedTool) -> bool {
        let Some(kept) = self.kept.as_ref().filter(|_| may_be_pinned(spec)) else { return false };
        let mut known = self.known();
        let pinned = known.extensions.entry(spec.name.clone()).or_insert_with(|| kept.pinned(&spec.name));
        let Some(pinned) = pinned else { return false };
        let now = PinnedTool::of(tool);
        if let Some(before) = pinned.get(&tool.name) {
            return !before.is_same(&now) && is_up(Defence::ToolTexts);
        }
        pinned.insert(tool.name.clone(), now.clone());
        known.new.entry(spec.name.clone()).or_default().insert(tool.name.clone(), now);
        false
    }

    /// Whether it was not yet told that this tool is locked.
    pub(crate) fn tells(&self, extension: &ExtensionName, tool: &OfferedTool) -> bool {
        let mut known = self.known();
        let is_new = known.told.insert((extension.clone(), tool.name.clone()));
        if is_new {
            let changed = known.changed.entry(extension.clone()).or_default();
            changed.insert(tool.name.clone(), PinnedTool::of(tool));
        }
        is_new
    }

    /// Keeps what came up since. Nothing may be held by whoever calls this: it writes a file when there is anything.
    pub(crate) fn save(&self) {
        let Some(kept) = &self.kept else { return };
        let (new, changed) = {
            let mut known = self.known();
            (std::mem::take(&mut known.new), std::mem::take(&mut known.changed))
        };
        let new = new.into_iter().map(|(extension, tools)| (kept.pin(&extension, tools), extension));
        let changed =
            changed.into_iter().map(|(extension, tools)| (kept.locked(&extension, tools), extension));
        for (outcome, extension) in new.chain(changed) {
            if let Err(why) = outcome {
                tracing::warn!(%extension, why, "the texts of tools are not kept");
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the command line names is being worked on, and what comes with the program is the program.
fn may_be_pinned(spec: &ExtensionSpec) -> bool {
    match spec.origin {
        Origin::Global => true,
        Origin::Explicit | Origin::BuiltIn | Origin::Project | Origin::Hook => false,
    }
}

/// What the user is told of a locked tool.
pub(crate) fn locked(extension: &ExtensionName, tool: &str) -> String {
    format!(
        "tool {tool} has other texts than when it was approved, and is locked; `haft ext trust {extension}` shows the \
         difference, and asks"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: (&str, &str), other: (&str, &str), expect: bool) {
        let tool = |(description, schema): (&str, &str)| PinnedTool {
            description: description.into(),
            schema: RawJson::parse(schema).unwrap(),
            guidelines: Vec::new(),
        };
        assert_eq!(tool(one).is_same(&tool(other)), expect, "{one:?} {other:?}");
    }

    #[test]
    fn what_the_model_is_told_counts() {
        let schema = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
        check(("d", schema), ("d", schema), true);
        check(("d", schema), ("d", r#"{"properties":{"a":{"type":"string"}}, "type":"object"}"#), true);
        check(("d", schema), ("e", schema), false);
        check(("d", schema), ("d", r#"{"type":"object","properties":{"a":{"type":"number"}}}"#), false);
        check(
            ("d", schema),
            ("d", r#"{"type":"object","properties":{"a":{"type":"string","title":"x"}}}"#),
            false,
        );
        let advised = PinnedTool {
            description: "d".into(),
            schema: RawJson::parse(schema).unwrap(),
            guidelines: vec!["x".into()],
        };
        assert!(!advised.is_same(&PinnedTool { guidelines: Vec::new(), ..advised.clone() }));
    }
}
