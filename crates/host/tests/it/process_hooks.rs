//! Process hooks with a whole agent: every reply and its effect on the turn, every failure of each class of
//! hook, and real processes.

mod agency;
mod at_once;
mod examples;
mod failures;
mod flow;
mod guide;
mod mixed;
mod observed_events;
mod picoclaw;
mod processes;
mod replies;
mod seed;
mod sizes;
mod strikes;

use haft_adapter_picoclaw::peer::HookDialect;
use haft_adapter_picoclaw::wire::{EventForm, HookSubscriptions};
use haft_host::Host;
use haft_packages::HookSpec;
use haft_test_support::FakePeer;

use crate::support::{Events, builder};

/// Returns a hook with these intercepts and observed events.
fn hook(intercept: &[&str], observe: &[&str]) -> HookSpec {
    HookSpec::new(HookSubscriptions::parse(observe, intercept).unwrap())
}

/// Returns such a hook that gets its events in this form.
fn hook_with_events(event_form: EventForm, intercept: &[&str], observe: &[&str]) -> HookSpec {
    let watch = HookSubscriptions::parse(observe, intercept).unwrap();
    HookSpec::new(HookDialect { event_form, ..HookDialect::new(watch) })
}

/// Returns a host with one hook in memory that has answered hello.
async fn host_with(hook: HookSpec) -> (Host, FakePeer, Events) {
    let events = Events::default();
    let (mut peer, reader, writer) = FakePeer::pair();
    let start = builder(&events).hook_streams("gate", hook, reader, writer).start();
    let greet = async {
        let hello = peer.expect_call("hook.hello").await;
        assert_eq!((&hello["id"], &hello["params"]["name"]), (&1.into(), &"gate".into()));
        peer.reply(&hello, serde_json::json!({"ok": true})).await;
    };
    let (host, ()) = tokio::join!(start, greet);
    (host, peer, events)
}
