//! The approved texts of tools, and the interface to their storage.

use std::collections::BTreeMap;
use std::fmt;

use haft_protocol::RawJson;
use haft_protocol::ids::ExtensionName;
use serde::{Deserialize, Serialize};

/// The storage of the texts of tools, beside the approval of their extension.
pub trait ToolPins: fmt::Debug + Send + Sync {
    /// Returns the tools of an extension by name, if they were registered since its approval. Returns `None` for an
    /// extension without an approval, whose tools may change.
    fn pinned_tools(&self, extension: &ExtensionName) -> Option<BTreeMap<String, PinnedTool>>;

    /// Stores the texts of tools that have none yet. Called when a tool is registered for the first time; may take as
    /// long as writing a file.
    ///
    /// # Errors
    /// The reason, for the user. The tools work nevertheless.
    fn pin_tools(&self, extension: &ExtensionName, tools: BTreeMap<String, PinnedTool>)
    -> Result<(), String>;

    /// Stores the new texts of locked tools for the user to review.
    ///
    /// # Errors
    /// The reason, for the user. The tools stay locked.
    fn record_locked_tools(
        &self,
        extension: &ExtensionName,
        tools: BTreeMap<String, PinnedTool>,
    ) -> Result<(), String>;
}

/// The texts of a tool that the model sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedTool {
    /// Its description.
    pub description: String,
    /// The schema of its arguments.
    pub schema: RawJson,
    /// Its guidelines for the system prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guidelines: Vec<String>,
    /// Its line in the list of tools of the system prompt; empty if the description provides it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub snippet: String,
}

impl PinnedTool {
    /// True if the model sees the same texts. The order of keys in a schema does not count.
    pub fn is_same(&self, other: &Self) -> bool {
        let schema = |tool: &Self| tool.schema.read::<serde_json::Value>().ok();
        self.description == other.description
            && self.guidelines == other.guidelines
            && self.snippet == other.snippet
            && (self.schema == other.schema || schema(self) == schema(other))
    }
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
            snippet: String::new(),
        };
        assert_eq!(tool(one).is_same(&tool(other)), expect, "{one:?} {other:?}");
    }

    #[test]
    fn compares_texts_that_model_sees() {
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
            snippet: String::new(),
        };
        assert!(!advised.is_same(&PinnedTool { guidelines: Vec::new(), ..advised.clone() }));
        assert!(!advised.is_same(&PinnedTool { snippet: "x".into(), ..advised.clone() }));
    }
}
