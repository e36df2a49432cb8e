//! The stage of an extension across all its processes.

use std::sync::Arc;

use tokio::time::Instant;

use crate::extension::ExtensionHandle;
use crate::session::offers::ExtensionOffers;
use crate::wire::fault::{CallError, ExtensionFailure};

/// The current process, or the reason why there is none.
#[derive(Debug)]
pub(crate) struct ExtensionSlot {
    pub(crate) stage: LifecycleStage,
    /// The current or the last process: its offers stay listed until another process is ready.
    pub(crate) instance: Option<ExtensionHandle>,
    /// The offers of the manifest, until the extension has been ready.
    pub(crate) stand_in: Option<Arc<ExtensionOffers>>,
}

/// The stage of an extension across all its processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LifecycleStage {
    /// The extension is starting and not ready yet.
    Starting {
        /// The time of the process start or the hello; `None` while it waits at the start gate.
        since: Option<Instant>,
        greeted: bool,
    },
    Running,
    /// The extension crashed and restarts automatically.
    Restarting(ExtensionFailure),
    /// The extension left by itself or waits for its first use; the next query starts it.
    Idle,
    Stopping,
    /// The extension left when it was asked to.
    Stopped,
    /// The extension failed and does not restart automatically.
    Failed(ExtensionFailure),
    /// The extension only provides files.
    Files,
}

impl LifecycleStage {
    pub(crate) const NEW: Self = Self::Starting { since: None, greeted: false };
}

impl ExtensionSlot {
    /// Returns the process to query, or the reason why there is none; `None` while that is not known yet.
    pub(crate) fn query_target(&self) -> Option<Result<ExtensionHandle, CallError>> {
        let gone = |why: &str| Some(Err(CallError::Gone { why: why.to_owned() }));
        match &self.stage {
            // The end of the process is about to be handled.
            LifecycleStage::Running => {
                self.instance.clone().filter(|instance| instance.snapshot().is_alive()).map(Ok)
            }
            LifecycleStage::Starting { .. } | LifecycleStage::Restarting(_) | LifecycleStage::Idle => None,
            LifecycleStage::Stopping => gone("is being stopped"),
            LifecycleStage::Stopped => gone("was stopped"),
            LifecycleStage::Failed(failure) => gone(&failure.message),
            LifecycleStage::Files => gone("has no program"),
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

    /// True if another process may replace this one without loss: it was never ready and has no gate.
    pub(crate) fn is_replaceable(&self) -> bool {
        self.instance.as_ref().is_none_or(|instance| {
            let now = instance.snapshot();
            !now.was_ready && now.offers.intercepts.is_empty()
        })
    }
}
