//! Tool calls: for which tools, in which role, by which handler.

use haft_protocol::ext::{
    Event, InterceptKind, InterceptRole, InterceptToolCall, Subscription, ToolCallDecision,
};

use super::Extension;
use crate::handler::{Handler, IntoAnswer};
use crate::host::Host;

/// Some tools, or all of them: a name, several names, or [`Tools::all`]. Upper and lower case are one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tools(Vec<String>);

/// What a gate decides about a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateDecision {
    /// It may run.
    Allow,
    /// It does not run.
    Block {
        /// What the model is told.
        reason: String,
    },
}

/// One handler of tool calls.
#[derive(Debug)]
pub(crate) struct ToolCallHandler {
    pub(crate) tools: Tools,
    pub(crate) kind: Kind,
}

/// What a handler may do.
#[derive(Debug)]
pub(crate) enum Kind {
    /// Everything, asked in order; `rewrite` when it said that this is what it is for.
    Ordered { rewrite: bool, handler: Handler<InterceptToolCall, ToolCallDecision> },
    /// Say yes or no.
    Gate(Handler<InterceptToolCall, GateDecision>),
}

impl Extension {
    /// Decides about every tool call before it runs: allow, rewrite its arguments, block. Answer within 5 s; late or
    /// failed means blocked.
    ///
    /// A [`gate`](Self::gate) or a [`rewrite`](Self::rewrite) says more exactly what it wants, and costs calls of other
    /// tools nothing.
    pub fn intercept_tool_call<F, Fut>(self, handler: F) -> Self
    where
        F: Fn(InterceptToolCall, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<ToolCallDecision>> + Send + 'static,
    {
        let kind = Kind::Ordered { rewrite: false, handler: Handler::new(handler) };
        self.on_tools(Tools::all(), kind)
    }

    /// Says yes or no to calls of these tools. It is asked last, with the arguments that the tool will get, and beside
    /// all other gates. Answer within 5 s; late or failed means blocked.
    ///
    /// ```
    /// use haft_sdk::{Extension, GateDecision};
    ///
    /// let extension = Extension::new("guard", "1.0.0").gate("bash", |call, _host| async move {
    ///     match call.tool_args.as_str().contains("git push") {
    ///         true => GateDecision::block("pushing is for people"),
    ///         false => GateDecision::allow(),
    ///     }
    /// });
    /// # drop(extension);
    /// ```
    pub fn gate<F, Fut>(self, tools: impl Into<Tools>, handler: F) -> Self
    where
        F: Fn(InterceptToolCall, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<GateDecision>> + Send + 'static,
    {
        self.on_tools(tools.into(), Kind::Gate(Handler::new(handler)))
    }

    /// Changes the arguments of calls of these tools, or lets them be. It is asked in its turn, before any gate. Answer
    /// within 5 s; late or failed means blocked.
    ///
    /// ```
    /// use haft_sdk::{Extension, ToolCallDecision};
    /// use serde_json::{Value, json};
    ///
    /// let extension = Extension::new("polite", "1.0.0").rewrite(["read", "ls"], |call, _host| async move {
    ///     let args: Value = call.tool_args.read()?;
    ///     match args["path"].as_str().and_then(|path| path.strip_prefix('@')) {
    ///         Some(path) => Ok::<_, serde_json::Error>(ToolCallDecision::rewrite(json!({ "path": path }))),
    ///         None => Ok(ToolCallDecision::allow()),
    ///     }
    /// });
    /// # drop(extension);
    /// ```
    pub fn rewrite<F, Fut>(self, tools: impl Into<Tools>, handler: F) -> Self
    where
        F: Fn(InterceptToolCall, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<ToolCallDecision>> + Send + 'static,
    {
        self.on_tools(tools.into(), Kind::Ordered { rewrite: true, handler: Handler::new(handler) })
    }

    /// Watches calls of these tools: [`on`](Self::on) for `tool_call`, and nothing else.
    pub fn on_tool_call<F, Fut>(mut self, tools: impl Into<Tools>, handler: F) -> Self
    where
        F: Fn(Event, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<()>> + Send + 'static,
    {
        self.events.push((InterceptKind::ToolCall.name().to_owned(), tools.into(), Handler::new(handler)));
        self
    }

    /// Who decides about calls of this tool.
    pub(crate) fn tool_call_handler(&self, tool: &str) -> Option<&Kind> {
        self.tool_calls.iter().find(|handler| handler.tools.has(tool)).map(|handler| &handler.kind)
    }

    /// Two handlers for one tool are refused: which of them the host heard of would be anybody's guess.
    fn on_tools(mut self, tools: Tools, kind: Kind) -> Self {
        let shared = self.tool_calls.iter().find_map(|earlier| earlier.tools.shared(&tools));
        if let Some(tool) = shared {
            self.faults.push(match tool.as_str() {
                "" => "intercept tool_call has two handlers".to_owned(),
                tool => format!("calls of tool {tool:?} have two handlers"),
            });
        }
        self.tool_calls.push(ToolCallHandler { tools, kind });
        self
    }
}

impl ToolCallHandler {
    /// What it subscribes to.
    pub(crate) fn subscription(&self) -> Subscription {
        let entry = Subscription::new(InterceptKind::ToolCall.name()).tools(&self.tools.0);
        match self.kind {
            Kind::Gate(_) => entry.role(InterceptRole::Gate),
            Kind::Ordered { rewrite: true, .. } => entry.role(InterceptRole::Rewrite),
            Kind::Ordered { rewrite: false, .. } => entry,
        }
    }
}

impl Tools {
    /// Every tool there is.
    pub fn all() -> Self {
        Self::default()
    }

    pub(crate) fn has(&self, tool: &str) -> bool {
        self.is_all() || self.0.iter().any(|name| name.eq_ignore_ascii_case(tool))
    }

    pub(crate) fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    /// A tool that is in both; an empty name stands for all.
    fn shared(&self, other: &Self) -> Option<String> {
        match (self.is_all(), other.is_all()) {
            (true, true) => Some(String::new()),
            (true, false) => other.0.first().cloned(),
            (false, true) => self.0.first().cloned(),
            (false, false) => self.0.iter().find(|name| other.has(name)).cloned(),
        }
    }
}

impl From<&str> for Tools {
    fn from(tool: &str) -> Self {
        Self(vec![tool.to_owned()])
    }
}

impl<const N: usize> From<[&str; N]> for Tools {
    fn from(tools: [&str; N]) -> Self {
        Self(tools.iter().map(|&tool| tool.to_owned()).collect())
    }
}

impl From<Vec<String>> for Tools {
    fn from(tools: Vec<String>) -> Self {
        Self(tools)
    }
}

impl GateDecision {
    /// The call may run.
    pub fn allow() -> Self {
        Self::Allow
    }

    /// The call does not run; the model reads the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: reason.into() }
    }
}
