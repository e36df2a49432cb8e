//! One extension of a host: what it shall be, and what became of it.

use std::collections::BTreeSet;

use haft_protocol::ext::{Hook, InterceptKind};
use haft_protocol::ids::ExtensionName;
use tokio_util::sync::CancellationToken;

use crate::discovery::dir_name;
use crate::extension::{Extension, ExtensionState};
use crate::fault::{CallError, FaultCode};
use crate::policy::{self, Role, Verdict};
use crate::spec::{ExtensionSpec, Roles};

/// One extension of a host.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) spec: ExtensionSpec,
    /// Whether the user lets tool calls pass that this extension does not answer in time.
    pub(crate) loosened: bool,
    /// Whether it came as a pair of streams, which nobody can make again: it stays over a reload.
    pub(crate) stays: bool,
    pub(crate) body: Body,
    /// What it guarded before a reload that it did not come through.
    pub(crate) inherited: BTreeSet<InterceptKind>,
}

/// What became of an extension.
#[derive(Debug)]
pub(crate) enum Body {
    /// It was started.
    Running(Extension),
    /// It could not be.
    NotStarted { code: FaultCode, message: String },
    /// It only brings files.
    Files,
}

/// A failed interception: what it means, and what to say.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
    /// What it did wrong, fit to follow its name; nothing when the run was cancelled.
    pub(crate) detail: Option<String>,
}

impl Entry {
    pub(crate) fn name(&self) -> &ExtensionName {
        &self.spec.name
    }

    /// The handle, if it was started.
    pub(crate) fn extension(&self) -> Option<&Extension> {
        match &self.body {
            Body::Running(extension) => Some(extension),
            Body::NotStarted { .. } | Body::Files => None,
        }
    }

    pub(crate) fn state(&self) -> ExtensionState {
        match &self.body {
            Body::Running(extension) => extension.snapshot().state,
            Body::NotStarted { code, message } => {
                ExtensionState::Failed { code: *code, message: message.clone() }
            }
            Body::Files => ExtensionState::Ready,
        }
    }

    /// Whether this extension takes part in a hook at this moment: it lives and subscribed, or it must be asked and its
    /// absence is an answer, too.
    pub(crate) fn takes_part(&self, hook: InterceptKind) -> bool {
        let alive = self.extension().is_some_and(|extension| extension.snapshot().is_alive());
        let asked = if alive { self.subscribed(hook) } else { self.is_gate(hook) };
        asked || self.roles().guarded(hook)
    }

    /// Hooks that stay shut when it is gone: those it subscribed to, now or before a reload, that fail closed.
    pub(crate) fn gates(&self) -> BTreeSet<InterceptKind> {
        InterceptKind::ALL.iter().copied().filter(|&hook| self.is_gate(hook)).collect()
    }

    /// What is left of it when a reload finds nothing but its failure.
    pub(crate) fn not_found_again(&self, message: &str) -> Self {
        let body = Body::NotStarted { code: FaultCode::SpawnFailed, message: message.to_owned() };
        Self { spec: self.spec.clone(), loosened: self.loosened, stays: false, body, inherited: self.gates() }
    }

    /// Whether this is its name, or the one it goes by while its manifest cannot be read.
    pub(crate) fn is_called(&self, name: &ExtensionName) -> bool {
        name == self.name() || name.as_str() == dir_name(&self.spec.dir)
    }

    fn is_gate(&self, hook: InterceptKind) -> bool {
        policy::fails_closed(hook, self.role(hook))
            && (self.subscribed(hook) || self.inherited.contains(&hook))
    }

    fn subscribed(&self, hook: InterceptKind) -> bool {
        self.extension().is_some_and(|extension| extension.snapshot().offers.intercepts.contains(&hook))
    }

    /// Whether it should take part in a hook and never asked to.
    pub(crate) fn lacks(&self, hook: InterceptKind) -> bool {
        let snapshot = self.extension().map(Extension::snapshot);
        let silent = |snapshot: crate::extension::Snapshot| {
            snapshot.is_alive() && !snapshot.offers.intercepts.contains(&hook)
        };
        self.roles().guarded(hook) && snapshot.is_some_and(silent)
    }

    /// Asks the extension about something that is about to happen.
    ///
    /// # Errors
    /// What its failure means. The failure itself is reported already.
    pub(crate) async fn intercept<H: Hook>(
        &self,
        cancel: &CancellationToken,
        question: H,
    ) -> Result<H::Decision, Failed> {
        let outcome = match &self.body {
            Body::Running(_) if self.lacks(H::KIND) => {
                let why = format!("is required for {} and did not subscribe to it", H::KIND.name());
                Err(CallError::Gone { why })
            }
            Body::Running(extension) => extension.intercept(cancel, question).await,
            Body::NotStarted { message, .. } => Err(CallError::Gone { why: message.clone() }),
            Body::Files => Err(CallError::Gone { why: "has no program that could be asked".to_owned() }),
        };
        outcome.map_err(|error| self.failed(H::KIND, &error))
    }

    /// What a failure means.
    pub(crate) fn failed(&self, hook: InterceptKind, error: &CallError) -> Failed {
        Failed {
            verdict: policy::on_failure(hook, self.role(hook), self.loosened, error),
            reason: policy::reason(self.name(), error),
            detail: (*error != CallError::Cancelled).then(|| error.to_string()),
        }
    }

    /// In which role it is asked about calls of this tool, if at all. Whoever guards tool calls and cannot be asked
    /// which ones guards them all.
    pub(crate) fn tool_role(&self, tool: &str) -> Option<Role> {
        if !self.subscribed(InterceptKind::ToolCall) {
            return Some(Role::Plain);
        }
        self.extension().and_then(|extension| extension.snapshot().offers.tool_calls.of(tool))
    }

    /// In which role it takes part in a hook: as its manifest says, or its subscription.
    fn role(&self, hook: InterceptKind) -> Role {
        let as_gate = |extension: &Extension| extension.snapshot().offers.gates.contains(&hook);
        if self.roles().gates.contains(&hook) || self.extension().is_some_and(as_gate) {
            Role::Gate
        } else if self.roles().names(hook) {
            Role::Redactor
        } else {
            Role::Plain
        }
    }

    fn roles(&self) -> &Roles {
        &self.spec.roles
    }
}
