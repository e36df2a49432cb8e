//! Frames with which extensions of newer zot versions ask something of the host. Each does the same as a call
//! of `host_call`, behind the same permission.
//!
//! ```json
//! {"type":"submit","text":"Run the tests."}
//! {"type":"submit_slash","text":"/review src"}
//! {"type":"open_panel","panel":{"id":"clock","lines":["12:00"]}}
//! {"type":"call_tool","id":"t1","name":"grep","args":{"pattern":"TODO"}}
//! {"type":"tool_result","id":"t1","name":"grep","content":[{"type":"text","text":"main.rs:1: TODO"}],"is_error":false}
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::host_call::{HostCall, HostCallKind};
use super::model_call::CallToolArgs;
use super::panel::Panel;
use super::tool::ResultBlock;
use crate::ids::RequestId;
use crate::json::RawJson;

/// Sends a prompt, like the call `prompt` without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubmitText {
    /// The prompt.
    pub text: String,
}

/// Runs a command, like the call `run_command` without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubmitSlash {
    /// The command: `/`, its name, and its arguments.
    pub text: String,
}

/// Opens a panel, like the call `open_panel` without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenPanel {
    /// The panel.
    pub panel: Panel,
}

/// Runs a tool of the model, like the call `call_tool`. The host answers with `tool_result`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolRequest {
    /// The id for the result. It must be unique among the open calls.
    pub id: RequestId,
    /// The name of the tool.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// The arguments of the tool.
    #[serde(default, deserialize_with = "object_or_empty")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub args: RawJson,
    /// The `id` of the host's open request that the call serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<RequestId>,
}

/// Cancels a `call_tool`, like `host_call_cancel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolRequestCancel {
    /// The `id` of the `call_tool`.
    pub id: RequestId,
}

/// The result of a `call_tool`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolRequestResult {
    /// The `id` of the `call_tool`.
    pub id: RequestId,
    /// The name of the tool.
    pub name: String,
    /// The content that the model would get.
    pub content: Vec<ResultBlock>,
    /// True if the call failed.
    pub is_error: bool,
}

/// The host no longer waits for the result of a `tool_call`, like `cancel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCancel {
    /// The `id` of the `tool_call`.
    pub id: RequestId,
}

impl SubmitText {
    /// Returns the call that does the same.
    pub fn into_host_call(self) -> HostCall {
        unnamed_call(HostCallKind::Prompt, &BTreeMap::from([("message", self.text.as_str())]))
    }
}

impl OpenPanel {
    /// Returns the call that does the same.
    pub fn into_host_call(self) -> HostCall {
        unnamed_call(HostCallKind::OpenPanel, &self.panel)
    }
}

impl SubmitSlash {
    /// Returns the call that does the same; `None` if the text does not begin with `/`.
    pub fn into_host_call(self) -> Option<HostCall> {
        let typed = self.text.strip_prefix('/')?;
        let (name, args) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        Some(unnamed_call(HostCallKind::RunCommand, &BTreeMap::from([("name", name), ("args", args.trim())])))
    }
}

impl ToolRequest {
    /// Returns the call that does the same. Its result has to be sent as [`ToolRequestResult`].
    pub fn into_host_call(self) -> HostCall {
        let Self { id, name, args, parent_id: under } = self;
        let args = CallToolArgs { name, args };
        HostCall { id: Some(id), under, ..unnamed_call(HostCallKind::CallTool, &args) }
    }
}

fn unnamed_call(kind: HostCallKind, args: &impl Serialize) -> HostCall {
    // Types of this crate have a JSON form.
    let args = RawJson::from_value(args).unwrap_or_default();
    HostCall { id: None, call: kind.name().to_owned(), args, under: None, session: None }
}

fn object_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
    crate::json::optional_object(deserializer).map(Option::unwrap_or_default)
}
