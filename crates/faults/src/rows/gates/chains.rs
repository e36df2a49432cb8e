//! T-27: every executed call was seen and allowed by every gate, whatever a chain of extensions does to its arguments.

use std::fs;

use anyhow::{Context, Result, ensure};
use haft_host::GateChoice;
use serde_json::{Value, json};

use crate::defense::{Defense, take_down};
use crate::misbehavior::misbehaving_spec;
use crate::oracle::check_stream;
use crate::row::{CASE, FaultCase, FaultRow};
use crate::world::{World, WorldSetup, last_word};

pub(crate) const ROWS: &[FaultRow] = &[FaultRow {
    id: "T-27",
    title: "changes arguments that a gate has allowed; random chains, some of whose gates fail",
    cases: &[FaultCase { setup: with_chain, play: |world| Box::pin(runs_only_allowed_calls(world)), ..CASE }],
    undefend: Some(|_| take_down(Defense::FinalArguments)),
}];

/// The chain: two extensions that rewrite, one that does both, two gates, another one that rewrites, another gate.
const CHAIN: [&str; 6] = ["rewriter", "g-first", "plain", "g-second", "r-last", "g-third"];

/// The number of calls in one message.
const BATCH: u64 = 20;

fn with_chain(setup: &mut WorldSetup) {
    for name in CHAIN {
        setup.add(misbehaving_spec(setup, "chain", name));
    }
}

async fn runs_only_allowed_calls(world: &mut World) -> Result<()> {
    // The gates fail more often than the limit, but the person decides to continue.
    world.screen.answer(GateChoice::Restart);
    let (wanted, mut seed, mut ran) = (world.amount(50, 2_000), 0, Vec::new());
    while read_notes(world, "failures")?.len() < wanted {
        let say: Vec<Value> = (seed..seed + BATCH)
            // Every third call can pass, so that the gates do not reach their failure limit.
            .map(|seed| json!({"call": {"name": "probe", "args": {"seed": seed, "calm": seed % 3 == 2}}}))
            .collect();
        seed += BATCH;
        let played = world.prompt(&json!([{ "say": say }, last_word()])).await?;
        played.outcome.map_err(anyhow::Error::msg).context("run the prompt")?;
        ran.extend(played.ran);
        check_stream(&world.events.all())?;
        world.events.forget_turns();
    }
    check(world, &ran)?;
    for fault in world.events.faults() {
        // An answer that arrives after another gate's refusal belongs to no open question.
        let code = if fault.code == "hook_error" { "hook_error" } else { "frame_invalid" };
        ensure!(fault.code == code && fault.extension.as_str().starts_with("g-"), "{fault:?}");
        world.also.push((fault.extension.to_string(), code));
    }
    Ok(())
}

fn check(world: &World, ran: &[String]) -> Result<()> {
    let failed = read_notes(world, "failures")?;
    // A gate must have allowed the call; the others must have seen it, unless it is their own rewrite.
    let file =
        |name: &str| if name.starts_with("g-") { format!("allowed-{name}") } else { format!("seen-{name}") };
    let passed = CHAIN.iter().map(|name| read_notes(world, &file(name))).collect::<Result<Vec<_>>>()?;
    let mut changed = 0;
    for args in ran {
        let args: Value = serde_json::from_str(args).context("parse the arguments")?;
        ensure!(!failed.contains(&args), "a gate failed, but the tool ran with {args}");
        let last = args["trail"].as_array().and_then(|trail| trail.last());
        changed += usize::from(last.is_some());
        for (name, passed) in CHAIN.iter().zip(&passed) {
            let own = last.is_some_and(|last| last == name);
            ensure!(own || passed.contains(&args), "{name} has not seen {args}, but the tool ran");
        }
    }
    ensure!(changed > 0, "no rewritten call ran, so the row proves nothing");
    Ok(())
}

/// Returns the notes of extensions under this name.
fn read_notes(world: &World, name: &str) -> Result<Vec<Value>> {
    let text = fs::read_to_string(world.dir.join(format!("{name}.jsonl"))).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).context("parse a note")).collect()
}
