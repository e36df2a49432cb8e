//! Things that go wrong at a bad moment: what was said is not lost, and the transcript is one that servers accept.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_core::error::TurnErrorKind;
use haft_core::model::Thinking;
use haft_core::session::entry::Entry;
use haft_core::session::{NOT_RUN, Session};
use haft_core::tool::ToolOutput;
use haft_protocol::message::Time;

use crate::fake::{Script, call, calls, run, says, tool, transcript};

/// A session below `dir` whose directory is away while the entries that `gone` names are written, the first being 0.
fn session(dir: &Path, gone: impl Fn(usize) -> bool + Send + Sync + 'static) -> Session {
    let (here, away) = (dir.join("sessions"), dir.join("away"));
    std::fs::create_dir(&here).unwrap();
    let (entries, session) = (AtomicUsize::new(0), Session::create(&here, Path::new("/work")));
    session.with_clock(move || {
        let (is_gone, gone) = (away.exists(), gone(entries.fetch_add(1, Ordering::SeqCst)));
        if gone && !is_gone {
            std::fs::rename(&here, &away).unwrap();
            std::fs::write(&here, "").unwrap();
        } else if is_gone && !gone {
            std::fs::remove_file(&here).unwrap();
            std::fs::rename(&away, &here).unwrap();
        }
        Time("T".into())
    })
}

#[track_caller]
fn check_unsaved(outcome: Result<(), haft_core::error::TurnError>) {
    let kind = outcome.unwrap_err().kind;
    assert!(matches!(kind, TurnErrorKind::Session { .. }), "{kind:?}");
}

#[tokio::test]
async fn a_call_whose_beginning_cannot_be_written_has_a_result_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    // Entry 3 says that the first call is about to run.
    let session = session(dir.path(), |entry| entry == 3);
    let two = || vec![call("t1", "echo", "{}"), call("t2", "echo", "{}")];
    let script = Script::new(vec![calls(two()), says("ok")]);
    let echo = tool("echo", |_| ToolOutput::text("done"));
    let agent = script.agent().session(session).tool(echo).build().unwrap();
    let (events, outcome) = run(&agent).await;
    check_unsaved(outcome);
    let results: Vec<_> = events.iter().filter(|line| line.starts_with("result")).collect();
    assert_eq!(results, [&format!("result t1 error {NOT_RUN}"), "result t2 done"]);
    run(&agent).await.1.unwrap();
    let results = [format!("tool t1 error {NOT_RUN}"), "tool t2 done".into()];
    assert_eq!(transcript(&agent)[2..], [&results[..], &["user go".into(), "assistant ok ".into()]].concat());
    assert_eq!(*agent.messages(), agent.session().context().messages);
}

#[tokio::test]
async fn what_waits_is_not_lost_when_a_change_of_the_setup_cannot_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let script = Script::new(vec![says("one"), says("two")]);
    let agent = script.agent().session(session(dir.path(), |entry| entry == 3)).build().unwrap();
    run(&agent).await.1.unwrap();
    agent.set_thinking(Thinking::High);
    let _ = agent.next_turn("first this").unwrap();
    let _ = agent.steer("and this").unwrap();
    check_unsaved(run(&agent).await.1);
    let waiting = agent.queued();
    assert_eq!((waiting.next_turn, waiting.steering), (vec!["first this".into()], vec!["and this".into()]));
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent)[2..5], ["user first this", "user and this", "user go"]);
}
