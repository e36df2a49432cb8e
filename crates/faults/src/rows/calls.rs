//! Group K: calls to the host, questions to the person, and the mirror.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use haft_core::session::entry::Custom;
use haft_core::session::{Durability, Session};
use serde_json::{Value, json};

use crate::defense::{Defense, take_down};
use crate::misbehavior::Misbehavior;
use crate::row::{CASE, EVIL, FaultCase, FaultRow};
use crate::world::{HaftHome, RpcProcess, World, WorldSetup, last_word};

/// A deadline that must pass.
const SHORT: Duration = Duration::from_millis(500);

/// A time longer than any row.
const NEVER: Duration = Duration::from_secs(4_000);

/// The number of panels that an extension may open at most: the burst, and those of some seconds.
const MOST_PANELS: usize = 400;

/// The largest number of open questions to the person.
const MOST_QUESTIONS: usize = 4;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "K-01",
        title: "makes a call with the id of an open call",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("same-call-id"),
            expect: &[(EVIL, "frame_invalid")],
            play: |world| Box::pin(asks_once(world)),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defense::UniqueCalls)),
    },
    FaultRow {
        id: "K-02",
        title: "cancels calls that it never made, without end",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("cancel-unknown-calls"),
            expect: &[(EVIL, "rate_limited"), (EVIL, "rate_limited")],
            setup: |setup| setup.config.timeouts.overrun = SHORT,
            ..CASE
        }],
        undefend: Some(endless_rate),
    },
    FaultRow {
        id: "K-03",
        title: "asks the person a thousand questions at once",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("many-questions"),
            play: |world| Box::pin(few_questions_are_open(world)),
            ..CASE
        }],
        undefend: Some(|setup| setup.config.limits.max_asks = u32::MAX),
    },
    FaultRow {
        id: "K-04",
        title: "asks a question that nobody answers, under a call that is cancelled",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("endless-question"),
            play: |world| Box::pin(question_is_withdrawn(world)),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defense::ServedRequests)),
    },
    FaultRow {
        id: "K-05",
        title: "mirrors the session and never reads",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("unread-mirror"),
            expect: &[(EVIL, "write_stalled")],
            setup: |setup| setup.config.timeouts.write_stall = SHORT,
            play: |world| Box::pin(session_goes_on(world)),
            ..CASE
        }],
        undefend: Some(|setup| setup.config.timeouts.write_stall = NEVER),
    },
    FaultRow {
        id: "K-06",
        title: "changes the tools of the session without end",
        cases: &[
            FaultCase { evil: Misbehavior::Fault("tools-loop"), expect: &[(EVIL, "rate_limited")], ..CASE },
            FaultCase { play: |world| Box::pin(run_ends_during(world, "tools-loop")), ..CASE },
        ],
        undefend: Some(endless_rate),
    },
    FaultRow {
        id: "K-07",
        title: "writes to the session without end",
        cases: &[FaultCase { play: |world| Box::pin(writes_are_limited(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::LoopRate)),
    },
    FaultRow {
        id: "K-08",
        title: "waits in a hook for the end of the run that waits for the hook",
        cases: &[FaultCase { play: |world| Box::pin(gate_that_waits_blocks(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::GateFailures)),
    },
    FaultRow {
        id: "K-09",
        title: "registers keys and removes them without end",
        cases: &[
            FaultCase {
                evil: Misbehavior::Fault("register-loop"),
                expect: &[(EVIL, "rate_limited")],
                ..CASE
            },
            FaultCase { play: |world| Box::pin(run_ends_during(world, "register-loop")), ..CASE },
        ],
        undefend: Some(endless_rate),
    },
    FaultRow {
        id: "K-10",
        title: "opens a thousand panels on its own",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("panels-loop"),
            expect: &[(EVIL, "rate_limited")],
            play: |world| Box::pin(few_panels_open(world)),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defense::LoopRate)),
    },
];

fn endless_rate(setup: &mut WorldSetup) {
    (setup.config.limits.frames_per_second, setup.config.limits.frame_burst) = (u32::MAX, u32::MAX);
}

/// Returns the number of drawings that begin so: `asks` for a question, `no longer asks` for its end, `opens` for a panel.
fn count_drawings(world: &World, begin: &str) -> usize {
    let begin = format!("{EVIL} {begin}");
    world.screen.drawings().iter().filter(|drawing| drawing.starts_with(&begin)).count()
}

async fn asks_once(world: &World) -> Result<()> {
    world.wait_for_expected().await?;
    ensure!(
        count_drawings(world, "asks") == 1,
        "the person sees {} questions",
        count_drawings(world, "asks")
    );
    Ok(())
}

async fn few_questions_are_open(world: &World) -> Result<()> {
    world
        .wait_until("all questions are asked", || world.marks().iter().any(|mark| mark == "all asked"))
        .await?;
    world
        .wait_until("the first questions are open", || count_drawings(world, "asks") >= MOST_QUESTIONS)
        .await?;
    world.settle().await?;
    let open = count_drawings(world, "asks");
    ensure!(open == MOST_QUESTIONS, "{open} questions are open at once");
    Ok(())
}

async fn few_panels_open(world: &World) -> Result<()> {
    world.wait_until("all panels are sent", || world.marks().iter().any(|mark| mark == "all opened")).await?;
    world.wait_for_expected().await?;
    let open = count_drawings(world, "opens");
    ensure!((1..=MOST_PANELS).contains(&open), "{open} panels opened");
    Ok(())
}

async fn question_is_withdrawn(world: &World) -> Result<()> {
    let steps = json!([{"say": [{"call": {"name": "probe", "args": {}}}]}, last_word()]);
    let asked = || count_drawings(world, "asks") > 0;
    let played = world.in_time("the cancelled run", world.prompt_until(&steps, asked)).await??;
    ensure!(played.ran.is_empty(), "the call ran");
    world.wait_until("the question is withdrawn", || count_drawings(world, "no longer asks") == 1).await
}

/// Checks that the session and the other extensions go on while an extension does not read its mirror.
async fn session_goes_on(world: &World) -> Result<()> {
    let session = Session::create(&world.dir, &world.dir);
    world.host.session_start(Some(&session));
    for number in 0..world.amount(200, 2_000) {
        let data = haft_protocol::RawJson::from_value(&"x".repeat(4_096))?;
        let entry = Custom::new("test".to_owned(), format!("entry {number}"), data);
        session.append(entry, Durability::Soon).await?;
        if number % 50 == 0 {
            world.wait_for_trips(1).await?;
        }
    }
    world.wait_for_expected().await
}

/// Runs prompts in the whole program while an extension has this fault, which never ends.
async fn run_ends_during(world: &mut World, fault: &str) -> Result<()> {
    let steps = json!([last_word(), last_word(), last_word()]);
    let mut client = start_program(world, fault, &steps)?.1;
    for id in ["1", "2", "3"] {
        client.send(&json!({"id": id, "type": "prompt", "message": "go"}));
        wait_until_done(&mut client).await?;
    }
    ensure!(client.end().await?.status.success(), "haft failed");
    Ok(())
}

/// Starts the whole program with an extension that has this fault.
fn start_program(world: &World, fault: &str, steps: &Value) -> Result<(HaftHome, RpcProcess)> {
    let home = HaftHome::new(world, "program", fault, steps)?;
    let client = home.run_rpc_with_extension()?;
    Ok((home, client))
}

/// Returns the events until the end of a prompt.
async fn wait_until_done(client: &mut RpcProcess) -> Result<Vec<Value>> {
    let mut lines = Vec::new();
    while let Some(line) = client.next_line().await? {
        let is_done = line["type"] == "done";
        lines.push(line);
        if is_done {
            return Ok(lines);
        }
    }
    bail!("haft ended after {} lines", lines.len())
}

/// Runs the whole program with an extension that writes a thousand entries, and a prompt after them.
async fn writes_are_limited(world: &mut World) -> Result<()> {
    let (_home, mut client) = start_program(world, "write-loop", &json!([last_word()]))?;
    world
        .wait_until("all entries are written", || world.marks().iter().any(|mark| mark == "all written"))
        .await?;
    client.send(&json!({"id": "1", "type": "prompt", "message": "go"}));
    let lines = wait_until_done(&mut client).await?;
    let is_limited =
        lines.iter().any(|line| line["type"] == "extension_error" && line["code"] == "rate_limited");
    ensure!(is_limited, "all entries were written");
    ensure!(client.end().await?.status.success(), "haft failed");
    Ok(())
}

/// Runs a prompt with a call in the whole program; the extension waits in its gate for the end of the run.
async fn gate_that_waits_blocks(world: &mut World) -> Result<()> {
    let call = json!({"say": [{"call": {"name": "bash", "args": {"command": "touch touched"}}}]});
    let (home, mut client) = start_program(world, "waits-for-itself", &json!([call, last_word()]))?;
    client.send(&json!({"id": "1", "type": "prompt", "message": "go"}));
    let lines = wait_until_done(&mut client).await?;
    let is_blocked = lines.iter().any(|line| line["type"] == "tool_blocked" && line["by"] == EVIL);
    ensure!(is_blocked, "the gate did not block the call");
    ensure!(!home.work_dir().join("touched").exists(), "the call ran");
    ensure!(client.end().await?.status.success(), "haft failed");
    Ok(())
}
