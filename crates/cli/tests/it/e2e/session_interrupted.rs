//! A session that is interrupted repeatedly: every request contains a valid transcript, and no tool runs twice.
//!
//! `HAFT_INTERRUPTIONS` sets the number of interruptions of each session; see `docs/testing.md`.

#![cfg(unix)]

use std::collections::HashSet;

use haft_test_support::model_server::{AnswerFault, Scenario, WireFormat};

use super::running::eventually;
use super::scene::{Scene, bash_args};

/// The number of interruptions in an ordinary run.
const INTERRUPTIONS: usize = 4;

/// The script of the model: two calls, one call, an answer, and so on. Every call leaves its own mark.
fn scenarios(count: usize) -> Vec<Scenario> {
    let call = |scenario: Scenario, name: String| {
        // sleep: without it, interrupts hit fewer states
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

/// Returns the next of a deterministic series of pseudo-random numbers.
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
            // The prompt may have been completed a moment earlier.
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
fn reports_answer_that_was_cut_off() {
    const CUT_OFF: &str = "the last run ended before the model";
    let hangs = || Scenario::text("I begin.").fault(AnswerFault::Hang);
    let answers =
        vec![hangs(), Scenario::text("One."), Scenario::text("Two."), hangs(), Scenario::text("Three.")];
    let scene = Scene::new(answers);
    let kill = |args: &[&str]| {
        let requests = scene.server.requests().len();
        let running = scene.start(args, None);
        assert!(eventually(|| scene.server.requests().len() > requests));
        running.kill();
    };
    kill(&["-p", "first"]);
    let ran = scene.haft(&["-p", "-c", "again"]);
    assert_eq!(ran.expect(0).stdout, "One.\n");
    assert!(ran.stderr.contains(CUT_OFF), "{ran:?}");
    // The answer is complete now.
    let ran = scene.haft(&["-p", "-c", "and on"]);
    assert!(!ran.expect(0).stderr.contains(CUT_OFF), "{ran:?}");
    kill(&["-p", "-c", "third"]);
    let ran = scene.haft(&["--json", "-c", "again"]);
    let repaired = ran.expect(0).of("session_repaired");
    assert!(repaired[0]["message"].as_str().unwrap().starts_with(CUT_OFF), "{ran:?}");
}

#[test]
fn anthropic_accepts_every_transcript() {
    check(WireFormat::Anthropic, 0x5eed);
}

#[test]
fn openai_accepts_every_transcript() {
    check(WireFormat::OpenAiChat, 0xfeed);
}

#[test]
fn openai_responses_accepts_every_transcript() {
    check(WireFormat::OpenAiResponses, 0xbeef);
}
