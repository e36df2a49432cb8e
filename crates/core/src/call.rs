//! One tool call on its way through hooks, gates and its tool: what the model's calls and those of extensions share.

mod caller;
mod gate;
pub(crate) mod told;

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent::{Inner, LateValidator};
use crate::emitter::Emitter;
use crate::hooks::{FinishedCall, ResultDecision};
use crate::schema::Validator;
use crate::session::intervention::{Action, Intervention};
use crate::timeouts;
use crate::tool::{Tool, ToolContext, ToolOutput};

pub use caller::{Callable, Called, Caller, ExtensionCall};
pub(crate) use gate::Scope;

/// Where a call is made.
#[derive(Clone, Copy)]
pub(crate) struct Calling<'a> {
    pub(crate) agent: &'a Inner,
    pub(crate) emitter: &'a Emitter,
    pub(crate) cancel: &'a CancellationToken,
    /// Whose call it is; the model's, if nobody else's.
    pub(crate) caller: Option<&'a ExtensionName>,
}

/// Nobody wants the call any more.
#[derive(Debug)]
pub(crate) struct Cancelled;

/// A hook ends the turn because of a result.
#[derive(Debug)]
pub(crate) struct Abort {
    pub(crate) by: String,
    pub(crate) reason: String,
    /// Nothing of the turn stays in the context.
    pub(crate) hard: bool,
}

impl Abort {
    fn withheld(&self) -> ToolOutput {
        ToolOutput::error(format!("result withheld: {} ended the turn: {}", self.by, self.reason))
    }
}

/// What checks the arguments that a hook may put in the place of these, which fit.
///
/// # Errors
/// Why the call cannot run.
pub(crate) fn fit<'a>(call: &ToolCall, validator: &'a LateValidator) -> Result<&'a Validator, String> {
    let unfit = |error: &dyn std::fmt::Display| format!("{} was not run: {error}", call.name);
    let validator = validator.get().map_err(|error| unfit(error))?;
    validator.check(&call.args).map_err(|error| unfit(&error))?;
    Ok(validator)
}

/// Waits for a hook: `None` when the call is cancelled meanwhile (whatever the hook decides, the action it was asked
/// about does not happen) or when the hook panics (then it did not allow anything either).
pub(crate) async fn settle<T>(cancel: &CancellationToken, hook: impl Future<Output = T>) -> Option<T> {
    let hook = AssertUnwindSafe(hook).catch_unwind();
    let decision = cancel.run_until_cancelled(hook).await?;
    decision.ok().filter(|_| !cancel.is_cancelled())
}

impl Calling<'_> {
    /// Runs one tool; says how long that took, too. A cancelled one may hand over what it has for a moment, then it is
    /// dropped.
    pub(crate) async fn run(&self, call: &ToolCall, tool: &dyn Tool) -> (ToolOutput, Duration) {
        let begun = Instant::now();
        let output = self.run_to_its_end(call, tool).await;
        (output, begun.elapsed())
    }

    async fn run_to_its_end(&self, call: &ToolCall, tool: &dyn Tool) -> ToolOutput {
        let (emitter, id) = (Arc::new(self.emitter.clone()), call.id.clone());
        // A task that outlives the call may keep the context; its progress has no place behind the result.
        let open = Arc::downgrade(&emitter);
        let context = ToolContext::new(self.cancel.child_token(), move |text| {
            if let Some(emitter) = open.upgrade() {
                emitter.emit(AgentEvent::ToolProgress { id: id.clone(), text });
            }
        });
        let work = AssertUnwindSafe(tool.execute(context, call.clone())).catch_unwind();
        tokio::pin!(work);
        let outcome = match self.cancel.run_until_cancelled(&mut work).await {
            Some(outcome) => outcome,
            None => match tokio::time::timeout(timeouts::CANCELLED_TOOL, work).await {
                Ok(outcome) => outcome,
                Err(_) => return ToolOutput::error(given_up(&call.name)),
            },
        };
        outcome.unwrap_or_else(|panic| {
            ToolOutput::error(format!("{} panicked: {}", call.name, text_of(&*panic)))
        })
    }

    /// What the hooks leave of a result, and whether one of them ends the turn because of it.
    pub(crate) async fn looked_over(
        &self,
        finished: &FinishedCall,
        mut output: ToolOutput,
    ) -> (ToolOutput, Option<Abort>) {
        let mut abort = None;
        let mut edited_by: Vec<String> = Vec::new();
        for hook in self.agent.hooks().after_tool_execute {
            // A hook that was to redact the result and did not must not let it through.
            let withheld = || match self.cancel.is_cancelled() {
                true => ToolOutput::error("result withheld: the turn ended before a hook had looked at it"),
                false => ToolOutput::error("result withheld: a hook panicked"),
            };
            let before = output.clone();
            output = match self.settle(hook.after_tool_execute(self.cancel, finished, output)).await {
                Some(ResultDecision::Show(output)) => output,
                Some(ResultDecision::AbortTurn { by, reason }) => {
                    abort.insert(Abort { by, reason, hard: false }).withheld()
                }
                Some(ResultDecision::HardAbort { by, reason }) => {
                    abort.insert(Abort { by, reason, hard: true }).withheld()
                }
                None => withheld(),
            };
            // The details would show what the hook took out.
            if before.details.is_some() && before.content != output.content {
                output.details = None;
            }
            if before != output && !self.cancel.is_cancelled() {
                edited_by.push(hook.name().to_owned());
            }
            if abort.is_some() {
                break;
            }
        }
        if !edited_by.is_empty() {
            self.remark(Some(&finished.call.id), Action::Edited, edited_by);
        }
        (output, abort)
    }

    /// Notes in the session what hooks did, for people who read it. An extension's call is not in there at all.
    pub(crate) fn remark(&self, call: Option<&ToolCallId>, action: Action, by: Vec<String>) {
        if self.caller.is_some() {
            return;
        }
        let remark = Intervention { call_id: call.cloned(), action, by }.to_custom();
        // What they decided counts whether or not it can be noted: a session that cannot be written fails at what
        // comes next.
        let _ = remark.map(|remark| self.agent.transcript.remark(remark));
    }

    async fn settle<T>(&self, hook: impl Future<Output = T>) -> Option<T> {
        settle(self.cancel, hook).await
    }
}

/// Why nothing comes of what a hook was asked about.
pub(crate) const PANICKED: &str = "the hook panicked";

/// Of a tool that said nothing any more: a change of a file goes on to its end, whoever has stopped waiting.
fn given_up(name: &str) -> String {
    format!("{name} was cancelled; may have done part of its work or all of it")
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
