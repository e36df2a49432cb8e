//! An extension at one moment, as the basis for decisions.

use std::time::Duration;

use haft_packages::{ExtensionSpec, Permissions};
use haft_protocol::ext::InterceptKind;

use crate::agent::policy;
use crate::extension::{ExtensionHandle, ExtensionSnapshot};
use crate::session::filter::InterceptorRole;
use crate::session::offers::ExtensionOffers;
use crate::supervision::slot::{ExtensionSlot, LifecycleStage};

/// An extension at one moment. The state cannot change while the view exists.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExtensionView<'a> {
    pub(super) slot: &'a ExtensionSlot,
    pub(super) snapshot: Option<&'a ExtensionSnapshot>,
    pub(super) spec: &'a ExtensionSpec,
    /// The time for which calls wait for the `hello` of an extension that may be a gate.
    pub(super) patience: Duration,
}

impl ExtensionView<'_> {
    /// Returns the current or last offers; before the first `ready`, those that the manifest declares.
    fn offers(&self) -> Option<&ExtensionOffers> {
        self.slot.stand_in.as_ref().or(self.snapshot.map(|now| &now.offers)).map(AsRef::as_ref)
    }

    pub(super) fn is_alive(&self) -> bool {
        // During the start, the declaration of the manifest counts.
        let starts =
            matches!(self.slot.stage, LifecycleStage::Starting { .. }) && self.slot.stand_in.is_some();
        self.snapshot.is_some_and(ExtensionSnapshot::is_alive)
            || starts
            || self.slot.stage == LifecycleStage::Idle
    }

    pub(super) fn is_subscribed_to(&self, hook: InterceptKind) -> bool {
        self.offers().is_some_and(|offers| offers.intercepts.contains(&hook))
    }

    /// True if the extension is starting or restarting and no process of it has ever been ready, so its
    /// subscriptions are unknown. The user configures those of a process hook.
    pub(super) fn is_new(&self) -> bool {
        let starts =
            matches!(self.slot.stage, LifecycleStage::Starting { .. } | LifecycleStage::Restarting(_));
        starts
            && !self.is_overdue()
            && self.spec.as_hook().is_none()
            && self.slot.stand_in.is_none()
            && self.snapshot.is_none_or(|now| !now.was_ready)
    }

    /// True if the extension has sent no `hello` for so long that no call waits for it any longer: it joins late. A
    /// required extension and a gate of the manifest are awaited until their deadline.
    fn is_overdue(&self) -> bool {
        self.remaining_patience().is_some_and(|left| left.is_zero())
    }

    /// Returns the time for which calls still wait for `hello`; `None` if no limit applies.
    pub(super) fn remaining_patience(&self) -> Option<Duration> {
        let LifecycleStage::Starting { since: Some(since), greeted: false } = self.slot.stage else {
            return None;
        };
        let may_be_late = !self.spec.roles.required && !self.spec.roles.is_gate();
        may_be_late.then(|| self.patience.saturating_sub(since.elapsed()))
    }

    pub(crate) fn is_files_only(&self) -> bool {
        self.slot.stage == LifecycleStage::Files
    }

    /// True if the extension takes part in a hook now: it runs and subscribed, or it is required and its
    /// absence blocks. An extension that has never been ready may still turn out to be a gate for tool calls and
    /// commands. A process hook always takes part, also if it never started.
    pub(crate) fn takes_part(&self, hook: InterceptKind) -> bool {
        if let Some(known) = self.spec.as_hook() {
            return known.dialect.takes_part(hook);
        }
        // A gate of the manifest counts as a gate even if it never started.
        let due = self.is_subscribed_to(hook) || self.spec.roles.blocks_on_failure(hook) && !self.is_alive();
        let counts = || self.is_alive() || policy::fails_closed(hook, self.role_in(hook));
        let may_yet = || {
            let is_granted = |granted: &Permissions| granted.may_intercept(hook);
            (hook.always_blocks() || self.spec.roles.blocks_on_failure(hook))
                && self.is_new()
                && self.spec.permissions.as_ref().is_none_or(is_granted)
        };
        due && counts() || self.spec.roles.requires_hook(hook) || may_yet()
    }

    /// True if the extension intercepts tool calls, but of none of these tools.
    pub(super) fn guards_no_tool(&self, tools: &[String]) -> bool {
        self.is_alive()
            && self.is_subscribed_to(InterceptKind::ToolCall)
            && !tools.iter().any(|tool| self.tool_role(tool).is_some())
    }

    /// True if the manifest requires this hook and the extension did not subscribe to it.
    pub(super) fn is_missing_subscription(&self, hook: InterceptKind) -> bool {
        self.spec.roles.requires_hook(hook) && self.is_alive() && !self.is_subscribed_to(hook)
    }

    /// Returns the process if it runs and subscribed to this hook, so that no wait is needed.
    pub(super) fn ready_handle(&self, hook: InterceptKind) -> Option<&ExtensionHandle> {
        let answers = self.slot.stage == LifecycleStage::Running
            && self.snapshot.is_some_and(ExtensionSnapshot::is_alive);
        self.slot.instance.as_ref().filter(|_| answers && self.is_subscribed_to(hook))
    }

    /// Returns the role for calls of this tool, if the extension takes part in them. A gate whose tools are
    /// unknown, because it cannot be queried or has not registered yet, counts for all tools.
    pub(super) fn tool_role(&self, tool: &str) -> Option<InterceptorRole> {
        match self.offers() {
            Some(offers) if !self.is_new() && self.is_subscribed_to(InterceptKind::ToolCall) => {
                offers.tool_calls.role_for(tool)
            }
            Some(_) | None => self.may_guard(tool).then_some(InterceptorRole::Plain),
        }
    }

    /// True if the extension may turn out to be a gate for this tool. Tools outside its grant are never sent
    /// to it.
    fn may_guard(&self, tool: &str) -> bool {
        match &self.spec.permissions {
            None => true,
            Some(granted) if granted.may_intercept(InterceptKind::ToolCall) => {
                granted.may_intercept_call(tool)
            }
            Some(_) => self.spec.roles.requires_hook(InterceptKind::ToolCall),
        }
    }

    /// Returns the role in a hook, from the manifest or else from the subscription.
    pub(super) fn role_in(&self, hook: InterceptKind) -> InterceptorRole {
        let as_gate = self.offers().is_some_and(|offers| offers.gates.contains(&hook));
        if self.spec.roles.gates.contains(&hook) || as_gate {
            InterceptorRole::Gate
        } else if self.spec.roles.blocks_on_failure(hook) {
            InterceptorRole::Redactor
        } else {
            InterceptorRole::Plain
        }
    }
}
