//! Delivery of events to many extensions, until each extension has received all of them.
//!
//! Base: the same bytes to the same number of children, in blocking writes of 64 KB, the capacity of a pipe. A block
//! takes longer than a time slice, so there are two figures: wall time and the CPU time of this process.
//!
//! The host drops events if a watcher is too far behind, and a dropped event fails the row. Therefore every watcher
//! reports its progress once per block, in the base as well, and the emission waits for all reports.

pub(super) mod beside;

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_core::hooks::Observer;
use haft_host::{ExtensionState, Host, HostConfig};
use haft_packages::ExtensionSpec;
use haft_protocol::RawJson;
use haft_protocol::codec;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{HostFrame, LifecycleEvent};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::StopCause;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::children::{ChildProgram, PipedChild};
use crate::extension_query::{self, extension_spec, runtime};
use crate::method::{RepetitionPlan, compare};
use crate::peers::watcher::{LAST, PACE};
use crate::report::{LineGoal, Report, Unit};
use crate::{peers, platform};

const PLAN: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 8 };

/// The number of watchers.
const WATCHERS: usize = 100;

/// The number of events for each watcher in one block, without the last event.
const EVENTS: usize = 2_000;

/// The number of events before the emission waits for the progress of all watchers.
const AHEAD: usize = PACE + PACE / 4;

/// The number of watchers of the second host that never read.
const STALLED: usize = 10;

/// The size of the base's writes: the capacity of a pipe.
const WRITE: usize = 64 * 1024;

const FANOUT: LineGoal = LineGoal { goal: 1.5, gate: 2.2 };
const STALLS: LineGoal = LineGoal { goal: 1.1, gate: 1.3 };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    measure_fanout(report)?;
    let (plan, event) = (report.plan_for_effort(PLAN), event()?);
    let mut all = HostFanoutCandidate::start(0)?;
    let mut twin = HostFanoutCandidate::start(0)?;
    let [wall, cpu] = compare(plan, || all.block(&event), || twin.block(&event))?;
    let wall_sound = report.add_control("control, host, wall", Unit::Seconds, wall);
    let cpu_sound = report.add_control("control, host, own CPU", Unit::Seconds, cpu);
    twin.end()?;
    let mut stalled = HostFanoutCandidate::start(STALLED)?;
    let [wall, cpu] = compare(plan, || all.block(&event), || stalled.block(&event))?;
    report.add_comparison("10 stalled, wall", Unit::Seconds, wall, Some(STALLS), wall_sound);
    report.add_comparison("10 stalled, own CPU", Unit::Seconds, cpu, Some(STALLS), cpu_sound);
    all.end()?;
    stalled.end()
}

/// Measures the gated line.
pub(super) fn measure_gated(report: &mut Report) -> Result<()> {
    measure_fanout(report)
}

fn measure_fanout(report: &mut Report) -> Result<()> {
    let (plan, event, bytes) = (report.plan_for_effort(PLAN), event()?, bytes()?);
    let mut raw = PipeFanoutBase::start()?;
    let mut twin = PipeFanoutBase::start()?;
    let [wall, cpu] = compare(plan, || raw.block(&bytes), || twin.block(&bytes))?;
    let wall_sound = report.add_control("control, wall", Unit::Seconds, wall);
    let cpu_sound = report.add_control("control, own CPU", Unit::Seconds, cpu);
    drop(twin);
    let mut told = HostFanoutCandidate::start(0)?;
    let [wall, cpu] = compare(plan, || raw.block(&bytes), || told.block(&event))?;
    report.add_comparison("2,000 x 100, wall", Unit::Seconds, wall, Some(FANOUT), wall_sound).make_gated();
    report.add_comparison("2,000 x 100, own CPU", Unit::Seconds, cpu, None, cpu_sound);
    told.end()
}

/// The base: plain writes to the watchers' pipes.
struct PipeFanoutBase {
    peers: Vec<PipedChild>,
}

impl PipeFanoutBase {
    fn start() -> Result<Self> {
        let program = ChildProgram::in_role(peers::WATCHER)?;
        let peers = (0..WATCHERS).map(|_| PipedChild::start_extension(&program)).collect::<Result<_>>()?;
        Ok(Self { peers })
    }

    fn block(&mut self, bytes: &[u8]) -> Result<[f64; 2]> {
        let clock = FanoutTimer::start();
        for part in bytes.chunks(WRITE) {
            for peer in &mut self.peers {
                peer.write(part)?;
            }
        }
        let all = format!("end {}", EVENTS + 1);
        for peer in &mut self.peers {
            while !String::from_utf8_lossy(&peer.line()?).contains(&all) {}
        }
        Ok(clock.stop())
    }
}

/// The candidate: a host with watchers that receives events as from an agent.
struct HostFanoutCandidate {
    runtime: Runtime,
    host: Host,
    observers: Vec<Arc<dyn Observer>>,
    notes: mpsc::UnboundedReceiver<String>,
    live: usize,
}

impl HostFanoutCandidate {
    fn start(stalled: usize) -> Result<Self> {
        let runtime = runtime()?;
        let (words, notes) = mpsc::unbounded_channel();
        let said = move |event| {
            if let AgentEvent::ExtNotify { message, .. } = event {
                // The receiver may be closed.
                _ = words.send(message);
            }
        };
        let host = runtime.block_on(
            Host::builder(watcher_host_config())
                .specs(watcher_specs(stalled)?)
                .events(Arc::new(said))
                .start(),
        );
        let ready = host.statuses().iter().filter(|status| status.state == ExtensionState::Ready).count();
        ensure!(ready == WATCHERS, "{ready} of {WATCHERS} watchers started");
        let observers = host.hook_source().hooks().observers;
        Ok(Self { runtime, host, observers, notes, live: WATCHERS - stalled })
    }

    fn block(&mut self, event: &AgentEvent) -> Result<[f64; 2]> {
        let (observers, notes, live) = (&self.observers, &mut self.notes, self.live);
        let emit = |event: &AgentEvent| observers.iter().for_each(|observer| observer.observe(event));
        let clock = FanoutTimer::start();
        self.runtime.block_on(async {
            (0..AHEAD).for_each(|_| emit(event));
            wait_for_note(notes, "pace", live).await?;
            (AHEAD..EVENTS).for_each(|_| emit(event));
            emit(&AgentEvent::TurnEnd { stop: StopCause::End, error: None });
            wait_for_note(notes, &format!("end {}", EVENTS + 1), live).await
        })?;
        Ok(clock.stop())
    }

    fn end(self) -> Result<()> {
        let states = self.host.statuses();
        let lost = states.iter().filter(|status| status.events_dropped > 0).count();
        ensure!(lost == WATCHERS - self.live, "{lost} watchers lost events");
        self.runtime.block_on(self.host.shutdown());
        Ok(())
    }
}

/// Waits until `watchers` watchers have sent this note.
pub(super) async fn wait_for_note(
    notes: &mut mpsc::UnboundedReceiver<String>,
    word: &str,
    watchers: usize,
) -> Result<()> {
    for _ in 0..watchers {
        let said = notes.recv().await.context("the host has ended")?;
        ensure!(said.starts_with(word), "a watcher reported {said} instead of {word}");
    }
    Ok(())
}

/// Measures wall time and the process's own CPU time, in seconds.
pub(super) struct FanoutTimer {
    wall: Instant,
    cpu: f64,
}

impl FanoutTimer {
    pub(super) fn start() -> Self {
        Self { wall: Instant::now(), cpu: platform::cpu_time() }
    }

    pub(super) fn stop(self) -> [f64; 2] {
        [self.wall.elapsed().as_secs_f64(), platform::cpu_time() - self.cpu]
    }
}

/// Describes the watchers, of which the first `stalled` never read.
fn watcher_specs(stalled: usize) -> Result<Vec<ExtensionSpec>> {
    let (watcher, never) = (ChildProgram::in_role(peers::WATCHER)?, ChildProgram::in_role(peers::STALLED)?);
    let program = |number| if number < WATCHERS - stalled { &watcher } else { &never };
    Ok((0..WATCHERS).map(|number| extension_spec(&format!("watcher-{number}"), program(number))).collect())
}

/// Returns a host configuration without a limit on notifications and with patience for stalled extensions.
pub(super) fn watcher_host_config() -> HostConfig {
    let mut config = extension_query::bench_host_config();
    config.limits.notes_per_second = u32::MAX;
    config.limits.frames_per_second = u32::MAX;
    config.timeouts.write_stall *= 1_000;
    config
}

/// Returns an event whose line has 190 bytes.
fn event() -> Result<AgentEvent> {
    let args = json!({ "path": "src/notes/today.md", "content": "x".repeat(59) });
    Ok(AgentEvent::ToolCall {
        id: ToolCallId::new("call_1"),
        name: "write".into(),
        args: RawJson::from_value(&args)?,
    })
}

/// Returns all lines of one block.
fn bytes() -> Result<Vec<u8>> {
    let AgentEvent::ToolCall { id, name, args } = event()? else {
        anyhow::bail!("the event is not a tool call")
    };
    let mut bytes =
        codec::encode(&HostFrame::from(LifecycleEvent::tool_call(id, name, args)))?.repeat(EVENTS);
    bytes.push_str(LAST);
    Ok(bytes.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_has_documented_size() {
        let bytes = bytes().unwrap();
        assert_eq!(bytes.iter().position(|&byte| byte == b'\n'), Some(189));
        assert!(bytes.ends_with(LAST.as_bytes()));
    }
}
