//! `ExtensionToolRunner`: runs tools for extensions, under the same hooks as the model's calls.

use std::sync::{Arc, Weak};

use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::HostCallError;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use tokio_util::sync::CancellationToken;

use super::{
    ApprovedCall, CallCancelled, CallResult, GateDecision, GateScope, ToolGate, canonical_args, validate_args,
};
use crate::agent_state::{AgentState, LazyValidator};
use crate::chain::Verdict;
use crate::emitter::EventEmitter;
use crate::hooks::AttributedRefusal;
use crate::run_context::RunContext;
use crate::schema::SchemaValidator;
use crate::tool::{Tool, ToolFailureKind, ToolOutput, ToolSpec};

/// Runs tools for extensions under an agent's hooks. The same rewrites, gates and result hooks apply as for a call of
/// the model, with or without an active run. Created by [`Agent::tool_runner`](crate::Agent::tool_runner).
///
/// Such a call is not in the transcript, because the model did not make it. Observers receive
/// [`AgentEvent::HostCallStart`] and [`AgentEvent::HostCallEnd`] with long values truncated. A call whose arguments do
/// not match the schema causes no event. The hooks of the calling extension are not asked.
#[derive(Clone)]
pub struct ExtensionToolRunner {
    agent: Weak<AgentState>,
}

/// A tool with the validator of its arguments.
pub struct CallableTool {
    tool: Arc<dyn Tool>,
    validator: LazyValidator,
}

/// One call made by an extension.
#[derive(Debug)]
#[non_exhaustive]
pub struct ExtensionToolCall<'a> {
    /// The calling extension.
    pub caller: ExtensionName,
    /// The id of the call in events and for hooks.
    pub id: ToolCallId,
    /// The tool to run. It does not have to be one of the agent's tools.
    pub tool: &'a CallableTool,
    /// The arguments.
    pub args: RawJson,
}

impl<'a> ExtensionToolCall<'a> {
    /// Creates a call.
    pub fn new(caller: ExtensionName, id: ToolCallId, tool: &'a CallableTool, args: RawJson) -> Self {
        Self { caller, id, tool, args }
    }
}

/// The result of an extension's call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtensionToolResult {
    /// The output for the extension.
    pub output: ToolOutput,
    /// The error code; `None` if the call succeeded.
    pub code: Option<HostCallError>,
    /// The hook or approver that refused the call.
    pub by: Option<String>,
}

impl CallableTool {
    /// Creates a tool that extensions can call.
    pub fn new(tool: Arc<dyn Tool>) -> Self {
        let validator = LazyValidator::new(tool.spec());
        Self { tool, validator }
    }

    /// Returns the specification of the tool.
    pub fn spec(&self) -> Arc<ToolSpec> {
        self.tool.spec()
    }

    /// Returns the tool.
    pub fn into_tool(self) -> Arc<dyn Tool> {
        self.tool
    }

    async fn call(
        &self,
        run: &RunContext,
        call: &ToolCall,
        validator: &SchemaValidator,
    ) -> ExtensionToolResult {
        // A hook cannot replace the tool of an extension's call.
        let scope = GateScope { validator: Some(validator), tool: Some(self.tool.as_ref()), others: None };
        let canonical = match canonical_args(run, scope.tool, call).await {
            Ok(Ok(args)) => args,
            Ok(Err(reason)) => return ExtensionToolResult::from_error(HostCallError::InvalidArgs, reason),
            Err(CallCancelled) => return cancelled_result(),
        };
        let gate = ToolGate::new(run, call, canonical, scope);
        let GateDecision { verdict, findings } = match gate.decide().await {
            Ok(decision) => decision,
            Err(CallCancelled) => return cancelled_result(),
        };
        let args = match verdict {
            Verdict::Run { args, .. } => args,
            Verdict::Respond { by, output } => {
                let result = CallResult::from_hook_response(run, call.clone(), output).await;
                return ExtensionToolResult { by: Some(by), ..ExtensionToolResult::from_result(result) };
            }
            // The call is not part of a run, so a refusal that ends the run ends only the call.
            Verdict::Refuse(refusal) => return ExtensionToolResult::from_refusal(refusal),
        };
        if run.cancel.is_cancelled() {
            return cancelled_result();
        }
        let call = ToolCall { args, ..call.clone() };
        let mut called = ExtensionToolResult::from_result(
            ApprovedCall { run, call, tool: self.tool.as_ref(), findings }.execute().await,
        );
        // The output of a cancelled tool reports its progress.
        if called.code == Some(HostCallError::Failed) && run.cancel.is_cancelled() {
            called.code = Some(HostCallError::Cancelled);
        }
        called
    }
}

impl ExtensionToolResult {
    /// Creates the result of a call that did not run.
    pub fn from_error(code: HostCallError, text: impl Into<String>) -> Self {
        Self { output: ToolOutput::error(text), code: Some(code), by: None }
    }

    /// Withholds a result that a hook refused. There is no turn to end.
    fn from_result(CallResult { output, refusal }: CallResult) -> Self {
        if let Some(refusal) = refusal {
            return Self { output, ..Self::from_refusal(refusal) };
        }
        let code = output.is_error.then_some(match output.failure {
            None => HostCallError::Failed,
            Some(ToolFailureKind::NotFound) => HostCallError::NotFound,
            Some(ToolFailureKind::NotRead) => HostCallError::NotRead,
            Some(ToolFailureKind::Stale) => HostCallError::Stale,
            Some(ToolFailureKind::OutOfReach) => HostCallError::PermissionDenied,
            Some(ToolFailureKind::InvalidArgs) => HostCallError::InvalidArgs,
            Some(ToolFailureKind::TimedOut) => HostCallError::TimedOut,
            Some(ToolFailureKind::Cancelled) => HostCallError::Cancelled,
        });
        Self { output, code, by: None }
    }

    fn without_hidden_text(self) -> Self {
        Self { output: self.output.without_hidden_text(), ..self }
    }

    fn from_refusal(AttributedRefusal { by, reason, .. }: AttributedRefusal) -> Self {
        Self { by: Some(by), ..Self::from_error(HostCallError::Blocked, reason) }
    }
}

impl ExtensionToolRunner {
    pub(crate) fn new(agent: &Arc<AgentState>) -> Self {
        Self { agent: Arc::downgrade(agent) }
    }

    /// Returns a tool that the agent offers to the model now.
    pub fn find_tool(&self, name: &str) -> Option<CallableTool> {
        let agent = self.agent.upgrade()?;
        let table = agent.tools();
        let (tool, _) = table.get(name).filter(|_| agent.setup().is_tool_active(name))?;
        Some(CallableTool::new(Arc::clone(tool)))
    }

    pub(crate) fn agent_state(&self) -> Option<Arc<AgentState>> {
        self.agent.upgrade()
    }

    /// Makes a call. `tell` receives the events of the call in addition to the agent's observers, without the events of
    /// a run.
    pub async fn call(
        &self,
        cancel: &CancellationToken,
        call: ExtensionToolCall<'_>,
        tell: Arc<dyn Fn(AgentEvent) + Send + Sync>,
    ) -> ExtensionToolResult {
        let Some(agent) = self.agent.upgrade() else {
            return ExtensionToolResult::from_error(HostCallError::Unavailable, "the agent has ended");
        };
        let ExtensionToolCall { caller, id, tool, args } = call;
        let call = ToolCall { id, name: tool.spec().name.clone(), args };
        let validator = match validate_args(&call, &tool.validator) {
            Ok(validator) => validator,
            Err(reason) => {
                return ExtensionToolResult::from_error(HostCallError::InvalidArgs, reason)
                    .without_hidden_text();
            }
        };
        let emitter = EventEmitter::with_sink(agent.current_hooks(), tell);
        emitter.emit(AgentEvent::HostCallStart {
            id: call.id.clone(),
            extension: caller.clone(),
            name: call.name.clone(),
            args: call.args.clone(),
        });
        let run = RunContext {
            agent,
            emitter: emitter.clone(),
            cancel: cancel.clone(),
            caller: Some(caller.clone()),
        };
        let called = tool.call(&run, &call, validator).await.without_hidden_text();
        let output = called.output.clone();
        emitter.emit(AgentEvent::HostCallEnd {
            id: call.id,
            extension: caller,
            name: call.name,
            is_error: output.is_error,
            code: called.code,
            content: output.content,
            details: output.details,
        });
        if let Some(display) = output.display {
            emitter.emit(display.into());
        }
        called
    }
}

fn cancelled_result() -> ExtensionToolResult {
    ExtensionToolResult::from_error(HostCallError::Cancelled, "the call was cancelled before it ran")
}

impl std::fmt::Debug for ExtensionToolRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for CallableTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Callable").field(&self.spec().name).finish()
    }
}
