//! The tool calls of one message: preflighted in order, executed together where the tools allow it, results in
//! the order of the calls.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::{Message, ToolMessage};

use super::Turn;
use super::state::Input;
use crate::agent::LateValidator;
use crate::call::fit;
use crate::chain::Verdict;
use crate::session::entry::ToolStart;
use crate::session::{NOT_RUN, SessionError};
use crate::tool::{Concurrency, Tool, ToolOutput};

/// How many calls of one message run at once.
const MAX_PARALLEL: usize = 16;

/// A call after its preflight.
enum Planned {
    /// It runs: the call has the arguments that every gate approved.
    Run { call: ToolCall, tool: Arc<dyn Tool> },
    /// It does not; this is its result.
    Answer {
        call: ToolCall,
        output: ToolOutput,
        /// The hook that gave it in place of the tool.
        synthetic_by: Option<String>,
    },
}

/// Who gave a result; nobody but haft itself, if neither is there.
#[derive(Default)]
struct Source {
    /// The extension whose tool ran.
    extension: Option<ExtensionName>,
    /// The hook that answered in place of the tool.
    synthetic_by: Option<String>,
}

impl Planned {
    fn error(call: &ToolCall, text: impl Into<String>) -> Self {
        Self::Answer { call: call.clone(), output: ToolOutput::error(text), synthetic_by: None }
    }

    fn alone(&self) -> bool {
        match self {
            Self::Run { tool, .. } => tool.spec().concurrency == Concurrency::Exclusive,
            Self::Answer { .. } => false,
        }
    }
}

impl Turn {
    /// Runs all calls of one message. `cut`: the message was cut, so no call can be trusted to be whole.
    pub(super) async fn execute(&self, calls: &[ToolCall], cut: bool) -> Input {
        for ToolCall { id, name, args } in calls.iter().cloned() {
            self.emitter.emit(AgentEvent::ToolCall { id, name, args });
        }
        let mut planned = Vec::with_capacity(calls.len());
        for (index, call) in calls.iter().enumerate() {
            let plan = if cut { Ok(cut_off(call)) } else { self.preflight(call).await };
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
        for plan in plans {
            let (call, output, source) = match plan {
                Planned::Run { call, .. } => (call, ToolOutput::error(NOT_RUN), Source::default()),
                Planned::Answer { call, output, synthetic_by } => {
                    (call, output, Source { synthetic_by, ..Source::default() })
                }
            };
            if let Err(error) = self.report(call, output, source).await {
                return error.into();
            }
        }
        input
    }

    async fn run_in_batches(&self, planned: Vec<Planned>) -> Input {
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
            let mut failed = None;
            while let Some((call, result)) = results.next().await {
                // Whatever kept a call from being begun, its place among the results is not left empty.
                let (output, source, unbegun) = match result {
                    Ok((output, source)) => (output, source, None),
                    Err(error) => (ToolOutput::error(NOT_RUN), Source::default(), Some(error)),
                };
                let reported = self.report(call, output, source).await;
                failed = failed.or(unbegun).or(reported.err());
            }
            if let Some(error) = failed {
                return error.into();
            }
            if self.cancel.is_cancelled() {
                return self.leave_out(rest, Input::Cancelled).await;
            }
        }
        Input::Executed
    }

    /// Unknown tools and unfit arguments are answered at once; then the hooks decide.
    async fn preflight(&self, call: &ToolCall) -> Result<Planned, Input> {
        let tools = self.agent.tools();
        let answer = |text: String| Planned::error(call, text);
        let setup = self.setup();
        let found = tools.get(&call.name).filter(|_| setup.offers(&call.name));
        let late = match found {
            None if setup.offers(&call.name) => self.late_tool(&call.name).await,
            None | Some(_) => None,
        };
        let found = found.or_else(|| late.as_ref().map(|(tool, validator)| (tool, validator)));
        let Some((tool, validator)) = found else {
            let names: Vec<String> = tools.offered(&setup).iter().map(|spec| spec.name.clone()).collect();
            return Ok(answer(format!(
                "unknown tool {:?}; available tools: {}",
                call.name,
                names.join(", ")
            )));
        };
        let validator = match fit(call, validator) {
            Ok(validator) => validator,
            Err(reason) => return Ok(answer(reason)),
        };
        match self.calling().gate(call, validator).await? {
            Verdict::Run { args } => {
                let call = ToolCall { args, ..call.clone() };
                Ok(Planned::Run { call, tool: tool.clone() })
            }
            Verdict::Respond { by, output } => {
                Ok(Planned::Answer { call: call.clone(), output, synthetic_by: Some(by) })
            }
            Verdict::Block { reason, .. } => Ok(answer(reason)),
            Verdict::AbortTurn { by, reason } => Err(Input::Blocked { by, reason }),
            Verdict::AbortAgent { by, reason } => Err(Input::Stopped { by, reason }),
        }
    }

    /// A tool that nobody had brought yet when the model called it.
    async fn late_tool(&self, name: &str) -> Option<(Arc<dyn Tool>, LateValidator)> {
        for source in &self.agent.sources {
            if let Some(tool) = source.late_tool(&self.cancel, name).await {
                let validator = LateValidator::new(tool.spec());
                return Some((tool, validator));
            }
        }
        None
    }

    /// A call with its result, and who gave it; an error if it could not be written that it was about to run, so that
    /// it did not.
    async fn carry_out(
        &self,
        plan: Planned,
        begun: Result<(), SessionError>,
    ) -> (ToolCall, Result<(ToolOutput, Source), SessionError>) {
        let (call, mut output, source) = match plan {
            Planned::Answer { call, output, synthetic_by } => {
                return (call, Ok((output, Source { synthetic_by, ..Source::default() })));
            }
            Planned::Run { call, tool } => {
                match begun {
                    Err(error) => return (call, Err(error)),
                    Ok(()) if self.cancel.is_cancelled() => {
                        return (call, Ok((ToolOutput::error(NOT_RUN), Source::default())));
                    }
                    Ok(()) => {}
                }
                let output = self.calling().run(&call, tool.as_ref()).await;
                let extension = tool.spec().owner.extension().map(ExtensionName::new);
                (call, output, Source { extension, ..Source::default() })
            }
        };
        output = self.calling().looked_over(&call, output).await;
        (call, Ok((output, source)))
    }

    /// Calls that may run.
    fn begun(&self, batch: Vec<Planned>) -> BoxStream<'_, (Planned, Result<(), SessionError>)> {
        let batch = stream::iter(batch).chunks(MAX_PARALLEL);
        batch.then(|plans| self.put_on_record(plans)).flat_map(stream::iter).boxed()
    }

    /// Has it on the disk that calls are about to run, so that no later process runs one of them a second time. Says of
    /// each whether it is. What is cancelled by now will not run.
    async fn put_on_record(&self, plans: Vec<Planned>) -> Vec<(Planned, Result<(), SessionError>)> {
        let start = |plan: &Planned| match plan {
            Planned::Run { call: ToolCall { id, name, args }, .. } => {
                Some(ToolStart { call_id: id.clone(), name: name.clone(), args: args.clone() })
            }
            Planned::Answer { .. } => None,
        };
        let starts = match self.cancel.is_cancelled() {
            true => Vec::new(),
            false => plans.iter().filter_map(start).collect(),
        };
        let mut begun = self.agent.transcript.start(starts).await.into_iter();
        let begun = |plan: Planned| match plan {
            Planned::Run { .. } => {
                let begun = begun.next().unwrap_or(Ok(()));
                (plan, begun)
            }
            Planned::Answer { .. } => (plan, Ok(())),
        };
        plans.into_iter().map(begun).collect()
    }

    async fn report(&self, call: ToolCall, output: ToolOutput, source: Source) -> Result<(), SessionError> {
        let ToolCall { id, name, .. } = call;
        let ToolOutput { content, is_error, details, .. } = output.legible();
        let Source { extension, synthetic_by } = source;
        let message = ToolMessage {
            call_id: id.clone(),
            name: name.clone(),
            content: content.clone(),
            is_error,
            extension: extension.clone(),
            details: details.clone(),
            time: self.agent.now(),
        };
        // It is soon on the disk, and that the call ran is there already. Nobody is told before it is in a file.
        self.agent.transcript.keep(Message::Tool(message), None)?.on_disk().await?;
        self.emitter.emit(AgentEvent::ToolResult {
            id,
            name,
            is_error,
            content,
            extension,
            synthetic_by,
            details,
        });
        Ok(())
    }
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
