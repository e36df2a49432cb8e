//! C-11 and C-12: arguments that fit no schema, from the model and from a gate.

use anyhow::{Result, ensure};
use haft_protocol::defence::{Defence, take_down};
use serde_json::json;

use super::protocol::frames::refused;
use super::protocol::line;
use crate::evil::{Evil, INJECT, Inject, Moment, instead};
use crate::row::{CASE, Case, EVIL, Row};
use crate::world::{World, last_word};

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "C-11",
        title: "the model's arguments do not fit the schema",
        cases: &[Case {
            evil: Evil::Fault("good"),
            play: |world| Box::pin(never_reaches_the_tool(world)),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defence::ArgumentSchema)),
    },
    Row {
        id: "C-12",
        title: "a rewrite that is no object, does not fit, or is too long",
        cases: &[
            refused(|| rewrite("[1]")),
            refused(|| rewrite("\"{}\"")),
            refused(|| rewrite("7")),
            refused(|| rewrite("null")),
            Case {
                evil: instead(Moment::Gate, || rewrite(r#"{"number":"seven"}"#)),
                play: |world| Box::pin(must_fit(world)),
                ..CASE
            },
            Case {
                evil: Evil::Inject(Inject {
                    at: Moment::Gate,
                    bytes: || rewrite(r#"{"text":"$PAD"}"#),
                    length: 2 * 1024 * 1024,
                    instead: true,
                    ..INJECT
                }),
                expect: &[(EVIL, "frame_too_long")],
                play: |world| Box::pin(world.blocks_at_once("longer than")),
                ..CASE
            },
            // Which tool it is cannot be changed.
            refused(|| {
                line(
                    r#"{"type":"event_intercept_response","id":"$ID","tool_name":"bash","modified_args":{"number":1}}"#,
                )
            }),
        ],
        undefend: Some(|_| take_down(Defence::ArgumentSchema)),
    },
];

fn rewrite(args: &str) -> Vec<u8> {
    line(format_args!(r#"{{"type":"event_intercept_response","id":"$ID","modified_args":{args}}}"#))
}

async fn never_reaches_the_tool(world: &mut World) -> Result<()> {
    world.mark("good")?;
    let steps = json!([{"say": [{"call": {"name": "probe", "args": {"number": "seven"}}}]}, last_word()]);
    let played = world.prompt(&steps).await?;
    ensure!(played.ran.is_empty(), "the tool ran with {:?}", played.ran);
    let told = played.results.concat();
    ensure!(told.contains("number") && told.contains("seven"), "the model is told {told:?}");
    Ok(())
}

async fn must_fit(world: &mut World) -> Result<()> {
    let gated = world.gate(json!({})).await?;
    ensure!(gated.ran_with.is_none(), "the tool ran with {:?}", gated.ran_with);
    ensure!(
        gated.result.contains(EVIL) && gated.result.contains("number"),
        "the model is told {:?}",
        gated.result
    );
    let found = world.events.faults();
    world.also.extend(found.into_iter().map(|fault| (fault.extension.to_string(), "hook_error")));
    Ok(())
}
