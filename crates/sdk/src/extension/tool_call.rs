//! Handlers of tool calls: their tools and roles.

use haft_protocol::ext::{InterceptKind, InterceptRole, InterceptToolCall, Subscription, ToolCallDecision};

use crate::handler::BoxedHandler;

/// A selection of tools: a name, several names, or [`ToolSelection::all`]. Case is ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSelection(Vec<String>);

/// The decision of a gate about a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateDecision {
    /// Allows the call.
    Allow,
    /// Blocks the call.
    Block {
        /// The text for the model.
        reason: String,
    },
}

#[derive(Debug)]
pub(crate) struct ToolCallHandler {
    pub(crate) tools: ToolSelection,
    pub(crate) kind: ToolCallHandlerKind,
}

#[derive(Debug)]
pub(crate) enum ToolCallHandlerKind {
    /// A handler that runs in order and may do everything; with the role `rewrite` if it was
    /// registered as such.
    Ordered {
        rewrite: bool,
        handler: BoxedHandler<InterceptToolCall, ToolCallDecision>,
    },
    Gate(BoxedHandler<InterceptToolCall, GateDecision>),
}

impl ToolCallHandler {
    pub(crate) fn to_subscription(&self) -> Subscription {
        let entry = Subscription::new(InterceptKind::ToolCall.name()).tools(&self.tools.0);
        match self.kind {
            ToolCallHandlerKind::Gate(_) => entry.role(InterceptRole::Gate),
            ToolCallHandlerKind::Ordered { rewrite: true, .. } => entry.role(InterceptRole::Rewrite),
            ToolCallHandlerKind::Ordered { rewrite: false, .. } => entry,
        }
    }
}

impl ToolSelection {
    /// Selects all tools.
    pub fn all() -> Self {
        Self::default()
    }

    pub(crate) fn matches(&self, tool: &str) -> bool {
        self.is_all() || self.0.iter().any(|name| name.eq_ignore_ascii_case(tool))
    }

    pub(crate) fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns a tool that is in both selections; an empty name means all tools.
    pub(crate) fn find_overlap(&self, other: &Self) -> Option<String> {
        match (self.is_all(), other.is_all()) {
            (true, true) => Some(String::new()),
            (true, false) => other.0.first().cloned(),
            (false, true) => self.0.first().cloned(),
            (false, false) => self.0.iter().find(|name| other.matches(name)).cloned(),
        }
    }
}

impl From<&str> for ToolSelection {
    fn from(tool: &str) -> Self {
        Self(vec![tool.to_owned()])
    }
}

impl<const N: usize> From<[&str; N]> for ToolSelection {
    fn from(tools: [&str; N]) -> Self {
        Self(tools.iter().map(|&tool| tool.to_owned()).collect())
    }
}

impl From<Vec<String>> for ToolSelection {
    fn from(tools: Vec<String>) -> Self {
        Self(tools)
    }
}

impl GateDecision {
    /// Allows the call.
    pub fn allow() -> Self {
        Self::Allow
    }

    /// Blocks the call; the model reads the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: reason.into() }
    }
}
