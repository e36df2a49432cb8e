//! `ToolBuilder`: a tool with further properties.

use std::time::Duration;

use haft_protocol::RawJson;
use haft_protocol::ext::RegisterTool;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::handler::{BoxedHandler, HandlerFn};
use crate::tool::{self, ToolResult};

/// A tool with its texts, its properties and its handler; see
/// [`Extension::add_tool`](crate::Extension::add_tool).
#[derive(Debug)]
#[must_use = "a tool does nothing until it is added to an extension"]
pub struct ToolBuilder {
    registration: RegisterTool,
    handler: BoxedHandler<RawJson, ToolResult>,
}

impl ToolBuilder {
    /// Creates a tool whose handler gets typed arguments, as with
    /// [`Extension::tool`](crate::Extension::tool).
    pub fn new<Args>(
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl HandlerFn<Args, ToolResult>,
    ) -> Self
    where
        Args: DeserializeOwned + JsonSchema + Send + 'static,
    {
        Self::from_parts(
            name,
            description,
            RawJson::schema_of::<Args>(),
            BoxedHandler::new(handler).reading_args(),
        )
    }

    /// Creates a tool with a hand-written schema, as with
    /// [`Extension::raw_tool`](crate::Extension::raw_tool).
    pub fn new_raw(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        handler: impl HandlerFn<RawJson, ToolResult>,
    ) -> Self {
        Self::from_parts(name, description, schema.into(), BoxedHandler::new(handler))
    }

    fn from_parts(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: RawJson,
        handler: BoxedHandler<RawJson, ToolResult>,
    ) -> Self {
        Self { registration: tool::tool_registration(name, description, schema), handler }
    }

    /// Adds a line about the tool to the system prompt. The line should name the tool.
    pub fn with_guideline(mut self, line: impl Into<String>) -> Self {
        self.registration.guidelines.push(line.into());
        self
    }

    /// Sets the name for people, which clients show in place of the name: one line of at most 64
    /// characters.
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.registration.label = label.into();
        self
    }

    /// Sets the line about the tool in the list of the system prompt. Without it, the list has the
    /// first line of the description.
    pub fn with_snippet(mut self, snippet: impl Into<String>) -> Self {
        self.registration.snippet = snippet.into();
        self
    }

    /// Runs each call alone: earlier calls of the same message finish first, and later ones wait.
    pub fn run_alone(mut self) -> Self {
        self.registration.exclusive = true;
        self
    }

    /// Sets the time limit of a call, in place of 60 s. [`Host::show_progress`](crate::Host::show_progress)
    /// starts it again.
    pub fn with_timeout(mut self, time: Duration) -> Self {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.registration.timeout_ms = Some(ms.max(1));
        self
    }

    /// Removes the time limit: a call waits for its result until the user stops the run.
    pub fn without_timeout(mut self) -> Self {
        self.registration.timeout_ms = Some(0);
        self
    }

    /// Replaces the built-in tool of this name. The manifest must list the name in
    /// `permissions.tools.replace`, which the user approves.
    pub fn replace_built_in(mut self) -> Self {
        self.registration.replaces = true;
        self
    }

    pub(crate) fn into_parts(self) -> (RegisterTool, BoxedHandler<RawJson, ToolResult>) {
        (self.registration, self.handler)
    }
}
