//! A process hook as a native extension: the port of the host for PicoClaw's dialect.

mod model;
mod tool;
mod translator;

use std::sync::Arc;
use std::time::Instant;

use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{InterceptKind, StopScope, TurnStop};
use haft_protocol::foreign::{DecisionFailure, ForeignDialect, ForeignPeer, LineTranslator, PeerSetup};
use haft_protocol::ids::ExtensionName;

use crate::translate::{ToolNames, TurnTracker, shorten_reason, translate_occurrence};
use crate::wire::{CallLine, EventForm, HookSubscriptions, InterceptPoint, TurnEvent, texts};
use translator::HookTranslator;

/// PicoClaw's dialect, with the user's settings for one hook.
#[derive(Debug, Clone)]
pub struct HookDialect {
    /// The requests and events of the hook: `observe` and `intercept`.
    pub watch: HookSubscriptions,
    /// The form of its events.
    pub event_form: EventForm,
    /// The tool names that the hook uses.
    pub tool_names: ToolNames,
}

impl HookDialect {
    /// Creates the dialect with PicoClaw's newest form of events and haft's names of tools.
    pub fn new(watch: HookSubscriptions) -> Self {
        Self { watch, event_form: EventForm::default(), tool_names: ToolNames::default() }
    }
}

impl ForeignDialect for HookDialect {
    fn open_peer(&self, setup: PeerSetup) -> Arc<dyn ForeignPeer> {
        Arc::new(HookPeer::new(self.clone(), setup))
    }

    fn takes_part(&self, hook: InterceptKind) -> bool {
        InterceptPoint::from_hook(hook).is_some_and(|point| self.watch.is_asked_at(point))
    }

    fn suppresses_deltas(&self) -> bool {
        self.watch.intercepts.contains(&InterceptPoint::AfterLlm)
    }

    fn foreign_tool_name<'a>(&self, tool: &'a str) -> &'a str {
        self.tool_names.hook_name(tool)
    }
}

impl From<HookDialect> for Arc<dyn ForeignDialect> {
    fn from(dialect: HookDialect) -> Self {
        Arc::new(dialect)
    }
}

impl From<HookSubscriptions> for Arc<dyn ForeignDialect> {
    fn from(watch: HookSubscriptions) -> Self {
        HookDialect::new(watch).into()
    }
}

/// A process hook, across all its processes.
#[derive(Debug)]
struct HookPeer {
    dialect: HookDialect,
    setup: PeerSetup,
    turns: TurnTracker,
}

impl HookPeer {
    fn new(dialect: HookDialect, setup: PeerSetup) -> Self {
        let turns = TurnTracker::new(setup.run.clone(), setup.user.clone());
        Self { dialect, setup, turns }
    }

    fn name(&self) -> &ExtensionName {
        &self.setup.name
    }
}

impl ForeignPeer for HookPeer {
    fn new_translator(self: Arc<Self>) -> Box<dyn LineTranslator> {
        Box::new(HookTranslator::new(self))
    }

    fn set_session(&self, id: &str) {
        self.turns.set_session(id.to_owned());
    }

    fn translate_event(&self, event: &AgentEvent, at: Instant) -> Vec<String> {
        let (meta, payloads) = self.turns.record_event(event, &self.setup.workspace, at);
        let observed =
            payloads.into_iter().filter(|payload| self.dialect.watch.observed.includes(payload.kind()));
        let encode = |payload| {
            let (time, context) = ((self.setup.now)(), self.turns.context());
            let occurrence = TurnEvent { time, meta: meta.clone(), context, payload };
            let occurrence = translate_occurrence(self.dialect.tool_names, &occurrence);
            // An event that this program builds can be encoded.
            CallLine::encode_event(&occurrence, self.dialect.event_form, self.turns.next_event_number()).ok()
        };
        observed.filter_map(encode).collect()
    }

    fn hook_label(&self, hook: InterceptKind) -> &'static str {
        match InterceptPoint::from_hook(hook) {
            Some(InterceptPoint::BeforeLlm) => "before_llm hook",
            Some(InterceptPoint::AfterLlm) => "after_llm hook",
            Some(InterceptPoint::BeforeTool) => "before_tool hook",
            Some(InterceptPoint::AfterTool) => "after_tool hook",
            Some(InterceptPoint::ApproveTool) => "approve_tool hook",
            None => "hook",
        }
    }

    fn denial_text(&self, hook: InterceptKind, failure: DecisionFailure, reason: &str) -> String {
        let name = self.name().as_str();
        match (hook, failure) {
            (InterceptKind::Approve, DecisionFailure::TimedOut) => {
                texts::denied_by_approval(&texts::approval_timed_out(name))
            }
            (InterceptKind::Approve, DecisionFailure::Other) => {
                texts::denied_by_approval(&texts::approval_failed(name))
            }
            (InterceptKind::Approve, DecisionFailure::Cancelled) => texts::denied_by_approval(reason),
            _ => texts::denied_by_hook(&shorten_reason(reason)),
        }
    }
}

/// Returns the end of the turn that a hook requests.
fn stop_turn(scope: StopScope, reason: &str) -> TurnStop {
    let reason = match reason.trim() {
        "" => texts::TURN_ABORTED.to_owned(),
        reason => shorten_reason(reason),
    };
    TurnStop { scope, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn peer_at(points: &[&str], tool_names: ToolNames) -> Arc<HookPeer> {
        let setup = PeerSetup {
            name: ExtensionName::new("gate"),
            config: None,
            workspace: "/work".to_owned(),
            run: "run".to_owned(),
            user: "user".to_owned(),
            now: || "2026-01-01T00:00:00Z".to_owned(),
        };
        let watch = HookSubscriptions::parse(&["*"], points).unwrap();
        let dialect = HookDialect { tool_names, ..HookDialect::new(watch) };
        Arc::new(HookPeer::new(dialect, setup))
    }

    #[test]
    fn denial_uses_picoclaws_words() {
        let peer = peer_at(&["approve_tool"], ToolNames::Haft);
        let approval = |failure| peer.denial_text(InterceptKind::Approve, failure, "the run was cancelled");
        let denied = "Tool execution denied by approval hook: ";
        assert_eq!(
            approval(DecisionFailure::TimedOut),
            format!(r#"{denied}tool approval hook "gate" timed out"#)
        );
        assert_eq!(approval(DecisionFailure::Other), format!(r#"{denied}tool approval hook "gate" failed"#));
        assert_eq!(approval(DecisionFailure::Cancelled), format!("{denied}the run was cancelled"));
        let call = peer.denial_text(InterceptKind::ToolCall, DecisionFailure::Other, "it failed");
        assert_eq!(call, "Tool execution denied by hook: it failed");
    }
}
