//! A process hook under test.

use std::sync::atomic::{AtomicU64, Ordering};

use haft_protocol::RawJson;
use haft_protocol::hook::{
    self, AfterLlm, AfterTool, ApprovalDecision, ApproveTool, BeforeLlm, BeforeTool, Call, Hello, Inbound,
    Line, LlmDecision, LlmResponse, Meta, Mode, Occurrence, Payload, Question, Reply, ResponseDecision,
    ResultDecision, RpcError, ToolDecision, ToolResult, TurnContext,
};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWriteExt, DuplexStream, WriteHalf};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::PIPE;
use crate::hook::{Hook, serve};
use crate::serve::lines::Lines;
use crate::timeouts::HARNESS_PATIENCE;

/// The line that the SDK sends after each event that was handled, so that the harness knows; shown in no transcript.
const HANDLED: &str = "{\"handled\":true}\n";

/// A hook that runs in memory, and a host made of method calls. What they return is what haft makes of the hook's reply.
///
/// ```
/// use haft_sdk::hook::{Hook, ToolDecision};
/// use haft_sdk::testing::HookHarness;
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
/// Methods panic with the transcript when the hook ends, does not answer, or answers with an error; [`ask`](Self::ask)
/// returns that error. They take `&self`, so several can be under way at once.
#[derive(Debug)]
pub struct HookHarness {
    seen: watch::Sender<Seen>,
    input: Mutex<Option<WriteHalf<DuplexStream>>>,
    running: JoinHandle<()>,
    ids: AtomicU64,
    events: Mutex<u64>,
}

/// The lines that went over the wire so far.
#[derive(Debug, Default)]
struct Seen {
    lines: Vec<String>,
    replies: Vec<Reply>,
    handled: u64,
    outcome: Option<Result<(), String>>,
}

impl HookHarness {
    /// Starts a hook that is called for everything.
    pub async fn start(hook: Hook) -> Self {
        Self::start_with(hook, Hello::new("hook", vec![Mode::Observe, Mode::Llm, Mode::Tool, Mode::Approve]))
            .await
    }

    /// Starts a hook and says this hello.
    pub async fn start_with(hook: Hook, hello: Hello) -> Self {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (from_hook, to_hook) = tokio::io::split(ours);
        let (reader, writer) = tokio::io::split(theirs);
        let seen = watch::Sender::<Seen>::default();
        let watching = seen.clone();
        let running = tokio::spawn(async move {
            let serving = serve(hook, reader, writer, Some(HANDLED));
            let (outcome, ()) = tokio::join!(serving, watch_lines(from_hook, &watching));
            watching.send_modify(|seen| seen.outcome = Some(outcome.map_err(|error| error.to_string())));
        });
        let input = Mutex::new(Some(to_hook));
        let harness = Self { seen, input, running, ids: AtomicU64::new(1), events: Mutex::default() };
        harness.must(hello).await;
        harness
    }

    /// Asks about a call of the model with one message of the user; see [`ask`](Self::ask) for others. `tools` are offered
    /// already.
    pub async fn before_llm(&self, prompt: &str, tools: &[&str]) -> LlmDecision {
        let tool = |name: &&str| hook::ToolDefinition::new(*name, "", RawJson::empty_object_schema());
        self.must(BeforeLlm {
            meta: meta(BeforeLlm::TRACE_PATH),
            context: context(),
            model: "scripted".to_owned(),
            messages: vec![hook::Message::user(prompt)],
            tools: tools.iter().map(tool).collect(),
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
            ..BeforeLlm::default()
        })
        .await
    }

    /// Asks about an answer of the model that is this text.
    pub async fn after_llm(&self, text: &str) -> ResponseDecision {
        let finish_reason = "stop".to_owned();
        self.must(AfterLlm {
            meta: meta(AfterLlm::TRACE_PATH),
            context: context(),
            model: "scripted".to_owned(),
            response: LlmResponse { content: text.to_owned(), finish_reason, ..LlmResponse::default() },
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        })
        .await
    }

    /// Asks about a call of a tool.
    pub async fn before_tool(&self, tool: &str, arguments: Value) -> ToolDecision {
        self.must(BeforeTool {
            meta: meta(BeforeTool::TRACE_PATH),
            context: context(),
            tool: tool.to_owned(),
            arguments: arguments.into(),
            hook_result: None,
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        })
        .await
    }

    /// Asks whether a tool may run.
    pub async fn approve_tool(&self, tool: &str, arguments: Value) -> ApprovalDecision {
        self.must(ApproveTool {
            meta: meta(ApproveTool::TRACE_PATH),
            context: context(),
            tool: tool.to_owned(),
            arguments: arguments.into(),
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        })
        .await
    }

    /// Asks about what came of a tool.
    pub async fn after_tool(&self, tool: &str, arguments: Value, result: ToolResult) -> ResultDecision {
        self.must(AfterTool {
            meta: meta(AfterTool::TRACE_PATH),
            context: context(),
            tool: tool.to_owned(),
            arguments: arguments.into(),
            result,
            duration: 1_000_000,
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        })
        .await
    }

    /// Asks anything, word for word.
    ///
    /// # Errors
    /// The error that the hook replied with.
    pub async fn ask<Q: Question + Clone + Into<Call>>(&self, question: Q) -> Result<Q::Decision, RpcError> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        self.send(Line::request(id, question.clone())).await;
        let reply =
            self.until("reply", |seen| seen.replies.iter().find(|reply| reply.id == id).cloned()).await;
        let decided = question.decide(&reply.outcome?);
        let decided = decided.unwrap_or_else(|error| panic!("{error}\n{}", self.transcript()));
        assert!(decided.reports.is_empty(), "{:?}\n{}", decided.reports, self.transcript());
        Ok(decided.decision)
    }

    /// Tells an event and returns when its handlers are done.
    pub async fn event(&self, payload: impl Into<Payload>) {
        let time = "2026-01-31T12:34:56Z".to_owned();
        let occurrence = Occurrence { time, meta: meta(""), context: context(), payload: payload.into() };
        let event = occurrence.runtime(1).expect("every event has a JSON form");
        self.tell(event).await;
    }

    /// Tells an event of either form, word for word, and returns when its handlers are done.
    pub async fn tell(&self, event: impl Into<Call>) {
        let number = {
            // Numbered and sent under one lock: the hook counts in the order of arrival.
            let mut sent = self.events.lock().await;
            *sent += 1;
            self.send(Line::notification(event)).await;
            *sent
        };
        self.until("handler of an event", |seen| (seen.handled >= number).then_some(())).await;
    }

    /// Sends a line as it is, for what no method says. A newline is added.
    pub async fn send_line(&self, line: &str) {
        self.seen.send_modify(|seen| seen.lines.push(format!("→ {line}")));
        let mut input = self.input.lock().await;
        let pipe = input.as_mut().expect("the test hung up before this");
        let written = pipe.write_all(format!("{line}\n").as_bytes()).await;
        assert!(written.is_ok(), "hook ended\n{}", self.transcript());
    }

    /// Closes the hook's input, as every host does at the end, waits for the end, and returns the transcript.
    pub async fn hang_up(&self) -> String {
        if let Some(mut pipe) = self.input.lock().await.take() {
            // Already closed when the hook ended first, which is reported below.
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

    /// Every line so far, `→` to the hook and `←` from it.
    pub fn transcript(&self) -> String {
        self.seen.borrow().lines.join("\n")
    }

    async fn must<Q: Question + Clone + Into<Call>>(&self, question: Q) -> Q::Decision {
        self.ask(question)
            .await
            .unwrap_or_else(|error| panic!("hook answered: {error}\n{}", self.transcript()))
    }

    async fn send(&self, line: Line) {
        let line = line.encode().expect("every call has a JSON form");
        self.send_line(line.trim_end()).await;
    }

    async fn until<T>(&self, what: &str, find: impl Fn(&Seen) -> Option<T>) -> T {
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

/// The channel that haft names.
const CHANNEL: &str = "cli";
const CHAT: &str = "direct";

fn meta(trace_path: &str) -> Meta {
    Meta {
        agent_id: "main".to_owned(),
        turn_id: "main-turn-1".to_owned(),
        parent_turn_id: String::new(),
        session_key: "session-1".to_owned(),
        iteration: 1,
        trace_path: trace_path.to_owned(),
        source: "runTurn".to_owned(),
    }
}

fn context() -> Option<Box<TurnContext>> {
    let (channel, chat_id) = (CHANNEL.to_owned(), CHAT.to_owned());
    let inbound = Inbound { channel, chat_id, ..Inbound::default() };
    Some(Box::new(TurnContext { inbound: Some(inbound), ..TurnContext::default() }))
}

/// Notes what the hook says until it closes its side.
async fn watch_lines<R: AsyncRead + Unpin>(reader: R, seen: &watch::Sender<Seen>) {
    let mut lines = Lines::new(reader, hook::BOUNDS.line);
    while let Ok(Some(line)) = lines.next().await {
        seen.send_modify(|seen| seen.received(line));
    }
}

impl Seen {
    fn received(&mut self, line: &[u8]) {
        if line == HANDLED.trim_end().as_bytes() {
            self.handled += 1;
            return;
        }
        self.lines.push(format!("← {}", String::from_utf8_lossy(line)));
        self.replies.extend(hook::read_reply(line, hook::BOUNDS, Default::default()));
    }
}
