//! A process hook under test.

use std::sync::Arc;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::wire::{
    self, AfterLlm, AfterTool, ApprovalDecision, ApproveTool, BeforeLlm, BeforeTool, Call, CallLine,
    HookEventPayload, HookHello, HookMode, HookQuestion, HookReply, HookToolResult, InboundMessage,
    LlmDecision, LlmResponse, ResponseDecision, ResultDecision, RpcError, ToolDecision, TurnContext,
    TurnEvent, TurnMeta,
};
use haft_protocol::RawJson;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWriteExt, DuplexStream, WriteHalf};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use haft_sdk::peer::{HARNESS_PATIENCE, LineReader};

use super::{Hook, serve};

/// The capacity of the pipe to the hook.
const PIPE: usize = 64 * 1024;

/// The line that the SDK sends after each handled event, so that the harness knows; hidden in
/// transcripts.
const HANDLED: &str = "{\"handled\":true}\n";

/// A hook that runs in memory, with a host made of method calls. They return the decision that haft
/// derives from the reply.
///
/// ```
/// use haft_adapter_picoclaw::author::{Hook, HookHarness, ToolDecision};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let hook = Hook::new().before_tool(|call| async move {
///     match call.arguments.as_str().contains("sudo") {
///         true => ToolDecision::deny("no sudo here"),
///         false => ToolDecision::Continue,
///     }
/// });
/// let harness = HookHarness::start(hook).await;
/// let decision = harness.before_tool("bash", json!({ "command": "sudo ls" })).await;
/// assert_eq!(decision, ToolDecision::deny("no sudo here"));
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Methods panic with the transcript if the hook ends, does not answer, or answers with an error;
/// [`ask`](Self::ask) returns that error. They take `&self`, so several can run at once.
#[derive(Debug)]
pub struct HookHarness {
    seen: watch::Sender<HookRecord>,
    input: Mutex<Option<WriteHalf<DuplexStream>>>,
    running: JoinHandle<()>,
    ids: AtomicU64,
    events: Mutex<u64>,
}

/// The lines of the connection so far.
#[derive(Debug, Default)]
struct HookRecord {
    lines: Vec<String>,
    replies: Vec<HookReply>,
    handled: u64,
    outcome: Option<Result<(), String>>,
}

impl HookHarness {
    /// Starts a hook that is configured for all points and events.
    pub async fn start(hook: Hook) -> Self {
        Self::start_with(
            hook,
            HookHello::new("hook", vec![HookMode::Observe, HookMode::Llm, HookMode::Tool, HookMode::Approve]),
        )
        .await
    }

    /// Starts a hook with this `hello`.
    pub async fn start_with(hook: Hook, hello: HookHello) -> Self {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (from_hook, to_hook) = tokio::io::split(ours);
        let (reader, writer) = tokio::io::split(theirs);
        let seen = watch::Sender::<HookRecord>::default();
        let watching = seen.clone();
        let running = tokio::spawn(async move {
            let serving = serve(hook, reader, writer, Some(HANDLED));
            let (outcome, ()) = tokio::join!(serving, watch_lines(from_hook, &watching));
            watching.send_modify(|seen| seen.outcome = Some(outcome.map_err(|error| error.to_string())));
        });
        let input = Mutex::new(Some(to_hook));
        let harness = Self { seen, input, running, ids: AtomicU64::new(1), events: Mutex::default() };
        harness.ask_or_panic(hello).await;
        harness
    }

    /// Sends a request to the model with one message of the user; see [`ask`](Self::ask) for
    /// others. The request contains `tools`.
    pub async fn before_llm(&self, prompt: &str, tools: &[&str]) -> LlmDecision {
        let tool = |name: &&str| wire::ToolDefinition::new(*name, "", RawJson::empty_object_schema());
        self.ask_or_panic(BeforeLlm {
            meta: turn_meta(BeforeLlm::TRACE_PATH),
            context: turn_context(),
            model: "scripted".to_owned(),
            messages: vec![wire::HookMessage::user(prompt)],
            tools: tools.iter().map(tool).collect(),
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
            ..BeforeLlm::default()
        })
        .await
    }

    /// Sends an answer of the model with this text.
    pub async fn after_llm(&self, text: &str) -> ResponseDecision {
        let finish_reason = "stop".to_owned();
        self.ask_or_panic(AfterLlm {
            meta: turn_meta(AfterLlm::TRACE_PATH),
            context: turn_context(),
            model: "scripted".to_owned(),
            response: LlmResponse { content: text.to_owned(), finish_reason, ..LlmResponse::default() },
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        })
        .await
    }

    /// Sends a tool call before it runs.
    pub async fn before_tool(&self, tool: &str, arguments: Value) -> ToolDecision {
        self.ask_or_panic(BeforeTool {
            meta: turn_meta(BeforeTool::TRACE_PATH),
            context: turn_context(),
            tool: tool.to_owned(),
            arguments: arguments.into(),
            hook_result: None,
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
            resolved_paths: Vec::new(),
        })
        .await
    }

    /// Sends a tool call for approval.
    pub async fn approve_tool(&self, tool: &str, arguments: Value) -> ApprovalDecision {
        self.ask_or_panic(ApproveTool {
            meta: turn_meta(ApproveTool::TRACE_PATH),
            context: turn_context(),
            tool: tool.to_owned(),
            arguments: arguments.into(),
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
            resolved_paths: Vec::new(),
        })
        .await
    }

    /// Sends the result of a tool call.
    pub async fn after_tool(&self, tool: &str, arguments: Value, result: HookToolResult) -> ResultDecision {
        self.ask_or_panic(AfterTool {
            meta: turn_meta(AfterTool::TRACE_PATH),
            context: turn_context(),
            tool: tool.to_owned(),
            arguments: arguments.into(),
            result,
            duration: 1_000_000,
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        })
        .await
    }

    /// Sends any call, unchanged.
    ///
    /// # Errors
    /// The error in the reply of the hook.
    pub async fn ask<Q: HookQuestion + Clone + Into<Call>>(
        &self,
        question: Q,
    ) -> Result<Q::Decision, RpcError> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        self.send(CallLine::request(id, question.clone())).await;
        let reply =
            self.wait_until("reply", |seen| seen.replies.iter().find(|reply| reply.id == id).cloned()).await;
        let decided = question.decide(&reply.outcome?);
        let decided = decided.unwrap_or_else(|error| panic!("{error}\n{}", self.transcript()));
        assert!(decided.reports.is_empty(), "{:?}\n{}", decided.reports, self.transcript());
        Ok(decided.decision)
    }

    /// Sends an event and returns when its handlers are done.
    pub async fn event(&self, payload: impl Into<HookEventPayload>) {
        let time = "2026-01-31T12:34:56Z".to_owned();
        let occurrence =
            TurnEvent { time, meta: turn_meta(""), context: turn_context(), payload: payload.into() };
        let event = occurrence.to_runtime_event(1).expect("every event has a JSON form");
        self.notify(event).await;
    }

    /// Sends an event of either form, unchanged, and returns when its handlers are done.
    pub async fn notify(&self, event: impl Into<Call>) {
        let number = {
            // Numbered and sent under one lock, because the hook counts in the order of arrival.
            let mut sent = self.events.lock().await;
            *sent += 1;
            self.send(CallLine::notification(event)).await;
            *sent
        };
        self.wait_until("handler of an event", |seen| (seen.handled >= number).then_some(())).await;
    }

    /// Sends a raw line, for input that no method covers. A newline is added.
    pub async fn send_line(&self, line: &str) {
        self.seen.send_modify(|seen| seen.lines.push(format!("→ {line}")));
        let mut input = self.input.lock().await;
        let pipe = input.as_mut().expect("the test has already closed the connection");
        let written = pipe.write_all(format!("{line}\n").as_bytes()).await;
        assert!(written.is_ok(), "hook ended\n{}", self.transcript());
    }

    /// Closes the hook's input, as every host does at the end. Waits for the end, and returns the
    /// transcript.
    pub async fn hang_up(&self) -> String {
        if let Some(mut pipe) = self.input.lock().await.take() {
            // Already closed if the hook ended first, which is reported below.
            let _ = pipe.shutdown().await;
        }
        let mut seen = self.seen.subscribe();
        let ended = timeout(HARNESS_PATIENCE, seen.wait_for(|seen| seen.outcome.is_some())).await;
        match ended.ok().and_then(|seen| seen.ok()?.outcome.clone()) {
            Some(Ok(())) => self.transcript(),
            Some(Err(error)) => panic!("hook failed: {error}\n{}", self.transcript()),
            None => panic!("hook did not end\n{}", self.transcript()),
        }
    }

    /// Returns all lines so far, `→` to the hook and `←` from it.
    pub fn transcript(&self) -> String {
        self.seen.borrow().lines.join("\n")
    }

    async fn ask_or_panic<Q: HookQuestion + Clone + Into<Call>>(&self, question: Q) -> Q::Decision {
        self.ask(question)
            .await
            .unwrap_or_else(|error| panic!("hook answered: {error}\n{}", self.transcript()))
    }

    async fn send(&self, line: CallLine) {
        let line = line.encode().expect("every call has a JSON form");
        self.send_line(line.trim_end()).await;
    }

    async fn wait_until<T>(&self, what: &str, find: impl Fn(&HookRecord) -> Option<T>) -> T {
        let mut seen = self.seen.subscribe();
        let waited = seen.wait_for(|seen| find(seen).is_some() || seen.outcome.is_some());
        let found = timeout(HARNESS_PATIENCE, waited).await.ok().and_then(|seen| find(&*seen.ok()?));
        let outcome = self.seen.borrow().outcome.clone();
        found.unwrap_or_else(|| panic!("no {what}; hook ended: {outcome:?}\n{}", self.transcript()))
    }
}

impl Drop for HookHarness {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// The channel of haft.
const CHANNEL: &str = "cli";
const CHAT: &str = "direct";

fn turn_meta(trace_path: &str) -> TurnMeta {
    TurnMeta {
        agent_id: "main".to_owned(),
        turn_id: "main-turn-1".to_owned(),
        parent_turn_id: String::new(),
        session_key: "session-1".to_owned(),
        iteration: 1,
        trace_path: trace_path.to_owned(),
        source: "runTurn".to_owned(),
    }
}

fn turn_context() -> Option<Arc<TurnContext>> {
    let (channel, chat_id) = (CHANNEL.to_owned(), CHAT.to_owned());
    let inbound = InboundMessage { channel, chat_id, ..InboundMessage::default() };
    Some(Arc::new(TurnContext { inbound: Some(inbound), ..TurnContext::default() }))
}

/// Records the lines of the hook until it closes its output.
async fn watch_lines<R: AsyncRead + Unpin>(reader: R, seen: &watch::Sender<HookRecord>) {
    let mut lines = LineReader::new(reader, wire::BOUNDS.line);
    while let Ok(Some(line)) = lines.next().await {
        seen.send_modify(|seen| seen.record_received(line));
    }
}

impl HookRecord {
    fn record_received(&mut self, line: &[u8]) {
        if line == HANDLED.trim_end().as_bytes() {
            self.handled += 1;
            return;
        }
        self.lines.push(format!("← {}", String::from_utf8_lossy(line)));
        self.replies.extend(wire::read_reply(line, wire::BOUNDS, Default::default()));
    }
}
