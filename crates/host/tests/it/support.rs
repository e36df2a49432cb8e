//! Common helpers: a host, its events, and short queries.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::hooks::{Refusal, ToolDecision};
use haft_core::model::ModelId;
use haft_core::tool::{Tool, ToolContext, ToolOutput};
use haft_host::{EventSink, ExtensionState, Host, HostBuilder, HostConfig, RestartTiming, Timeouts};
use haft_packages::{ExtensionDialect, ExtensionOrigin, ExtensionSpec, GuardRoles, LaunchPlan, Lifecycle};
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::event::{AgentEvent, ExtensionFault};
use haft_protocol::ids::{ExtensionName, ToolCallId};
use haft_test_support::{FakePeer, PATIENCE};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Collects the events of a host.
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<AgentEvent>>>);

impl Events {
    pub(crate) fn sink(&self) -> EventSink {
        let events = Arc::clone(&self.0);
        Arc::new(move |event| events.lock().unwrap().push(event))
    }

    pub(crate) fn all(&self) -> Vec<AgentEvent> {
        self.0.lock().unwrap().clone()
    }

    /// Returns the extension and code of every fault, in order.
    pub(crate) fn faults(&self) -> Vec<(String, String)> {
        self.each_fault().map(|fault| (fault.extension.to_string(), fault.code)).collect()
    }

    /// Returns the message of the only fault.
    #[track_caller]
    pub(crate) fn only_message(&self) -> String {
        let messages = self.messages();
        assert_eq!(messages.len(), 1, "{messages:?}");
        messages.concat()
    }

    /// Returns the message of every fault, in order.
    pub(crate) fn messages(&self) -> Vec<String> {
        self.each_fault().map(|fault| fault.message).collect()
    }

    fn each_fault(&self) -> impl Iterator<Item = ExtensionFault> {
        self.all().into_iter().filter_map(|event| {
            if let AgentEvent::ExtensionError(fault) = event { Some(fault) } else { None }
        })
    }
}

/// Returns an extension and a code to compare with [`Events::faults`].
pub(crate) fn fault(extension: &str, code: &str) -> (String, String) {
    (extension.to_owned(), code.to_owned())
}

pub(crate) fn config() -> HostConfig {
    let model = ModelId { provider: "scripted".into(), model: "demo".into() };
    let mut config = HostConfig::new("0.1.0", model, "/work");
    config.reserved_tools = vec!["bash".into(), "read".into()];
    config.reserved_commands = vec!["help".into()];
    config
}

/// Deadlines for tests with real processes: expected timeouts are short, and unexpected ones are long.
pub(crate) fn brisk() -> Timeouts {
    let mut timeouts = Timeouts::default();
    timeouts.hello = PATIENCE;
    timeouts.ready = PATIENCE;
    timeouts.idle_ready = PATIENCE;
    timeouts.intercept = PATIENCE;
    timeouts.tool_call = PATIENCE;
    timeouts.command = PATIENCE;
    timeouts.host_call = PATIENCE;
    timeouts.write_stall = PATIENCE;
    timeouts.partial_line = PATIENCE;
    timeouts.pong = PATIENCE;
    timeouts.pipe_drain = PATIENCE;
    timeouts.start_patience = PATIENCE;
    timeouts.drain = PATIENCE;
    // A crashed extension stays down for the rest of the test.
    timeouts.restarts = RestartTiming::default();
    timeouts.restarts.first_pause = Duration::from_secs(600);
    timeouts
}

/// Waits until a condition holds.
///
/// # Panics
/// Panics when the condition does not hold within [`PATIENCE`].
#[track_caller]
pub(crate) fn eventually(mut holds: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let polled = async {
            while !holds() {
                // sleep: checks again
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let held = tokio::time::timeout(PATIENCE, polled).await;
        assert!(held.is_ok(), "{caller}: the condition does not hold after {PATIENCE:?}");
    }
}

pub(crate) fn builder(events: &Events) -> HostBuilder {
    Host::builder(config()).events(events.sink())
}

/// Returns a host with one extension in memory that has sent hello and these registrations.
pub(crate) async fn host_with(
    name: &str,
    frames: impl IntoIterator<Item = Value>,
) -> (Host, FakePeer, Events) {
    host_announcing(name, &[], frames).await
}

/// Returns a host with one extension in memory that has announced these capabilities and sent these registrations.
pub(crate) async fn host_announcing(
    name: &str,
    capabilities: &[&str],
    frames: impl IntoIterator<Item = Value>,
) -> (Host, FakePeer, Events) {
    let events = Events::default();
    let (mut peer, reader, writer) = FakePeer::pair();
    let start = builder(&events).streams(name, reader, writer).start();
    let (host, ()) = tokio::join!(start, peer.greet_with(name, capabilities, frames));
    (host, peer, events)
}

/// Returns a host with two extensions in memory, in this order, that have sent hello and these registrations.
pub(crate) async fn host_with_two(
    one: (&str, impl IntoIterator<Item = Value>),
    two: (&str, impl IntoIterator<Item = Value>),
) -> (Host, [FakePeer; 2], Events) {
    let events = Events::default();
    let (mut first, reader, writer) = FakePeer::pair();
    let builder = builder(&events).streams(one.0, reader, writer);
    let (mut second, reader, writer) = FakePeer::pair();
    let start = builder.streams(two.0, reader, writer).start();
    let (host, (), ()) = tokio::join!(start, first.greet(one.0, one.1), second.greet(two.0, two.1));
    (host, [first, second], events)
}

pub(crate) fn call(name: &str, args: Value) -> ToolCall {
    ToolCall { id: ToolCallId::new("t1"), name: name.into(), args: RawJson::from_value(&args).unwrap() }
}

/// Returns the decisions of the host's hooks about a tool call, up to the first block.
pub(crate) async fn gate(host: &Host, call: &ToolCall) -> Vec<ToolDecision> {
    let mut decisions = Vec::new();
    for hook in host.hook_source().hooks().before_tool_execute {
        let decision = hook.before_tool_execute(&CancellationToken::new(), call).await;
        let blocked = matches!(decision, ToolDecision::Refuse(_));
        decisions.push(decision);
        if blocked {
            break;
        }
    }
    decisions
}

/// Returns the extension that blocks this call, and the reason.
pub(crate) async fn blocked(host: &Host, call: &ToolCall) -> Option<(String, String)> {
    let mut decisions = gate(host, call).await;
    let ToolDecision::Refuse(Refusal { reason, .. }) = decisions.pop()? else { return None };
    let hook = &host.hook_source().hooks().before_tool_execute[decisions.len()];
    Some((hook.name().to_owned(), reason))
}

#[track_caller]
pub(crate) fn tool(host: &Host, name: &str) -> Arc<dyn Tool> {
    let found = host.tools().into_iter().find(|tool| tool.spec().name == name);
    found.unwrap_or_else(|| panic!("no tool {name}"))
}

pub(crate) async fn execute(host: &Host, name: &str, args: Value) -> ToolOutput {
    let context = ToolContext::new(CancellationToken::new(), |_| {});
    tool(host, name).execute(context, call(name, args)).await
}

pub(crate) fn text(output: &ToolOutput) -> String {
    joined_text(&output.content)
}

#[track_caller]
pub(crate) fn state(host: &Host, name: &str) -> ExtensionState {
    let states = host.statuses();
    states.into_iter().find(|status| status.name.as_str() == name).expect("a known extension").state
}

/// Returns the misbehaving extension with one fault, under the fault's name.
pub(crate) fn misbehaving(fault: &str, dir: &Path) -> ExtensionSpec {
    named(fault, fault, dir)
}

/// Returns the misbehaving extension with one fault, under another name.
pub(crate) fn named(fault: &str, name: &str, dir: &Path) -> ExtensionSpec {
    let args = vec![fault.to_owned(), name.to_owned()];
    spec(name, dir, LaunchPlan::Process { program: haft_test_support::test_binary("misbehave"), args })
}

pub(crate) fn spec(name: &str, dir: &Path, launch: LaunchPlan) -> ExtensionSpec {
    ExtensionSpec {
        name: ExtensionName::new(name),
        version: None,
        dir: dir.to_owned(),
        launch,
        dialect: ExtensionDialect::Native,
        origin: ExtensionOrigin::Explicit,
        roles: GuardRoles::default(),
        permissions: None,
        level: None,
        description: None,
        lifecycle: Lifecycle::default(),
        pin: None,
    }
}

/// Returns the first program with one of these names in `PATH`.
pub(crate) fn program(names: &[&str]) -> PathBuf {
    let found = names.iter().find_map(|name| haft_launch::find_program(name).ok());
    found.unwrap_or_else(|| panic!("none of {names:?} is installed"))
}
