//! `Caller`: tools for extensions, under the same hooks as the model's calls.

use std::sync::{Arc, Weak};
use std::time::Duration;

use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::HostCallError;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use tokio_util::sync::CancellationToken;

use super::{Calling, Cancelled, Scope, fit};
use crate::agent::{Inner, LateValidator};
use crate::chain::Verdict;
use crate::emitter::Emitter;
use crate::hooks::FinishedCall;
use crate::schema::Validator;
use crate::tool::{Failure, Tool, ToolOutput, ToolSpec};

/// Runs tools for extensions under an agent's hooks: the same transforms, gates and after-hooks as for a call of the
/// model, whether or not a run is under way. Made by [`Agent::caller`](crate::Agent::caller).
///
/// Such a call is not in the transcript, because the model did not ask; it is told as
/// [`AgentEvent::HostCallStart`] and [`AgentEvent::HostCallEnd`], with no more than the beginnings of what is long, and not at
/// all where its arguments do not fit the tool. The hooks of the extension that calls are not asked.
#[derive(Clone)]
pub struct Caller {
    agent: Weak<Inner>,
}

/// A tool with what checks its arguments.
pub struct Callable {
    tool: Arc<dyn Tool>,
    validator: LateValidator,
}

/// One call of an extension.
#[derive(Debug)]
pub struct ExtensionCall<'a> {
    /// Whose.
    pub caller: ExtensionName,
    /// What it is known by in events and to hooks.
    pub id: ToolCallId,
    /// What to run. It need not be one of the agent's tools.
    pub tool: &'a Callable,
    /// Its arguments.
    pub args: RawJson,
}

/// What a call of an extension came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// What the extension is told.
    pub output: ToolOutput,
    /// Why it failed, if it did.
    pub code: Option<HostCallError>,
    /// Who refused it.
    pub by: Option<String>,
}

impl Callable {
    /// A tool that extensions may call.
    pub fn new(tool: Arc<dyn Tool>) -> Self {
        let validator = LateValidator::new(tool.spec());
        Self { tool, validator }
    }

    /// What it is.
    pub fn spec(&self) -> Arc<ToolSpec> {
        self.tool.spec()
    }
}

impl Called {
    /// What is said of a call that did not run.
    pub fn failed(code: HostCallError, text: impl Into<String>) -> Self {
        Self { output: ToolOutput::error(text), code: Some(code), by: None }
    }

    fn of(output: ToolOutput) -> Self {
        let code = output.is_error.then_some(match output.failure {
            None => HostCallError::Failed,
            Some(Failure::NotFound) => HostCallError::NotFound,
            Some(Failure::NotRead) => HostCallError::NotRead,
            Some(Failure::Stale) => HostCallError::Stale,
            Some(Failure::OutOfReach) => HostCallError::PermissionDenied,
            Some(Failure::InvalidArgs) => HostCallError::InvalidArgs,
            Some(Failure::TimedOut) => HostCallError::TimedOut,
            Some(Failure::Cancelled) => HostCallError::Cancelled,
        });
        Self { output, code, by: None }
    }

    fn legible(self) -> Self {
        Self { output: self.output.legible(), ..self }
    }

    fn blocked(by: String, reason: String) -> Self {
        Self { by: Some(by), ..Self::failed(HostCallError::Blocked, reason) }
    }
}

impl Caller {
    pub(crate) fn new(agent: &Arc<Inner>) -> Self {
        Self { agent: Arc::downgrade(agent) }
    }

    /// Makes a call. `tell` is told what happens beside the agent's observers; events of a run are not mixed with it.
    pub async fn call(
        &self,
        cancel: &CancellationToken,
        call: ExtensionCall<'_>,
        tell: Arc<dyn Fn(AgentEvent) + Send + Sync>,
    ) -> Called {
        let Some(agent) = self.agent.upgrade() else {
            return Called::failed(HostCallError::Unavailable, "there is no agent any more");
        };
        let ExtensionCall { caller, id, tool, args } = call;
        let call = ToolCall { id, name: tool.spec().name.clone(), args };
        let validator = match fit(&call, &tool.validator) {
            Ok(validator) => validator,
            Err(reason) => return Called::failed(HostCallError::InvalidArgs, reason).legible(),
        };
        let emitter = Emitter::outside(agent.hooks().observers, tell);
        emitter.emit(AgentEvent::HostCallStart {
            id: call.id.clone(),
            extension: caller.clone(),
            name: call.name.clone(),
            args: call.args.clone(),
        });
        let calling = Calling { agent: &agent, emitter: &emitter, cancel, caller: Some(&caller) };
        let called = calling.make(&call, tool, validator).await.legible();
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

impl Calling<'_> {
    async fn make(&self, call: &ToolCall, tool: &Callable, validator: &Validator) -> Called {
        // Another tool than the extension's cannot be called.
        let scope = Scope { validator: Some(validator), others: None };
        let args = match self.gate(call, scope).await {
            Ok(Verdict::Run { args, .. }) => args,
            Ok(Verdict::Respond { by, output }) => {
                let finished = FinishedCall { call: call.clone(), took: Duration::ZERO };
                return Called { by: Some(by), ..self.look_over(&finished, output).await };
            }
            // Whether the run goes on is for its own calls to find out: this one is not part of it.
            Ok(
                Verdict::Block { by, reason }
                | Verdict::AbortTurn { by, reason }
                | Verdict::HardAbort { by, reason }
                | Verdict::AbortAgent { by, reason },
            ) => return Called::blocked(by, reason),
            Err(Cancelled) => return cancelled(),
        };
        if self.cancel.is_cancelled() {
            return cancelled();
        }
        let call = ToolCall { args, ..call.clone() };
        let (output, took) = self.run(&call, tool.tool.as_ref()).await;
        let mut called = self.look_over(&FinishedCall { call, took }, output).await;
        // How far it got is in its own words.
        if called.code == Some(HostCallError::Failed) && self.cancel.is_cancelled() {
            called.code = Some(HostCallError::Cancelled);
        }
        called
    }

    /// What the hooks leave of a result. That one of them would end the turn is nothing but that it withholds it.
    async fn look_over(&self, finished: &FinishedCall, output: ToolOutput) -> Called {
        match self.looked_over(finished, output).await {
            (output, None) => Called::of(output),
            (output, Some(abort)) => Called { output, ..Called::blocked(abort.by, abort.reason) },
        }
    }
}

fn cancelled() -> Called {
    Called::failed(HostCallError::Cancelled, "the call was cancelled before it ran")
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Callable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Callable").field(&self.spec().name).finish()
    }
}
