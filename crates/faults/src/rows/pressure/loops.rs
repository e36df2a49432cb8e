//! B-23 and B-24: extensions that cause each other's work without end.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};

use crate::defense::{Defense, take_down};
use crate::misbehavior::{Misbehavior, misbehaving_spec};
use crate::row::{CASE, EVIL, FaultCase, FaultRow};
use crate::timeouts::PATIENCE;
use crate::world::{HaftHome, RpcProcess, World, last_word};

/// The fault of both extensions on the bus.
const BUS_LOOP: &str = "bus-loop";

/// The number of prompts with which extensions can make the model work between two prompts of the client.
const MOST_PROMPTS: usize = 50;

/// The time without a new message after which a loop has ended. Undefended, a message takes less than a millisecond.
const CALM: Duration = Duration::from_millis(500);

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "B-23",
        title: "two extensions answer each other's messages on the bus",
        cases: &[FaultCase {
            evil: Misbehavior::Fault(BUS_LOOP),
            expect: &[(EVIL, "rate_limited")],
            setup: |setup| setup.add(misbehaving_spec(setup, BUS_LOOP, "other")),
            play: |world| Box::pin(ends_bus_loop(world)),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defense::LoopRate)),
    },
    FaultRow {
        id: "B-24",
        title: "sends a message that starts a run after each run",
        cases: &[FaultCase { play: |world| Box::pin(ends_prompt_loop(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::ExtensionPrompts)),
    },
];

async fn ends_bus_loop(world: &mut World) -> Result<()> {
    // The first message follows the end of a turn.
    drop(world.prompt(&json!([last_word()])).await?);
    world.wait_for_expected().await?;
    let count = || world.marks().iter().filter(|mark| *mark == BUS_LOOP).count();
    let begun = std::time::Instant::now();
    let mut before = count();
    loop {
        // sleep: the time in which a loop that has not ended shows itself
        tokio::time::sleep(CALM).await;
        match count() {
            now if now == before => break,
            now => before = now,
        }
        ensure!(begun.elapsed() < PATIENCE, "the loop does not end: {before} messages");
    }
    ensure!(before > 100, "only {before} messages were sent");
    Ok(())
}

/// Runs a prompt, after each of which the extension sends a message for another run.
async fn ends_prompt_loop(world: &mut World) -> Result<()> {
    let most = MOST_PROMPTS;
    let steps: Vec<Value> = std::iter::repeat_with(last_word).take(2 * most).collect();
    let home = HaftHome::new(world, "program", "message-loop", &json!(steps))?;
    let mut client = home.run_rpc_with_extension()?;
    client.send(&json!({"id": "1", "type": "prompt", "message": "go"}));
    let runs = count_runs(&mut client, most).await?;
    client.send(&json!({"id": "2", "type": "wait_idle"}));
    while let Some(line) = client.next_line().await? {
        if line["id"] == "2" {
            break;
        }
        ensure!(line["type"] != "done" || runs <= most, "another run ended after the limit");
    }
    ensure!(client.end().await?.status.success(), "haft failed");
    Ok(())
}

/// Returns the number of runs until the call of the extension fails.
async fn count_runs(client: &mut RpcProcess, most: usize) -> Result<usize> {
    let mut runs = 0;
    while let Some(line) = client.next_line().await? {
        let text = line["message"].as_str().unwrap_or_default();
        match line["type"].as_str() {
            Some("done") => runs += 1,
            Some("extension_error") if line["code"] == "call_failed" => {
                ensure!(text.contains("which is the limit"), "the call failed with {text:?}");
                ensure!(runs >= most, "the limit came after {runs} runs");
                return Ok(runs);
            }
            _ => {}
        }
        ensure!(runs <= most + 1, "{runs} runs, and the extension still starts others");
    }
    bail!("haft ended after {runs} runs")
}
