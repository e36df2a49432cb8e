//! Tests an extension in memory, without a process and without a host.
//!
//! ```
//! use haft_sdk::testing::Harness;
//! use haft_sdk::{Extension, Response};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let extension = Extension::new("hello", "1.0.0")
//!     .command("hello", "say hi", |name, _host| async move { Response::display(format!("hi {name}")) });
//! let harness = Harness::start(extension).await;
//! assert_eq!(harness.command("hello", "Ada").await, Response::display("hi Ada"));
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The harness exchanges real frames over an in-memory pipe. [`Harness::transcript`] shows them,
//! one per line, so one `insta::assert_snapshot!` tests a whole conversation;
//! [`Harness::transcript_since_ready`] leaves out the handshake. Everything runs on the test's own runtime, so virtual time (`#[tokio::test(start_paused = true)]`) works.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, process};

use haft_protocol::RawJson;
use haft_protocol::codec;
use haft_protocol::content::InputSource;
use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_protocol::ext::{
    ApproveDecision, AskCall, AssistantMessageDecision, BeforeAgentStartDecision, BeforeCompactDecision,
    BeforeForkDecision, BeforeProviderRequestDecision, BeforeSettleDecision, BeforeSwitchDecision,
    BeforeTreeDecision, BusMessage, CallTool, CancelRequest, CommandAction, ContextDecision, EmitCall,
    EntriesFrame, EventGap, HelloAck, HostFrame, HostQuery, InputDecision, InterceptApprove,
    InterceptAssistantMessage, InterceptBeforeAgentStart, InterceptBeforeCompact, InterceptBeforeFork,
    InterceptBeforeProviderRequest, InterceptBeforeSettle, InterceptBeforeSwitch, InterceptBeforeTree,
    InterceptContext, InterceptHook, InterceptInput, InterceptMessageEnd, InterceptProjectTrust,
    InterceptResources, InterceptToolCall, InterceptToolResult, InterceptTurnStart, InterceptUserBash,
    InvokeCommand, LifecycleEvent, MessageEndDecision, PROTOCOL_VERSION, Panel, PanelClose, PanelKey,
    PanelResize, PressShortcut, ProjectTrustDecision, QueryCompletions, QueryResponse, RegisterCommand,
    RegisterRejected, RegisterTool, ResourcesDecision, ResourcesReason, SessionEvent, ShowCall, Shutdown,
    StateFrame, SwitchReason, ToolCallDecision, ToolResultDecision, TurnStartDecision, UiAnswer,
    UserBashDecision,
};
use haft_protocol::ids::{ExtensionName, PanelId, RequestId, ToolCallId};
use haft_protocol::message::{AssistantBlock, Message, StopCause, TokenUsage};
use haft_protocol::rpc::{Command, CommandFailure};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::completion::Completion;
use crate::extension::Extension;
use crate::serve;
use crate::service::HostError;
use crate::timeouts::HARNESS_PATIENCE;
use crate::tool::ToolResult;

mod record;
mod services;

use record::ExtensionRecord;
use services::{ExtensionInput, HostBehavior};

/// The line that the SDK sends after each handled event, so that the harness knows; hidden in
/// transcripts.
const HANDLED: &str = "{\"type\":\"handled\"}\n";

/// The capacity of the in-memory pipe, the same as of a real one.
const PIPE: usize = 64 * 1024;

/// An extension that runs in memory, with a host made of method calls.
///
/// Methods panic with the transcript if the extension ends or does not answer, since they are for
/// tests. They take `&self`, so several can run at once.
#[derive(Debug)]
pub struct Harness {
    seen: watch::Sender<ExtensionRecord>,
    input: ExtensionInput,
    running: JoinHandle<()>,
    serving: JoinHandle<()>,
    ids: AtomicU64,
    one_way: Mutex<u64>,
    failures: Mutex<Vec<String>>,
    /// Removed when the harness is dropped.
    _dir: Option<TempDir>,
}

/// Returns the default `hello_ack` of the harness; change it as needed and pass it to
/// [`Harness::start_with`].
pub fn host_info() -> HelloAck {
    HelloAck {
        protocol_version: PROTOCOL_VERSION,
        mode: None,
        zot_version: "0.0.0".into(),
        haft_version: Some("0.0.0".into()),
        provider: "scripted".into(),
        model: "scripted".into(),
        cwd: "/work".into(),
        extension_dir: None,
        data_dir: None,
        capabilities: [
            "before_agent_start",
            "tool_result",
            "input",
            "before_settle",
            "context",
            "message_end",
            "before_provider_request",
            "user_bash",
            "before_switch",
            "before_fork",
            "before_tree",
            "resources",
            "approve",
            "project_trust",
            "panel_resize",
            "intercept_roles",
            "host_services",
            "models",
            "files",
            "asks",
            "shows",
            "session",
            "bus",
            "status",
            "command_completions",
            "tools_2",
            "cancel",
            "progress",
            "events_2",
            "mirror",
            "hooks_2",
            "calls",
        ]
        .map(str::to_owned)
        .into(),
        limits: None,
        config: None,
        sandbox: None,
        granted: None,
    }
}

impl Harness {
    /// Starts an extension with an empty data directory, which is removed with the harness. Returns
    /// after `ready`.
    pub async fn start(extension: Extension) -> Self {
        let dir = TempDir::create();
        let info = HelloAck { data_dir: Some(dir.path().display().to_string()), ..host_info() };
        Self::connect(extension, info, Some(dir), HostBehavior::default()).await
    }

    /// Starts an extension with this data directory, as for the second start of an extension with
    /// state.
    pub async fn start_in(extension: Extension, data_dir: impl Into<PathBuf>) -> Self {
        let data_dir = Some(data_dir.into().display().to_string());
        let info = HelloAck { data_dir, ..host_info() };
        Self::connect(extension, info, None, HostBehavior::default()).await
    }

    /// Starts an extension under a host with this information; see [`host_info`].
    pub async fn start_with(extension: Extension, info: HelloAck) -> Self {
        Self::connect(extension, info, None, HostBehavior::default()).await
    }

    /// Starts an extension like [`start`](Self::start), under a host with services. `answer` gets
    /// `read`, `write`, `edit` or `exec` with the arguments, and returns the result. With the other
    /// methods each service is [unavailable](HostError::Unavailable).
    pub async fn start_served(
        extension: Extension,
        answer: impl Fn(&str, Value) -> Result<String, HostError> + Send + Sync + 'static,
    ) -> Self {
        let dir = TempDir::create();
        let info = HelloAck { data_dir: Some(dir.path().display().to_string()), ..host_info() };
        let behavior = HostBehavior { services: Arc::new(answer), ..HostBehavior::default() };
        Self::connect(extension, info, Some(dir), behavior).await
    }

    /// Starts an extension like [`start`](Self::start), with a person who answers its questions. With
    /// the other methods, there is no person.
    pub async fn start_with_person(
        extension: Extension,
        answer: impl Fn(&AskCall) -> UiAnswer + Send + Sync + 'static,
    ) -> Self {
        let dir = TempDir::create();
        let info = HelloAck { data_dir: Some(dir.path().display().to_string()), ..host_info() };
        let behavior = HostBehavior { person: Some(Arc::new(answer)), ..HostBehavior::default() };
        Self::connect(extension, info, Some(dir), behavior).await
    }

    /// Starts an extension like [`start`](Self::start), with a session that carries out its commands.
    /// `reply` gets each command and returns the data of its reply, an object, or null. With the other
    /// methods, each command fails with `unsupported`.
    pub async fn start_with_session(
        extension: Extension,
        reply: impl Fn(&Command) -> Result<Value, CommandFailure> + Send + Sync + 'static,
    ) -> Self {
        let dir = TempDir::create();
        let info = HelloAck { data_dir: Some(dir.path().display().to_string()), ..host_info() };
        let behavior = HostBehavior { session: Some(Arc::new(reply)), ..HostBehavior::default() };
        Self::connect(extension, info, Some(dir), behavior).await
    }

    async fn connect(
        extension: Extension,
        info: HelloAck,
        dir: Option<TempDir>,
        behavior: HostBehavior,
    ) -> Self {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (from_extension, to_extension) = tokio::io::split(ours);
        let (reader, writer) = tokio::io::split(theirs);
        let seen = watch::Sender::new(ExtensionRecord::new(info.data_dir.clone()));
        let watching = seen.clone();
        let running = tokio::spawn(async move {
            let serving = serve::serve(extension, reader, writer, Some(HANDLED));
            let (outcome, ()) = tokio::join!(serving, record::watch_frames(from_extension, &watching));
            watching.send_modify(|seen| seen.outcome = Some(outcome.map_err(|error| error.to_string())));
        });
        let input: ExtensionInput = Arc::new(Mutex::new(Some(to_extension)));
        let serving = tokio::spawn(services::serve(seen.clone(), Arc::clone(&input), behavior));
        let harness = Self {
            seen,
            input,
            running,
            serving,
            ids: AtomicU64::new(1),
            one_way: Mutex::default(),
            failures: Mutex::default(),
            _dir: dir,
        };
        harness.wait_until("hello", |seen| seen.has_hello().then_some(())).await;
        harness.send(info).await;
        harness.wait_until("ready", |seen| seen.has_ready().then_some(())).await;
        harness
    }

    /// Runs a command as the user would: `/name args`.
    pub async fn command(&self, name: &str, args: &str) -> CommandAction {
        self.query(InvokeCommand { name: name.into(), args: args.into() }).await
    }

    /// Presses the key of a shortcut, as registered. The error is the handler's own.
    pub async fn press_shortcut(&self, key: &str) -> Result<(), String> {
        self.query(PressShortcut { name: key.into(), session: None }).await
    }

    /// Returns the completions while a user types `/name prefix`.
    pub async fn complete(&self, name: &str, prefix: &str) -> Vec<Completion> {
        let question = QueryCompletions { name: name.into(), prefix: prefix.into() };
        self.query(question).await.into_iter().map(Completion::from).collect()
    }

    /// Calls a tool as the model would. Unlike a host, the harness does not check `args` against the tool's schema.
    pub async fn tool(&self, name: &str, args: Value) -> ToolResult {
        self.start_tool(name, args).await.result().await
    }

    /// Calls a tool like [`tool`](Self::tool) without waiting for the result.
    pub async fn start_tool(&self, name: &str, args: Value) -> OpenToolCall<'_> {
        let tool_id = Some(ToolCallId::new("call-1"));
        let call = CallTool { name: name.into(), args: args.into(), tool_id };
        OpenToolCall { harness: self, id: self.send_query(call).await }
    }

    /// Sends a tool call to the handlers.
    pub async fn intercept_tool_call(&self, tool: &str, args: Value) -> ToolCallDecision {
        let tool_id = ToolCallId::new("call-1");
        let (tool_name, tool_args) = (tool.into(), args.into());
        let resolved_paths = Vec::new();
        self.intercept_call(InterceptToolCall { tool_id, tool_name, tool_args, caller: None, resolved_paths })
            .await
    }

    /// Sends a host call of another extension to the handlers of tool calls.
    pub async fn intercept_host_call(&self, caller: &str, tool: &str, args: Value) -> ToolCallDecision {
        let (tool_id, caller) = (ToolCallId::new("host-1"), Some(ExtensionName::new(caller)));
        let (tool_name, tool_args) = (tool.into(), args.into());
        let resolved_paths = Vec::new();
        self.intercept_call(InterceptToolCall { tool_id, tool_name, tool_args, caller, resolved_paths }).await
    }

    /// Sends a tool call with all its fields to the handlers, for example with
    /// [`resolved_paths`](InterceptToolCall::resolved_paths).
    pub async fn intercept_call(&self, call: InterceptToolCall) -> ToolCallDecision {
        self.query(call).await
    }

    /// Sends a turn start to the handler. `step` counts from 1.
    pub async fn turn_start(&self, step: u32) -> TurnStartDecision {
        self.query(InterceptTurnStart { step }).await
    }

    /// Sends a text of the model to the handler.
    pub async fn assistant_message(&self, text: &str) -> AssistantMessageDecision {
        self.query(InterceptAssistantMessage { text: text.into() }).await
    }

    /// Sends a prompt and a system prompt to the handler of `before_agent_start`.
    pub async fn before_agent_start(&self, prompt: &str, system_prompt: &str) -> BeforeAgentStartDecision {
        self.query(InterceptBeforeAgentStart { prompt: prompt.into(), system_prompt: system_prompt.into() })
            .await
    }

    /// Sends a conversation to the handler of `before_compact`.
    pub async fn before_compact(&self, question: InterceptBeforeCompact) -> BeforeCompactDecision {
        self.query(question).await
    }

    /// Sends an event that the host waits for, and returns when its handler is done.
    pub async fn wait_event(&self, event: impl InterceptHook<Decision = ()>) {
        self.query(event).await;
    }

    /// Sends the result of a tool call to the handler of `tool_result`.
    pub async fn tool_result(&self, question: InterceptToolResult) -> ToolResultDecision {
        self.query(question).await
    }

    /// Sends the end of a run to the handler of `before_settle`. `text` is the last answer of the
    /// model.
    pub async fn before_settle(&self, text: &str, continued: u32) -> BeforeSettleDecision {
        self.query(InterceptBeforeSettle { text: text.into(), continued }).await
    }

    /// Changes the state in the mirror of the session. Absent parts stay as they are.
    pub async fn mirror_state(&self, state: StateFrame) {
        self.send(state).await;
    }

    /// Changes the entries in the mirror of the session.
    pub async fn mirror_entries(&self, entries: EntriesFrame) {
        self.send(entries).await;
    }

    /// Sends the messages of a request to the handler of `context`.
    pub async fn context_messages(&self, messages: Vec<Message>) -> ContextDecision {
        let model = "scripted".to_owned();
        let request = InterceptContext {
            step: 1,
            provider: model.clone(),
            model,
            messages,
            ..InterceptContext::default()
        };
        self.context_request(request).await
    }

    /// Sends a request to the model to the handler of `context`.
    pub async fn context_request(&self, request: InterceptContext) -> ContextDecision {
        self.query(request).await
    }

    /// Sends an answer of the model to the handler of `message_end`.
    pub async fn message_end(&self, content: Vec<AssistantBlock>, stop: StopCause) -> MessageEndDecision {
        let (provider, model) = ("scripted".to_owned(), "scripted".to_owned());
        let usage = TokenUsage::default();
        self.received_message(InterceptMessageEnd { step: 1, provider, model, content, stop, usage }).await
    }

    /// Sends an answer of the model with all its fields to the handler of `message_end`.
    pub async fn received_message(&self, answer: InterceptMessageEnd) -> MessageEndDecision {
        self.query(answer).await
    }

    /// Sends the body of a request to the handler of `before_provider_request`.
    pub async fn before_provider_request(
        &self,
        provider: &str,
        model: &str,
        payload: impl Into<RawJson>,
    ) -> BeforeProviderRequestDecision {
        let (provider, model, payload) = (provider.to_owned(), model.to_owned(), payload.into());
        self.query(InterceptBeforeProviderRequest { provider, model, payload }).await
    }

    /// Sends a shell command of the person to the handler of `user_bash`.
    pub async fn user_bash(&self, command: &str, excluded: bool) -> UserBashDecision {
        self.query(InterceptUserBash { command: command.to_owned(), cwd: "/work".to_owned(), excluded }).await
    }

    /// Asks the handler of `before_switch` about a session that the person opens. `session` is its id, if it is on
    /// disk.
    pub async fn before_switch(&self, reason: SwitchReason, session: Option<&str>) -> BeforeSwitchDecision {
        let session = session.map(str::to_owned);
        self.query(InterceptBeforeSwitch { reason, session, caller: None }).await
    }

    /// Asks the handler of `before_fork` about a copy that the person requests.
    pub async fn before_fork(&self, entry: &str) -> BeforeForkDecision {
        self.query(InterceptBeforeFork { entry: Some(entry.to_owned()), caller: None }).await
    }

    /// Asks the handler of `before_tree`.
    pub async fn before_tree(&self, pending: InterceptBeforeTree) -> BeforeTreeDecision {
        self.query(pending).await
    }

    /// Asks the handler of `project_trust` about a project in `/work` with these parts.
    pub async fn ask_about_trust(&self, items: &[&str]) -> ProjectTrustDecision {
        let items = items.iter().map(|item| (*item).to_owned()).collect();
        self.query(InterceptProjectTrust { cwd: "/work".to_owned(), digest: "9c1f".to_owned(), items }).await
    }

    /// Asks the handler of `resources`.
    pub async fn find_resources(&self, reason: ResourcesReason) -> ResourcesDecision {
        self.query(InterceptResources { cwd: "/work".to_owned(), reason }).await
    }

    /// Asks the handler of `approve` about a call of the model.
    pub async fn approve_call(&self, tool: &str, args: Value) -> ApproveDecision {
        let tool_id = ToolCallId::new("call-1");
        let (tool_name, tool_args) = (tool.into(), args.into());
        let resolved_paths = Vec::new();
        self.query(InterceptApprove { tool_id, tool_name, tool_args, caller: None, resolved_paths }).await
    }

    /// Sends a typed text to the handler of `input`.
    pub async fn review_input(&self, text: &str) -> InputDecision {
        let (text, images) = (text.to_owned(), Vec::new());
        self.query(InterceptInput { text, images, source: InputSource::Interactive }).await
    }

    /// Returns the registered commands, in order.
    pub fn commands(&self) -> Vec<RegisterCommand> {
        self.seen.borrow().commands()
    }

    /// Returns the registered tools, in order.
    pub fn tools(&self) -> Vec<RegisterTool> {
        self.seen.borrow().tools()
    }

    /// Returns the visible notes: sent and not removed.
    pub fn notes(&self) -> Vec<(NoteLevel, String)> {
        self.seen.borrow().notes()
    }

    /// Returns the current texts of the status line, by key.
    pub fn status(&self) -> Vec<(String, String)> {
        self.seen.borrow().status()
    }

    /// Returns the changes of the screen so far, oldest first.
    pub fn screen_changes(&self) -> Vec<ShowCall> {
        self.seen.borrow().screen_changes()
    }

    /// Returns the current content of an open panel; `None` if it is not open.
    pub fn panel(&self, id: &str) -> Option<Panel> {
        self.seen.borrow().panel(id)
    }

    /// Returns all lines so far, `→` to the extension and `←` from it. The data directory is shown
    /// as `[data_dir]`.
    pub fn transcript(&self) -> String {
        self.seen.borrow().transcript()
    }

    /// Returns the lines of [`transcript`](Self::transcript) after the extension's `ready`, without
    /// `hello_ack`. A snapshot of them stays the same when haft or the SDK announces more
    /// capabilities.
    ///
    /// ```
    /// use haft_sdk::testing::Harness;
    /// use haft_sdk::{Extension, Response};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let extension = Extension::new("hello", "1.0.0")
    ///     .command("hello", "say hi", |_, _| async { Response::display("hi") });
    /// let harness = Harness::start(extension).await;
    /// harness.command("hello", "").await;
    /// let expect = r#"→ {"type":"command_invoked","id":"1","name":"hello"}
    /// ← {"type":"command_response","id":"1","action":"display","display":"hi"}"#;
    /// assert_eq!(harness.transcript_since_ready(), expect);
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn transcript_since_ready(&self) -> String {
        self.seen.borrow().transcript_since_ready()
    }

    /// Sends an event and returns when its handlers are done.
    pub async fn event(&self, event: LifecycleEvent) {
        self.send_and_wait(event).await;
    }

    /// Sends an event in the form of `--json` and returns when its handlers are done.
    pub async fn session_event(&self, event: &AgentEvent) {
        let event = SessionEvent::new(event, "session-1").expect("every event has a JSON form");
        self.send_and_wait(event).await;
    }

    /// Sends a message of another extension on the bus, and returns when its handler is done.
    pub async fn bus_message(&self, from: &str, channel: &str, data: Value) {
        let (channel, data, from) = (channel.to_owned(), RawJson::from(data), ExtensionName::new(from));
        let message = BusMessage { channel, data, from };
        let event = SessionEvent::from_message(&message, "session-1");
        self.send_and_wait(event.expect("every message has a JSON form")).await;
    }

    /// Returns the messages that the extension has sent on the bus.
    pub fn emitted_messages(&self) -> Vec<EmitCall> {
        self.seen.borrow().emitted_messages()
    }

    /// Reports a number of lost events and returns when the handler is done.
    pub async fn event_gap(&self, lost: u64) {
        self.send_and_wait(EventGap { lost }).await;
    }

    /// Reports a rejected registration and returns when the handler is done.
    pub async fn reject_registration(&self, rejected: RegisterRejected) {
        self.send_and_wait(rejected).await;
    }

    /// Sends a key to a panel and returns when its handler is done.
    pub async fn panel_key(&self, panel: &str, key: &str) {
        self.send_and_wait(PanelKey { panel_id: PanelId::new(panel), key: key.into(), text: None }).await;
    }

    /// Types text into a panel, in one `rune` key, and returns when its handler is done.
    pub async fn panel_text(&self, panel: &str, text: &str) {
        let text = Some(text.to_owned());
        self.send_and_wait(PanelKey { panel_id: PanelId::new(panel), key: "rune".into(), text }).await;
    }

    /// Sends the size of a panel and returns when its handler is done.
    pub async fn panel_resize(&self, panel: &str, width: u32, height: u32) {
        self.send_and_wait(PanelResize { panel_id: PanelId::new(panel), width, height }).await;
    }

    /// Closes a panel as the user would and returns when its handler is done.
    pub async fn panel_close(&self, panel: &str) {
        self.send_and_wait(PanelClose { panel_id: PanelId::new(panel) }).await;
    }

    /// Returns the failures of hook handlers, in order. The other methods return the response as a
    /// host reads it that does not know of failures.
    pub async fn failures(&self) -> Vec<String> {
        self.failures.lock().await.clone()
    }

    /// Sends `shutdown`, waits for the end, and returns the transcript.
    pub async fn shutdown(&self) -> String {
        self.send(Shutdown {}).await;
        self.end().await
    }

    /// Closes the extension's input as a lost host would, waits for the end, and returns the
    /// transcript.
    pub async fn hang_up(&self) -> String {
        if let Some(mut pipe) = self.input.lock().await.take() {
            // Already closed if the extension ended first, which `end` reports.
            let _ = pipe.shutdown().await;
        }
        self.end().await
    }

    /// Sends a raw line, for input that no method covers. A newline is added.
    pub async fn send_line(&self, line: &str) {
        self.seen.send_modify(|seen| seen.record_sent(line));
        let mut input = self.input.lock().await;
        let pipe = input.as_mut().expect("the test has already closed the connection");
        let written = pipe.write_all(format!("{line}\n").as_bytes()).await;
        assert!(written.is_ok(), "extension ended\n{}", self.transcript());
    }

    async fn send(&self, frame: impl Into<HostFrame>) {
        let line = codec::encode(&frame.into()).expect("every host frame has a JSON form");
        self.send_line(line.trim_end()).await;
    }

    /// Sends a notification and waits until it was handled.
    async fn send_and_wait(&self, frame: impl Into<HostFrame>) {
        let number = {
            // Numbered and sent under one lock, because the extension counts in the order of
            // arrival.
            let mut sent = self.one_way.lock().await;
            *sent += 1;
            self.send(frame).await;
            *sent
        };
        self.wait_until("handler of an event", |seen| (seen.handled >= number).then_some(())).await;
    }

    async fn send_query<R: HostQuery>(&self, question: R) -> RequestId {
        let id = RequestId::new(self.ids.fetch_add(1, Ordering::Relaxed).to_string());
        self.send(question.into_frame(id.clone())).await;
        id
    }

    async fn query<R: HostQuery>(&self, question: R) -> R::Answer {
        let id = self.send_query(question).await;
        self.wait_for_answer::<R>(&id).await
    }

    async fn wait_for_answer<R: HostQuery>(&self, id: &RequestId) -> R::Answer {
        let mut response = self.wait_until("answer", |seen| seen.find_response(id)).await;
        if let QueryResponse::Intercept(answer) = &mut response
            && !answer.error.is_empty()
        {
            let failure = std::mem::take(&mut answer.error);
            self.failures.lock().await.push(failure);
        }
        R::read_answer(response)
            .unwrap_or_else(|error| panic!("answer does not fit: {error}\n{}", self.transcript()))
    }

    async fn end(&self) -> String {
        let mut seen = self.seen.subscribe();
        let ended = timeout(HARNESS_PATIENCE, seen.wait_for(|seen| seen.outcome.is_some())).await;
        let outcome = ended.ok().and_then(|seen| seen.ok()?.outcome.clone());
        match outcome {
            Some(Ok(())) => self.transcript(),
            Some(Err(error)) => panic!("extension failed: {error}\n{}", self.transcript()),
            None => panic!("extension did not end\n{}", self.transcript()),
        }
    }

    async fn wait_until<T>(&self, what: &str, find: impl Fn(&ExtensionRecord) -> Option<T>) -> T {
        let mut seen = self.seen.subscribe();
        let waited = seen.wait_for(|seen| find(seen).is_some() || seen.outcome.is_some());
        let found = timeout(HARNESS_PATIENCE, waited).await.ok().and_then(|seen| find(&*seen.ok()?));
        let outcome = self.seen.borrow().outcome.clone();
        found.unwrap_or_else(|| panic!("no {what}; extension ended: {outcome:?}\n{}", self.transcript()))
    }
}

/// A tool call that waits for its result; see [`Harness::start_tool`].
#[derive(Debug)]
#[must_use = "the result of the call shows whether it succeeded"]
pub struct OpenToolCall<'a> {
    harness: &'a Harness,
    id: RequestId,
}

impl OpenToolCall<'_> {
    /// Cancels the call, as when the user stops the run. The handler may still answer.
    pub async fn cancel(&self) {
        self.harness.send(CancelRequest { id: self.id.clone() }).await;
    }

    /// Waits until the call shows this text as its progress.
    pub async fn wait_for_progress(&self, text: &str) {
        let shown = |seen: &ExtensionRecord| seen.has_progress(&self.id, text).then_some(());
        self.harness.wait_until("progress", shown).await;
    }

    /// Waits for the result.
    pub async fn result(self) -> ToolResult {
        self.harness.wait_for_answer::<CallTool>(&self.id).await.into()
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        self.running.abort();
        self.serving.abort();
    }
}

#[derive(Debug)]
struct TempDir(PathBuf);

impl TempDir {
    fn create() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("haft-harness-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = env::temp_dir().join(name);
        // Files left by a killed test with the same process id must not look like this test's
        // state.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("cannot make {}: {error}", path.display()));
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // A leftover directory is harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}
