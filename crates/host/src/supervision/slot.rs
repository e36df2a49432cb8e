//! Where an extension stands, over all its processes.

use std::sync::Arc;

use tokio::time::Instant;

use crate::extension::ExtensionHandle;
use crate::session::offers::ExtensionOffers;
use crate::wire::fault::{CallError, ExtensionFailure};

/// The process of the moment, or why there is none.
#[derive(Debug)]
pub(crate) struct ExtensionSlot {
    pub(crate) stage: LifecycleStage,
    /// The process that is asked, or the last one that was: what it offered stays listed until another one is ready.
    pub(crate) instance: Option<ExtensionHandle>,
    /// The offers that its manifest declares, until the extension has been ready.
    pub(crate) stand_in: Option<Arc<ExtensionOffers>>,
}

/// Where an extension stands, over all its processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LifecycleStage {
    /// Somebody wants it to run, and it is not ready yet.
    Starting {
        /// When its process was started, or has greeted; none while it waits for its turn.
        since: Option<Instant>,
        greeted: bool,
    },
    Running,
    /// It crashed, and starts again by itself.
    Restarting(ExtensionFailure),
    /// It left, as it may, or waits for its first use; the next question starts it.
    Idle,
    Stopping,
    /// It left when it was asked to.
    Stopped,
    /// It failed and does not start again by itself.
    Failed(ExtensionFailure),
    /// It only brings files.
    Files,
}

impl LifecycleStage {
    pub(crate) const NEW: Self = Self::Starting { since: None, greeted: false };
}

impl ExtensionSlot {
    /// The process to ask, or why nobody can be asked; nothing while that is not known yet.
    pub(crate) fn query_target(&self) -> Option<Result<ExtensionHandle, CallError>> {
        let gone = |why: &str| Some(Err(CallError::Gone { why: why.to_owned() }));
        match &self.stage {
            // One that has ended is about to be dealt with.
            LifecycleStage::Running => {
                self.instance.clone().filter(|instance| instance.snapshot().is_alive()).map(Ok)
            }
            LifecycleStage::Starting { .. } | LifecycleStage::Restarting(_) | LifecycleStage::Idle => None,
            LifecycleStage::Stopping => gone("is being stopped"),
            LifecycleStage::Stopped => gone("was stopped"),
            LifecycleStage::Failed(failure) => gone(&failure.message),
            LifecycleStage::Files => gone("has no program that could be asked"),
        }
    }

    pub(crate) fn offers(&self) -> Arc<ExtensionOffers> {
        match (&self.stand_in, &self.instance) {
            (Some(stand_in), _) => Arc::clone(stand_in),
            (None, Some(instance)) => Arc::clone(&instance.snapshot().offers),
            (None, None) => Arc::default(),
        }
    }

    /// True if the extension waits for its first use.
    pub(crate) fn awaits_first_use(&self) -> bool {
        self.stage == LifecycleStage::Idle && self.stand_in.is_some()
    }

    /// True if nothing is lost when another process takes the place of this one: it never was ready, and holds no gate.
    pub(crate) fn is_replaceable(&self) -> bool {
        self.instance.as_ref().is_none_or(|instance| {
            let now = instance.snapshot();
            !now.was_ready && now.offers.intercepts.is_empty()
        })
    }
}
