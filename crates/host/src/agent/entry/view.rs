//! An extension at one moment, to decide by.

use haft_packages::ExtensionSpec;
use haft_protocol::ext::InterceptKind;

use crate::agent::policy;
use crate::extension::{Extension, Snapshot};
use crate::session::filter::Role;
use crate::session::offers::Offers;
use crate::supervision::slot::{Slot, Stage};

/// An extension at one moment. Nothing changes while it is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(super) slot: &'a Slot,
    pub(super) now: Option<&'a Snapshot>,
    pub(super) spec: &'a ExtensionSpec,
}

impl View<'_> {
    /// Returns its offers, or the last ones; until it has been ready, those that its manifest declares.
    fn offers(&self) -> Option<&Offers> {
        self.slot.stand_in.as_ref().or(self.now.map(|now| &now.offers)).map(AsRef::as_ref)
    }

    pub(super) fn is_alive(&self) -> bool {
        // While it starts, the declaration of its manifest counts.
        let starts = matches!(self.slot.stage, Stage::Starting { .. }) && self.slot.stand_in.is_some();
        self.now.is_some_and(Snapshot::is_alive) || starts || self.slot.stage == Stage::Idle
    }

    pub(super) fn subscribed(&self, hook: InterceptKind) -> bool {
        self.offers().is_some_and(|offers| offers.intercepts.contains(&hook))
    }

    /// True if it is being started, again or not, and none of its processes has been ready yet, so that its
    /// subscriptions are unknown.
    pub(super) fn is_new(&self) -> bool {
        let starts = matches!(self.slot.stage, Stage::Starting { .. } | Stage::Restarting(_));
        starts && self.slot.stand_in.is_none() && self.now.is_none_or(|now| !now.was_ready)
    }

    pub(crate) fn is_files(&self) -> bool {
        self.slot.stage == Stage::Files
    }

    /// True if this extension takes part in a hook at this moment: it lives and subscribed, or it must be asked and its
    /// absence is an answer, too. One that has never been ready may yet turn out to guard tool calls.
    pub(crate) fn takes_part(&self, hook: InterceptKind) -> bool {
        let is_granted = self.spec.permissions.as_ref().is_none_or(|granted| granted.may_intercept(hook));
        let may_yet =
            self.is_new() && is_granted && (hook == InterceptKind::ToolCall || self.spec.roles.names(hook));
        // What the manifest calls a gate is one, also when it never came up.
        let due = self.subscribed(hook) || self.spec.roles.names(hook) && !self.is_alive();
        let counts = || self.is_alive() || policy::fails_closed(hook, self.role_in(hook));
        may_yet || due && counts() || self.spec.roles.guarded(hook)
    }

    /// True if it should take part in this hook and did not subscribe to it.
    pub(super) fn lacks(&self, hook: InterceptKind) -> bool {
        self.spec.roles.guarded(hook) && self.is_alive() && !self.subscribed(hook)
    }

    /// The process, if it runs and subscribed to this hook, so that there is nothing to wait for.
    pub(super) fn at_hand(&self, hook: InterceptKind) -> Option<&Extension> {
        let answers = self.slot.stage == Stage::Running && self.now.is_some_and(Snapshot::is_alive);
        self.slot.instance.as_ref().filter(|_| answers && self.subscribed(hook))
    }

    /// In which role it is asked about calls of this tool, if at all. Whoever guards tool calls and cannot be asked
    /// which ones, or has yet to say it, guards them all.
    pub(super) fn tool_role(&self, tool: &str) -> Option<Role> {
        match self.offers() {
            Some(offers) if !self.is_new() && self.subscribed(InterceptKind::ToolCall) => {
                offers.tool_calls.of(tool)
            }
            Some(_) | None => self.may_guard(tool).then_some(Role::Plain),
        }
    }

    /// True if it may turn out to guard this tool: it will never be asked about one that it was not granted.
    fn may_guard(&self, tool: &str) -> bool {
        match &self.spec.permissions {
            None => true,
            Some(granted) if granted.may_intercept(InterceptKind::ToolCall) => {
                granted.may_intercept_call(tool)
            }
            Some(_) => self.spec.roles.guarded(InterceptKind::ToolCall),
        }
    }

    /// In which role it takes part in a hook: as its manifest says, or its subscription.
    pub(super) fn role_in(&self, hook: InterceptKind) -> Role {
        let as_gate = self.offers().is_some_and(|offers| offers.gates.contains(&hook));
        if self.spec.roles.gates.contains(&hook) || as_gate {
            Role::Gate
        } else if self.spec.roles.names(hook) {
            Role::Redactor
        } else {
            Role::Plain
        }
    }
}
