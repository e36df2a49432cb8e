//! A hook that keeps failing as a gate ends the run, even if its other answers are valid.

use haft_core::error::{TurnError, TurnErrorKind};
use serde_json::json;

use super::agency::{Does, Ran, calls, goes_on, play, run, said};
use super::{hook, host_with};

/// Makes six sequential calls with a hook at these points that fails at one of them.
async fn fails_at(points: &[&str], failing: &'static str) -> Ran {
    let (host, peer, _) = host_with(hook(points, &[])).await;
    let peer = play(peer, move |call| match call["method"] == failing {
        true => Does::Reply(json!("garbage")),
        false => goes_on(call),
    });
    let mut says = vec![calls("bash", json!({"command": "ls"})); 6];
    says.push(vec![said("done")]);
    let ran = run(&host, says).await;
    host.shutdown().await;
    peer.await.unwrap();
    ran
}

#[tokio::test(start_paused = true)]
async fn answers_to_other_subject_do_not_reset_failures() {
    for (points, failing) in [
        (&["before_tool"][..], "hook.before_tool"),
        (&["before_llm", "before_tool"], "hook.before_tool"),
        (&["after_llm", "before_tool", "after_tool", "approve_tool"], "hook.before_tool"),
        (&["before_tool", "approve_tool"], "hook.approve_tool"),
        (&["before_llm", "after_tool", "approve_tool"], "hook.approve_tool"),
    ] {
        let ran = fails_at(points, failing).await;
        let Err(TurnError { kind: TurnErrorKind::Stopped { by, .. }, .. }) = &ran.outcome else {
            panic!("{points:?}: {:?}", ran.outcome)
        };
        assert_eq!((by.as_str(), ran.executions, ran.requests.len()), ("gate", 0, 3), "{points:?}");
    }
}

/// Only gates decide about calls.
#[tokio::test(start_paused = true)]
async fn failures_outside_gates_do_not_stop_run() {
    for failing in ["hook.before_llm", "hook.after_llm", "hook.after_tool"] {
        let ran = fails_at(&["before_llm", "after_llm", "before_tool", "after_tool"], failing).await;
        assert!(ran.outcome.is_ok(), "{failing}: {:?}", ran.outcome);
        assert_eq!(ran.executions, 6, "{failing}");
    }
}
