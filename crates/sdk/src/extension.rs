//! The builder of an extension: its registrations, their checks, and their frames.

use std::collections::BTreeSet;

use haft_protocol::RawJson;
use haft_protocol::ext::{
    ApproveDecision, AssistantMessageDecision, BeforeAgentStartDecision, BeforeCompactDecision,
    BeforeForkDecision, BeforeProviderRequestDecision, BeforeSettleDecision, BeforeSwitchDecision,
    BeforeTreeDecision, BusMessage, CommandAction, ContextDecision, InputDecision, InterceptAgentEnd,
    InterceptAgentStart, InterceptApprove, InterceptAssistantMessage, InterceptBeforeAgentStart,
    InterceptBeforeCompact, InterceptBeforeFork, InterceptBeforeProviderRequest, InterceptBeforeSettle,
    InterceptBeforeSwitch, InterceptBeforeTree, InterceptContext, InterceptInput, InterceptKind,
    InterceptMessageEnd, InterceptMessageStart, InterceptProjectTrust, InterceptResources,
    InterceptSessionShutdown, InterceptSessionStart, InterceptToolCall, InterceptToolEnd,
    InterceptToolResult, InterceptTurnEnd, InterceptTurnStart, InterceptUserBash, LifecycleEvent,
    MessageEndDecision, MirrorPart, PressShortcut, ProjectTrustDecision, RegisterCommand, RegisterRejected,
    RegisterTool, ResourcesDecision, SessionEvent, ToolCallDecision, ToolResultDecision, TurnStartDecision,
    UserBashDecision,
};
use haft_protocol::ids::PanelId;
use haft_protocol::limits::MAX_TOOLS;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::completion::Completion;
use crate::error::ServeError;
use crate::handler::{BoxedHandler, HandlerFailure, HandlerFn};
use crate::host::Host;
use crate::panel::PanelEvent;
use crate::tool::ToolResult;
use crate::tool_builder::ToolBuilder;

pub(crate) mod check;
mod event_handlers;
mod hook_handlers;
mod shortcuts;
mod start_frames;
mod tool_call;
mod waits;

pub(crate) use event_handlers::EventHandler;
use event_handlers::EventHandlers;
use hook_handlers::HookHandlers;
use shortcuts::ShortcutHandlers;
use start_frames::StartFrames;
pub use tool_call::{GateDecision, ToolSelection};
pub(crate) use tool_call::{ToolCallHandler, ToolCallHandlerKind};
use waits::WaitHandlers;

/// An extension: its name and all its registrations. Built by value, then [`run`](Self::run).
///
/// All handlers have the same form ([`HandlerFn`]): `|input, host| async move { … }`, where `host`
/// is a [`Host`](crate::Host). A handler returns the answer, or a `Result` whose error goes to the
/// caller. Two handlers for the same command, tool, panel or hook are an error when the extension
/// starts. Several handlers of one event run in the order of their registration.
#[derive(Debug)]
#[must_use = "an extension does nothing until it is run"]
pub struct Extension {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) commands: Vec<(RegisterCommand, BoxedHandler<String, CommandAction>)>,
    pub(crate) shortcuts: ShortcutHandlers,
    /// The completion handlers, with the names of their commands.
    pub(crate) completions: Vec<(String, BoxedHandler<String, Vec<Completion>>)>,
    pub(crate) tools: Vec<(RegisterTool, BoxedHandler<RawJson, ToolResult>)>,
    pub(crate) events: EventHandlers,
    pub(crate) event_gap: Option<BoxedHandler<u64, ()>>,
    pub(crate) rejected: Option<BoxedHandler<RegisterRejected, ()>>,
    pub(crate) panels: Vec<(PanelId, BoxedHandler<PanelEvent, ()>)>,
    pub(crate) tool_calls: Vec<ToolCallHandler>,
    pub(crate) hooks: HookHandlers,
    pub(crate) waits: WaitHandlers,
    mirror: BTreeSet<MirrorPart>,
    /// Duplicate or invalid registrations, reported when the extension starts.
    faults: Vec<String>,
}

impl Extension {
    /// Creates an extension without registrations. `name` is the name in the manifest.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            commands: Vec::new(),
            shortcuts: ShortcutHandlers::default(),
            completions: Vec::new(),
            tools: Vec::new(),
            events: EventHandlers::default(),
            event_gap: None,
            rejected: None,
            panels: Vec::new(),
            tool_calls: Vec::new(),
            mirror: BTreeSet::new(),
            hooks: HookHandlers::default(),
            waits: WaitHandlers::default(),
            faults: Vec::new(),
        }
    }

    /// Registers a command for the user: `/name`. The handler gets the text after the name,
    /// trimmed, and must answer within 30 s.
    #[doc(alias = "register_command")]
    pub fn command(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl HandlerFn<String, CommandAction>,
    ) -> Self {
        let command =
            RegisterCommand { name: name.into(), description: description.into(), completes: false };
        self.commands.push((command, BoxedHandler::new(handler)));
        self
    }

    /// Registers a key for the user, such as `ctrl+g` or `f8`. The handler gets the session of the press and must end within 30 s. Keys of haft
    /// and of the user go first. Hosts without shortcuts never call it.
    pub fn shortcut(
        mut self,
        key: impl Into<String>,
        description: impl Into<String>,
        handler: impl HandlerFn<PressShortcut, ()>,
    ) -> Self {
        self.shortcuts.add_handler(key.into(), description.into(), handler);
        self
    }

    /// Adds completions to a command that is already registered. The handler gets the text after
    /// the name, up to the cursor, and must answer within 1 s. It returns the possible replacements
    /// of that text, the best first; the host does not filter them. After a timeout or failure the
    /// host shows no completions. A host without completions never calls the handler.
    pub fn complete(mut self, command: &str, handler: impl HandlerFn<String, Vec<Completion>>) -> Self {
        match self.commands.iter_mut().find(|(registered, _)| registered.name == command) {
            Some((registered, _)) if registered.completes => {
                self.faults.push(format!("command {command:?} has two completion handlers"));
            }
            Some((registered, _)) => {
                registered.completes = true;
                self.completions.push((command.to_owned(), BoxedHandler::new(handler)));
            }
            None => {
                self.faults.push(format!("completion of command {command:?}: register the command first"))
            }
        }
        self
    }

    /// Registers a tool for the model, with typed arguments. `Args` determines the schema; a call
    /// with other arguments is answered with an error that names the field. Make `Args` a struct:
    /// the schema must describe an object, and some model APIs reject the alternatives of an enum
    /// with data. The handler must answer within 60 s.
    #[doc(alias = "register_tool")]
    pub fn tool<Args>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl HandlerFn<Args, ToolResult>,
    ) -> Self
    where
        Args: DeserializeOwned + JsonSchema + Send + 'static,
    {
        self.add_tool(ToolBuilder::new(name, description, handler))
    }

    /// Registers a tool with a hand-written schema. The handler gets the model's arguments byte for
    /// byte and must check them.
    pub fn raw_tool(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        handler: impl HandlerFn<RawJson, ToolResult>,
    ) -> Self {
        self.add_tool(ToolBuilder::new_raw(name, description, schema, handler))
    }

    /// Registers a tool with further properties.
    ///
    /// ```
    /// use haft_sdk::{Extension, NoArgs, ToolBuilder, ToolResult};
    ///
    /// let count = ToolBuilder::new("count", "Counts all lines.", |_: NoArgs, host| async move {
    ///     for file in 0..40 {
    ///         if host.is_cancelled() {
    ///             return ToolResult::error("stopped");
    ///         }
    ///         host.show_progress(format!("{file} of 40 files"));
    ///     }
    ///     ToolResult::text("1200 lines").with_details(serde_json::json!({ "lines": 1200 }))
    /// });
    /// let count = count.with_label("Count lines").without_timeout();
    /// let extension = Extension::new("lines", "1.0.0").add_tool(count);
    /// # drop(extension);
    /// ```
    pub fn add_tool(mut self, tool: ToolBuilder) -> Self {
        self.tools.push(tool.into_parts());
        self
    }

    /// Adds a line about a tool that is already registered to the system prompt. The line should
    /// name the tool.
    pub fn guideline(mut self, tool: &str, line: impl Into<String>) -> Self {
        match self.tools.iter_mut().find(|(registered, _)| registered.name == tool) {
            Some((registered, _)) => registered.guidelines.push(line.into()),
            None => self.faults.push(format!("guideline for tool {tool:?}: register the tool first")),
        }
        self
    }

    /// Subscribes to an event: `session_start`, `turn_start`, `tool_call`, `assistant_message`,
    /// `turn_end`, `compaction_start` or `compaction_end`. Events and panel events are handled one
    /// at a time, in order; the host does not wait for them.
    pub fn on_event(mut self, event: impl Into<String>, handler: impl HandlerFn<LifecycleEvent, ()>) -> Self {
        let handler = EventHandler::Lifecycle(BoxedHandler::new(handler));
        self.events.add_handler(event, ToolSelection::all(), handler);
        self
    }

    /// Subscribes to an event of `haft --json` by its name there, such as `tool_end` or
    /// `text_delta`, or to `session_start`. [`SessionEvent::read`] returns its fields as a type of
    /// the extension. Hosts without the capability `events_2` never call the handler.
    ///
    /// ```
    /// use haft_sdk::Extension;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct ToolEnd {
    ///     name: String,
    ///     duration_ms: u64,
    /// }
    ///
    /// let extension = Extension::new("times", "1.0.0").on_session_event("tool_end", |event, host| async move {
    ///     let ToolEnd { name, duration_ms } = event.read()?;
    ///     host.log(format_args!("{name} took {duration_ms} ms"));
    ///     Ok::<_, serde_json::Error>(())
    /// });
    /// # drop(extension);
    /// ```
    pub fn on_session_event(
        mut self,
        event: impl Into<String>,
        handler: impl HandlerFn<SessionEvent, ()>,
    ) -> Self {
        let handler = EventHandler::Session(BoxedHandler::new(handler));
        self.events.add_handler(event, ToolSelection::all(), handler);
        self
    }

    /// Mirrors these parts of the session: [`Host::session_mirror`](crate::Host::session_mirror) reads them without a
    /// question to the host. Needs the permission `session.read`. Under a host without the capability
    /// `mirror`, the mirror stays empty.
    pub fn mirror_session(mut self, parts: impl IntoIterator<Item = MirrorPart>) -> Self {
        self.mirror.extend(parts);
        self
    }

    /// Registers a handler for messages of other extensions on the bus. [`Host::emit_message`] sends one. It
    /// needs the permission `bus`.
    ///
    /// ```
    /// use haft_sdk::{BusMessage, Extension};
    ///
    /// let extension = Extension::new("lamp", "1.0.0").on_bus(|message: BusMessage, host| async move {
    ///     if message.channel == "build" {
    ///         host.set_status("build", message.data.to_string());
    ///     }
    /// });
    /// # drop(extension);
    /// ```
    pub fn on_bus(mut self, handler: impl HandlerFn<BusMessage, ()>) -> Self {
        let handler = BoxedHandler::new(handler);
        let read = move |event: SessionEvent, host: Host| {
            let handler: BoxedHandler<BusMessage, ()> = handler.clone();
            async move {
                let message = event.read().map_err(|error| error.to_string())?;
                handler.call(message, host).await.map_err(|HandlerFailure(text)| text)
            }
        };
        let handler = EventHandler::Session(BoxedHandler::new(read));
        self.events.add_handler(BusMessage::EVENT, ToolSelection::all(), handler);
        self
    }

    /// Registers a handler for events that were lost because this extension reads too slowly. It
    /// gets their number, in order with the other events. The host reports it only to extensions
    /// without tools, commands and interceptors. Without a handler the SDK logs the number.
    pub fn on_event_gap(mut self, handler: impl HandlerFn<u64, ()>) -> Self {
        let earlier = self.event_gap.replace(BoxedHandler::new(handler));
        if earlier.is_some() {
            self.faults.push("event gaps have two handlers".to_owned());
        }
        self
    }

    /// Registers a handler for rejected registrations: each tool, event and hook that the user did
    /// not grant. The other registrations work. haft tells the user in any case.
    pub fn on_rejected(mut self, handler: impl HandlerFn<RegisterRejected, ()>) -> Self {
        let earlier = self.rejected.replace(BoxedHandler::new(handler));
        if earlier.is_some() {
            self.faults.push("rejected registrations have two handlers".to_owned());
        }
        self
    }

    /// Handles the events of one panel: keys, size, close. The response of a command opens the
    /// panel, [`Response::open_panel`](crate::Response::open_panel).
    /// [`Host::render_panel`](crate::Host::render_panel) redraws it.
    pub fn panel(mut self, id: impl Into<String>, handler: impl HandlerFn<PanelEvent, ()>) -> Self {
        self.panels.push((PanelId::new(id), BoxedHandler::new(handler)));
        self
    }

    /// Allows or blocks a request to the model. Must answer within 5 s; a late or failed handler
    /// allows it.
    pub fn intercept_turn_start(
        mut self,
        handler: impl HandlerFn<InterceptTurnStart, TurnStartDecision>,
    ) -> Self {
        let earlier = self.hooks.turn_start.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::TurnStart)
    }

    /// Changes the model's text for the user: show, replace, suppress. Must answer within 5 s; a
    /// late or failed handler shows the text unchanged.
    pub fn intercept_assistant_message(
        mut self,
        handler: impl HandlerFn<InterceptAssistantMessage, AssistantMessageDecision>,
    ) -> Self {
        let earlier = self.hooks.assistant_message.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::AssistantMessage)
    }

    /// Adds to the system prompt and to the conversation before the agent works on a prompt. Must answer within 5 s; a late
    /// or failed handler adds nothing. Hosts without this hook never call it.
    pub fn before_agent_start(
        mut self,
        handler: impl HandlerFn<InterceptBeforeAgentStart, BeforeAgentStartDecision>,
    ) -> Self {
        let earlier = self.hooks.before_agent_start.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::BeforeAgentStart)
    }

    /// Cancels a compaction, or writes the summary itself. Must answer within 60 s; after a late or
    /// failed handler the model writes the summary. Hosts without this hook never call it.
    pub fn before_compact(
        mut self,
        handler: impl HandlerFn<InterceptBeforeCompact, BeforeCompactDecision>,
    ) -> Self {
        let earlier = self.hooks.before_compact.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::BeforeCompact)
    }

    /// Handles the start of a session, and of this extension during a session, before the first prompt.
    /// The host waits up to 5 s for the handler, which decides nothing. Hosts without `events_2` never call it.
    pub fn wait_session_start(mut self, handler: impl HandlerFn<InterceptSessionStart, ()>) -> Self {
        let earlier = self.waits.session_start.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::SessionStart)
    }

    /// Handles the end of the session or of this extension, before `shutdown`. The host waits up
    /// to 5 s for the handler, which decides nothing. Hosts without `events_2` never call it.
    pub fn wait_session_shutdown(mut self, handler: impl HandlerFn<InterceptSessionShutdown, ()>) -> Self {
        let earlier = self.waits.session_shutdown.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::SessionShutdown)
    }

    /// Handles the start of the work on a prompt. The host waits up
    /// to 5 s for the handler, which decides nothing. Hosts without `events_2` never call it.
    pub fn wait_agent_start(mut self, handler: impl HandlerFn<InterceptAgentStart, ()>) -> Self {
        let earlier = self.waits.agent_start.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::AgentStart)
    }

    /// Handles the end of the work on a prompt, also after an error or an abort. The host waits up
    /// to 5 s for the handler, which decides nothing. Hosts without `events_2` never call it.
    pub fn wait_agent_end(mut self, handler: impl HandlerFn<InterceptAgentEnd, ()>) -> Self {
        let earlier = self.waits.agent_end.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::AgentEnd)
    }

    /// Handles the end of a step. The host waits up
    /// to 5 s for the handler, which decides nothing. Hosts without `events_2` never call it.
    pub fn wait_turn_end(mut self, handler: impl HandlerFn<InterceptTurnEnd, ()>) -> Self {
        let earlier = self.waits.turn_end.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::TurnEnd)
    }

    /// Handles the start of a message of the user or the model. The host waits up
    /// to 5 s for the handler, which decides nothing. Hosts without `events_2` never call it.
    pub fn wait_message_start(mut self, handler: impl HandlerFn<InterceptMessageStart, ()>) -> Self {
        let earlier = self.waits.message_start.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::MessageStart)
    }

    /// Handles the end of a tool, before its result enters the transcript. The host waits up
    /// to 5 s for the handler, which decides nothing. Hosts without `events_2` never call it.
    pub fn wait_tool_end(mut self, handler: impl HandlerFn<InterceptToolEnd, ()>) -> Self {
        let earlier = self.waits.tool_end.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::ToolEnd)
    }

    /// Changes the results of tool calls before the model sees them: content, details, failed or
    /// not, and the text for the person. Must answer within 5 s; a late or failed handler changes nothing. Hosts without this
    /// hook never call it.
    ///
    /// ```
    /// use haft_sdk::protocol::ext::ResultBlock;
    /// use haft_sdk::{Extension, ToolResultDecision};
    ///
    /// let extension = Extension::new("hush", "1.0.0").intercept_tool_result(|result, _host| async move {
    ///     let is_secret = |block: &ResultBlock| matches!(block, ResultBlock::Text { text } if text.contains("SECRET"));
    ///     match result.content.iter().any(is_secret) {
    ///         true => ToolResultDecision::replace("(hidden)"),
    ///         false => ToolResultDecision::Unchanged,
    ///     }
    /// });
    /// # drop(extension);
    /// ```
    pub fn intercept_tool_result(
        mut self,
        handler: impl HandlerFn<InterceptToolResult, ToolResultDecision>,
    ) -> Self {
        let earlier = self.hooks.tool_result.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::ToolResult)
    }

    /// Changes what the user writes before it becomes a prompt, or handles it, so that no prompt is
    /// sent. Must answer within 5 s; a late or failed handler changes nothing. Hosts without this
    /// hook never call it.
    ///
    /// ```
    /// use haft_sdk::{Extension, InputDecision};
    ///
    /// let extension = Extension::new("quick", "1.0.0").intercept_input(|input, _host| async move {
    ///     match input.text.strip_prefix("?quick ") {
    ///         Some(rest) => InputDecision::replace(format!("Answer briefly: {rest}")),
    ///         None => InputDecision::Unchanged,
    ///     }
    /// });
    /// # drop(extension);
    /// ```
    pub fn intercept_input(mut self, handler: impl HandlerFn<InterceptInput, InputDecision>) -> Self {
        let earlier = self.hooks.input.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::Input)
    }

    /// Has the agent go on when it would stop: [`BeforeSettleDecision::go_on`]. Must answer within
    /// 5 s; after a late or failed handler the run ends. A run goes on at most 10 times. Hosts
    /// without this hook never call it.
    pub fn before_settle(
        mut self,
        handler: impl HandlerFn<InterceptBeforeSettle, BeforeSettleDecision>,
    ) -> Self {
        let earlier = self.hooks.before_settle.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::BeforeSettle)
    }

    /// Changes one request to the model: its messages, model, thinking level and options, and offers
    /// more tools. The session does not change. Must answer within 5 s; a late or failed handler
    /// changes nothing. Hosts without this hook never call it.
    ///
    /// ```
    /// use haft_sdk::{ContextChange, ContextDecision, Extension};
    ///
    /// // Sends the first request of a prompt to a larger model.
    /// let extension = Extension::new("router", "1.0.0").intercept_context(|request, _host| async move {
    ///     match request.step {
    ///         1 => ContextChange { model: Some("anthropic/claude-opus".into()), ..ContextChange::default() }.into(),
    ///         _ => ContextDecision::Unchanged,
    ///     }
    /// });
    /// # drop(extension);
    /// ```
    ///
    /// ```
    /// use haft_sdk::protocol::message::Message;
    /// use haft_sdk::{ContextDecision, Extension};
    ///
    /// // Leaves out thinking and answers of earlier prompts.
    /// let extension = Extension::new("brief", "1.0.0").intercept_context(|context, _host| async move {
    ///     let is_prompt = |message: &Message| matches!(message, Message::User { .. });
    ///     match context.messages.iter().rposition(is_prompt) {
    ///         Some(last) => ContextDecision::replace(context.messages[last..].to_vec()),
    ///         None => ContextDecision::Unchanged,
    ///     }
    /// });
    /// # drop(extension);
    /// ```
    pub fn intercept_context(mut self, handler: impl HandlerFn<InterceptContext, ContextDecision>) -> Self {
        let earlier = self.hooks.context.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::Context)
    }

    /// Changes an answer of the model before it is stored and its tools are called. While such a
    /// handler exists, the user sees no part of an answer before its end. Must answer within 5 s; a
    /// late or failed handler changes nothing. Hosts without this hook never call it.
    pub fn intercept_message_end(
        mut self,
        handler: impl HandlerFn<InterceptMessageEnd, MessageEndDecision>,
    ) -> Self {
        let earlier = self.hooks.message_end.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::MessageEnd)
    }

    /// Changes the body of each request to a provider, in the format of its API, and adds headers.
    /// The key is neither shown nor changed. Must answer within 5 s; a late or failed handler
    /// changes nothing. Hosts without this hook never call it.
    ///
    /// ```
    /// use haft_sdk::{BeforeProviderRequestDecision, Extension};
    ///
    /// let extension = Extension::new("billing", "1.0.0").before_provider_request(|request, _host| async move {
    ///     match request.provider.as_str() {
    ///         "openai" => BeforeProviderRequestDecision::Unchanged.with_header("x-team", "compilers"),
    ///         _ => BeforeProviderRequestDecision::Unchanged,
    ///     }
    /// });
    /// # drop(extension);
    /// ```
    pub fn before_provider_request(
        mut self,
        handler: impl HandlerFn<InterceptBeforeProviderRequest, BeforeProviderRequestDecision>,
    ) -> Self {
        let earlier = self.hooks.before_provider_request.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::BeforeProviderRequest)
    }

    /// Decides about each command that the person runs with `!command` or `!!command`: run, rewrite,
    /// answer, block. Must answer within 5 s; a late or failed handler blocks the command. Hosts
    /// without this hook never call it.
    ///
    /// ```
    /// use haft_sdk::{Extension, UserBashDecision};
    ///
    /// let extension = Extension::new("remote", "1.0.0").intercept_user_bash(|bash, _host| async move {
    ///     match bash.command.strip_prefix("deploy ") {
    ///         Some(target) => UserBashDecision::replace(format!("ssh build ./deploy {target}")),
    ///         None => UserBashDecision::Run,
    ///     }
    /// });
    /// # drop(extension);
    /// ```
    pub fn intercept_user_bash(
        mut self,
        handler: impl HandlerFn<InterceptUserBash, UserBashDecision>,
    ) -> Self {
        let earlier = self.hooks.user_bash.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::UserBash)
    }

    /// Decides about each session that is about to be opened: a new one, or one from disk. Must
    /// answer within 5 s; a late or failed handler blocks nothing. Not called for the extension's own
    /// commands, nor by hosts without this hook.
    ///
    /// ```
    /// use haft_sdk::{BeforeSwitchDecision, Extension, SwitchReason};
    ///
    /// let extension = Extension::new("review", "1.0.0").before_switch(|switch, _host| async move {
    ///     match switch.reason {
    ///         SwitchReason::New => BeforeSwitchDecision::block("finish the review first"),
    ///         SwitchReason::Resume => BeforeSwitchDecision::Continue,
    ///     }
    /// });
    /// # drop(extension);
    /// ```
    pub fn before_switch(
        mut self,
        handler: impl HandlerFn<InterceptBeforeSwitch, BeforeSwitchDecision>,
    ) -> Self {
        let earlier = self.hooks.before_switch.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::BeforeSwitch)
    }

    /// Decides about each copy of the conversation to a new session. Must answer within 5 s; a late or
    /// failed handler blocks nothing. Not called for the extension's own commands, nor by hosts without
    /// this hook.
    pub fn before_fork(mut self, handler: impl HandlerFn<InterceptBeforeFork, BeforeForkDecision>) -> Self {
        let earlier = self.hooks.before_fork.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::BeforeFork)
    }

    /// Decides about each move of the session to another entry: continue, summarize the branch that it
    /// leaves, block. Must answer within 60 s; a late or failed handler blocks nothing. Not called for
    /// the extension's own commands, nor by hosts without this hook.
    ///
    /// ```
    /// use haft_sdk::{BeforeTreeDecision, Extension};
    ///
    /// let extension = Extension::new("notes", "1.0.0").before_tree(|branch, _host| async move {
    ///     match branch.entries.len() {
    ///         0 => BeforeTreeDecision::Continue,
    ///         count => BeforeTreeDecision::with_summary(format!("{count} messages were left")),
    ///     }
    /// });
    /// # drop(extension);
    /// ```
    pub fn before_tree(mut self, handler: impl HandlerFn<InterceptBeforeTree, BeforeTreeDecision>) -> Self {
        let earlier = self.hooks.before_tree.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::BeforeTree)
    }

    /// Adds skills and prompt templates. Called before the first prompt of a session, and after a
    /// reload of extensions; the answer replaces the earlier one. Must answer within 5 s; a late or
    /// failed handler adds nothing. Not called by hosts without this hook.
    ///
    /// ```
    /// use haft_sdk::{Extension, ResourcesDecision};
    ///
    /// let extension = Extension::new("house", "1.0.0").intercept_resources(|question, _host| async move {
    ///     let own = ResourcesDecision::default().with_skills("skills").with_templates("prompts");
    ///     match question.cwd.ends_with("/web") {
    ///         true => own.with_skills("web-skills"),
    ///         false => own,
    ///     }
    /// });
    /// # drop(extension);
    /// ```
    pub fn intercept_resources(
        mut self,
        handler: impl HandlerFn<InterceptResources, ResourcesDecision>,
    ) -> Self {
        let earlier = self.hooks.resources.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::Resources)
    }

    /// Approves or blocks each tool call that is about to run, after all rewrites and gates. The
    /// handler may ask the person, and must answer within 60 s; a late or failed handler blocks the
    /// call. Not called for the extension's own calls, nor by hosts without this hook.
    ///
    /// ```
    /// use haft_sdk::{ApproveDecision, Extension};
    ///
    /// let extension = Extension::new("ask", "1.0.0").approve_calls(|call, host| async move {
    ///     let question = format!("Run {} with {}?", call.tool_name, call.tool_args);
    ///     Ok::<_, haft_sdk::HostError>(match call.tool_name.as_str() {
    ///         "read" | "ls" => ApproveDecision::Approve,
    ///         _ if host.ui().confirm("Approve", question).await? => ApproveDecision::Approve,
    ///         _ => ApproveDecision::block("denied by the person"),
    ///     })
    /// });
    /// # drop(extension);
    /// ```
    #[doc(alias = "approve")]
    pub fn approve_calls(mut self, handler: impl HandlerFn<InterceptApprove, ApproveDecision>) -> Self {
        let earlier = self.hooks.approve.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::Approve)
    }

    /// Decides whether the person trusts a project, before haft uses its files. The manifest must name
    /// `project_trust` under `intercept`. Called in a process for this question alone, which has no
    /// session. Must answer within 5 s; a late or failed handler has no opinion.
    ///
    /// ```
    /// use haft_sdk::{Extension, ProjectTrustDecision};
    ///
    /// let extension = Extension::new("policy", "1.0.0").intercept_project_trust(|project, _host| async move {
    ///     match project.cwd.starts_with("/src/ours/") {
    ///         true => ProjectTrustDecision::Trust { remember: false },
    ///         false => ProjectTrustDecision::Undecided,
    ///     }
    /// });
    /// # drop(extension);
    /// ```
    pub fn intercept_project_trust(
        mut self,
        handler: impl HandlerFn<InterceptProjectTrust, ProjectTrustDecision>,
    ) -> Self {
        let earlier = self.hooks.project_trust.replace(BoxedHandler::new(handler));
        self.note_duplicate(earlier.is_none(), InterceptKind::ProjectTrust)
    }

    fn note_duplicate(mut self, first: bool, kind: InterceptKind) -> Self {
        if !first {
            self.faults.push(format!("intercept {} has two handlers", kind.name()));
        }
        self
    }

    pub(crate) fn intercept_kinds(&self) -> impl Iterator<Item = InterceptKind> {
        let calls = (!self.tool_calls.is_empty()).then_some(InterceptKind::ToolCall);
        calls.into_iter().chain(self.hooks.subscribed_kinds())
    }

    /// Decides about every tool call before it runs: allow, rewrite its arguments, call another tool,
    /// block, answer in place of the tool, or end the turn ([`TurnStop`](crate::TurnStop)). Must answer within 5 s; a
    /// late or failed handler blocks the call.
    ///
    /// Prefer a [`gate`](Self::gate) or a [`rewrite`](Self::rewrite): they state their purpose, and
    /// cost nothing for calls of other tools.
    pub fn intercept_tool_call(self, handler: impl HandlerFn<InterceptToolCall, ToolCallDecision>) -> Self {
        let kind = ToolCallHandlerKind::Ordered { rewrite: false, handler: BoxedHandler::new(handler) };
        self.add_tool_call_handler(ToolSelection::all(), kind)
    }

    /// Allows or blocks calls of these tools. A gate runs last, with the final arguments, in
    /// parallel with all other gates. Must answer within 5 s; a late or failed handler blocks the
    /// call.
    ///
    /// ```
    /// use haft_sdk::{Extension, GateDecision};
    ///
    /// let extension = Extension::new("guard", "1.0.0").gate("bash", |call, _host| async move {
    ///     let args: serde_json::Value = call.tool_args.read()?;
    ///     Ok::<_, serde_json::Error>(match args["command"].as_str() {
    ///         Some(command) if !command.contains("git push") => GateDecision::allow(),
    ///         _ => GateDecision::block("pushing is for people"),
    ///     })
    /// });
    /// # drop(extension);
    /// ```
    pub fn gate(
        self,
        tools: impl Into<ToolSelection>,
        handler: impl HandlerFn<InterceptToolCall, GateDecision>,
    ) -> Self {
        self.add_tool_call_handler(tools.into(), ToolCallHandlerKind::Gate(BoxedHandler::new(handler)))
    }

    /// Changes the arguments of calls of these tools. [`ToolCallDecision::rewrite`] replaces all
    /// arguments. Rewriting handlers run in order, before all gates. Must answer within 5 s; a late
    /// or failed handler blocks the call.
    ///
    /// ```
    /// use haft_sdk::{Extension, ToolCallDecision};
    /// use serde_json::Value;
    ///
    /// let extension = Extension::new("polite", "1.0.0").rewrite(["grep", "find"], |call, _host| async move {
    ///     let mut args: Value = call.tool_args.read()?;
    ///     if args["limit"].as_u64().is_some_and(|limit| limit <= 50) {
    ///         return Ok(ToolCallDecision::allow());
    ///     }
    ///     args["limit"] = 50.into();
    ///     Ok::<_, serde_json::Error>(ToolCallDecision::rewrite(args))
    /// });
    /// # drop(extension);
    /// ```
    pub fn rewrite(
        self,
        tools: impl Into<ToolSelection>,
        handler: impl HandlerFn<InterceptToolCall, ToolCallDecision>,
    ) -> Self {
        self.add_tool_call_handler(
            tools.into(),
            ToolCallHandlerKind::Ordered { rewrite: true, handler: BoxedHandler::new(handler) },
        )
    }

    /// Observes calls of these tools: [`on_event`](Self::on_event) for `tool_call`, limited to
    /// these tools.
    pub fn on_tool_call(
        mut self,
        tools: impl Into<ToolSelection>,
        handler: impl HandlerFn<LifecycleEvent, ()>,
    ) -> Self {
        let handler = EventHandler::Lifecycle(BoxedHandler::new(handler));
        self.events.add_handler(InterceptKind::ToolCall.name(), tools.into(), handler);
        self
    }

    pub(crate) fn tool_call_handler(&self, tool: &str) -> Option<&ToolCallHandlerKind> {
        self.tool_calls.iter().find(|handler| handler.tools.matches(tool)).map(|handler| &handler.kind)
    }

    /// Rejects two handlers for one tool, because the host could not know which of them to call.
    fn add_tool_call_handler(mut self, tools: ToolSelection, kind: ToolCallHandlerKind) -> Self {
        let shared = self.tool_calls.iter().find_map(|earlier| earlier.tools.find_overlap(&tools));
        if let Some(tool) = shared {
            self.faults.push(match tool.as_str() {
                "" => "intercept tool_call has two handlers".to_owned(),
                tool => format!("calls of tool {tool:?} have two handlers"),
            });
        }
        self.tool_calls.push(ToolCallHandler { tools, kind });
        self
    }

    pub(crate) fn check(&self) -> Result<(), ServeError> {
        let mut faults = self.faults.clone();
        faults.extend(self.name.is_empty().then(|| "the extension has no name".to_owned()));
        let commands: Vec<&str> = self.commands.iter().map(|(command, _)| command.name.as_str()).collect();
        let tools: Vec<&str> = self.tools.iter().map(|(tool, _)| tool.name.as_str()).collect();
        let panels: Vec<&str> = self.panels.iter().map(|(id, _)| id.as_str()).collect();
        faults.extend(check::find_duplicate("command", &commands));
        faults.extend(check::find_duplicate("tool", &tools));
        faults.extend(self.shortcuts.find_duplicate());
        faults.extend(check::find_duplicate("panel", &panels));
        faults.extend(commands.iter().filter_map(|name| check::check_name("command", name)));
        faults.extend(tools.iter().filter_map(|name| check::check_tool_name(name)));
        faults.extend(
            (tools.len() > MAX_TOOLS).then(|| format!("{} tools; the host takes {MAX_TOOLS}", tools.len())),
        );
        faults.extend(self.tools.iter().filter_map(|(tool, _)| check::check_tool(tool)));
        check::refuse_first(faults)
    }

    /// Returns the frames with which the extension starts.
    pub(crate) fn start_frames(&self) -> StartFrames<'_> {
        StartFrames(self)
    }
}
