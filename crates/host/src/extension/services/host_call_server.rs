//! Host calls of one extension process, and the tools that serve them.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use haft_core::tool::{
    ApprovalRequest, CanonicalArgs, Tool, ToolContext, ToolFailureKind, ToolOutput, ToolPreview, ToolSpec,
};
use haft_core::{CallableTool, ExtensionCall, ExtensionCallResult, ExtensionToolRunner};
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{FileLockCall, HostCallError, HostCallKind, HostResult, ResultBlock};
use haft_protocol::ids::RequestId;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::file_locks::FileLocks;
use super::{ServiceProvider, ServiceReach};
use crate::extension::frontend::FaultReporter;
use crate::process::log::ExtensionLog;
use crate::timeouts::{AGENT_PATIENCE, LEASE_GRACE, Timeouts};

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
        let denied = called.code == Some(HostCallError::PermissionDenied);
        self.log_outcome(kind, &called);
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

    /// Makes the call. The error is the result of a call that never reached a tool.
    async fn execute_call(
        &self,
        cancel: &CancellationToken,
        kind: HostCallKind,
        args: RawJson,
    ) -> Result<ExtensionCallResult, ExtensionCallResult> {
        let caller = self.wait_for_caller(cancel).await?;
        let tool = self.tool(kind).await?;
        let call = ExtensionCall {
            caller: self.reporter.name.clone(),
            id: self.provided.next_id(),
            tool: &tool,
            args,
        };
        let events = Arc::clone(&self.reporter.events);
        let tell = Arc::new(move |event: AgentEvent| events(event));
        Ok(caller.call(cancel, call, tell).await)
    }

    /// Returns the runner. There is no agent yet while the first extensions start.
    async fn wait_for_caller(
        &self,
        cancel: &CancellationToken,
    ) -> Result<ExtensionToolRunner, ExtensionCallResult> {
        let mut callers = self.provided.caller.subscribe();
        let there = timeout(AGENT_PATIENCE, callers.wait_for(Option::is_some));
        match cancel.run_until_cancelled(there).await {
            None => Err(ExtensionCallResult::from_error(
                HostCallError::Cancelled,
                "the call was cancelled before it ran",
            )),
            Some(Ok(Ok(caller))) => caller.clone().ok_or_else(no_agent),
            Some(Ok(Err(_)) | Err(_)) => Err(no_agent()),
        }
    }

    async fn tool(&self, kind: HostCallKind) -> Result<Arc<CallableTool>, ExtensionCallResult> {
        let tools = self.tools.get_or_init(|| self.open_tools()).await;
        let unavailable = |why: String| ExtensionCallResult::from_error(HostCallError::Unavailable, why);
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

    fn log_outcome(&self, kind: HostCallKind, called: &ExtensionCallResult) {
        let outcome = called.code.map_or_else(|| "done".to_owned(), |code| code.to_string());
        self.log.log_host_line(format_args!("host_call {}: {outcome}", kind.name()));
    }
}

fn no_agent() -> ExtensionCallResult {
    ExtensionCallResult::from_error(HostCallError::Unavailable, "no agent runs that could approve the call")
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
