//! PicoClaw's own tests of its hooks, against this host and from outside. A test has the name of its counterpart. Where
//! this host differs on purpose, the name or a comment states the difference and the reason.
//!
//! The counterparts of some of PicoClaw's tests are elsewhere:
//! * Configuration, in `haft-config`'s tests of hooks: `DefaultConfig_HooksDefaults` and
//!   `LoadConfig_HooksProcessConfig` are `a_config_of_picoclaw_is_taken_as_it_is` and
//!   `times_are_the_hooks_own_then_those_of_its_table`; `InvalidConfiguredHookFails` is
//!   `a_mistake_in_a_hook_is_told_with_its_line`, and for the whole program
//!   `invalid_hook_ends_run` among the program's end-to-end tests. This program has no built-in hooks, so
//!   `AutoMountsBuiltinHook` becomes the message for a configuration that requests one:
//!   `a_mistake_beside_the_hooks_is_told_too`.
//! * The event bus (`pkg/events`): surplus events are dropped and counted, and an unreading hook delays nothing:
//!   `unreading_hook_delays_no_one`. Other buffer policies, and effects between subscribers of a bus, apply only to
//!   PicoClaw: there is no bus between this host and a hook.
//!
//! Some tests have no counterpart:
//! * `/btw` (`BtwCommand_UsesLLMHooks`, `BtwHookModelRewrite…`, `BtwHookCannotReenable…`,
//!   `BtwCommandHookModelBypassesFallbackCandidates`): there are no side questions.
//! * Chat channels (`HookRespond_MediaError`, `HookRespond_ResponseHandledMediaPreservesOutboundContext`): the channel is
//!   always `cli`, where no delivery can fail, as in `hook_respond_bus_fallback`.
//! * `EmitsFollowUpQueuedEvent`: no tool ends after its result.
//! * `BeforeLLMModelRewriteReevaluatesModelStreaming`: every model streams.

mod before_llm;
mod events;
mod mounts;
mod process;
mod profile;
mod respond;
mod skips;
mod streaming;
mod tools;

use haft_core::AgentBuilder;
use haft_host::Host;
use haft_protocol::message::AssistantBlock;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::agency::{Does, Ran, Script, Stage, play, tool};
use super::{hook, host_with};
use crate::support::Events;

/// Every class of hook by one of its points.
const ALL: &[&str] = &["before_llm", "before_tool", "approve_tool"];

/// A hook in memory with these intercepts and all events, and an agent as in PicoClaw's tests.
struct Scene {
    host: Host,
    stage: Stage,
    peer: JoinHandle<Vec<Value>>,
    events: Events,
}

impl Scene {
    async fn new(
        points: &[&str],
        says: Vec<Vec<AssistantBlock>>,
        does: impl FnMut(&Value) -> Does + Send + 'static,
    ) -> Self {
        Self::of(points, Script::new("demo", says), does).await
    }

    async fn of(points: &[&str], script: Script, does: impl FnMut(&Value) -> Does + Send + 'static) -> Self {
        let (host, peer, events) = host_with(hook(points, &["*"])).await;
        Self { host, stage: Stage::of(script), peer: play(peer, does), events }
    }

    /// Returns an agent with `bash` and `echo_text`, which returns its input.
    fn agent(&self) -> AgentBuilder {
        let text = |args: &Value| args["text"].as_str().unwrap_or_default().to_owned();
        self.stage.agent(&self.host).tool(tool("echo_text", text))
    }

    /// Runs a prompt with such an agent.
    async fn prompt(self) -> (Ran, HookTranscript) {
        let agent = self.agent().build().unwrap();
        self.host.session_start(Some(agent.session()));
        let ran = self.stage.prompt(&agent, "hello").await;
        (ran, self.end().await)
    }

    /// Returns the hook's queries and events.
    async fn end(self) -> HookTranscript {
        self.host.ping().await;
        self.host.shutdown().await;
        HookTranscript { lines: self.peer.await.unwrap(), events: self.events }
    }
}

/// The queries and events of a hook, and the messages to the user.
struct HookTranscript {
    lines: Vec<Value>,
    events: Events,
}

impl HookTranscript {
    /// Returns the params of each call of this method.
    fn asked(&self, method: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["method"] == method).map(|line| &line["params"]).collect()
    }

    /// Returns each event of this kind.
    fn events(&self, kind: &str) -> Vec<&Value> {
        self.asked("hook.runtime_event").into_iter().filter(|event| event["kind"] == kind).collect()
    }

    /// Returns the kinds of all events.
    fn kinds(&self) -> Vec<&str> {
        let events = self.asked("hook.runtime_event");
        events.into_iter().map(|event| event["kind"].as_str().unwrap()).collect()
    }
}
