//! G11, with real processes: a gate that fails in any way blocks.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures::StreamExt;
use serde_json::json;

use super::{GoalContext, GoalFigure};
use crate::canary::CanaryControl;
use crate::misbehavior::{InjectionMoment, Misbehavior, inject_instead};
use crate::row::EVIL;
use crate::timeouts::PATIENCE;
use crate::world::World;

/// The number of failing gates.
const FAILURES: (usize, usize) = (60, 2_000);

/// The number of hosts at the same time. Most of them wait for a deadline.
const AT_ONCE: usize = 8;

/// The deadline for gates that do not answer.
const DEADLINE: Duration = Duration::from_millis(500);

/// The deadline for gates that do not exit.
const GRACE: Duration = Duration::from_millis(200);

/// The ways to fail.
const KINDS: &[(&str, Misbehavior)] = &[
    ("no answer", Misbehavior::Fault("hang-intercept")),
    ("exit", Misbehavior::Fault("exit-in-call")),
    ("abort", Misbehavior::Fault("abort-in-call")),
    ("half a line, then exit", Misbehavior::Fault("half-line")),
    ("the answer to another question", Misbehavior::Fault("wrong-kind")),
    ("an answer of wrong types", Misbehavior::Fault("bad-types")),
    ("not JSON", inject_instead(InjectionMoment::Gate, || b"yes\n".to_vec())),
    ("not UTF-8", inject_instead(InjectionMoment::Gate, || b"\xff\xfe\n".to_vec())),
    (
        "an array",
        inject_instead(InjectionMoment::Gate, || b"[\"event_intercept_response\",\"$ID\"]\n".to_vec()),
    ),
    ("truncated JSON", inject_instead(InjectionMoment::Gate, || answer(r#""id":"$ID","block":false"#, ""))),
    ("an unknown id", inject_instead(InjectionMoment::Gate, || answer(r#""id":"other","block":false"#, "}"))),
    (
        "a duplicate key",
        inject_instead(InjectionMoment::Gate, || answer(r#""id":"$ID","block":true,"block":false"#, "}")),
    ),
    (
        "arguments that are not an object",
        inject_instead(InjectionMoment::Gate, || answer(r#""id":"$ID","modified_args":7"#, "}")),
    ),
];

fn answer(fields: &str, end: &str) -> Vec<u8> {
    format!("{{\"type\":\"event_intercept_response\",{fields}{end}\n").into_bytes()
}

/// The failure of one guarded call.
struct GateFailure {
    executed: bool,
    /// True if the fault happened.
    happened: bool,
}

pub(super) fn measure(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let (reduced, full) = FAILURES;
    let count = place.amount(reduced, full);
    let outcomes: Vec<Result<GateFailure>> = GoalContext::runtime()?.block_on(async {
        let runs = KINDS.iter().cycle().take(count).enumerate();
        let runs = runs.map(|(number, (kind, evil))| async move {
            run_guarded_call(place, number, evil)
                .await
                .with_context(|| format!("a gate that fails by {kind}"))
        });
        futures::stream::iter(runs).buffer_unordered(AT_ONCE).collect().await
    });
    let failures: Vec<GateFailure> = outcomes.into_iter().collect::<Result<_>>()?;
    let happened = failures.iter().filter(|failure| failure.happened).count();
    ensure!(happened == count, "only {happened} of {count} gates failed");
    let executed = failures.iter().filter(|failure| failure.executed).count();
    let what =
        format!("calls executed despite a failed gate, of {count} calls, {} ways to fail", KINDS.len());
    Ok(vec![GoalFigure::new(what, executed, "0", executed == 0)])
}

async fn run_guarded_call(place: &GoalContext, number: usize, evil: &Misbehavior) -> Result<GateFailure> {
    let mut setup = place.setup(&format!("gate-{number}"))?;
    setup.config.timeouts.intercept = DEADLINE;
    // The gate must be ready when it is asked.
    setup.config.timeouts.start_patience = PATIENCE;
    setup.config.timeouts.shutdown_grace = GRACE;
    setup.config.timeouts.kill_grace = GRACE;
    evil.add_to(&mut setup)?;
    let control = CanaryControl::new(setup.dir.join("control")).into();
    let world = World::start(setup, &[], control).await;
    let gated = world.call_gated_tool(json!({})).await?;
    let happened = world.marks().iter().any(|mark| Some(mark.as_str()) == evil.marker());
    let World { host, canary, dir, .. } = world;
    let health = canary.finish().await?;
    ensure!(health.told == health.seen, "the canary lost an event");
    host.shutdown().await;
    let executed = gated.ran_with.is_some();
    match gated.blocked {
        Some((by, _)) if by == EVIL || executed => {}
        Some((by, why)) => bail!("blocked by {by}: {why}"),
        None => ensure!(executed, "neither blocked nor executed: {}", gated.result),
    }
    if !executed && happened {
        std::fs::remove_dir_all(dir).context("remove the directory of the call")?;
    }
    Ok(GateFailure { executed, happened })
}
