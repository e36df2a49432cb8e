//! H-09 and H-10: replies that answer something else, or nothing, and hooks that end every turn.

use anyhow::{Result, ensure};
use serde_json::json;

use super::{APPROVE, BEFORE, hook, set};
use crate::defence::{Defence, take_down};
use crate::row::{Case, EVIL, Row};
use crate::rows::gates::calls;
use crate::world::World;

/// Unasked ends of turns, less than what is too much at once.
const UNASKED: &str = "1500";

/// Turns that a hook ends.
const TURNS: usize = 25;

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "H-09",
        title: "a hook that answers ids that nobody asked, ids twice, or with ids that are none",
        cases: &[
            hook("stray", BEFORE, &[(EVIL, "unknown_id")], |world| Box::pin(is_ignored(world))),
            hook("stray", APPROVE, &[(EVIL, "unknown_id"), (EVIL, "duplicate_response")], |world| {
                Box::pin(is_ignored(world))
            }),
            hook("answer-twice", BEFORE, &[(EVIL, "duplicate_response")], |world| {
                Box::pin(world.blocks("the first"))
            }),
            hook("answer-twice", APPROVE, &[(EVIL, "duplicate_response")], |world| {
                Box::pin(world.blocks("the first"))
            }),
        ],
        undefend: Some(|_| take_down(Defence::StrayAnswers)),
    },
    Row {
        id: "H-10",
        title: "a hook that ends every turn, or says so without being asked",
        cases: &[
            Case {
                setup: |setup| set(setup, "HAFT_COUNT", UNASKED),
                ..hook("unasked-aborts", BEFORE, &[(EVIL, "unknown_id")], |world| Box::pin(is_ignored(world)))
            },
            hook("abort-turn", BEFORE, &[], |world| Box::pin(ends_every_turn(world))),
            hook("hard-abort", BEFORE, &[], |world| Box::pin(discards_every_turn(world))),
        ],
        undefend: Some(|_| take_down(Defence::StrayAnswers)),
    },
];

async fn is_ignored(world: &mut World) -> Result<()> {
    world.allows().await
}

async fn ends_every_turn(world: &mut World) -> Result<()> {
    for turn in 0..TURNS {
        let played = world.prompt(&calls(&[("probe", json!({}))])).await?;
        ensure!(played.ran.is_empty(), "turn {turn}: it ran with {:?}", played.ran);
        let Err(error) = played.outcome else { anyhow::bail!("turn {turn} goes on") };
        ensure!(error.contains("enough"), "turn {turn} ends with {error:?}");
    }
    Ok(())
}

async fn discards_every_turn(world: &mut World) -> Result<()> {
    for turn in 1..=TURNS {
        let played = world.prompt(&calls(&[("probe", json!({}))])).await?;
        ensure!(played.ran.is_empty(), "turn {turn}: it ran with {:?}", played.ran);
        ensure!(played.outcome.is_ok(), "turn {turn} fails with {:?}", played.outcome);
        let discarded = world.events.of("turn_discarded").len();
        ensure!(discarded == turn, "{discarded} of {turn} turns were discarded");
    }
    Ok(())
}
