//! The texts of tools as they were approved, and the place where they are kept.

use std::collections::BTreeMap;
use std::fmt;

use haft_protocol::RawJson;
use haft_protocol::ids::ExtensionName;
use serde::{Deserialize, Serialize};

/// Where the texts of tools are kept, beside what else the user approved of an extension.
pub trait ToolPins: fmt::Debug + Send + Sync {
    /// The tools of an extension by their names, as far as they have been registered since it was approved; none for an
    /// extension that nobody approved, whose tools may change.
    fn pinned_tools(&self, extension: &ExtensionName) -> Option<BTreeMap<String, PinnedTool>>;

    /// Adds the texts of tools that have none yet. Called once for each, when it is first registered; may take as long as
    /// writing a file.
    ///
    /// # Errors
    /// Why they cannot be kept, for people. The tools work all the same.
    fn pin_tools(&self, extension: &ExtensionName, tools: BTreeMap<String, PinnedTool>)
    -> Result<(), String>;

    /// Keeps what the model would be told of tools that are locked, for the user to look at.
    ///
    /// # Errors
    /// Why that cannot be kept, for people. The tools are locked all the same.
    fn record_locked_tools(
        &self,
        extension: &ExtensionName,
        tools: BTreeMap<String, PinnedTool>,
    ) -> Result<(), String>;
}

/// The texts of a tool for the model.
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

impl PinnedTool {
    /// True if the model is told the same. In which order a schema names its keys says nothing.
    pub fn is_same(&self, other: &Self) -> bool {
        let schema = |tool: &Self| tool.schema.read::<serde_json::Value>().ok();
        self.description == other.description
            && self.guidelines == other.guidelines
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
