//! The path of one tool call through hooks, gates and the tool, shared by calls of the model and of extensions.
//!
//! A call passes two stages: [`ToolGate`] decides whether and how the call runs. [`ApprovedCall`] runs the call and has
//! the hooks review the result.

mod budget;
mod caller;
mod gate;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use tokio::time::Instant;

use crate::hooks::{AfterToolExecute, AttributedRefusal, FinishedCall, ResultDecision, WaitPoint};
use crate::panics::panic_message;
use crate::run_context::{NoDecision, RunContext};
use crate::session::intervention::InterventionAction;
use crate::timeouts;
use crate::tool::{Tool, ToolContext, ToolOutput, ToolProgress};

pub use caller::{CallableTool, ExtensionToolCall, ExtensionToolResult, ExtensionToolRunner};
pub(crate) use gate::{
    CallCancelled, GateDecision, GateFindings, GateScope, ToolGate, canonical_args, validate_args,
};

/// A call that every gate allowed.
pub(crate) struct ApprovedCall<'a> {
    pub(crate) run: &'a RunContext,
    pub(crate) call: ToolCall,
    pub(crate) tool: &'a dyn Tool,
    pub(crate) findings: GateFindings,
}

pub(crate) struct CallResult {
    pub(crate) output: ToolOutput,
    /// The refusal of a hook that ended the turn because of the result.
    pub(crate) refusal: Option<AttributedRefusal>,
}

impl ApprovedCall<'_> {
    pub(crate) async fn execute(self) -> CallResult {
        let Self { run, call, .. } = &self;
        // A call of an extension has its own events.
        let tell = |event: AgentEvent| {
            if run.caller.is_none() {
                run.emitter.emit(event);
            }
        };
        let (id, name, args) = (call.id.clone(), call.name.clone(), call.args.clone());
        tell(AgentEvent::ToolStart { id, name, args, label: self.tool.spec().label.clone() });
        let begun = Instant::now();
        let output = self.run_tool().await;
        let took = begun.elapsed();
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        tell(AgentEvent::ToolEnd { id: call.id.clone(), name: call.name.clone(), duration_ms });
        run.wait_at(WaitPoint::ToolEnd { id: call.id.clone(), name: call.name.clone(), duration_ms }).await;
        let finished = FinishedCall { call: self.call, took };
        CallResult::apply_result_hooks(self.run, &finished, output).await
    }

    /// Runs the tool. A cancelled tool has a short time to return its output, then it is dropped.
    async fn run_tool(&self) -> ToolOutput {
        let Self { run, call, tool, findings } = self;
        let (emitter, id) = (Arc::new(run.emitter.clone()), call.id.clone());
        // A task that outlives the call may keep the context, but its progress must not follow the result.
        let open = Arc::downgrade(&emitter);
        let mut context = ToolContext::new(run.cancel.child_token(), move |progress| {
            if let Some(emitter) = open.upgrade() {
                let ToolProgress { text, replaces, details } = progress;
                emitter.emit(AgentEvent::ToolProgress { id: id.clone(), text, replaces, details });
            }
        });
        findings.copy_to(&mut context);
        context.jobs = Some(run.agent.jobs.clone());
        let work = AssertUnwindSafe(tool.execute(context, call.clone())).catch_unwind();
        tokio::pin!(work);
        let outcome = match run.cancel.run_until_cancelled(&mut work).await {
            Some(outcome) => outcome,
            None => match tokio::time::timeout(timeouts::CANCELLED_TOOL, work).await {
                Ok(outcome) => outcome,
                Err(_) => return ToolOutput::error(cancelled_tool_text(&call.name)),
            },
        };
        outcome.unwrap_or_else(|panic| {
            ToolOutput::error(format!("{} panicked: {}", call.name, panic_message(&*panic)))
        })
    }
}

impl CallResult {
    /// Has the hooks review a new result.
    async fn apply_result_hooks(run: &RunContext, finished: &FinishedCall, mut output: ToolOutput) -> Self {
        let mut refusal = None;
        let mut edited_by: Vec<String> = Vec::new();
        for hook in run.agent.current_hooks::<dyn AfterToolExecute>() {
            if run.caller.as_ref().is_some_and(|caller| hook.belongs_to(caller)) {
                continue;
            }
            let before = output.clone();
            output = match run.await_decision(hook.after_tool_execute(&run.cancel, finished, output)).await {
                Ok(ResultDecision::Show(output)) => output,
                Ok(ResultDecision::Refuse(refused)) => {
                    withheld_output(refusal.insert(refused.attribute_to(hook.name())))
                }
                // The hook may have been there to redact the result, so the result is withheld.
                Err(NoDecision::Cancelled) => {
                    ToolOutput::error("result withheld: the turn ended before all hooks had reviewed it")
                }
                Err(NoDecision::Panicked) => ToolOutput::error("result withheld: a hook panicked"),
            };
            // The old details would show the content that the hook removed.
            if before.details == output.details && before.content != output.content {
                output.details = None;
            }
            if before != output && !run.cancel.is_cancelled() {
                edited_by.push(hook.name().to_owned());
            }
            if refusal.is_some() {
                break;
            }
        }
        if !edited_by.is_empty() {
            run.record_intervention(Some(&finished.call.id), InterventionAction::Edited, edited_by);
        }
        Self { output, refusal }
    }

    /// Has the hooks review a result that a hook returned in place of the tool.
    async fn from_hook_response(run: &RunContext, call: ToolCall, output: ToolOutput) -> Self {
        Self::apply_result_hooks(run, &FinishedCall { call, took: Duration::ZERO }, output).await
    }
}

fn withheld_output(AttributedRefusal { by, reason, .. }: &AttributedRefusal) -> ToolOutput {
    ToolOutput::error(format!("result withheld: {by} ended the turn: {reason}"))
}

/// Returns the result text for a tool that did not stop in time. A started file change runs to its end even if its
/// caller no longer waits.
fn cancelled_tool_text(name: &str) -> String {
    format!("{name} was cancelled; some or all of its work may be done")
}
