//! Process hooks: programs that speak PicoClaw's hook protocol, for haft and for PicoClaw.
//!
//! ```no_run
//! use haft_adapter_picoclaw::author::{ApprovalDecision, Hook, ResultDecision, ToolDecision, HookToolResult};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Word { word: String }
//!
//! fn main() -> std::process::ExitCode {
//!     Hook::new()
//!         .tool("glossary", "Explains a word of this project.", |args: Word| async move {
//!             HookToolResult::text(format!("{}: not in the glossary", args.word))
//!         })
//!         .before_tool(|call| async move {
//!             let args: serde_json::Value = call.arguments.read()?;
//!             Ok::<_, serde_json::Error>(match args["command"].as_str() {
//!                 Some(command) if command.contains("git push") => ToolDecision::deny("pushing is for people"),
//!                 _ => ToolDecision::Continue,
//!             })
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
//! A hook has five points and receives events. The configuration of the host (`intercept`,
//! `observe`) selects the points and events that are used. The handler of another point is never
//! called, and the log warns about it. A point without a handler allows everything, except
//! `approve_tool`, which denies with a reason.
//!
//! | a handler that fails or panics | the reply |
//! |---|---|
//! | at one of the five points | a JSON-RPC error. haft blocks the call (`before_tool`, `approve_tool`) or continues and tells the user; PicoClaw denies only at `approve_tool` |
//! | of a tool | an error result, read by the model |
//! | of an event | none; the log contains the reason |
//!
//! **stdout is the wire**, as for an [`Extension`](haft_sdk::Extension): use [`log!`](haft_sdk::log!),
//! whose lines the host stores. Handlers of `before_llm`, `after_llm`, `before_tool` and
//! `after_tool` run next to the connection and must not block their thread; all other handlers have
//! their own threads. [`HookHarness`] tests a hook in memory.

mod dispatch;
mod echo;
mod event;
mod replies;
mod responder;
mod testing;

use std::process::ExitCode;

/// The requests and decisions of hooks, under PicoClaw's names.
pub use crate::wire::{
    AfterLlm, AfterTool, ApprovalDecision, ApproveTool, BeforeLlm, BeforeTool, HookEventKind,
    HookEventPayload, HookHello, HookMessage, HookToolCall, HookToolResult, LlmOptions, LlmResponse,
    ResponseDecision, ResultDecision, ToolDecision, ToolDefinition, TurnContext, TurnMeta,
};
use crate::wire::{HookMode, InterceptPoint};
/// The arguments of tools.
pub use haft_protocol::RawJson;
use haft_protocol::ext::RegisterTool;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;

use dispatch::HookDispatcher;
pub use event::HookEvent;
/// Writes a line to the log of the hook.
pub use haft_sdk::log;
pub use replies::RequestDecision;
pub use testing::HookHarness;

use haft_sdk::peer::{
    self, BoxedHandler, HandlerRuntimes, OwnRuntimes, exit_code, serve_stdio, serve_streams,
};
use haft_sdk::{IntoAnswer, ServeError};

/// A handler of a process hook. It has no connection to the host: a hook only answers.
type HookHandler<I, A> = BoxedHandler<I, A, ()>;

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/hooks.md")]
mod guide {}

/// A handler of a [`Hook`]: any `|input| async move { … }` or `async fn` of one parameter that returns
/// the answer, or a `Result` of it.
#[diagnostic::on_unimplemented(
    message = "a handler here is `|input| async move {{ … }}` with an input `{I}` that returns `{A}` or a `Result` of it"
)]
pub trait HookHandlerFn<I, A>:
    Fn(I) -> <Self as HookHandlerFn<I, A>>::Future + Send + Sync + 'static
{
    /// The future of one call.
    type Future: Future<Output: IntoAnswer<A>> + Send + 'static;
}

impl<I, A, F, Fut> HookHandlerFn<I, A> for F
where
    F: Fn(I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoAnswer<A>> + Send + 'static,
{
    type Future = Fut;
}

/// A process hook with its handlers. Built by value, then [`run`](Self::run).
///
/// All handlers have the same form: `|call| async move { … }`. A handler returns its decision, or a
/// `Result` whose error becomes the reply. Two handlers for one point are an error when the hook
/// starts. Several handlers of events run in the order of their registration.
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
    /// Duplicate registrations, reported when the hook starts.
    faults: Vec<String>,
}

impl Hook {
    /// Creates a hook that allows everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a handler for the host's `hello`, which runs before all others. It gets the hook's
    /// configured name and modes. An error becomes the reply, and the host then considers the hook
    /// broken.
    pub fn on_hello(mut self, handler: impl HookHandlerFn<HookHello, ()>) -> Self {
        let earlier = self.hello.replace(without_host(handler));
        self.note_duplicate(earlier.is_none(), "hello")
    }

    /// Changes a request to the model, for this request only. The host waits 5 s; after a late or
    /// failed handler it sends the request unchanged.
    ///
    /// Change the params and return them. A hook can add tools but not remove or change them; the
    /// system prompt cannot change. The reply repeats all params; unchanged ones stay byte for
    /// byte.
    ///
    /// ```
    /// use haft_adapter_picoclaw::author::{Hook, HookMessage, RequestDecision, ToolDefinition};
    /// use serde_json::json;
    ///
    /// let hook = Hook::new().before_llm(|mut call| async move {
    ///     if call.graceful_terminal {
    ///         return RequestDecision::Continue;
    ///     }
    ///     let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    ///     call.add_tool(ToolDefinition::new("weather", "The weather in a city.", schema));
    ///     call.options.temperature = Some(0.2);
    ///     call.messages.push(HookMessage::user("(It is Monday.)"));
    ///     RequestDecision::modify(call)
    /// });
    /// # drop(hook);
    /// ```
    ///
    /// Answer the calls of an added tool in [`before_tool`](Self::before_tool) with
    /// [`respond`](ToolDecision::respond). [`tool`](Self::tool) does both.
    pub fn before_llm(mut self, handler: impl HookHandlerFn<BeforeLlm, RequestDecision>) -> Self {
        let earlier = self.before_llm.replace(without_host(handler));
        self.note_duplicate(earlier.is_none(), InterceptPoint::BeforeLlm.name())
    }

    /// Changes the model's answer before haft uses it. The host waits 5 s; a late or failed handler
    /// changes nothing.
    ///
    /// ```
    /// use haft_adapter_picoclaw::author::{Hook, ResponseDecision};
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

    /// Decides about a tool call: run it, change it, answer it in place of the tool, deny it. The
    /// host waits 5 s. A late or failed handler blocks the call in haft but not in PicoClaw, so
    /// also deny forbidden calls in [`approve_tool`](Self::approve_tool). Calls of the hook's own
    /// [`tool`](Self::tool)s do not come here.
    ///
    /// ```
    /// use haft_adapter_picoclaw::author::{Hook, ToolDecision, HookToolResult};
    /// use serde_json::{Value, json};
    ///
    /// let hook = Hook::new().before_tool(|call| async move {
    ///     let arguments: Value = call.arguments.read()?;
    ///     let command = arguments["command"].as_str().unwrap_or_default();
    ///     Ok::<_, serde_json::Error>(match (call.tool.as_str(), command) {
    ///         ("bash", "date") => ToolDecision::respond(HookToolResult::text("a quiet afternoon")),
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

    /// Changes the result of a tool before the model reads it. The host waits 5 s; a late or failed
    /// handler changes nothing. Not called for results of a hook.
    pub fn after_tool(mut self, handler: impl HookHandlerFn<AfterTool, ResultDecision>) -> Self {
        let earlier = self.after_tool.replace(without_host(handler));
        self.note_duplicate(earlier.is_none(), InterceptPoint::AfterTool.name())
    }

    /// Approves or denies the final form of a tool call. The host waits 60 s, so the handler may
    /// ask a person and may block its thread. A late or failed handler denies the call. All
    /// approving hooks must approve.
    ///
    /// ```
    /// use haft_adapter_picoclaw::author::{ApprovalDecision, Hook};
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

    /// Registers a handler for events, which arrive one at a time, in order. The host does not wait
    /// for it. Both of PicoClaw's event forms are supported.
    pub fn on_event(mut self, handler: impl HookHandlerFn<HookEvent, ()>) -> Self {
        self.events.push(without_host(handler));
        self
    }

    /// Registers a tool of the hook. It is added to each request to the model, and this handler
    /// answers its calls instead of [`before_tool`](Self::before_tool). `Args` determines the
    /// schema, as for [`Extension::tool`](haft_sdk::Extension::tool). The host waits 5 s.
    ///
    /// The hook must be configured for `before_llm` and `before_tool`. PicoClaw up to 0.2.7 offers
    /// such tools; later versions drop them silently.
    ///
    /// ```
    /// use haft_adapter_picoclaw::author::{Hook, HookToolResult};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct City {
    ///     /// Its name, in any language.
    ///     city: String,
    /// }
    ///
    /// let hook = Hook::new().tool("weather", "The weather in a city.", |args: City| async move {
    ///     HookToolResult::text(format!("{}: sunny", args.city))
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
        let tool = peer::tool_registration(name, description, RawJson::schema_of::<Args>());
        self.tools.push((tool, without_host(handler).reading_args()));
        self
    }

    /// Registers a [`tool`](Self::tool) with a hand-written schema. The handler gets the model's
    /// arguments byte for byte and must check them.
    pub fn raw_tool(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        handler: impl HookHandlerFn<RawJson, HookToolResult>,
    ) -> Self {
        self.tools.push((peer::tool_registration(name, description, schema.into()), without_host(handler)));
        self
    }

    /// Runs the hook on stdin and stdout until the host closes stdin. Use it as the body of `main`:
    ///
    /// ```no_run
    /// fn main() -> std::process::ExitCode {
    ///     haft_adapter_picoclaw::author::Hook::new().run()
    /// }
    /// ```
    ///
    /// At the end of input, running handlers have one second to finish; the remaining calls are
    /// answered with an error. Creates its own runtimes when needed, so it must not be called
    /// inside one. An error goes to the log (stderr) and results in a failure exit code.
    ///
    /// # Panics
    /// If it is called inside a tokio runtime.
    #[must_use = "return it from main: it is the exit code of the hook"]
    pub fn run(self) -> ExitCode {
        let outcome = self.check().and_then(|()| {
            serve_stdio(|outbox| {
                HookDispatcher::new(self, outbox, HandlerRuntimes::Own(OwnRuntimes::default()), None)
            })
        });
        exit_code(outcome, "hook")
    }

    /// Serves one connection over any pair of byte streams, with all handlers on the caller's
    /// runtime: for tests, and for hosts that run a hook in their own process.
    ///
    /// Returns after the end of input, when all running handlers are done or one second has passed.
    /// Must be polled inside a tokio runtime with its timer enabled.
    ///
    /// # Errors
    /// [`ServeError`] if two handlers have the same point, a tool is invalid, or the connection
    /// breaks.
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
        faults.extend(peer::find_duplicate("tool", &names));
        faults.extend(names.iter().filter_map(|name| peer::check_tool_name(name)));
        faults.extend(tools().filter_map(peer::check_tool));
        peer::refuse_first(faults)
    }

    pub(super) fn tool_definitions(&self) -> impl Iterator<Item = ToolDefinition> {
        self.tools.iter().map(|(tool, _)| {
            let schema = tool.schema.clone().unwrap_or_else(RawJson::empty_object_schema);
            ToolDefinition::new(&tool.name, &tool.description, schema)
        })
    }

    /// Returns warnings about points that have a handler but are not in the host's configuration:
    /// such a policy has no effect.
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
            format!("{name} is never called: add \"{name}\" to this hook's intercept list")
        });
        let deaf = !self.events.is_empty() && !modes.contains(&HookMode::Observe);
        asked.chain(deaf.then(|| "no event arrives: add events to this hook's observe list".to_owned()))
    }
}

/// Serves a connection. `handled` is a line to send after each handled event, for the harness.
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

/// Wraps a handler without a connection to the host.
fn without_host<I: Send + 'static, A>(handler: impl HookHandlerFn<I, A>) -> HookHandler<I, A> {
    BoxedHandler::new(move |input, ()| handler(input))
}
