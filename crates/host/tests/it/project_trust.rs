//! The hook `project_trust`.

use haft_host::{ExtensionTrust, Host};
use haft_protocol::ext::InterceptProjectTrust;
use haft_protocol::ids::ExtensionName;
use haft_test_support::FakePeer;
use serde_json::{Value, json};

use crate::support::{fault, host_with};

fn question() -> InterceptProjectTrust {
    InterceptProjectTrust {
        cwd: "/w".into(),
        digest: "9c1f".into(),
        items: vec!["instructions: AGENTS.md".into()],
    }
}

/// Asks about the project; the extension answers with these fields.
async fn ask(host: &Host, peer: &mut FakePeer, fields: Value) -> Option<ExtensionTrust> {
    let question = question();
    let answers = async {
        let mut asked = peer.expect("event_intercept").await;
        peer.answer(&asked, "event_intercept_response", fields).await;
        asked.as_object_mut().unwrap().remove("id");
        let expect = json!({
            "type": "event_intercept", "event": "project_trust", "cwd": "/w", "digest": "9c1f",
            "items": ["instructions: AGENTS.md"],
        });
        assert_eq!(asked, expect);
    };
    tokio::join!(host.ask_about_trust(&question), answers).0
}

#[tokio::test(start_paused = true)]
async fn only_an_answer_decides_about_a_project() {
    let subscribes = json!({"type": "subscribe", "intercept": ["project_trust"]});
    let (host, mut peer, events) = host_with("policy", [subscribes]).await;
    let decided =
        |trusts, remember| Some(ExtensionTrust::new(ExtensionName::new("policy"), trusts, remember));
    let remembered = ask(&host, &mut peer, json!({"trust": "yes", "remember": true})).await;
    assert_eq!(remembered, decided(true, true));
    assert_eq!(ask(&host, &mut peer, json!({"trust": "yes"})).await, decided(true, false));
    assert_eq!(ask(&host, &mut peer, json!({"trust": "no", "remember": true})).await, decided(false, false));
    assert_eq!(ask(&host, &mut peer, json!({"remember": true})).await, None);
    assert_eq!(events.faults(), []);
    assert_eq!(ask(&host, &mut peer, json!({"trust": true})).await, None);
    assert_eq!(ask(&host, &mut peer, json!({"trust": "yes", "error": "no disk"})).await, None);
    assert_eq!(events.faults(), [fault("policy", "hook_error"), fault("policy", "hook_error")]);
    assert_eq!(host.ask_about_trust(&question()).await, None);
    assert_eq!(events.faults()[2..], [fault("policy", "hook_timeout")]);
}

#[tokio::test(start_paused = true)]
async fn extension_that_does_not_subscribe_is_not_asked() {
    let (host, _peer, events) =
        host_with("policy", [json!({"type": "subscribe", "intercept": ["input"]})]).await;
    assert_eq!(host.ask_about_trust(&question()).await, None);
    assert_eq!(events.faults(), []);
}
