//! The visible part of an answer while a hook processes it.

use haft_core::error::TurnErrorKind;
use haft_protocol::event::AgentEvent;
use serde_json::json;

use super::super::agency::{Ran, answers, said};
use super::Scene;

/// Runs a turn whose model sends this, with a hook at this point that replies like this.
async fn streamed(point: &str, reply: serde_json::Value) -> Ran {
    let scene =
        Scene::new(&[point], vec![vec![said("streamed text")]], answers("hook.after_llm", reply)).await;
    scene.prompt().await.0
}

/// Returns all text that was shown during the stream.
fn deltas(ran: &Ran) -> String {
    let texts = ran.events.iter().filter_map(|event| {
        let AgentEvent::TextDelta { delta } = event else { return None };
        Some(delta.as_str())
    });
    texts.collect()
}

/// PicoClaw shows the streamed text and then the changed one. Here a hook for answers may be there to redact
/// them, so nothing is shown before its reply.
#[tokio::test(start_paused = true)]
async fn finalizes_after_after_llm_hook_mutation() {
    let reply = || json!({"action": "modify", "response": {"response": {"content": "final text"}}});
    let ran = streamed("after_llm", reply()).await;
    assert_eq!((deltas(&ran).as_str(), ran.answer().as_str()), ("final text", "final text"));
    // A hook that is queried only because both points belong together suppresses nothing.
    let ran = streamed("before_llm", reply()).await;
    assert_eq!((deltas(&ran).as_str(), ran.answer().as_str()), ("streamed text", "final text"));
}

#[tokio::test(start_paused = true)]
async fn after_llm_abort_cancels_published_stream() {
    for point in ["after_llm", "before_llm"] {
        for action in ["abort_turn", "hard_abort"] {
            let ran = streamed(point, json!({"action": action, "reason": "enough"})).await;
            assert!(!ran.events.iter().any(|event| matches!(event, AgentEvent::AssistantMessage { .. })));
            let shown = if point == "after_llm" { "" } else { "streamed text" };
            assert_eq!(deltas(&ran), shown, "{point} {action}");
            // PicoClaw no longer reports a reason.
            let blocked = TurnErrorKind::Blocked { by: "gate".into(), reason: "enough".into() };
            let outcome = ran.outcome.map_err(|error| error.kind);
            let expect = if action == "abort_turn" { Err(blocked) } else { Ok(()) };
            assert_eq!(outcome, expect, "{point} {action}");
            assert_eq!(ran.messages.is_empty(), action == "hard_abort", "{:?}", ran.messages);
        }
    }
}
