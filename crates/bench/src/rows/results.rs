//! A long result of a tool: from the question to what the model is given, and to the lines that carry it on.
//!
//! Base: the same bytes read from a pipe of the usual size, blocking, and thrown away.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_core::hooks::CancellationToken;
use haft_core::tool::{Tool, ToolContext, ToolOutput};
use haft_host::Host;
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use tokio::runtime::Runtime;

use crate::asking::{runtime, spec};
use crate::children::{Piped, Program};
use crate::method::{Plan, compare};
use crate::peers::{self, Payload};
use crate::report::{Goal, Report, Unit};

const PLAN: Plan = Plan { repetitions: 5, pairs: 40 };

/// Kilobytes of a result, and how they are called.
const SIZES: [(u32, &str); 3] = [(64, "64 KB"), (1024, "1 MiB"), (4096, "4 MiB")];

const RECEIVED: Goal = Goal { goal: 1.0, gate: 1.3 };
const CARRIED_ON: Goal = Goal { goal: 4.0, gate: 5.0 };

/// The question that the base asks, whose id has the length of the host's.
const QUESTION: &str = concat!(
    r#"{"type":"tool_call","id":"00000000000000000000000000000000-1000","name":"long","args":{}}"#,
    "\n"
);

pub(super) fn measure(report: &mut Report) -> Result<()> {
    for (kilobytes, size) in SIZES {
        let of = |payload: Payload| Program::own(&peers::with(payload.role(), kilobytes));
        let plan = report.plan(PLAN);
        let other = of(Payload::Other)?;
        let (mut base, mut twin) = (Raw::start(&other)?, Raw::start(&other)?);
        let [found] = compare(plan, || base.block(), || twin.block())?;
        let sound = report.control(&format!("control, {size}"), Unit::Seconds, found);

        // 64 KB fit into a pipe, and 4 MiB do not fit into the caches: the promise is about what is between.
        let promised = |goal| (kilobytes == 1024).then_some(goal);
        let mut received = Called::start(&other)?;
        let [found] = compare(plan, || base.block(), || received.block(false))?;
        report.line(&format!("received, {size}"), Unit::Seconds, found, promised(RECEIVED), sound);
        received.end();
        for (payload, name) in [(Payload::Text, "text"), (Payload::Image, "image")] {
            let program = of(payload)?;
            let mut base = Raw::start(&program)?;
            let mut called = Called::start(&program)?;
            let [found] = compare(plan, || base.block(), || called.block(true))?;
            let what = format!("to the model, {name}, {size}");
            report.line(&what, Unit::Seconds, found, promised(CARRIED_ON), sound);
            called.end();
        }
    }
    Ok(())
}

struct Raw(Piped);

impl Raw {
    fn start(program: &Program) -> Result<Self> {
        Ok(Self(Piped::extension(program)?))
    }

    fn block(&mut self) -> Result<[f64; 1]> {
        let start = Instant::now();
        self.0.swallow(QUESTION.as_bytes())?;
        Ok([start.elapsed().as_secs_f64()])
    }
}

/// The candidate's side: the tool as an agent calls it.
struct Called {
    runtime: Runtime,
    host: Host,
    tool: Arc<dyn Tool>,
    call: ToolCall,
}

impl Called {
    fn start(program: &Program) -> Result<Self> {
        let runtime = runtime()?;
        let host =
            runtime.block_on(Host::builder(peers::config()).specs(vec![spec("peer", program)]).start());
        let tool = host.tools().pop().with_context(|| format!("it has no tool: {:?}", host.states()))?;
        let call =
            ToolCall { id: ToolCallId::new("call_1"), name: "long".into(), args: RawJson::empty_object() };
        Ok(Self { runtime, host, tool, call })
    }

    /// `on`: what came is carried on, in an event's line and in a message to the model.
    fn block(&mut self, on: bool) -> Result<[f64; 1]> {
        let context = ToolContext::new(CancellationToken::new(), drop);
        let start = Instant::now();
        let output = self.runtime.block_on(self.tool.execute(context, self.call.clone()));
        ensure!(!output.is_error, "it failed: {:?}", output.content.first());
        if on {
            carried_on(output)?;
        }
        Ok([start.elapsed().as_secs_f64()])
    }

    fn end(self) {
        self.runtime.block_on(self.host.shutdown());
    }
}

/// The content as a body's part, and the line of the event that says it.
fn carried_on(output: ToolOutput) -> Result<()> {
    let body = serde_json::to_vec(&output.content)?;
    let event = AgentEvent::ToolResult {
        id: ToolCallId::new("call_1"),
        name: "long".into(),
        is_error: output.is_error,
        content: output.content,
        extension: None,
        synthetic_by: None,
    };
    let line = serde_json::to_vec(&event)?;
    ensure!(line.len() > body.len(), "an event without its content");
    Ok(())
}
