//! Runs the tool calls of one message: checks them in order, runs them concurrently where the tools allow it, and
//! returns the results in the order of the calls.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::{Message, ToolMessage};

use super::record_refusal;
use super::state::TurnInput;
use crate::agent_state::{AgentSetup, OfferedTools};
use crate::call::{
    ApprovedCall, GateDecision, GateFindings, GateScope, ToolGate, canonical_args, validate_args,
};
use crate::chain::Verdict;
use crate::hooks::{AttributedRefusal, BeforeToolExecute, RefusalScope};
use crate::run_context::RunContext;
use crate::session::entry::ToolStart;
use crate::session::{NOT_RUN, SessionError};
use crate::tool::{Tool, ToolConcurrency, ToolOutput};

/// The maximum number of concurrent calls of one message.
const MAX_PARALLEL: usize = 16;

pub(super) struct ToolCalls<'a> {
    pub(super) run: &'a RunContext,
    pub(super) setup: &'a AgentSetup,
}

/// A call of the model after its checks.
struct PlannedCall {
    call: ToolCall,
    plan: CallAction,
}

enum CallAction {
    /// The call runs with the tool and the arguments that every gate allowed.
    Run { call: ToolCall, tool: Arc<dyn Tool>, findings: GateFindings },
    /// The call does not run; this is the result.
    Answer { output: ToolOutput, source: ResultSource },
}

/// The source of a result; without an extension it is haft.
#[derive(Default)]
struct ResultSource {
    extension: Option<ExtensionName>,
    synthetic_by: Option<String>,
    skip: Option<CallSkipReason>,
}

/// The reasons why calls that have not started are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallSkipReason {
    Interrupted,
    Steered,
}

impl CallSkipReason {
    /// Returns the result for the model. Process hooks match these texts, which are PicoClaw's.
    fn text(self) -> &'static str {
        match self {
            Self::Interrupted => "Skipped due to graceful interrupt.",
            Self::Steered => "Skipped due to queued user message.",
        }
    }

    /// Returns the reason in the event.
    fn reason(self) -> &'static str {
        match self {
            Self::Interrupted => "graceful interrupt requested",
            Self::Steered => "queued user steering message",
        }
    }
}

/// The result of a call.
struct ToolCallOutcome {
    call: ToolCall,
    output: ToolOutput,
    source: ResultSource,
    /// The input that ends the turn, in place of any further work.
    then: Option<TurnInput>,
}

impl PlannedCall {
    fn error(call: &ToolCall, text: impl Into<String>) -> Self {
        Self::answer(call, ToolOutput::error(text), ResultSource::default())
    }

    fn answer(call: &ToolCall, output: ToolOutput, source: ResultSource) -> Self {
        Self { call: call.clone(), plan: CallAction::Answer { output, source } }
    }

    fn skipped(call: &ToolCall, skip: CallSkipReason) -> Self {
        let source = ResultSource { skip: Some(skip), ..ResultSource::default() };
        Self::answer(call, ToolOutput::error(skip.text()), source)
    }

    fn is_exclusive(&self) -> bool {
        match &self.plan {
            CallAction::Run { tool, .. } => tool.spec().concurrency == ToolConcurrency::Exclusive,
            CallAction::Answer { .. } => false,
        }
    }
}

impl ToolCallOutcome {
    fn not_run(call: ToolCall, then: Option<TurnInput>) -> Self {
        Self { call, output: ToolOutput::error(NOT_RUN), source: ResultSource::default(), then }
    }
}

impl ToolCalls<'_> {
    /// Runs all calls of one message. `cut`: the message was truncated, so its calls may be incomplete.
    pub(super) async fn execute(&self, calls: &[ToolCall], cut: bool) -> TurnInput {
        for ToolCall { id, name, args } in calls.iter().cloned() {
            self.run.emitter.emit(AgentEvent::ToolCall { id, name, args });
        }
        let mut planned = Vec::with_capacity(calls.len());
        for (index, call) in calls.iter().enumerate() {
            let plan = match self.skip() {
                Some(skip) => Ok(PlannedCall::skipped(call, skip)),
                None if cut => Ok(truncated_call(call)),
                None => self.preflight(call).await,
            };
            match plan {
                Ok(plan) => planned.push(plan),
                Err(input) => {
                    let unasked = calls.iter().skip(index).map(not_run_call);
                    return self.report_not_run(planned.into_iter().chain(unasked), input).await;
                }
            }
        }
        self.run_in_batches(planned).await
    }

    /// Reports the calls that did not run because the turn ended: with their existing result, or as not run.
    async fn report_not_run(&self, plans: impl Iterator<Item = PlannedCall>, input: TurnInput) -> TurnInput {
        for PlannedCall { call, plan } in plans {
            let (output, source) = match plan {
                CallAction::Run { .. } => (ToolOutput::error(NOT_RUN), ResultSource::default()),
                CallAction::Answer { output, source } => (output, source),
            };
            if let Err(error) = self.report(call, output, source).await {
                return error.into();
            }
        }
        input
    }

    async fn run_in_batches(&self, planned: Vec<PlannedCall>) -> TurnInput {
        let (mut all_handled, mut terminates) = (true, false);
        let mut rest = planned.into_iter().peekable();
        while let Some(first) = rest.next() {
            let mut batch = vec![first];
            while batch.iter().all(|plan| !plan.is_exclusive())
                && let Some(plan) = rest.next_if(|plan| !plan.is_exclusive())
            {
                batch.push(plan);
            }
            // Concurrent calls start together and reach their tools in the order of the calls.
            let mut results = self
                .persist_in_batches(batch)
                .map(|(plan, begun)| self.execute_planned(plan, begun))
                .buffered(MAX_PARALLEL);
            // A result that cannot be written is kept for later, like the ones after it, because the tools have run.
            let mut over = None;
            while let Some(ToolCallOutcome { call, output, source, then }) = results.next().await {
                all_handled &= output.handled;
                terminates |= output.terminate;
                let reported = self.report(call, output, source).await;
                over = over.or(then).or(reported.err().map(TurnInput::from));
            }
            let over = over.or_else(|| self.run.cancel.is_cancelled().then_some(TurnInput::Cancelled));
            match over {
                // Nothing more can be written now.
                Some(unsaved @ TurnInput::Unsaved(_)) => return unsaved,
                Some(input) => return self.report_not_run(rest, input).await,
                None => {}
            }
        }
        TurnInput::Executed { is_last: all_handled || terminates }
    }

    /// Answers calls of unknown tools and invalid arguments at once; then asks the hooks.
    async fn preflight(&self, call: &ToolCall) -> Result<PlannedCall, TurnInput> {
        let mut offered = OfferedTools::new(self.run.agent.tools(), self.setup.clone());
        if offered.is_unknown(&call.name)
            && let Some(tool) = self.late_tool(&call.name).await
        {
            offered.add(tool);
        }
        let answer = |text: String| PlannedCall::error(call, text);
        let validator = match offered.get(&call.name) {
            Some((_, validator)) => match validate_args(call, validator) {
                Ok(validator) => Some(validator),
                Err(reason) => return Ok(answer(reason)),
            },
            None if self.is_taken_by_hook(call, &offered) => None,
            None => return Ok(answer(unknown_tool_text(call, &offered))),
        };
        let tool = offered.get(&call.name).map(|(tool, _)| tool.as_ref());
        let canonical = match canonical_args(self.run, tool, call).await? {
            Ok(args) => args,
            Err(reason) => return Ok(answer(reason)),
        };
        let scope = GateScope { validator, tool, others: Some(&offered) };
        let gate = ToolGate::new(self.run, call, canonical, scope);
        let GateDecision { verdict, findings } = gate.decide().await?;
        match verdict {
            Verdict::Run { tool, args } => {
                let runs = ToolCall { id: call.id.clone(), name: tool.unwrap_or(call.name.clone()), args };
                Ok(match offered.get(&runs.name) {
                    Some((tool, _)) => {
                        let plan = CallAction::Run { call: runs, tool: tool.clone(), findings };
                        PlannedCall { call: call.clone(), plan }
                    }
                    None => answer(unknown_tool_text(call, &offered)),
                })
            }
            Verdict::Respond { by, output } => {
                let source = ResultSource { synthetic_by: Some(by), ..ResultSource::default() };
                Ok(PlannedCall::answer(call, output, source))
            }
            Verdict::Refuse(AttributedRefusal { scope: RefusalScope::Call, reason, .. }) => {
                Ok(answer(reason))
            }
            Verdict::Refuse(refusal) => Err(TurnInput::Refused(refusal)),
        }
    }

    async fn late_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        for source in &self.run.agent.config.sources {
            let tool = source.late_tool(&self.run.cancel, name).await;
            if tool.is_some() {
                return tool;
            }
        }
        None
    }

    /// True if a hook can answer a call of an unregistered tool.
    fn is_taken_by_hook(&self, call: &ToolCall, offered: &OfferedTools) -> bool {
        let takes = || {
            self.run
                .agent
                .current_hooks::<dyn BeforeToolExecute>()
                .iter()
                .any(|hook| hook.handles_unknown_tools())
        };
        offered.is_unknown(&call.name) && call.args.is_object() && takes()
    }

    /// Runs a call and returns its result with its source; does nothing if the start could not be recorded.
    async fn execute_planned(
        &self,
        PlannedCall { call, plan }: PlannedCall,
        begun: Result<(), SessionError>,
    ) -> ToolCallOutcome {
        let (runs, tool, findings) = match plan {
            CallAction::Answer { output, source } => {
                return ToolCallOutcome { call, output, source, then: None };
            }
            CallAction::Run { call, tool, findings } => (call, tool, findings),
        };
        match begun {
            Err(error) => return ToolCallOutcome::not_run(call, Some(error.into())),
            Ok(()) if self.run.cancel.is_cancelled() => return ToolCallOutcome::not_run(call, None),
            Ok(()) => {}
        }
        let extension = tool.spec().owner.extension().map(ExtensionName::new);
        let result =
            ApprovedCall { run: self.run, call: runs, tool: tool.as_ref(), findings }.execute().await;
        let then = result.refusal.map(|refusal| record_refusal(self.run, refusal));
        ToolCallOutcome {
            call,
            output: result.output,
            source: ResultSource { extension, ..ResultSource::default() },
            then,
        }
    }

    /// Returns the reason to skip calls that have not started; `None` if they can run.
    fn skip(&self) -> Option<CallSkipReason> {
        let agent = &self.run.agent;
        if agent.queues.is_interrupted() {
            return Some(CallSkipReason::Interrupted);
        }
        (agent.config.steering_skips && agent.queues.has_steering_messages())
            .then_some(CallSkipReason::Steered)
    }

    fn persist_in_batches(
        &self,
        batch: Vec<PlannedCall>,
    ) -> BoxStream<'_, (PlannedCall, Result<(), SessionError>)> {
        let batch = stream::iter(batch).chunks(MAX_PARALLEL);
        batch.then(|plans| self.persist_starts(plans)).flat_map(stream::iter).boxed()
    }

    /// Records on disk that calls are about to run, so that no later process runs them again. Returns the outcome for
    /// each call. Cancelled and skipped calls will not run.
    async fn persist_starts(
        &self,
        mut plans: Vec<PlannedCall>,
    ) -> Vec<(PlannedCall, Result<(), SessionError>)> {
        if let Some(skip) = self.skip() {
            for plan in &mut plans {
                if let CallAction::Run { .. } = plan.plan {
                    *plan = PlannedCall::skipped(&plan.call, skip);
                }
            }
        }
        let start = |plan: &PlannedCall| match &plan.plan {
            CallAction::Run { call: ToolCall { id, name, args }, .. } => {
                Some(ToolStart { call_id: id.clone(), name: name.clone(), args: args.clone() })
            }
            CallAction::Answer { .. } => None,
        };
        let starts = match self.run.cancel.is_cancelled() {
            true => Vec::new(),
            false => plans.iter().filter_map(start).collect(),
        };
        let mut begun = self.run.agent.transcript.record_starts(starts).await.into_iter();
        let begun = |plan: PlannedCall| match plan.plan {
            CallAction::Run { .. } => {
                let begun = begun.next().unwrap_or(Ok(()));
                (plan, begun)
            }
            CallAction::Answer { .. } => (plan, Ok(())),
        };
        plans.into_iter().map(begun).collect()
    }

    /// Adds a result to the transcript, under the name by which the model called the tool.
    async fn report(
        &self,
        call: ToolCall,
        output: ToolOutput,
        source: ResultSource,
    ) -> Result<(), SessionError> {
        let ToolCall { id, name, .. } = call;
        let ToolOutput { content, is_error, details, display, .. } = output.without_hidden_text();
        let ResultSource { extension, synthetic_by, skip } = source;
        let message =
            ToolMessage::new(id.clone(), name.clone(), content.clone(), self.run.agent.current_time())
                .with_is_error(is_error)
                .with_extension(extension.clone())
                .with_details(details.clone());
        // The result is synced soon, and the start of the call is already on disk. The result is reported only after it
        // is in the file.
        let saved = self.run.agent.transcript.add_or_defer(Message::Tool(message), None)?;
        let entry = Some(saved.entry().to_string());
        saved.wait_synced().await?;
        if let Some(skip) = skip {
            let (id, name, reason) = (id.clone(), name.clone(), skip.reason().to_owned());
            self.run.emitter.emit(AgentEvent::ToolSkipped { id, name, reason });
        }
        self.run.emitter.emit(AgentEvent::ToolResult {
            id,
            name,
            is_error,
            content,
            extension,
            synthetic_by,
            details,
            entry,
        });
        if let Some(display) = display {
            self.run.emitter.emit(display.into());
        }
        Ok(())
    }
}

fn unknown_tool_text(call: &ToolCall, offered: &OfferedTools) -> String {
    format!("unknown tool {:?}; available tools: {}", call.name, offered.names())
}

fn not_run_call(call: &ToolCall) -> PlannedCall {
    PlannedCall::error(call, NOT_RUN)
}

fn truncated_call(call: &ToolCall) -> PlannedCall {
    let text =
        format!("{} was not run: the message was cut at the output limit; send a shorter message", call.name);
    PlannedCall::error(call, text)
}
