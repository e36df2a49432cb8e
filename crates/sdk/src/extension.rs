//! The builder: what an extension has to offer, said once.

use haft_protocol::RawJson;
use haft_protocol::ext::{
    AssistantMessageDecision, BeforeAgentStartDecision, BeforeCompactDecision, CommandAction, Event,
    InterceptAssistantMessage, InterceptBeforeAgentStart, InterceptBeforeCompact, InterceptKind,
    InterceptTurnStart, RegisterCommand, RegisterRejected, RegisterTool, TurnStartDecision,
};
use haft_protocol::ids::PanelId;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::completion::Completion;
use crate::handler::{Failure, Handler, IntoAnswer};
use crate::host::Host;
use crate::panel::PanelEvent;
use crate::tool::{self, ToolResult};

pub(crate) mod check;
mod frames;
mod tool_call;

pub use tool_call::{GateDecision, Tools};
pub(crate) use tool_call::{Kind, ToolCallHandler};

/// An extension: its name and everything it offers. Built by value, then [`run`](Self::run).
///
/// Every handler has the same form: `|input, host| async move { … }`, where `host` is a [`Host`]. It returns the
/// answer, or a `Result` whose error is told to whoever asked. Two handlers for the same command, tool, panel or
/// intercept are refused when the extension starts; several for one event run in the order given.
#[derive(Debug)]
#[must_use = "an extension does nothing until it is run"]
pub struct Extension {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) commands: Vec<(RegisterCommand, Handler<String, CommandAction>)>,
    /// By the command that they are for.
    pub(crate) completions: Vec<(String, Handler<String, Vec<Completion>>)>,
    pub(crate) tools: Vec<(RegisterTool, Handler<RawJson, ToolResult>)>,
    pub(crate) events: Vec<(String, Tools, Handler<Event, ()>)>,
    pub(crate) event_gap: Option<Handler<u64, ()>>,
    pub(crate) rejected: Option<Handler<RegisterRejected, ()>>,
    pub(crate) panels: Vec<(PanelId, Handler<PanelEvent, ()>)>,
    pub(crate) tool_calls: Vec<ToolCallHandler>,
    pub(crate) turn_start: Option<Handler<InterceptTurnStart, TurnStartDecision>>,
    pub(crate) assistant_message: Option<Handler<InterceptAssistantMessage, AssistantMessageDecision>>,
    pub(crate) before_agent_start: Option<Handler<InterceptBeforeAgentStart, BeforeAgentStartDecision>>,
    pub(crate) before_compact: Option<Handler<InterceptBeforeCompact, BeforeCompactDecision>>,
    /// What was registered twice or for nothing; reported when the extension starts.
    faults: Vec<String>,
}

impl Extension {
    /// An extension that offers nothing yet. `name` is the manifest's.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            commands: Vec::new(),
            completions: Vec::new(),
            tools: Vec::new(),
            events: Vec::new(),
            event_gap: None,
            rejected: None,
            panels: Vec::new(),
            tool_calls: Vec::new(),
            turn_start: None,
            assistant_message: None,
            before_agent_start: None,
            before_compact: None,
            faults: Vec::new(),
        }
    }

    /// A command for the user: `/name`. The handler gets everything after the name, trimmed, and answers within 30 s.
    pub fn command<F, Fut>(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: F,
    ) -> Self
    where
        F: Fn(String, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<CommandAction>> + Send + 'static,
    {
        let command =
            RegisterCommand { name: name.into(), description: description.into(), completes: false };
        self.commands.push((command, Handler::new(handler)));
        self
    }

    /// Says what may follow one of the commands registered before, while it is typed. The handler gets what is typed behind
    /// the name, up to the cursor, and answers within 1 s with what may stand in its place, the likeliest first: what it
    /// does not filter, nobody does. Late or failed means that nothing is offered. Hosts that do not ask never call it.
    pub fn complete<F, Fut>(mut self, command: &str, handler: F) -> Self
    where
        F: Fn(String, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<Vec<Completion>>> + Send + 'static,
    {
        match self.commands.iter_mut().find(|(registered, _)| registered.name == command) {
            Some((registered, _)) if registered.completes => {
                self.faults.push(format!("command {command:?} is completed by two handlers"));
            }
            Some((registered, _)) => {
                registered.completes = true;
                self.completions.push((command.to_owned(), Handler::new(handler)));
            }
            None => self
                .faults
                .push(format!("completion of command {command:?}, which is not registered before it")),
        }
        self
    }

    /// A tool for the model, with typed arguments: `Args` gives the schema, and a call that does not fit it is
    /// answered with an error that names the field. Make `Args` a struct: the schema must describe an object, and some
    /// model APIs refuse the alternatives that an enum with data stands for. The handler answers within 60 s.
    pub fn tool<Args, F, Fut>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: F,
    ) -> Self
    where
        Args: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(Args, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<ToolResult>> + Send + 'static,
    {
        let typed = Handler::new(handler);
        self.add_tool(name, description, tool::schema_of::<Args>(), move |args: RawJson, host| {
            let typed = typed.clone();
            async move {
                let args = tool::read_args(&args)?;
                typed.call(args, host).await.map_err(|Failure(reason)| reason)
            }
        })
    }

    /// A tool with a schema written by hand. The handler gets the model's arguments byte for byte and checks them
    /// itself.
    pub fn raw_tool<F, Fut>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        handler: F,
    ) -> Self
    where
        F: Fn(RawJson, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<ToolResult>> + Send + 'static,
    {
        self.add_tool(name, description, schema.into(), handler)
    }

    /// A line for the system prompt about one of the tools registered before. It should name the tool.
    pub fn guideline(mut self, tool: &str, line: impl Into<String>) -> Self {
        match self.tools.iter_mut().find(|(registered, _)| registered.name == tool) {
            Some((registered, _)) => registered.guidelines.push(line.into()),
            None => {
                self.faults.push(format!("guideline for tool {tool:?}, which is not registered before it"))
            }
        }
        self
    }

    /// Watches an event: `session_start`, `turn_start`, `tool_call`, `assistant_message`, `turn_end`, `compaction_start`
    /// or `compaction_end`. Events and
    /// what happens to panels are handled one after the other, in order; nobody waits for them.
    pub fn on<F, Fut>(mut self, event: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Event, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<()>> + Send + 'static,
    {
        self.events.push((event.into(), Tools::all(), Handler::new(handler)));
        self
    }

    /// Hears of events that were lost, because this extension does not read fast enough: how many, in their place among
    /// those that came. Without a handler the extension's log says so.
    pub fn on_event_gap<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(u64, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<()>> + Send + 'static,
    {
        let earlier = self.event_gap.replace(Handler::new(handler));
        if earlier.is_some() {
            self.faults.push("gaps between events have two handlers".to_owned());
        }
        self
    }

    /// Hears of what was not registered, because the user did not grant it: each tool, event and intercept. The rest works.
    /// haft tells the user in any case.
    pub fn on_rejected<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(RegisterRejected, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<()>> + Send + 'static,
    {
        let earlier = self.rejected.replace(Handler::new(handler));
        if earlier.is_some() {
            self.faults.push("rejected registrations have two handlers".to_owned());
        }
        self
    }

    /// What happens to one panel: keys, room, its end. The panel is opened by a command's answer,
    /// [`Response::open_panel`](crate::Response::open_panel), and redrawn by [`Host::render_panel`].
    pub fn panel<F, Fut>(mut self, id: impl Into<String>, handler: F) -> Self
    where
        F: Fn(PanelEvent, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<()>> + Send + 'static,
    {
        self.panels.push((PanelId::new(id), Handler::new(handler)));
        self
    }

    /// Decides whether the model may be called: allow or block. Answer within 5 s; late or failed means allowed.
    pub fn intercept_turn_start<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(InterceptTurnStart, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<TurnStartDecision>> + Send + 'static,
    {
        let earlier = self.turn_start.replace(Handler::new(handler));
        self.once(earlier.is_none(), InterceptKind::TurnStart)
    }

    /// Decides what the user sees of what the model said: show, replace, suppress. Answer within 5 s; late or failed
    /// means shown.
    pub fn intercept_assistant_message<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(InterceptAssistantMessage, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<AssistantMessageDecision>> + Send + 'static,
    {
        let earlier = self.assistant_message.replace(Handler::new(handler));
        self.once(earlier.is_none(), InterceptKind::AssistantMessage)
    }

    /// Adds to the system prompt before a prompt is worked on. Answer within 5 s; late or failed means unchanged.
    /// Hosts that do not know this intercept never ask.
    pub fn before_agent_start<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(InterceptBeforeAgentStart, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<BeforeAgentStartDecision>> + Send + 'static,
    {
        let earlier = self.before_agent_start.replace(Handler::new(handler));
        self.once(earlier.is_none(), InterceptKind::BeforeAgentStart)
    }

    /// Refuses that the conversation is summed up, or writes the summary itself. Answer within 60 s; late or failed means
    /// that the model sums up. Hosts that do not know this intercept never ask.
    pub fn before_compact<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(InterceptBeforeCompact, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<BeforeCompactDecision>> + Send + 'static,
    {
        let earlier = self.before_compact.replace(Handler::new(handler));
        self.once(earlier.is_none(), InterceptKind::BeforeCompact)
    }

    fn add_tool<F, Fut>(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        schema: RawJson,
        handler: F,
    ) -> Self
    where
        F: Fn(RawJson, Host) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<ToolResult>> + Send + 'static,
    {
        let (name, description) = (name.into(), description.into());
        let tool = RegisterTool { name, description, schema: Some(schema), guidelines: Vec::new() };
        self.tools.push((tool, Handler::new(handler)));
        self
    }

    fn once(mut self, first: bool, kind: InterceptKind) -> Self {
        if !first {
            self.faults.push(format!("intercept {} has two handlers", kind.name()));
        }
        self
    }

    /// The intercepts that have a handler.
    pub(crate) fn intercepts(&self) -> impl Iterator<Item = InterceptKind> {
        let kinds = [
            (!self.tool_calls.is_empty(), InterceptKind::ToolCall),
            (self.turn_start.is_some(), InterceptKind::TurnStart),
            (self.assistant_message.is_some(), InterceptKind::AssistantMessage),
            (self.before_agent_start.is_some(), InterceptKind::BeforeAgentStart),
            (self.before_compact.is_some(), InterceptKind::BeforeCompact),
        ];
        kinds.into_iter().filter_map(|(present, kind)| present.then_some(kind))
    }
}
