//! One interception of a tool call: from the agent's question to the extension's decision.
//!
//! Base: this process writes a frame into a pipe, the least extension answers, this process reads; all of it
//! blocking and without JSON. Candidates put haft's host on one side, or an SDK extension on the other, or both.

use anyhow::Result;
use haft_protocol::content::ToolCall;

use crate::asking::{Asked, Raw, call, line};
use crate::children::Program;
use crate::method::{Comparison, Plan, compare};
use crate::peers;
use crate::report::{Goal, Report, Unit};

/// Frames of one size, and how often they are sent.
struct Size {
    name: &'static str,
    bytes: u32,
    /// Round trips of a block: less than a millisecond where possible, so that most blocks run between two preemptions.
    block: usize,
    plan: Plan,
}

/// The first is the one that has goals.
const SIZES: [Size; 5] = [
    Size { name: "200 B", bytes: 200, block: 20, plan: Plan { repetitions: 5, pairs: 100 } },
    Size { name: "4 KB", bytes: 4096, block: 20, plan: Plan { repetitions: 5, pairs: 100 } },
    Size { name: "64 KB", bytes: 1 << 16, block: 5, plan: Plan { repetitions: 5, pairs: 40 } },
    Size { name: "1 MB", bytes: 1 << 20, block: 1, plan: Plan { repetitions: 5, pairs: 20 } },
    Size { name: "4 MB", bytes: 1 << 22, block: 1, plan: Plan { repetitions: 5, pairs: 8 } },
];

/// The SDK's part alone, its host being the base's.
const SDK: Goal = Goal { goal: 1.2, gate: 1.4 };

/// An extension that is asked.
struct Peer {
    name: &'static str,
    program: Program,
    /// The time that a question of about 200 B may take, in seconds.
    limit: Option<f64>,
}

/// Ratios and p50 that the smallest frames shall reach.
#[derive(Debug, Clone, Copy)]
struct Goals {
    host: Goal,
    sdk: Option<Goal>,
}

/// On one processor.
const PINNED: Goals = Goals { host: Goal { goal: 1.5, gate: 1.8 }, sdk: Some(SDK) };

/// On all: the cost of waking another processor is in the base, too.
const FREE: Goals = Goals { host: Goal::reported(1.15), sdk: None };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    all(report, PINNED)
}

pub(super) fn measure_free(report: &mut Report) -> Result<()> {
    all(report, FREE)
}

/// The lines that are steady on a busy machine.
pub(super) fn gate(report: &mut Report) -> Result<()> {
    let [smallest, ..] = SIZES;
    let frames = Frames::new(&smallest)?;
    let mut base = frames.raw(&Program::own(peers::LEAST)?)?;
    let sound = control(report, &frames, &mut base)?;
    let least = Peer { name: "Rust peer", program: Program::own(peers::LEAST)?, limit: None };
    let guard = Peer { name: "SDK guard", program: Program::own(peers::GUARD)?, limit: None };
    asked(report, &frames, &mut base, &least, Some(PINNED.host), sound)?;
    bare(report, &frames, &mut base, &guard, PINNED.sdk, sound)
}

fn all(report: &mut Report, goals: Goals) -> Result<()> {
    report.axis("bytes of a frame");
    let peers = peers(report)?;
    for (at, size) in SIZES.iter().enumerate() {
        let frames = Frames::new(size)?;
        let mut base = frames.raw(&Program::own(peers::LEAST)?)?;
        let sound = control(report, &frames, &mut base)?;
        for peer in &peers {
            let goal = (at == 0 && peer.limit.is_none()).then_some(goals.host);
            asked(report, &frames, &mut base, peer, goal, sound)?;
        }
        for peer in peers.iter().skip(1) {
            let goal = if at == 0 && peer.name == "SDK guard" { goals.sdk } else { None };
            bare(report, &frames, &mut base, peer, goal, sound)?;
        }
        if at == 0 {
            report.figure(&format!("p99, bare pipe, {}", size.name), Unit::Seconds, base.trips.p99(), None);
        }
    }
    Ok(())
}

/// The least one first.
fn peers(report: &mut Report) -> Result<Vec<Peer>> {
    let mut peers = vec![
        Peer { name: "Rust peer", program: Program::own(peers::LEAST)?, limit: None },
        Peer { name: "SDK guard", program: Program::own(peers::GUARD)?, limit: Some(30e-6) },
    ];
    for (name, args) in [("python3", peers::PYTHON), ("node", peers::NODE)] {
        match haft_launch::find_program(name) {
            Ok(path) => {
                let args = args.iter().map(|&arg| arg.to_owned()).collect();
                peers.push(Peer { name, program: Program { path, args }, limit: Some(100e-6) });
            }
            Err(_) => report.skip(format!("{name} is not there")),
        }
    }
    Ok(peers)
}

/// The frames that are sent.
struct Frames<'a> {
    size: &'a Size,
    call: ToolCall,
    line: Vec<u8>,
}

impl<'a> Frames<'a> {
    fn new(size: &'a Size) -> Result<Self> {
        let call = call(usize::try_from(size.bytes)?)?;
        Ok(Self { size, line: line(&call)?, call })
    }

    fn raw(&self, program: &Program) -> Result<Raw<'_>> {
        Raw::start(program, &self.line, self.size.block)
    }

    /// Adds a line and its place on the curve of this name. What has a gate is held to it.
    fn line(&self, report: &mut Report, curve: &str, found: Comparison, goal: Option<Goal>, sound: bool) {
        let line = report.line(&format!("{curve}, {}", self.size.name), Unit::Seconds, found, goal, sound);
        line.on(curve, f64::from(self.size.bytes));
        if goal.is_some_and(|goal| goal.gate.is_finite()) {
            line.gated();
        }
    }
}

fn control(report: &mut Report, frames: &Frames<'_>, base: &mut Raw<'_>) -> Result<bool> {
    let mut twin = frames.raw(&Program::own(peers::LEAST)?)?;
    let [found] = compare(report.plan(frames.size.plan), || base.block(), || twin.block())?;
    Ok(report.control(&format!("control, {}", frames.size.name), Unit::Seconds, found))
}

/// A host asks an extension.
fn asked(
    report: &mut Report,
    frames: &Frames<'_>,
    base: &mut Raw<'_>,
    peer: &Peer,
    goal: Option<Goal>,
    sound: bool,
) -> Result<()> {
    let (size, name) = (frames.size, format!("host, {}", peer.name));
    let mut asked = Asked::start(&peer.program, frames.call.clone(), size.block)?;
    let [found] = compare(report.plan(size.plan), || base.block(), || asked.block())?;
    frames.line(report, &name, found, goal, sound);
    if let (Some(limit), 200) = (peer.limit, size.bytes) {
        let (what, limit) = (format!("p50, {}, {}", peer.name, size.name), Some(Goal::reported(limit)));
        report.figure(&what, Unit::Seconds, found.candidate, limit);
        report.figure(&format!("p99, {}, {}", peer.name, size.name), Unit::Seconds, asked.trips.p99(), None);
    }
    asked.end();
    Ok(())
}

/// The base's side asks an extension.
fn bare(
    report: &mut Report,
    frames: &Frames<'_>,
    base: &mut Raw<'_>,
    peer: &Peer,
    goal: Option<Goal>,
    sound: bool,
) -> Result<()> {
    let (size, name) = (frames.size, format!("raw, {}", peer.name));
    let mut raw = frames.raw(&peer.program)?;
    let [found] = compare(report.plan(size.plan), || base.block(), || raw.block())?;
    frames.line(report, &name, found, goal, sound);
    Ok(())
}
