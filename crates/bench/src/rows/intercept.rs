//! One interception of a tool call, from the agent's question to the extension's decision.
//!
//! Base: this process writes a frame into a pipe, the minimal extension answers, and this process reads the answer,
//! with blocking IO and without JSON. The candidates replace one side by haft's host, the other side by an SDK
//! extension, or both.

use anyhow::Result;
use haft_protocol::content::ToolCall;

use crate::children::ChildProgram;
use crate::extension_query::{HostCandidate, PipeBase, query_line, write_call};
use crate::method::{Comparison, RepetitionPlan, compare};
use crate::peers;
use crate::report::{LineGoal, Report, Unit};

/// Frames of one size, and how often they are sent.
struct FrameSize {
    name: &'static str,
    bytes: u32,
    /// The round trips of a block. A block takes less than a millisecond if possible, to fit between two preemptions.
    block: usize,
    plan: RepetitionPlan,
}

/// The frame sizes. Only the first size has goals.
const SIZES: [FrameSize; 5] = [
    FrameSize { name: "200 B", bytes: 200, block: 20, plan: RepetitionPlan { repetitions: 5, pairs: 100 } },
    FrameSize { name: "4 KB", bytes: 4096, block: 20, plan: RepetitionPlan { repetitions: 5, pairs: 100 } },
    FrameSize { name: "64 KB", bytes: 1 << 16, block: 5, plan: RepetitionPlan { repetitions: 5, pairs: 40 } },
    FrameSize { name: "1 MB", bytes: 1 << 20, block: 1, plan: RepetitionPlan { repetitions: 5, pairs: 20 } },
    FrameSize { name: "4 MB", bytes: 1 << 22, block: 1, plan: RepetitionPlan { repetitions: 5, pairs: 8 } },
];

/// The goal for the SDK alone, with the base's side as its host.
const SDK: LineGoal = LineGoal { goal: 1.2, gate: 1.4 };

/// An extension as a peer of the host.
struct PeerExtension {
    name: &'static str,
    program: ChildProgram,
    /// The limit for a question of about 200 B, in seconds.
    limit: Option<f64>,
}

/// Goals for ratios and the median with the smallest frames.
#[derive(Debug, Clone, Copy)]
struct InterceptGoals {
    host: LineGoal,
    sdk: Option<LineGoal>,
}

/// The goals on one processor.
const PINNED: InterceptGoals = InterceptGoals { host: LineGoal { goal: 1.5, gate: 1.8 }, sdk: Some(SDK) };

/// The goals on all processors; the base includes the cost of waking another processor.
const FREE: InterceptGoals = InterceptGoals { host: LineGoal::without_gate(1.15), sdk: None };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    measure_all(report, PINNED)
}

pub(super) fn measure_free(report: &mut Report) -> Result<()> {
    measure_all(report, FREE)
}

/// Measures the lines that are steady on a busy machine.
pub(super) fn measure_gated(report: &mut Report) -> Result<()> {
    let [smallest, ..] = SIZES;
    let frames = SampleFrames::new(&smallest)?;
    let mut base = frames.start_base(&ChildProgram::in_role(peers::LEAST)?)?;
    let sound = measure_control(report, &frames, &mut base)?;
    let least =
        PeerExtension { name: "Rust peer", program: ChildProgram::in_role(peers::LEAST)?, limit: None };
    let guard =
        PeerExtension { name: "SDK guard", program: ChildProgram::in_role(peers::GUARD)?, limit: None };
    measure_host(report, &frames, &mut base, &least, Some(PINNED.host), sound)?;
    measure_pipe(report, &frames, &mut base, &guard, PINNED.sdk, sound)
}

fn measure_all(report: &mut Report, goals: InterceptGoals) -> Result<()> {
    report.set_axis("bytes of a frame");
    let peers = available_peers(report)?;
    for (at, size) in SIZES.iter().enumerate() {
        let frames = SampleFrames::new(size)?;
        let mut base = frames.start_base(&ChildProgram::in_role(peers::LEAST)?)?;
        let sound = measure_control(report, &frames, &mut base)?;
        for peer in &peers {
            let goal = (at == 0 && peer.limit.is_none()).then_some(goals.host);
            measure_host(report, &frames, &mut base, peer, goal, sound)?;
        }
        for peer in peers.iter().skip(1) {
            let goal = if at == 0 && peer.name == "SDK guard" { goals.sdk } else { None };
            measure_pipe(report, &frames, &mut base, peer, goal, sound)?;
        }
        if at == 0 {
            report.add_figure(
                &format!("p99, bare pipe, {}", size.name),
                Unit::Seconds,
                base.trips.p99(),
                None,
            );
        }
    }
    Ok(())
}

/// Returns the installed peers, the minimal one first.
fn available_peers(report: &mut Report) -> Result<Vec<PeerExtension>> {
    let mut peers = vec![
        PeerExtension { name: "Rust peer", program: ChildProgram::in_role(peers::LEAST)?, limit: None },
        PeerExtension {
            name: "SDK guard",
            program: ChildProgram::in_role(peers::GUARD)?,
            limit: Some(30e-6),
        },
    ];
    for (name, args) in [("python3", peers::PYTHON), ("node", peers::NODE)] {
        match haft_launch::find_program(name) {
            Ok(path) => {
                let args = args.iter().map(|&arg| arg.to_owned()).collect();
                peers.push(PeerExtension { name, program: ChildProgram { path, args }, limit: Some(100e-6) });
            }
            Err(_) => report.skip(format!("{name} is not installed")),
        }
    }
    Ok(peers)
}

/// The frames of one size.
struct SampleFrames<'a> {
    size: &'a FrameSize,
    call: ToolCall,
    line: Vec<u8>,
}

impl<'a> SampleFrames<'a> {
    fn new(size: &'a FrameSize) -> Result<Self> {
        let call = write_call(usize::try_from(size.bytes)?)?;
        Ok(Self { size, line: query_line(&call)?, call })
    }

    fn start_base(&self, program: &ChildProgram) -> Result<PipeBase<'_>> {
        PipeBase::start(program, &self.line, self.size.block)
    }

    /// Adds a line to the report and to a curve. A line with a gate becomes gated.
    fn line(&self, report: &mut Report, curve: &str, found: Comparison, goal: Option<LineGoal>, sound: bool) {
        let line =
            report.add_comparison(&format!("{curve}, {}", self.size.name), Unit::Seconds, found, goal, sound);
        line.on_curve(curve, f64::from(self.size.bytes));
        if goal.is_some_and(|goal| goal.gate.is_finite()) {
            line.make_gated();
        }
    }
}

fn measure_control(report: &mut Report, frames: &SampleFrames<'_>, base: &mut PipeBase<'_>) -> Result<bool> {
    let mut twin = frames.start_base(&ChildProgram::in_role(peers::LEAST)?)?;
    let [found] = compare(report.plan_for_effort(frames.size.plan), || base.block(), || twin.block())?;
    Ok(report.add_control(&format!("control, {}", frames.size.name), Unit::Seconds, found))
}

/// Measures a host that asks an extension.
fn measure_host(
    report: &mut Report,
    frames: &SampleFrames<'_>,
    base: &mut PipeBase<'_>,
    peer: &PeerExtension,
    goal: Option<LineGoal>,
    sound: bool,
) -> Result<()> {
    let (size, name) = (frames.size, format!("host, {}", peer.name));
    let mut asked = HostCandidate::start(&peer.program, frames.call.clone(), size.block)?;
    let [found] = compare(report.plan_for_effort(size.plan), || base.block(), || asked.block())?;
    frames.line(report, &name, found, goal, sound);
    if let (Some(limit), 200) = (peer.limit, size.bytes) {
        let (what, limit) =
            (format!("p50, {}, {}", peer.name, size.name), Some(LineGoal::without_gate(limit)));
        report.add_figure(&what, Unit::Seconds, found.candidate, limit);
        report.add_figure(
            &format!("p99, {}, {}", peer.name, size.name),
            Unit::Seconds,
            asked.trips.p99(),
            None,
        );
    }
    asked.end();
    Ok(())
}

/// Measures the base's side with an extension as the peer.
fn measure_pipe(
    report: &mut Report,
    frames: &SampleFrames<'_>,
    base: &mut PipeBase<'_>,
    peer: &PeerExtension,
    goal: Option<LineGoal>,
    sound: bool,
) -> Result<()> {
    let (size, name) = (frames.size, format!("raw, {}", peer.name));
    let mut raw = frames.start_base(&peer.program)?;
    let [found] = compare(report.plan_for_effort(size.plan), || base.block(), || raw.block())?;
    frames.line(report, &name, found, goal, sound);
    Ok(())
}
