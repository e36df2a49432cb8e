//! What is seen of an answer while a hook looks at it.

use haft_core::error::TurnErrorKind;
use haft_protocol::event::AgentEvent;
use serde_json::json;

use super::super::agency::{Ran, answers, said};
use super::Scene;

/// A turn whose model says this, with a hook at this point that answers the end of it so.
async fn streamed(point: &str, reply: serde_json::Value) -> Ran {
    let scene =
        Scene::new(&[point], vec![vec![said("streamed text")]], answers("hook.after_llm", reply)).await;
    scene.prompt().await.0
}

/// All text that was shown while it came.
fn deltas(ran: &Ran) -> String {
    let texts = ran.events.iter().filter_map(|event| {
        let AgentEvent::TextDelta { delta } = event else { return None };
        Some(delta.as_str())
    });
    texts.collect()
}

/// PicoClaw shows the text as it comes and then another one. Here a hook that was set up to look at answers may be there
/// to redact them, and nothing is shown before it has.
#[tokio::test(start_paused = true)]
async fn finalizes_after_after_llm_hook_mutation() {
    let reply = || json!({"action": "modify", "response": {"response": {"content": "final text"}}});
    let ran = streamed("after_llm", reply()).await;
    assert_eq!((deltas(&ran).as_str(), ran.answer().as_str()), ("final text", "final text"));
    // One that is asked only because both points go together holds nothing back.
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
            // PicoClaw tells no reason any more.
            let blocked = TurnErrorKind::Blocked { by: "gate".into(), reason: "enough".into() };
            let outcome = ran.outcome.map_err(|error| error.kind);
            let expect = if action == "abort_turn" { Err(blocked) } else { Ok(()) };
            assert_eq!(outcome, expect, "{point} {action}");
            assert_eq!(ran.messages.is_empty(), action == "hard_abort", "{:?}", ran.messages);
        }
    }
}
