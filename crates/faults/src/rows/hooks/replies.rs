//! H-09 and H-10: process hooks that answer other questions or none, and hooks that end every turn.

use anyhow::{Result, ensure};
use serde_json::json;

use super::{APPROVE, BEFORE, hook_case, set};
use crate::defense::{Defense, take_down};
use crate::row::{EVIL, FaultCase, FaultRow};
use crate::rows::gates::call_steps;
use crate::world::World;

/// The number of unrequested aborts, below the limit for a flood.
const UNASKED: &str = "1500";

/// The number of turns that a hook ends.
const TURNS: usize = 25;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "H-09",
        title: "a hook answers unknown ids, answers twice, or uses invalid ids",
        cases: &[
            hook_case("stray", BEFORE, &[(EVIL, "unknown_id")], |world| Box::pin(is_ignored(world))),
            hook_case("stray", APPROVE, &[(EVIL, "unknown_id"), (EVIL, "duplicate_response")], |world| {
                Box::pin(is_ignored(world))
            }),
            hook_case("answer-twice", BEFORE, &[(EVIL, "duplicate_response")], |world| {
                Box::pin(world.expect_block("the first"))
            }),
            hook_case("answer-twice", APPROVE, &[(EVIL, "duplicate_response")], |world| {
                Box::pin(world.expect_block("the first"))
            }),
        ],
        undefend: Some(|_| take_down(Defense::StrayAnswers)),
    },
    FaultRow {
        id: "H-10",
        title: "a hook ends every turn, or aborts without a question",
        cases: &[
            FaultCase {
                setup: |setup| set(setup, "HAFT_COUNT", UNASKED),
                ..hook_case("unasked-aborts", BEFORE, &[(EVIL, "unknown_id")], |world| {
                    Box::pin(is_ignored(world))
                })
            },
            hook_case("abort-turn", BEFORE, &[], |world| Box::pin(ends_every_turn(world))),
            hook_case("hard-abort", BEFORE, &[], |world| Box::pin(discards_every_turn(world))),
        ],
        undefend: Some(|_| take_down(Defense::StrayAnswers)),
    },
];

async fn is_ignored(world: &mut World) -> Result<()> {
    world.expect_allow().await
}

async fn ends_every_turn(world: &mut World) -> Result<()> {
    for turn in 0..TURNS {
        let played = world.prompt(&call_steps(&[("probe", json!({}))])).await?;
        ensure!(played.ran.is_empty(), "turn {turn}: the tool ran with {:?}", played.ran);
        let Err(error) = played.outcome else { anyhow::bail!("turn {turn} did not end") };
        ensure!(error.contains("enough"), "turn {turn} ended with {error:?}");
    }
    Ok(())
}

async fn discards_every_turn(world: &mut World) -> Result<()> {
    for turn in 1..=TURNS {
        let played = world.prompt(&call_steps(&[("probe", json!({}))])).await?;
        ensure!(played.ran.is_empty(), "turn {turn}: the tool ran with {:?}", played.ran);
        ensure!(played.outcome.is_ok(), "turn {turn} failed with {:?}", played.outcome);
        let discarded = world.events.of_type("turn_discarded").len();
        ensure!(discarded == turn, "{discarded} of {turn} turns were discarded");
    }
    Ok(())
}
