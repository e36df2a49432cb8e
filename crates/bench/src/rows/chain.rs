//! Several extensions asked about one tool call through an agent: from the model's answer to the tool's start.
//!
//! Base: as many bare pipes, written and read one after the other; for slow gates, one bare pipe.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use async_trait::async_trait;
use futures::{StreamExt, stream};
use haft_core::Agent;
use haft_core::hooks::CancellationToken;
use haft_core::model::{Model, ModelError, ModelEvent, ModelId, ModelRequest, ModelResponse, ModelStream};
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
use haft_host::Host;
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, Message, StopCause};
use tokio::runtime::Runtime;

use crate::children::{ChildProgram, PipedChild};
use crate::extension_query::{TOOL, bench_host_config, extension_specs, query_line, runtime, write_call};
use crate::method::{RepetitionPlan, compare};
use crate::peers;
use crate::report::{LineGoal, Report, Unit};

/// The lengths of the chain, and the calls of a block. A block takes less than a millisecond.
const LENGTHS: [(u32, u32); 3] = [(1, 20), (5, 6), (20, 2)];

const PLAN: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 100 };

/// The number of slow gates, and the delay of each in milliseconds.
const GATES: (u32, u32) = (20, 1);

const THINKING: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 20 };

const SERIAL: LineGoal = LineGoal { goal: 1.6, gate: 1.9 };
const SERIAL_FREE: LineGoal = LineGoal::without_gate(1.15);
const PARALLEL: LineGoal = LineGoal { goal: 1.25, gate: 2.0 };

/// The size of a question in bytes.
const FRAME: usize = 200;

pub(super) fn measure(report: &mut Report) -> Result<()> {
    report.set_axis("extensions");
    for (length, calls) in LENGTHS {
        let goal = (length == 20).then_some(SERIAL);
        measure_serial(report, length, calls, goal)?;
    }
    measure_parallel(report, Some(PARALLEL))
}

pub(super) fn measure_free(report: &mut Report) -> Result<()> {
    report.set_axis("extensions");
    for (length, calls) in LENGTHS {
        let goal = (length == 20).then_some(SERIAL_FREE);
        measure_serial(report, length, calls, goal)?;
    }
    measure_parallel(report, None)
}

/// Measures the line that is steady on a busy machine.
pub(super) fn measure_gated(report: &mut Report) -> Result<()> {
    let [.., (length, calls)] = LENGTHS;
    measure_serial(report, length, calls, Some(SERIAL))
}

fn measure_serial(report: &mut Report, length: u32, calls: u32, goal: Option<LineGoal>) -> Result<()> {
    let program = ChildProgram::in_role(peers::LEAST)?;
    let (mut base, mut twin) =
        (PipeChainBase::start(&program, length)?, PipeChainBase::start(&program, length)?);
    let plan = report.plan_for_effort(PLAN);
    let [found] = compare(plan, || base.block(calls), || twin.block(calls))?;
    let sound = report.add_control(&format!("control, {length}"), Unit::Seconds, found);
    let mut agent = AgentChainCandidate::start(&program, length, calls)?;
    let [found] = compare(plan, || base.block(calls), || agent.block())?;
    let line = report.add_comparison(&format!("chain of {length}"), Unit::Seconds, found, goal, sound);
    line.on_curve("one after the other", length.into());
    if goal.is_some_and(|goal| goal.gate.is_finite()) {
        line.make_gated();
    }
    agent.end();
    Ok(())
}

fn measure_parallel(report: &mut Report, goal: Option<LineGoal>) -> Result<()> {
    let (count, thinking) = GATES;
    let program = ChildProgram::in_role(&peers::role_with_number(peers::SLOW_GATE, thinking))?;
    let (mut base, mut twin) = (PipeChainBase::start(&program, 1)?, PipeChainBase::start(&program, 1)?);
    let plan = report.plan_for_effort(THINKING);
    let [found] = compare(plan, || base.block(1), || twin.block(1))?;
    let sound = report.add_control("control, a 1 ms gate", Unit::Seconds, found);
    let mut agent = AgentChainCandidate::start(&program, count, 1)?;
    let [found] = compare(plan, || base.block(1), || agent.block())?;
    report.add_comparison(&format!("{count} gates, 1 ms each"), Unit::Seconds, found, goal, sound);
    agent.end();
    Ok(())
}

/// The base: bare pipes to the same extensions.
struct PipeChainBase {
    peers: Vec<PipedChild>,
    line: Vec<u8>,
}

impl PipeChainBase {
    fn start(program: &ChildProgram, length: u32) -> Result<Self> {
        let peers = (0..length).map(|_| PipedChild::start_extension(program)).collect::<Result<_>>()?;
        Ok(Self { peers, line: query_line(&write_call(FRAME)?)? })
    }

    /// Returns the mean seconds of one call, over `calls` calls.
    fn block(&mut self, calls: u32) -> Result<[f64; 1]> {
        let start = Instant::now();
        for _ in 0..calls {
            for peer in &mut self.peers {
                peer.round_trip(&self.line)?;
            }
        }
        Ok([(start.elapsed() / calls).as_secs_f64()])
    }
}

/// The candidate: an agent with a scripted model and a tool that does nothing.
struct AgentChainCandidate {
    runtime: Runtime,
    host: Host,
    script: Arc<CallingModel>,
}

impl AgentChainCandidate {
    fn start(program: &ChildProgram, length: u32, calls: u32) -> Result<Self> {
        let runtime = runtime()?;
        let specs = extension_specs(usize::try_from(length)?, program);
        let host = runtime.block_on(Host::builder(bench_host_config()).specs(specs).start());
        let up = host.hook_source().hooks().before_tool_execute.len();
        ensure!(up == usize::try_from(length)?, "{up} of {length} extensions started");
        let script = CallingModel { call: write_call(FRAME)?, calls, watch: LatencyStopwatch::default() };
        Ok(Self { runtime, host, script: Arc::new(script) })
    }

    /// Returns the seconds from the model's answer to the first start of the tool, divided by the number of calls.
    fn block(&mut self) -> Result<[f64; 1]> {
        let agent = Agent::builder(self.script.clone())
            .tool(NoopTool(self.script.clone()))
            .hook_source(self.host.hook_source())
            .build()?;
        self.runtime.block_on(agent.prompt("go").finish())?;
        let time = self.script.watch.take().context("the tool did not run")?;
        Ok([(time / self.script.calls).as_secs_f64()])
    }

    fn end(self) {
        self.runtime.block_on(self.host.shutdown());
    }
}

/// A model that requests its calls in the first step and ends the turn in the second.
struct CallingModel {
    call: ToolCall,
    calls: u32,
    watch: LatencyStopwatch,
}

#[async_trait]
impl Model for CallingModel {
    fn info(&self) -> ModelId {
        ModelId { provider: "bench".into(), model: "script".into() }
    }

    async fn stream(&self, _: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let done = request.messages.iter().any(|message| matches!(message, Message::Tool(_)));
        let number = |number| ToolCall { id: ToolCallId::new(format!("call_{number}")), ..self.call.clone() };
        let calls = (0..if done { 0 } else { self.calls }).map(number);
        let answer = ModelResponse::new(
            calls.map(AssistantBlock::ToolCall).collect(),
            if done { StopCause::End } else { StopCause::ToolUse },
        );
        if !done {
            self.watch.start();
        }
        Ok(stream::iter([Ok(ModelEvent::Done(answer))]).boxed())
    }
}

/// A tool that accepts any arguments and records its first run.
struct NoopTool(Arc<CallingModel>);

#[async_trait]
impl Tool for NoopTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::new(ToolSpec::new(TOOL, "Does nothing."))
    }

    async fn execute(&self, _: ToolContext, _: ToolCall) -> ToolOutput {
        self.0.watch.stop();
        ToolOutput::text("")
    }
}

/// The time from the model's answer to the first run of the tool.
#[derive(Default)]
struct LatencyStopwatch(Mutex<(Option<Instant>, Option<Duration>)>);

impl LatencyStopwatch {
    fn start(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (Some(Instant::now()), None);
    }

    fn stop(&self) {
        let mut watch = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(start) = watch.0.take() {
            watch.1 = Some(start.elapsed());
        }
    }

    fn take(&self) -> Option<Duration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.take()
    }
}
