//! Hooks before a session changes.

use haft_core::hooks::{
    BranchDecision, PendingFork, PendingMove, PendingSwitch, SessionChangeDecision, SwitchReason,
};
use haft_core::session::{Durability, Session};
use haft_host::Host;
use haft_protocol::content::ContentBlock;
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::{Message, Rfc3339Time};
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{fault, host_with};

fn subscribes() -> Value {
    json!({"type": "subscribe", "intercept": ["before_switch", "before_fork", "before_tree"]})
}

/// Answers the next question and returns it without its id.
async fn answer(peer: &mut FakePeer, answer: Value) -> Value {
    let mut question = peer.expect("event_intercept").await;
    peer.answer(&question, "event_intercept_response", answer).await;
    question.as_object_mut().unwrap().remove("id");
    question
}

async fn switch(host: &Host, caller: Option<&str>) -> SessionChangeDecision {
    let hook = host.hook_source().hooks().before_switch.remove(0);
    let caller = caller.map(ExtensionName::new);
    let pending = PendingSwitch::new(SwitchReason::Resume).with_session("0199").with_caller(caller);
    hook.before_switch(&CancellationToken::new(), &pending).await
}

async fn fork(host: &Host, pending: PendingFork) -> SessionChangeDecision {
    let hook = host.hook_source().hooks().before_fork.remove(0);
    hook.before_fork(&CancellationToken::new(), &pending).await
}

async fn tree(host: &Host, pending: &PendingMove) -> BranchDecision {
    let hook = host.hook_source().hooks().before_tree.remove(0);
    hook.before_tree(&CancellationToken::new(), pending).await
}

fn blocked(reason: &str) -> SessionChangeDecision {
    SessionChangeDecision::Block { reason: reason.to_owned() }
}

#[tokio::test(start_paused = true)]
async fn extension_blocks_a_switch_and_a_fork_and_its_failure_passes() {
    let (host, mut peer, events) = host_with("desk", [subscribes()]).await;
    let (decision, question) = tokio::join!(
        switch(&host, Some("notes")),
        answer(&mut peer, json!({"block": true, "reason": "later"}))
    );
    let expect = json!({
        "type": "event_intercept", "event": "before_switch", "reason": "resume", "session": "0199",
        "caller": "notes",
    });
    assert_eq!((decision, question), (blocked("later"), expect));
    let (decision, _) = tokio::join!(switch(&host, None), answer(&mut peer, json!({"block": true})));
    assert_eq!(decision, blocked("no reason given"));
    let (decision, _) = tokio::join!(switch(&host, None), answer(&mut peer, json!({})));
    assert_eq!(decision, SessionChangeDecision::Continue);
    // The extension is not asked about its own command.
    assert_eq!(switch(&host, Some("desk")).await, SessionChangeDecision::Continue);
    let pending = PendingFork::new(None);
    let (decision, question) =
        tokio::join!(fork(&host, pending.clone()), answer(&mut peer, json!({"error": "no disk"})));
    assert_eq!(question, json!({"type": "event_intercept", "event": "before_fork"}));
    assert_eq!(decision, SessionChangeDecision::Continue);
    assert_eq!(events.faults(), [fault("desk", "hook_error")]);
    let (decision, _) = tokio::join!(
        fork(&host, pending),
        answer(&mut peer, json!({"block": true, "reason": "commit first"}))
    );
    assert_eq!(decision, blocked("commit first"));
    // A late answer passes, too.
    assert_eq!(switch(&host, None).await, SessionChangeDecision::Continue);
    assert_eq!(events.faults().last(), Some(&fault("desk", "hook_timeout")));
}

#[tokio::test(start_paused = true)]
async fn extension_summarizes_the_branch_that_is_left() {
    let (host, mut peer, events) = host_with("desk", [subscribes()]).await;
    let session = Session::in_memory("/w".as_ref());
    let said =
        Message::User { content: vec![ContentBlock::text("use a lock")], time: Rfc3339Time("T".into()) };
    let entry = session.append(said, Durability::Soon).await.unwrap();
    let pending = PendingMove::new(session.branch())
        .with_leaf(entry)
        .with_summarize(true)
        .with_instructions("mind the lock");
    let (decision, question) = tokio::join!(
        tree(&host, &pending),
        answer(&mut peer, json!({"summary": "A lock\u{e0041} deadlocks."}))
    );
    let id = entry.to_string();
    let expect = json!({
        "type": "event_intercept", "event": "before_tree", "leaf": id, "summarize": true,
        "instructions": "mind the lock", "entries": [{"id": id, "text": "[user]\nuse a lock"}],
    });
    assert_eq!(question, expect);
    assert_eq!(decision, BranchDecision::Summarize { text: "A lock deadlocks.".to_owned() });
    assert_eq!(host.hook_source().hooks().before_tree[0].name(), "desk");
    assert_eq!(events.faults(), [fault("desk", "hidden_text")]);
    let (decision, _) =
        tokio::join!(tree(&host, &pending), answer(&mut peer, json!({"block": true, "summary": "unused"})));
    let reason = "no reason given".to_owned();
    assert_eq!(decision, BranchDecision::Block { reason });
    let own = pending.with_caller(ExtensionName::new("desk"));
    assert_eq!(tree(&host, &own).await, BranchDecision::Continue);
}
