//! H-09 and H-10: replies that answer something else, or nothing, and hooks that end every turn.

use anyhow::{Result, ensure};
use serde_json::json;

use super::{APPROVE, BEFORE, hook_case, set};
use crate::defence::{Defence, take_down};
use crate::row::{EVIL, FaultCase, FaultRow};
use crate::rows::gates::call_steps;
use crate::world::World;

/// Unasked ends of turns, less than what is too much at once.
const UNASKED: &str = "1500";

/// Turns that a hook ends.
const TURNS: usize = 25;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "H-09",
        title: "a hook that answers ids that nobody asked, ids twice, or with ids that are none",
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
        undefend: Some(|_| take_down(Defence::StrayAnswers)),
    },
    FaultRow {
        id: "H-10",
        title: "a hook that ends every turn, or says so without being asked",
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
        undefend: Some(|_| take_down(Defence::StrayAnswers)),
    },
];

async fn is_ignored(world: &mut World) -> Result<()> {
    world.expect_allow().await
}

async fn ends_every_turn(world: &mut World) -> Result<()> {
    for turn in 0..TURNS {
        let played = world.prompt(&call_steps(&[("probe", json!({}))])).await?;
        ensure!(played.ran.is_empty(), "turn {turn}: it ran with {:?}", played.ran);
        let Err(error) = played.outcome else { anyhow::bail!("turn {turn} goes on") };
        ensure!(error.contains("enough"), "turn {turn} ends with {error:?}");
    }
    Ok(())
}

async fn discards_every_turn(world: &mut World) -> Result<()> {
    for turn in 1..=TURNS {
        let played = world.prompt(&call_steps(&[("probe", json!({}))])).await?;
        ensure!(played.ran.is_empty(), "turn {turn}: it ran with {:?}", played.ran);
        ensure!(played.outcome.is_ok(), "turn {turn} fails with {:?}", played.outcome);
        let discarded = world.events.of_type("turn_discarded").len();
        ensure!(discarded == turn, "{discarded} of {turn} turns were discarded");
    }
    Ok(())
}
