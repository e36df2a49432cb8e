//! Host calls of one extension process, and the tools that serve them.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use haft_core::completion::{CompletionAnswer, CompletionError, CompletionRequest};
use haft_core::model::{RequestOptions, ThinkingLevel};
use haft_core::session::current_time;

use haft_core::tool::{
    ApprovalRequest, CanonicalArgs, Tool, ToolContext, ToolFailureKind, ToolOutput, ToolOwner, ToolPreview,
    ToolSpec,
};
use haft_core::{Agent, CallableTool, ExtensionToolCall, ExtensionToolResult, ExtensionToolRunner};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, ToolCall};
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{
    CallToolArgs, CompleteCall, CompletionData, CompletionMessage, CompletionOptions, CompletionPiece,
    FileLockCall, HostCallError, HostCallKind, HostResult, MessageRole, ResultBlock,
};
use haft_protocol::ids::{ExtensionName, RequestId};
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message};
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::file_locks::FileLocks;
use super::{ServiceProvider, ServiceReach};
use crate::extension::frontend::FaultReporter;
use crate::process::log::ExtensionLog;
use crate::timeouts::{AGENT_PATIENCE, COMPLETION_TIME, LEASE_GRACE, PROGRESS_PAUSE, Timeouts};

/// Serves the host calls of one extension process.
pub(crate) struct HostCallServer {
    pub(crate) provided: Arc<ServiceProvider>,
    pub(crate) reach: ServiceReach,
    pub(crate) reporter: FaultReporter,
    pub(crate) log: Arc<ExtensionLog>,
    pub(crate) timeouts: Arc<Timeouts>,
    pub(crate) locks: FileLocks,
    tools: OnceCell<Result<CallableTools, String>>,
}

type CallableTools = Vec<Arc<CallableTool>>;

impl HostCallServer {
    pub(crate) fn new(
        provided: Arc<ServiceProvider>,
        reach: ServiceReach,
        reporter: FaultReporter,
        log: Arc<ExtensionLog>,
        timeouts: Arc<Timeouts>,
    ) -> Self {
        let locks =
            FileLocks::new(Arc::clone(&provided), reach.clone(), reporter.clone(), Arc::clone(&timeouts));
        Self { provided, reach, reporter, log, timeouts, locks, tools: OnceCell::new() }
    }

    /// Runs a tool.
    pub(crate) async fn serve(
        self: Arc<Self>,
        cancel: CancellationToken,
        id: RequestId,
        kind: HostCallKind,
        args: RawJson,
    ) -> HostResult {
        let called = match self.execute_call(&cancel, kind, args).await {
            Ok(called) => called,
            Err(refused) => refused,
        };
        self.log_outcome(kind, &called);
        result_of_call(id, kind, called)
    }

    /// Locks or unlocks a file. The lock ends with `process`.
    pub(crate) async fn serve_lock(
        self: Arc<Self>,
        cancel: CancellationToken,
        process: CancellationToken,
        id: RequestId,
        call: FileLockCall,
    ) -> HostResult {
        let name = call.kind().name();
        let result = self.locks.serve(&cancel, process, id, call).await;
        let outcome = result.code.map_or("done", HostCallError::name);
        self.log.log_host_line(format_args!("host_call {name}: {outcome}"));
        result
    }

    /// Runs a tool of the agent.
    pub(crate) async fn serve_agent_tool(
        self: Arc<Self>,
        cancel: CancellationToken,
        id: RequestId,
        args: CallToolArgs,
    ) -> HostResult {
        let kind = HostCallKind::CallTool;
        let called = match self.execute_agent_tool(&cancel, args).await {
            Ok(called) => called,
            Err(refused) => refused,
        };
        self.log_outcome(kind, &called);
        result_of_call(id, kind, called)
    }

    async fn execute_agent_tool(
        &self,
        cancel: &CancellationToken,
        CallToolArgs { name, args }: CallToolArgs,
    ) -> Result<ExtensionToolResult, ExtensionToolResult> {
        let caller = self.wait_for_caller(cancel).await?;
        let missing = || {
            let text =
                format!("the model has no tool {:?}; `get_tools` lists the tools", shorten_name(&name));
            ExtensionToolResult::from_error(HostCallError::NotFound, text)
        };
        let tool = caller.find_tool(&name).ok_or_else(missing)?;
        // Tools of extensions and commands have their own limits.
        let spec = tool.spec();
        let has_limit = matches!(spec.owner, ToolOwner::Extension(_))
            || Some(spec.name.as_str()) == HostCallKind::Exec.tool();
        let tool = match has_limit {
            true => tool,
            false => {
                let limited = TimeLimitedTool { tool: tool.into_tool(), time: self.timeouts.host_call };
                CallableTool::new(Arc::new(limited))
            }
        };
        Ok(self.run_tool(cancel, &caller, &tool, args).await)
    }

    /// Asks a model. `show` receives the values of the pieces of the answer.
    pub(crate) async fn serve_completion(
        self: Arc<Self>,
        cancel: CancellationToken,
        id: RequestId,
        wish: CompleteCall,
        show: impl Fn(RawJson) + Send,
    ) -> HostResult {
        let asked = cancel.run_until_cancelled(self.complete_text(&cancel, wish, show));
        let outcome = match timeout(COMPLETION_TIME, asked).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => Err((HostCallError::Cancelled, "the call was cancelled".to_owned())),
            Err(_) => {
                let seconds = COMPLETION_TIME.as_secs();
                Err((HostCallError::TimedOut, format!("the model did not answer within {seconds} s")))
            }
        };
        let code = outcome.as_ref().err().map_or("done", |(code, _)| code.name());
        self.log.log_host_line(format_args!("host_call complete: {code}"));
        match outcome {
            Ok(data) => {
                // The value always has a JSON form.
                let value = RawJson::from_value(&data).ok();
                HostResult { value, ..HostResult::with_content(id, Vec::new()) }
            }
            Err((code, text)) => HostResult::from_failure(id, code, text),
        }
    }

    async fn complete_text(
        &self,
        cancel: &CancellationToken,
        wish: CompleteCall,
        show: impl Fn(RawJson) + Send,
    ) -> Result<CompletionData, (HostCallError, String)> {
        let gone = || (HostCallError::Unavailable, "no agent runs whose model could answer".to_owned());
        let caller = self.wait_for_caller(cancel).await.map_err(|_| gone())?;
        let agent = Agent::of_tool_runner(&caller).ok_or_else(gone)?;
        let events = Arc::clone(&self.reporter.events);
        let mut pieces = PieceSender::new(show);
        let request = completion_request(self.reporter.name.clone(), wish);
        let tell = Arc::new(move |event: AgentEvent| events(event));
        let answered = agent.request_completion(cancel, request, |text| pieces.push_piece(text), tell).await;
        pieces.send_waiting();
        match answered {
            Ok(CompletionAnswer { text, answer, .. }) => Ok(CompletionData {
                text,
                model: format!("{}/{}", answer.provider, answer.model),
                stop: answer.stop,
                usage: answer.usage,
            }),
            Err(error) => {
                let code = match &error {
                    CompletionError::NoModel { .. } => HostCallError::ModelNotFound,
                    CompletionError::Model(_) | CompletionError::TooLong => HostCallError::Failed,
                    _ => HostCallError::Failed,
                };
                Err((code, error.to_string()))
            }
        }
    }

    /// Makes the call. The error is the result of a call that never reached a tool.
    async fn execute_call(
        &self,
        cancel: &CancellationToken,
        kind: HostCallKind,
        args: RawJson,
    ) -> Result<ExtensionToolResult, ExtensionToolResult> {
        let caller = self.wait_for_caller(cancel).await?;
        let tool = self.tool(kind).await?;
        Ok(self.run_tool(cancel, &caller, &tool, args).await)
    }

    async fn run_tool(
        &self,
        cancel: &CancellationToken,
        caller: &ExtensionToolRunner,
        tool: &CallableTool,
        args: RawJson,
    ) -> ExtensionToolResult {
        let call = ExtensionToolCall::new(self.reporter.name.clone(), self.provided.next_id(), tool, args);
        let events = Arc::clone(&self.reporter.events);
        let tell = Arc::new(move |event: AgentEvent| events(event));
        caller.call(cancel, call, tell).await
    }

    /// Returns the runner. There is no agent yet while the first extensions start.
    async fn wait_for_caller(
        &self,
        cancel: &CancellationToken,
    ) -> Result<ExtensionToolRunner, ExtensionToolResult> {
        let mut callers = self.provided.caller.subscribe();
        let there = timeout(AGENT_PATIENCE, callers.wait_for(Option::is_some));
        match cancel.run_until_cancelled(there).await {
            None => Err(ExtensionToolResult::from_error(
                HostCallError::Cancelled,
                "the call was cancelled before it ran",
            )),
            Some(Ok(Ok(caller))) => caller.clone().ok_or_else(no_agent),
            Some(Ok(Err(_)) | Err(_)) => Err(no_agent()),
        }
    }

    async fn tool(&self, kind: HostCallKind) -> Result<Arc<CallableTool>, ExtensionToolResult> {
        let tools = self.tools.get_or_init(|| self.open_tools()).await;
        let unavailable = |why: String| ExtensionToolResult::from_error(HostCallError::Unavailable, why);
        let tools = tools.as_ref().map_err(|why| unavailable(why.clone()))?;
        let name = kind.tool().unwrap_or_else(|| kind.name());
        let tool = tools.iter().find(|tool| tool.spec().name == name);
        tool.cloned().ok_or_else(|| unavailable(format!("no tool {name} is available")))
    }

    async fn open_tools(&self) -> Result<CallableTools, String> {
        let (provided, reach) = (Arc::clone(&self.provided), self.reach.clone());
        let opened = spawn_blocking(move || provided.services.tools(&reach)).await;
        let tools = opened.map_err(|error| error.to_string())??;
        let leased = |tool: Arc<dyn Tool>| -> Arc<CallableTool> {
            // A command has its own timeout, which its caller can set.
            let tool = match Some(tool.spec().name.as_str()) == HostCallKind::Exec.tool() {
                true => tool,
                false => Arc::new(TimeLimitedTool { tool, time: self.timeouts.host_call }),
            };
            Arc::new(CallableTool::new(tool))
        };
        Ok(tools.into_iter().map(leased).collect())
    }

    fn log_outcome(&self, kind: HostCallKind, called: &ExtensionToolResult) {
        let outcome = called.code.map_or_else(|| "done".to_owned(), |code| code.to_string());
        self.log.log_host_line(format_args!("host_call {}: {outcome}", kind.name()));
    }
}

fn result_of_call(id: RequestId, kind: HostCallKind, called: ExtensionToolResult) -> HostResult {
    let denied = called.code == Some(HostCallError::PermissionDenied);
    HostResult {
        id,
        content: called.output.content.into_iter().map(ResultBlock::from).collect(),
        is_error: called.output.is_error,
        code: called.code,
        by: called.by,
        permission: denied.then(|| kind.service().name().to_owned()),
        details: called.output.details,
        value: None,
    }
}

/// Returns a name of an extension for an error text.
fn shorten_name(name: &str) -> &str {
    name.get(..name.floor_char_boundary(100)).unwrap_or(name)
}

fn completion_request(caller: ExtensionName, wish: CompleteCall) -> CompletionRequest {
    let time = current_time();
    let messages = wish.messages.into_iter().map(|CompletionMessage { role, content: text }| {
        let time = time.clone();
        match role {
            MessageRole::User => Message::User { content: vec![ContentBlock::Text { text }], time },
            MessageRole::Assistant => {
                let content = vec![AssistantBlock::Text { text }];
                Message::Assistant(AssistantMessage::new(content, time))
            }
        }
    });
    let CompletionOptions { max_tokens, temperature, thinking } = wish.options;
    let mut request = CompletionRequest::new(caller, messages.collect())
        .with_system(wish.system)
        .with_thinking(thinking.unwrap_or(ThinkingLevel::Off))
        .with_options(RequestOptions::default().with_max_tokens(max_tokens).with_temperature(temperature));
    request.model = wish.model;
    request
}

/// Collects pieces of an answer, so that an extension gets few lines.
struct PieceSender<S> {
    show: S,
    waiting: String,
    sent: Option<Instant>,
}

impl<S: Fn(RawJson)> PieceSender<S> {
    fn new(show: S) -> Self {
        Self { show, waiting: String::new(), sent: None }
    }

    /// Adds a piece, and sends the text that waits if the last one is old enough.
    fn push_piece(&mut self, piece: &str) {
        self.waiting.push_str(piece);
        if self.sent.is_none_or(|sent| sent.elapsed() >= PROGRESS_PAUSE) {
            self.send_waiting();
        }
    }

    fn send_waiting(&mut self) {
        let text = std::mem::take(&mut self.waiting);
        if text.is_empty() {
            return;
        }
        self.sent = Some(Instant::now());
        // A text always has a JSON form.
        if let Ok(value) = RawJson::from_value(&CompletionPiece { text }) {
            (self.show)(value);
        }
    }
}

fn no_agent() -> ExtensionToolResult {
    ExtensionToolResult::from_error(HostCallError::Unavailable, "no agent runs that could approve the call")
}

/// A tool whose calls end after a time limit, so that calls that wait for the same file do not wait forever.
struct TimeLimitedTool {
    tool: Arc<dyn Tool>,
    time: Duration,
}

#[async_trait]
impl Tool for TimeLimitedTool {
    fn spec(&self) -> Arc<ToolSpec> {
        self.tool.spec()
    }

    async fn canonical_args(&self, args: RawJson) -> Result<CanonicalArgs, String> {
        self.tool.canonical_args(args).await
    }

    async fn approval_request(&self, call: &ToolCall) -> Option<ApprovalRequest> {
        self.tool.approval_request(call).await
    }

    async fn preview(&self, context: &ToolContext, call: &ToolCall) -> Option<ToolPreview> {
        self.tool.preview(context, call).await
    }

    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        let cancel = context.cancel.child_token();
        let mut inner = context;
        inner.cancel = cancel.clone();
        let name = call.name.clone();
        let mut work = pin!(self.tool.execute(inner, call));
        if !is_up(Defense::Leases) {
            return work.await;
        }
        if let Ok(output) = timeout(self.time, work.as_mut()).await {
            return output;
        }
        cancel.cancel();
        // The tool reports its progress, or is dropped together with its place in the queue.
        match timeout(LEASE_GRACE, work).await {
            Ok(output) if !output.is_error => output,
            Ok(_) | Err(_) => ToolOutput::failed(ToolFailureKind::TimedOut, self.timeout_text(&name)),
        }
    }
}

impl TimeLimitedTool {
    fn timeout_text(&self, name: &str) -> String {
        let seconds = self.time.as_secs_f64();
        format!(
            "{name} did not finish within {seconds} s and was cancelled; the work may be done in part or completely"
        )
    }
}
