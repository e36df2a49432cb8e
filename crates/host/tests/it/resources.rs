//! The hook `resources`.

use haft_host::ExtensionResources;
use haft_protocol::ext::{ResourcesDecision, ResourcesReason};
use haft_protocol::ids::ExtensionName;
use haft_test_support::FakePeer;
use serde_json::{Value, json};

use crate::support::{fault, host_with};

fn subscribes() -> Value {
    json!({"type": "subscribe", "intercept": ["resources"]})
}

/// Answers the next question and returns it without its id.
async fn answer(peer: &mut FakePeer, answer: Value) -> Value {
    let mut question = peer.expect("event_intercept").await;
    peer.answer(&question, "event_intercept_response", answer).await;
    question.as_object_mut().unwrap().remove("id");
    question
}

fn paths(found: &[ExtensionResources]) -> Vec<ResourcesDecision> {
    found.iter().map(|answer| answer.paths.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn extension_adds_paths_and_its_failure_adds_none() {
    let (host, mut peer, events) = host_with("house", [subscribes()]).await;
    let (found, question) = tokio::join!(
        host.find_resources(ResourcesReason::Startup, &[]),
        answer(&mut peer, json!({"skills": ["skills"], "templates": ["/srv/a.md"]}))
    );
    let expect =
        json!({"type": "event_intercept", "event": "resources", "cwd": question["cwd"], "reason": "startup"});
    assert_eq!(question, expect);
    assert!(question["cwd"].as_str().is_some_and(|cwd| !cwd.is_empty()), "{question}");
    let named = ResourcesDecision::default().with_skills("skills").with_templates("/srv/a.md");
    assert_eq!((found[0].extension.clone(), paths(&found)), (ExtensionName::new("house"), vec![named]));
    // Nobody is asked twice for one start.
    assert_eq!(host.find_resources(ResourcesReason::Startup, &found).await, []);
    let (found, question) = tokio::join!(
        host.find_resources(ResourcesReason::Reload, &[]),
        answer(&mut peer, json!({"skills": "skills"}))
    );
    assert_eq!(question["reason"], "reload");
    assert_eq!(paths(&found), [ResourcesDecision::default()]);
    assert_eq!(events.faults(), [fault("house", "hook_error")]);
    // A late answer adds nothing.
    let found = host.find_resources(ResourcesReason::Reload, &[]).await;
    assert_eq!(paths(&found), [ResourcesDecision::default()]);
    assert_eq!(events.faults()[1..], [fault("house", "hook_timeout")]);
}

#[tokio::test(start_paused = true)]
async fn extension_that_waits_for_a_person_adds_nothing() {
    let (host, mut peer, events) = host_with("house", [subscribes()]).await;
    let asks = async {
        let question = peer.expect("event_intercept").await;
        let call = json!({"type": "host_call", "id": "c1", "call": "confirm", "under": question["id"],
            "args": {"title": "Add skills?"}});
        peer.send(call).await;
    };
    let (found, ()) = tokio::join!(host.find_resources(ResourcesReason::Startup, &[]), asks);
    assert_eq!(paths(&found), [ResourcesDecision::default()]);
    assert_eq!(events.faults(), [fault("house", "hook_timeout")]);
}
