//! One interception while other extensions receive a thousand events a second.
//!
//! Base: the same question in the same host after the same pause, without events. An event and the question are sent
//! together, as when the model calls a tool.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use haft_core::hooks::{HookSource as _, ToolDecision};
use haft_host::Host;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use tokio::runtime::Runtime;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{event, watcher_host_config, watcher_specs};
use crate::children::ChildProgram;
use crate::extension_query::{extension_spec, runtime};
use crate::method::{RepetitionPlan, compare, median};
use crate::peers;
use crate::report::{LineGoal, Report, Unit};

const PLAN: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 16 };

/// The number of questions in a block.
const TRIPS: usize = 20;

/// The pause between two events.
const PAUSE: Duration = Duration::from_millis(1);

const BESIDE: LineGoal = LineGoal { goal: 1.25, gate: 2.0 };

pub(in crate::rows) fn measure(report: &mut Report) -> Result<()> {
    let asked = QueriedHost::start()?;
    let [found] = compare(report.plan_for_effort(PLAN), || asked.block(false), || asked.block(false))?;
    let sound = report.add_control("control, idle", Unit::Seconds, found);
    let [found] = compare(report.plan_for_effort(PLAN), || asked.block(false), || asked.block(true))?;
    report.add_comparison("1,000 events/s to 100", Unit::Seconds, found, Some(BESIDE), sound);
    asked.runtime.block_on(asked.host.shutdown());
    Ok(())
}

struct QueriedHost {
    runtime: Runtime,
    host: Host,
    event: AgentEvent,
    call: ToolCall,
}

impl QueriedHost {
    fn start() -> Result<Self> {
        let runtime = runtime()?;
        let mut specs = watcher_specs(0)?;
        specs.push(extension_spec("guard", &ChildProgram::in_role(peers::LEAST)?));
        let host = runtime.block_on(Host::builder(watcher_host_config()).specs(specs).start());
        ensure!(host.hooks().before_tool_execute.len() == 1, "the guard extension did not start");
        let event = event()?;
        let AgentEvent::ToolCall { id, name, args } = event.clone() else {
            anyhow::bail!("the event is not a tool call")
        };
        Ok(Self { runtime, host, event, call: ToolCall { id, name, args } })
    }

    fn block(&self, loud: bool) -> Result<[f64; 1]> {
        let cancel = CancellationToken::new();
        let hooks = self.host.hooks();
        let times: Result<Vec<f64>> = self.runtime.block_on(async {
            let mut times = Vec::with_capacity(TRIPS);
            for _ in 0..TRIPS {
                sleep(PAUSE).await;
                let start = Instant::now();
                if loud {
                    hooks.observers.iter().for_each(|observer| observer.observe(&self.event));
                }
                for hook in &hooks.before_tool_execute {
                    let decision = hook.before_tool_execute(&cancel, &self.call).await;
                    ensure!(
                        decision == ToolDecision::Allow,
                        "the extension did not allow the call: {decision:?}"
                    );
                }
                times.push(start.elapsed().as_secs_f64());
            }
            Ok(times)
        });
        Ok([median(times?)])
    }
}
