//! A session that is interrupted again and again: what the provider is sent is always a transcript that it takes, and no
//! tool runs twice.
//!
//! `HAFT_INTERRUPTIONS` sets how often each is interrupted; `docs/testing.md` has the command for the full count.

#![cfg(unix)]

use std::collections::HashSet;

use haft_test_support::model_server::{Scenario, WireFormat};

use super::running::eventually;
use super::scene::{Scene, bash_args};

/// Interruptions of an ordinary run.
const INTERRUPTIONS: usize = 4;

/// What the model says: two calls, one call, an answer, and so on. Every call leaves a mark of its own.
fn scenarios(count: usize) -> Vec<Scenario> {
    let call = |scenario: Scenario, name: String| {
        // sleep: without it, fewer places are interrupted; each of them is right
        let command = format!("echo {name} >> \"$MARKS\"; sleep 0.02");
        scenario.tool(&name, "bash", &bash_args(&command))
    };
    let of = |at: usize| match at % 3 {
        0 => call(call(Scenario::new().say("Two."), format!("a{at}")), format!("b{at}")),
        1 => call(Scenario::new(), format!("c{at}")),
        _ => Scenario::text(format!("answer {at}")),
    };
    (0..count).map(of).collect()
}

/// The next of a series of numbers that look random and are the same each time.
fn next(seed: &mut u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed % 1000) as usize
}

#[track_caller]
fn check(wire: WireFormat, mut seed: u64) {
    let rounds = std::env::var("HAFT_INTERRUPTIONS").map_or(INTERRUPTIONS, |count| count.parse().unwrap());
    let scene = Scene::speaking(wire, scenarios(12 * (rounds + 2)));
    scene.haft(&["-p", "begin"]).expect(0);
    let mut interrupted = 0;
    for round in 0..rounds {
        let prompt = format!("round {round}");
        let mut running = scene.start(&["-p", "-c", &prompt], None);
        let (requests, marks) = (scene.server.requests().len(), scene.marks().len());
        let (more, of_marks) = (next(&mut seed) % 3 + 1, next(&mut seed).is_multiple_of(2));
        let reached = eventually(|| {
            let (requests, marks) = (scene.server.requests().len() - requests, scene.marks().len() - marks);
            (if of_marks { marks } else { requests }) >= more || running.has_ended()
        });
        assert!(reached, "round {round}, seed {seed}");
        if running.has_ended() {
            running.wait().expect(0);
        } else if next(&mut seed).is_multiple_of(4) {
            interrupted += 1;
            running.interrupt();
            // The prompt may have been dealt with a moment before.
            let ran = running.wait();
            assert!([0, 130].contains(&ran.code), "{ran:?}");
        } else {
            interrupted += 1;
            running.kill();
        }
    }
    assert!(interrupted > rounds / 3, "only {interrupted} of {rounds} were interrupted");
    scene.haft(&["-p", "-c", "the end"]).expect(0);
    assert_eq!(scene.server.violations(), Vec::<String>::new());
    let marks = scene.marks();
    let once: HashSet<&String> = marks.iter().collect();
    assert_eq!(once.len(), marks.len(), "a tool ran twice: {marks:?}");
}

#[test]
fn anthropic_takes_every_transcript() {
    check(WireFormat::Anthropic, 0x5eed);
}

#[test]
fn openai_takes_every_transcript() {
    check(WireFormat::OpenAiChat, 0xfeed);
}

#[test]
fn openai_takes_every_transcript_as_responses() {
    check(WireFormat::OpenAiResponses, 0xbeef);
}
