//! Write a process hook: a program that speaks PicoClaw's hook protocol, for haft and for PicoClaw alike.
//!
//! ```no_run
//! use haft_sdk::hook::{ApprovalDecision, Hook, ResultDecision, ToolDecision, ToolResult};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Word { word: String }
//!
//! fn main() -> std::process::ExitCode {
//!     Hook::new()
//!         .tool("glossary", "Explains a word of this project.", |args: Word| async move {
//!             ToolResult::text(format!("{}: not in the glossary", args.word))
//!         })
//!         .before_tool(|call| async move {
//!             match call.arguments.as_str().contains("git push") {
//!                 true => ToolDecision::deny("pushing is for people"),
//!                 false => ToolDecision::Continue,
//!             }
//!         })
//!         .approve_tool(|_call| async { ApprovalDecision::Approve })
//!         .after_tool(|mut call| async move {
//!             call.result.for_llm = call.result.for_llm.replace("hunter2", "[secret]");
//!             ResultDecision::modify(call.result)
//!         })
//!         .on_event(|event| async move { haft_sdk::log!("{}", event.name) })
//!         .run()
//! }
//! ```
//!
//! A hook is asked at five points and told events. What it is asked and told is the user's to say, in the host's
//! configuration (`intercept`, `observe`); a handler for a point that is not among them is never called, and the log says
//! so. A point without a handler lets everything pass, but for `approve_tool`, which says no with a reason: nobody vouched
//! for the call.
//!
//! | a handler that fails or panics | the reply |
//! |---|---|
//! | at one of the five points | a JSON-RPC error. haft blocks the call (`before_tool`, `approve_tool`) or goes on and tells the user; PicoClaw denies at `approve_tool` alone |
//! | of a tool | an error result, read by the model |
//! | of an event | none; the log says why |
//!
//! **stdout is the wire**, as for an [`Extension`](crate::Extension): use [`log!`](crate::log!), whose lines the host keeps.
//! Handlers of `before_llm`, `after_llm`, `before_tool` and `after_tool` run beside the connection and must not block their
//! thread; everything else has threads of its own. [`HookHarness`](crate::testing::HookHarness) tests a hook in memory.

mod answer;
mod dispatch;
mod echo;
mod event;
mod replies;

use std::process::ExitCode;

use haft_protocol::RawJson;
use haft_protocol::ext::RegisterTool;
/// The questions and decisions of hooks, in PicoClaw's words.
pub use haft_protocol::hook::{
    AfterLlm, AfterTool, ApprovalDecision, ApproveTool, BeforeLlm, BeforeTool, HookEventKind,
    HookEventPayload, HookHello, HookMessage, HookToolCall, HookToolResult, LlmOptions, LlmResponse,
    ResponseDecision, ResultDecision, ToolDecision, ToolDefinition, TurnContext, TurnMeta,
};
use haft_protocol::hook::{HookMode, InterceptPoint};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;

use dispatch::HookDispatcher;
pub use event::HookEvent;
pub use replies::RequestDecision;

use crate::error::ServeError;
use crate::extension::check;
use crate::handler::{BoxedHandler, HookHandlerFn};
use crate::run::{exit_code, serve_stdio};
use crate::serve::serve_streams;
use crate::tool;
use crate::work::runtimes::{HandlerRuntimes, OwnRuntimes};

/// The handlers of hooks have nobody to talk back to: a hook only answers.
type HookHandler<I, A> = BoxedHandler<I, A, ()>;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/hooks.md")]
mod guide {}

/// A process hook: what it does at each point. Built by value, then [`run`](Self::run).
///
/// Every handler has the same form: `|call| async move { … }`. It returns its decision, or a `Result` whose error is the
/// reply. Two handlers for one point are refused when the hook starts; several for events run in the order given.
#[derive(Debug, Default)]
#[must_use = "a hook does nothing until it is run"]
pub struct Hook {
    hello: Option<HookHandler<HookHello, ()>>,
    before_llm: Option<HookHandler<BeforeLlm, RequestDecision>>,
    after_llm: Option<HookHandler<AfterLlm, ResponseDecision>>,
    before_tool: Option<HookHandler<BeforeTool, ToolDecision>>,
    after_tool: Option<HookHandler<AfterTool, ResultDecision>>,
    approve_tool: Option<HookHandler<ApproveTool, ApprovalDecision>>,
    events: Vec<HookHandler<HookEvent, ()>>,
    tools: Vec<(RegisterTool, HookHandler<RawJson, HookToolResult>)>,
    /// Registrations that were made twice; reported when the hook starts.
    faults: Vec<String>,
}

impl Hook {
    /// A hook that lets everything pass.
    pub fn new() -> Self {
        Self::default()
    }

    /// Hears who starts it, before anything else: its name in the configuration, and what it is called for. An error is
    /// the reply, and the host takes the hook for one that cannot run.
    pub fn on_hello(mut self, handler: impl HookHandlerFn<HookHello, ()>) -> Self {
        let earlier = self.hello.replace(without_host(handler));
        self.note_duplicate(earlier.is_none(), "hello")
    }

    /// Decides about a call of the model before it is made: this once, and again before the next one. The host waits 5 s;
    /// late or failed means sent as it is.
    ///
    /// Change the question and give it back. Tools can be added, not taken away or changed; the system prompt stays. The
    /// reply repeats all that was asked, byte for byte but for what was changed.
    ///
    /// ```
    /// use haft_sdk::hook::{Hook, Message, RequestDecision, ToolDefinition};
    /// use serde_json::json;
    ///
    /// let hook = Hook::new().before_llm(|mut call| async move {
    ///     if call.graceful_terminal {
    ///         return RequestDecision::Continue;
    ///     }
    ///     let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    ///     call.add_tool(ToolDefinition::new("weather", "The weather in a city.", schema));
    ///     call.options.temperature = Some(0.2);
    ///     call.messages.push(Message::user("(It is Monday.)"));
    ///     RequestDecision::modify(call)
    /// });
    /// # drop(hook);
    /// ```
    ///
    /// A tool that is added like this is [answered](ToolDecision::respond) in [`before_tool`](Self::before_tool);
    /// [`tool`](Self::tool) does both.
    pub fn before_llm(mut self, handler: impl HookHandlerFn<BeforeLlm, RequestDecision>) -> Self {
        let earlier = self.before_llm.replace(without_host(handler));
        self.note_duplicate(earlier.is_none(), InterceptPoint::BeforeLlm.name())
    }

    /// Decides what the model's answer is, before anybody acts on it. The host waits 5 s; late or failed means that it stays.
    ///
    /// ```
    /// use haft_sdk::hook::{Hook, ResponseDecision};
    ///
    /// let hook = Hook::new().after_llm(|mut call| async move {
    ///     call.response.content = call.response.content.replace("utilize", "use");
    ///     ResponseDecision::modify(call.response)
    /// });
    /// # drop(hook);
    /// ```
    pub fn after_llm(mut self, handler: impl HookHandlerFn<AfterLlm, ResponseDecision>) -> Self {
        let earlier = self.after_llm.replace(without_host(handler));
        self.note_duplicate(earlier.is_none(), InterceptPoint::AfterLlm.name())
    }

    /// Decides about a call of a tool: make it, make another one, answer it in place of the tool, refuse it. The host waits
    /// 5 s; late or failed means blocked in haft, and made in PicoClaw: what must not happen is refused in
    /// [`approve_tool`](Self::approve_tool), too. Calls of a [`tool`](Self::tool) of the hook's own do not come here.
    ///
    /// ```
    /// use haft_sdk::hook::{Hook, ToolDecision, ToolResult};
    /// use serde_json::{Value, json};
    ///
    /// let hook = Hook::new().before_tool(|call| async move {
    ///     let arguments: Value = call.arguments.read()?;
    ///     let command = arguments["command"].as_str().unwrap_or_default();
    ///     Ok::<_, serde_json::Error>(match (call.tool.as_str(), command) {
    ///         ("bash", "date") => ToolDecision::respond(ToolResult::text("a quiet afternoon")),
    ///         ("bash", "ls") => ToolDecision::arguments(json!({ "command": "ls -1" })),
    ///         ("bash", command) if command.starts_with("sudo ") => ToolDecision::deny("no sudo here"),
    ///         _ => ToolDecision::Continue,
    ///     })
    /// });
    /// # drop(hook);
    /// ```
    pub fn before_tool(mut self, handler: impl HookHandlerFn<BeforeTool, ToolDecision>) -> Self {
        let earlier = self.before_tool.replace(without_host(handler));
        self.note_duplicate(earlier.is_none(), InterceptPoint::BeforeTool.name())
    }

    /// Decides what came of a tool, before the model reads it. The host waits 5 s; late or failed means that it stays. Not
    /// asked about what a hook answered itself.
    pub fn after_tool(mut self, handler: impl HookHandlerFn<AfterTool, ResultDecision>) -> Self {
        let earlier = self.after_tool.replace(without_host(handler));
        self.note_duplicate(earlier.is_none(), InterceptPoint::AfterTool.name())
    }

    /// Says yes or no to a call of a tool, as it is about to be made. The host waits 60 s, so a person may be asked, and the
    /// handler may block its thread; late or failed means no. All hooks that approve must say yes.
    ///
    /// ```
    /// use haft_sdk::hook::{ApprovalDecision, Hook};
    ///
    /// let hook = Hook::new().approve_tool(|call| async move {
    ///     match call.tool.as_str() {
    ///         "read" | "ls" | "grep" => ApprovalDecision::Approve,
    ///         tool => ApprovalDecision::deny(format!("{tool} is not on the list")),
    ///     }
    /// });
    /// # drop(hook);
    /// ```
    pub fn approve_tool(mut self, handler: impl HookHandlerFn<ApproveTool, ApprovalDecision>) -> Self {
        let earlier = self.approve_tool.replace(without_host(handler));
        self.note_duplicate(earlier.is_none(), InterceptPoint::ApproveTool.name())
    }

    /// Hears what happens, one event after the other, in order; nobody waits for it. In which of PicoClaw's forms the host
    /// tells it makes no difference.
    pub fn on_event(mut self, handler: impl HookHandlerFn<HookEvent, ()>) -> Self {
        self.events.push(without_host(handler));
        self
    }

    /// A tool of the hook's own: added to each call of the model, and answered by this handler instead of
    /// [`before_tool`](Self::before_tool)'s. `Args` gives the schema, as for [`Extension::tool`](crate::Extension::tool).
    /// The host waits 5 s.
    ///
    /// The hook has to be configured for `before_llm` and `before_tool`. PicoClaw offers such tools to 0.2.7; later ones drop
    /// them without a word.
    ///
    /// ```
    /// use haft_sdk::hook::{Hook, ToolResult};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct City {
    ///     /// Its name, in any language.
    ///     city: String,
    /// }
    ///
    /// let hook = Hook::new().tool("weather", "The weather in a city.", |args: City| async move {
    ///     ToolResult::text(format!("{}: sunny", args.city))
    /// });
    /// # drop(hook);
    /// ```
    pub fn tool<Args>(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl HookHandlerFn<Args, HookToolResult>,
    ) -> Self
    where
        Args: DeserializeOwned + JsonSchema + Send + 'static,
    {
        let tool = tool::tool_registration(name, description, tool::schema_of::<Args>());
        self.tools.push((tool, without_host(handler).reading_args()));
        self
    }

    /// A [`tool`](Self::tool) with a schema written by hand. The handler gets the model's arguments byte for byte and checks
    /// them itself.
    pub fn raw_tool(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        handler: impl HookHandlerFn<RawJson, HookToolResult>,
    ) -> Self {
        self.tools.push((tool::tool_registration(name, description, schema.into()), without_host(handler)));
        self
    }

    /// Runs the hook on stdin and stdout until the host closes stdin. The body of `main`:
    ///
    /// ```no_run
    /// fn main() -> std::process::ExitCode {
    ///     haft_sdk::hook::Hook::new().run()
    /// }
    /// ```
    ///
    /// At the end of input, handlers that are under way have one second to finish; what is not answered then is answered
    /// with an error. Makes its own runtimes, when something needs them, so it must not be called inside one. An error goes
    /// to the log (stderr) and gives a failure code.
    ///
    /// # Panics
    /// When it is called inside a tokio runtime.
    #[must_use = "return it from main: it says whether the hook ran"]
    pub fn run(self) -> ExitCode {
        let outcome = self.check().and_then(|()| {
            serve_stdio(|outbox| {
                HookDispatcher::new(self, outbox, HandlerRuntimes::Own(OwnRuntimes::default()), None)
            })
        });
        exit_code(outcome, "hook")
    }

    /// Serves one connection over any pair of byte streams, all handlers on the caller's runtime: for tests, and for hosts
    /// that run a hook in their own process.
    ///
    /// Returns at the end of input, when the handlers that were running are done or one second has passed. Must be polled
    /// inside a tokio runtime with its timer enabled.
    ///
    /// # Errors
    /// [`ServeError`] when two handlers are for one point, a tool is wrong, or the connection breaks.
    pub async fn serve_on<R, W>(self, reader: R, writer: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin,
        W: AsyncWrite + Send + Unpin,
    {
        serve(self, reader, writer, None).await
    }

    fn note_duplicate(mut self, first: bool, what: &str) -> Self {
        if !first {
            self.faults.push(format!("{what} has two handlers"));
        }
        self
    }

    pub(crate) fn check(&self) -> Result<(), ServeError> {
        let tools = || self.tools.iter().map(|(tool, _)| tool);
        let names: Vec<&str> = tools().map(|tool| tool.name.as_str()).collect();
        let mut faults = self.faults.clone();
        faults.extend(check::find_duplicate("tool", &names));
        faults.extend(names.iter().filter_map(|name| check::check_tool_name(name)));
        faults.extend(tools().filter_map(check::check_tool));
        check::refuse_first(faults)
    }

    pub(super) fn tool_definitions(&self) -> impl Iterator<Item = ToolDefinition> {
        self.tools.iter().map(|(tool, _)| {
            let schema = tool.schema.clone().unwrap_or_else(RawJson::empty_object_schema);
            ToolDefinition::new(&tool.name, &tool.description, schema)
        })
    }

    /// Returns the points that it has handlers for and is not called at: a policy that nobody asks does not hold.
    fn uncalled_points(&self, modes: &[HookMode]) -> impl Iterator<Item = String> {
        let own_tools = !self.tools.is_empty();
        let points = [
            (self.before_llm.is_some() || own_tools, InterceptPoint::BeforeLlm),
            (self.after_llm.is_some(), InterceptPoint::AfterLlm),
            (self.before_tool.is_some() || own_tools, InterceptPoint::BeforeTool),
            (self.after_tool.is_some(), InterceptPoint::AfterTool),
            (self.approve_tool.is_some(), InterceptPoint::ApproveTool),
        ];
        let missed = points.into_iter().filter(|(has, point)| *has && !modes.contains(&point.mode()));
        let asked = missed.map(|(_, point)| {
            let name = point.name();
            format!("{name} is never asked: add \"{name}\" to this hook's intercept")
        });
        let deaf = !self.events.is_empty() && !modes.contains(&HookMode::Observe);
        asked.chain(deaf.then(|| "no event is ever told: add some to this hook's observe".to_owned()))
    }
}

/// `handled` is a line to send after each event that was dealt with; for the harness.
pub(crate) async fn serve<R, W>(
    hook: Hook,
    reader: R,
    writer: W,
    handled: Option<&'static str>,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    hook.check()?;
    let given = HandlerRuntimes::Given(Handle::current());
    serve_streams(|outbox| HookDispatcher::new(hook, outbox, given, handled), reader, writer).await
}

/// A handler that talks back to nobody.
fn without_host<I: Send + 'static, A>(handler: impl HookHandlerFn<I, A>) -> HookHandler<I, A> {
    BoxedHandler::new(move |input, ()| handler(input))
}
