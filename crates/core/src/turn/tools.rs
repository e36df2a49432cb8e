//! The tool calls of one message: preflighted in order, executed together where the tools allow it, results in
//! the order of the calls.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::hook::texts;
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::{Message, ToolMessage};

use super::refused;
use super::state::Input;
use crate::agent_state::{Offered, Setup};
use crate::call::{ApprovedCall, Scope, ToolGate, fit};
use crate::chain::Verdict;
use crate::hooks::{Refusal, RefusalScope};
use crate::run_context::RunContext;
use crate::session::entry::ToolStart;
use crate::session::{NOT_RUN, SessionError};
use crate::tool::{Concurrency, Tool, ToolOutput};

/// The number of calls of one message that run at once.
const MAX_PARALLEL: usize = 16;

pub(super) struct ToolCalls<'a> {
    pub(super) run: &'a RunContext,
    pub(super) setup: &'a Setup,
}

/// A call of the model after its preflight.
struct Planned {
    call: ToolCall,
    plan: Plan,
}

enum Plan {
    /// This runs: the tool and the arguments that every gate approved.
    Run { call: ToolCall, tool: Arc<dyn Tool> },
    /// Nothing runs; this is the result.
    Answer { output: ToolOutput, source: Source },
}

/// The source of a result; haft itself, if none is there.
#[derive(Default)]
struct Source {
    extension: Option<ExtensionName>,
    synthetic_by: Option<String>,
    skip: Option<Skip>,
}

/// Why calls that have not begun are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skip {
    Interrupted,
    Steered,
}

impl Skip {
    fn text(self) -> &'static str {
        match self {
            Self::Interrupted => texts::SKIPPED_FOR_INTERRUPT,
            Self::Steered => texts::SKIPPED_FOR_STEERING,
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Interrupted => texts::INTERRUPT_REASON,
            Self::Steered => texts::STEERING_REASON,
        }
    }
}

/// The result of a call.
struct Ended {
    call: ToolCall,
    output: ToolOutput,
    source: Source,
    /// Whatever else shall be done: nothing more of this turn.
    then: Option<Input>,
}

impl Planned {
    fn error(call: &ToolCall, text: impl Into<String>) -> Self {
        Self::answer(call, ToolOutput::error(text), Source::default())
    }

    fn answer(call: &ToolCall, output: ToolOutput, source: Source) -> Self {
        Self { call: call.clone(), plan: Plan::Answer { output, source } }
    }

    fn skipped(call: &ToolCall, skip: Skip) -> Self {
        let source = Source { skip: Some(skip), ..Source::default() };
        Self::answer(call, ToolOutput::error(skip.text()), source)
    }

    fn alone(&self) -> bool {
        match &self.plan {
            Plan::Run { tool, .. } => tool.spec().concurrency == Concurrency::Exclusive,
            Plan::Answer { .. } => false,
        }
    }
}

impl Ended {
    fn not_run(call: ToolCall, then: Option<Input>) -> Self {
        Self { call, output: ToolOutput::error(NOT_RUN), source: Source::default(), then }
    }
}

impl ToolCalls<'_> {
    /// Runs all calls of one message. `cut`: the message was cut, so no call can be trusted to be whole.
    pub(super) async fn execute(&self, calls: &[ToolCall], cut: bool) -> Input {
        for ToolCall { id, name, args } in calls.iter().cloned() {
            self.run.emitter.emit(AgentEvent::ToolCall { id, name, args });
        }
        let mut planned = Vec::with_capacity(calls.len());
        for (index, call) in calls.iter().enumerate() {
            let plan = match self.skip() {
                Some(skip) => Ok(Planned::skipped(call, skip)),
                None if cut => Ok(cut_off(call)),
                None => self.preflight(call).await,
            };
            match plan {
                Ok(plan) => planned.push(plan),
                Err(input) => {
                    let unasked = calls.iter().skip(index).map(not_run);
                    return self.leave_out(planned.into_iter().chain(unasked), input).await;
                }
            }
        }
        self.run_in_batches(planned).await
    }

    /// Reports the calls of a turn that ends before their time has come: the answer one has already, or none.
    async fn leave_out(&self, plans: impl Iterator<Item = Planned>, input: Input) -> Input {
        for Planned { call, plan } in plans {
            let (output, source) = match plan {
                Plan::Run { .. } => (ToolOutput::error(NOT_RUN), Source::default()),
                Plan::Answer { output, source } => (output, source),
            };
            if let Err(error) = self.report(call, output, source).await {
                return error.into();
            }
        }
        input
    }

    async fn run_in_batches(&self, planned: Vec<Planned>) -> Input {
        let mut handled = true;
        let mut rest = planned.into_iter().peekable();
        while let Some(first) = rest.next() {
            let mut batch = vec![first];
            while batch.iter().all(|plan| !plan.alone())
                && let Some(plan) = rest.next_if(|plan| !plan.alone())
            {
                batch.push(plan);
            }
            // As many as run at once are begun together, and come to their tools in the order of the calls.
            let mut results =
                self.begun(batch).map(|(plan, begun)| self.carry_out(plan, begun)).buffered(MAX_PARALLEL);
            // A result that is not written is kept for later, and so are those behind it: the tools have run.
            let mut over = None;
            while let Some(Ended { call, output, source, then }) = results.next().await {
                handled &= output.handled;
                let reported = self.report(call, output, source).await;
                over = over.or(then).or(reported.err().map(Input::from));
            }
            let over = over.or_else(|| self.run.cancel.is_cancelled().then_some(Input::Cancelled));
            match over {
                // Nothing more can be written now.
                Some(unsaved @ Input::Unsaved(_)) => return unsaved,
                Some(input) => return self.leave_out(rest, input).await,
                None => {}
            }
        }
        Input::Executed { handled }
    }

    /// Unknown tools and unfit arguments are answered at once; then the hooks decide.
    async fn preflight(&self, call: &ToolCall) -> Result<Planned, Input> {
        let mut offered = Offered::new(self.run.agent.tools(), self.setup.clone());
        if offered.is_unknown(&call.name)
            && let Some(tool) = self.late_tool(&call.name).await
        {
            offered.add(tool);
        }
        let answer = |text: String| Planned::error(call, text);
        let validator = match offered.get(&call.name) {
            Some((_, validator)) => match fit(call, validator) {
                Ok(validator) => Some(validator),
                Err(reason) => return Ok(answer(reason)),
            },
            None if self.somebody_takes(call, &offered) => None,
            None => return Ok(answer(unknown(call, &offered))),
        };
        let scope = Scope { validator, others: Some(&offered) };
        match ToolGate::new(self.run, call, scope).decide().await? {
            Verdict::Run { tool, args } => {
                let runs = ToolCall { id: call.id.clone(), name: tool.unwrap_or(call.name.clone()), args };
                Ok(match offered.get(&runs.name) {
                    Some((tool, _)) => {
                        let plan = Plan::Run { call: runs, tool: tool.clone() };
                        Planned { call: call.clone(), plan }
                    }
                    None => answer(unknown(call, &offered)),
                })
            }
            Verdict::Respond { by, output } => {
                let source = Source { synthetic_by: Some(by), ..Source::default() };
                Ok(Planned::answer(call, output, source))
            }
            Verdict::Refuse(Refusal { scope: RefusalScope::Call, reason, .. }) => Ok(answer(reason)),
            Verdict::Refuse(refusal) => Err(Input::Refused(refusal)),
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

    /// True if a hook may answer a call of a tool that nobody registered.
    fn somebody_takes(&self, call: &ToolCall, offered: &Offered) -> bool {
        let takes = || self.run.agent.hooks().before_tool_execute.iter().any(|hook| hook.takes_unknown());
        offered.is_unknown(&call.name) && call.args.is_object() && takes()
    }

    /// Carries out a call and returns its result with its source; does nothing if the start could not be recorded.
    async fn carry_out(&self, Planned { call, plan }: Planned, begun: Result<(), SessionError>) -> Ended {
        let (runs, tool) = match plan {
            Plan::Answer { output, source } => return Ended { call, output, source, then: None },
            Plan::Run { call, tool } => (call, tool),
        };
        match begun {
            Err(error) => return Ended::not_run(call, Some(error.into())),
            Ok(()) if self.run.cancel.is_cancelled() => return Ended::not_run(call, None),
            Ok(()) => {}
        }
        let extension = tool.spec().owner.extension().map(ExtensionName::new);
        let result = ApprovedCall { run: self.run, call: runs, tool: tool.as_ref() }.execute().await;
        let then = result.refusal.map(|refusal| refused(self.run, refusal));
        Ended { call, output: result.output, source: Source { extension, ..Source::default() }, then }
    }

    /// Returns the reason why calls that have not begun by now are passed over, if they are.
    fn skip(&self) -> Option<Skip> {
        let agent = &self.run.agent;
        if agent.queues.is_interrupted() {
            return Some(Skip::Interrupted);
        }
        (agent.config.steering_skips && agent.queues.is_steered()).then_some(Skip::Steered)
    }

    fn begun(&self, batch: Vec<Planned>) -> BoxStream<'_, (Planned, Result<(), SessionError>)> {
        let batch = stream::iter(batch).chunks(MAX_PARALLEL);
        batch.then(|plans| self.put_on_record(plans)).flat_map(stream::iter).boxed()
    }

    /// Has it on the disk that calls are about to run, so that no later process runs one of them a second time. Says of
    /// each whether it is. What is cancelled or skipped by now will not run.
    async fn put_on_record(&self, mut plans: Vec<Planned>) -> Vec<(Planned, Result<(), SessionError>)> {
        if let Some(skip) = self.skip() {
            for plan in &mut plans {
                if let Plan::Run { .. } = plan.plan {
                    *plan = Planned::skipped(&plan.call, skip);
                }
            }
        }
        let start = |plan: &Planned| match &plan.plan {
            Plan::Run { call: ToolCall { id, name, args }, .. } => {
                Some(ToolStart { call_id: id.clone(), name: name.clone(), args: args.clone() })
            }
            Plan::Answer { .. } => None,
        };
        let starts = match self.run.cancel.is_cancelled() {
            true => Vec::new(),
            false => plans.iter().filter_map(start).collect(),
        };
        let mut begun = self.run.agent.transcript.start(starts).await.into_iter();
        let begun = |plan: Planned| match plan.plan {
            Plan::Run { .. } => {
                let begun = begun.next().unwrap_or(Ok(()));
                (plan, begun)
            }
            Plan::Answer { .. } => (plan, Ok(())),
        };
        plans.into_iter().map(begun).collect()
    }

    /// Puts a result into the transcript, under the name by which the model called the tool.
    async fn report(&self, call: ToolCall, output: ToolOutput, source: Source) -> Result<(), SessionError> {
        let ToolCall { id, name, .. } = call;
        let ToolOutput { content, is_error, details, display, .. } = output.legible();
        let Source { extension, synthetic_by, skip } = source;
        let message = ToolMessage {
            call_id: id.clone(),
            name: name.clone(),
            content: content.clone(),
            is_error,
            extension: extension.clone(),
            details: details.clone(),
            time: self.run.agent.now(),
        };
        // It is soon on the disk, and that the call ran is there already. Nobody is told before it is in a file.
        self.run.agent.transcript.keep(Message::Tool(message), None)?.on_disk().await?;
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
        });
        if let Some(display) = display {
            self.run.emitter.emit(display.into());
        }
        Ok(())
    }
}

fn unknown(call: &ToolCall, offered: &Offered) -> String {
    format!("unknown tool {:?}; available tools: {}", call.name, offered.names())
}

fn not_run(call: &ToolCall) -> Planned {
    Planned::error(call, NOT_RUN)
}

fn cut_off(call: &ToolCall) -> Planned {
    let text = format!(
        "{} was not run: the message reached the output limit and was cut; send less at once",
        call.name
    );
    Planned::error(call, text)
}
