//! T-27: whatever a chain of extensions does to arguments, what runs is what every gate has seen and allowed.

use std::fs;

use anyhow::{Context, Result, ensure};
use haft_host::GateChoice;
use serde_json::{Value, json};

use crate::defence::{Defence, take_down};
use crate::evil::misbehaving_spec;
use crate::oracle::check_stream;
use crate::row::{CASE, FaultCase, FaultRow};
use crate::world::{World, WorldSetup, last_word};

pub(crate) const ROWS: &[FaultRow] = &[FaultRow {
    id: "T-27",
    title: "changes arguments that a gate has allowed; random chains, some of whose gates fail",
    cases: &[FaultCase { setup: with_chain, play: |world| Box::pin(runs_what_all_allowed(world)), ..CASE }],
    undefend: Some(|_| take_down(Defence::FinalArguments)),
}];

/// In this order: two that change arguments, one that does both, two gates, one more that changes them.
const CHAIN: [&str; 6] = ["rewriter", "g-first", "plain", "g-second", "r-last", "g-third"];

/// Calls of one message.
const BATCH: u64 = 20;

fn with_chain(setup: &mut WorldSetup) {
    for name in CHAIN {
        setup.add(misbehaving_spec(setup, "chain", name));
    }
}

async fn runs_what_all_allowed(world: &mut World) -> Result<()> {
    // The gates fail too often for anybody's patience, but a person who is asked wants them to go on.
    world.screen.answer(GateChoice::Restart);
    let (wanted, mut seed, mut ran) = (world.amount(50, 2_000), 0, Vec::new());
    while read_notes(world, "failures")?.len() < wanted {
        let say: Vec<Value> = (seed..seed + BATCH)
            // Every third call can come through, so that a gate's patience is not the end of it.
            .map(|seed| json!({"call": {"name": "probe", "args": {"seed": seed, "calm": seed % 3 == 2}}}))
            .collect();
        seed += BATCH;
        let played = world.prompt(&json!([{ "say": say }, last_word()])).await?;
        played.outcome.map_err(anyhow::Error::msg).context("a run")?;
        ran.extend(played.ran);
        check_stream(&world.events.all())?;
        world.events.forget_turns();
    }
    check(world, &ran)?;
    for fault in world.events.faults() {
        // One that comes when another gate has refused meanwhile is no answer any more.
        let code = if fault.code == "hook_error" { "hook_error" } else { "frame_invalid" };
        ensure!(fault.code == code && fault.extension.as_str().starts_with("g-"), "{fault:?}");
        world.also.push((fault.extension.to_string(), code));
    }
    Ok(())
}

fn check(world: &World, ran: &[String]) -> Result<()> {
    let failed = read_notes(world, "failures")?;
    // A gate must have allowed it; the others must have seen it, be it that it is their own change.
    let file =
        |name: &str| if name.starts_with("g-") { format!("allowed-{name}") } else { format!("seen-{name}") };
    let passed = CHAIN.iter().map(|name| read_notes(world, &file(name))).collect::<Result<Vec<_>>>()?;
    let mut changed = 0;
    for args in ran {
        let args: Value = serde_json::from_str(args).context("arguments")?;
        ensure!(!failed.contains(&args), "a gate failed, and it ran with {args}");
        let last = args["trail"].as_array().and_then(|trail| trail.last());
        changed += usize::from(last.is_some());
        for (name, passed) in CHAIN.iter().zip(&passed) {
            let own = last.is_some_and(|last| last == name);
            ensure!(own || passed.contains(&args), "{name} has not seen {args}, and it ran");
        }
    }
    ensure!(changed > 0, "no changed call ran, so nothing is shown");
    Ok(())
}

/// Returns the notes of extensions under this name.
fn read_notes(world: &World, name: &str) -> Result<Vec<Value>> {
    let text = fs::read_to_string(world.dir.join(format!("{name}.jsonl"))).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).context("a note")).collect()
}
