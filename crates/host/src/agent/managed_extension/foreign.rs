//! An extension that speaks another protocol: its hooks are known before it starts, and their failures have that
//! protocol's words.

use std::sync::Arc;

use haft_protocol::ext::{InterceptHook, InterceptKind};
use haft_protocol::foreign::{DecisionFailure, ForeignPeer};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::ManagedExtension;
use crate::extension::Deadline;
use crate::extension::frontend::FaultReporter;
use crate::supervision::failures::FailureFile;
use crate::supervision::slot::LifecycleStage;
use crate::wire::fault::{CallError, ExtensionFailure, FaultCode};

/// The part of an entry that only an extension with another protocol has.
#[derive(Debug)]
pub(crate) struct ForeignEntry {
    pub(crate) peer: Arc<dyn ForeignPeer>,
    pub(crate) reporter: FaultReporter,
    pub(crate) failures: FailureFile,
    /// Held during a query whose timeout lets the action pass.
    pub(crate) query_lock: Mutex<()>,
}

impl ForeignEntry {
    /// Waits for a starting process and queries it.
    ///
    /// Queries that pass on a timeout are sent one at a time, and the time counts from the send. Otherwise an extension
    /// that reads line by line would be late with the last of many simultaneous results, and these would pass
    /// unchecked. A gate that is late blocks, and its calls are sequential anyway, so its queries do not wait here.
    pub(super) async fn query_hook<H: InterceptHook>(
        &self,
        entry: &ManagedExtension,
        cancel: &CancellationToken,
        question: H,
    ) -> Result<H::Decision, CallError> {
        let _floor = match H::KIND.always_blocks() {
            true => None,
            false => {
                Some(cancel.run_until_cancelled(self.query_lock.lock()).await.ok_or(CallError::Cancelled)?)
            }
        };
        let deadline = Deadline::after(entry.timeout_for(H::KIND));
        let answer = match entry.acquire_handle(cancel, &deadline).await {
            Ok(instance) => instance.query_hook(cancel, question, deadline).await,
            Err(error) => Err(error),
        };
        answer.inspect_err(|error| self.report_slow_start(entry, H::KIND, error))
    }

    /// Reports an extension that was not ready before its answer was due. Also stores this first failure for `haft ext
    /// list`, because the run may end before the deadline of the start.
    fn report_slow_start(&self, entry: &ManagedExtension, hook: InterceptKind, error: &CallError) {
        let is_first_start = matches!(entry.stage(), LifecycleStage::Starting { .. });
        if let (CallError::Gone { why }, true) = (error, is_first_start) {
            let message = format!("{}: {why}", self.peer.hook_label(hook));
            if self.reporter.is_first_mistake(&message) {
                let failure = ExtensionFailure { code: FaultCode::HookTimeout, message };
                self.failures.remember(&failure);
                self.reporter.report_fault(failure.code, failure.message);
            }
        }
    }

    /// Returns the text for the model about a call that a failure blocked.
    pub(super) fn denial_text(&self, hook: InterceptKind, error: &CallError, reason: &str) -> String {
        let failure = match error {
            CallError::TimedOut { .. } => DecisionFailure::TimedOut,
            CallError::Cancelled => DecisionFailure::Cancelled,
            CallError::BadResponse { .. } | CallError::Gone { .. } | CallError::NotSent { .. } => {
                DecisionFailure::Other
            }
        };
        self.peer.denial_text(hook, failure, reason)
    }
}
