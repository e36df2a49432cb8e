//! The part of one process hook in a turn: its query and the handling of a failure.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_adapter_picoclaw::translate::{TranslateToolNames, TurnTracker, shorten_reason, translate_question};
use haft_adapter_picoclaw::wire::{HookQuestion, InterceptPoint, ParsedDecision, texts};
use haft_core::hooks::Refusal;
use haft_packages::HookSpec;
use haft_protocol::RawJson;
use tokio_util::sync::CancellationToken;

use crate::agent::gates::DecisionSubject;
use crate::agent::hook_context::HookContext;
use crate::agent::managed_extension::ManagedExtension;
use crate::agent::policy::{self, FailureEffect};
use crate::extension::Deadline;
use crate::supervision::failures::FailureFile;
use crate::supervision::slot::LifecycleStage;
use crate::wire::fault::{CallError, ExtensionFailure, FaultCode};

/// The part of one process hook in a turn. Each of core's hooks has its implementation in its own file.
pub(crate) struct ProcessHookAdapter {
    pub(super) entry: Arc<ManagedExtension>,
    pub(super) hook: Arc<HookSpec>,
    pub(super) turns: Arc<TurnTracker>,
    pub(super) context: Arc<HookContext>,
    /// The subject of the last answer without a failure. Answers about the model or about a tool's result
    /// decide about no call.
    last_answered: Mutex<Option<DecisionSubject>>,
}

/// The hook did not answer or sent an invalid answer. The failure is reported.
#[derive(Debug)]
pub(super) struct UnansweredQuery {
    pub(super) verdict: FailureEffect,
    pub(super) error: CallError,
}

impl ProcessHookAdapter {
    /// Returns the adapter; `None` for an extension that is not a process hook.
    pub(crate) fn new(
        entry: &Arc<ManagedExtension>,
        turns: Arc<TurnTracker>,
        context: Arc<HookContext>,
    ) -> Option<Self> {
        let hook = Arc::clone(entry.spec.as_hook()?);
        Some(Self { entry: Arc::clone(entry), hook, turns, context, last_answered: Mutex::default() })
    }

    /// Queries the hook. Reports the invalid parts of its answer.
    pub(super) async fn query<Q: TranslateToolNames + Clone + Sync>(
        &self,
        cancel: &CancellationToken,
        point: InterceptPoint,
        question: Q,
    ) -> Result<Q::Decision, UnansweredQuery> {
        let entry = self.entry.current();
        let names = self.hook.tool_names;
        let translated = translate_question(names, &question);
        let answer = match query_process(entry, cancel, point, &*translated, &self.hook).await {
            Ok(result) => self
                .read(point, &*translated, &result)
                .map(|decision| question.restore_names(decision, names)),
            Err(error) => {
                self.report_missing_hello(entry, point, &error);
                Err(error)
            }
        };
        match answer {
            Ok(decision) => {
                if let Some(deciding) = decision_subject(point) {
                    *self.lock_last_answered() = Some(deciding);
                }
                Ok(decision)
            }
            Err(error) => Err(self.classify_failure(point, error)),
        }
    }

    /// Reports a hook that did not answer `hook.hello` before its answer was due. Also stores this first
    /// failure for `haft ext list`, because the run may end before the hello deadline.
    fn report_missing_hello(&self, entry: &ManagedExtension, point: InterceptPoint, error: &CallError) {
        let is_first_start = matches!(entry.stage(), LifecycleStage::Starting { .. });
        if let (CallError::Gone { why }, true) = (error, is_first_start) {
            let text = format!("{} hook: {why}", point.name());
            if self.turns.is_first_report(entry.name(), &text) {
                let failure = ExtensionFailure { code: FaultCode::HookTimeout, message: text };
                let state = Arc::clone(&self.context.shared.state);
                FailureFile::new(state, Arc::clone(&entry.spec)).remember(&failure);
                self.context.reporter(entry.name()).report_fault(failure.code, failure.message);
            }
        }
    }

    fn classify_failure(&self, point: InterceptPoint, error: CallError) -> UnansweredQuery {
        let allow_on_timeout = self.entry.current().allow_on_timeout || self.hook.on_timeout_allow;
        UnansweredQuery { verdict: policy::on_hook_failure(point, allow_on_timeout, &error), error }
    }

    /// Reports an answer that is rejected completely, and returns the effect on the action.
    pub(super) fn reject_answer(&self, point: InterceptPoint, detail: String) -> UnansweredQuery {
        self.report_fault(point, &detail);
        self.classify_failure(point, CallError::BadResponse { detail })
    }

    fn read<Q: HookQuestion>(
        &self,
        point: InterceptPoint,
        question: &Q,
        result: &RawJson,
    ) -> Result<Q::Decision, CallError> {
        match question.decide(result) {
            Ok(ParsedDecision { decision, reports, notes }) => {
                reports.iter().for_each(|report| self.report_fault(point, report));
                for note in notes {
                    tracing::debug!(extension = %self.entry.name(), point = point.name(), note);
                }
                Ok(decision)
            }
            Err(malformed) => {
                let detail = malformed.to_string();
                self.report_fault(point, &detail);
                Err(CallError::BadResponse { detail })
            }
        }
    }

    /// Reports an invalid answer: once a turn, however often the hook repeats the mistake.
    pub(super) fn report_fault(&self, point: InterceptPoint, detail: &str) {
        let (name, text) = (self.entry.name(), format!("{} hook: {detail}", point.name()));
        if self.turns.is_first_report(name, &text) {
            self.context.reporter(name).report_fault(FaultCode::HookError, text);
        } else {
            tracing::debug!(extension = %name, text, "repeated fault");
        }
    }

    /// Records a failure that blocked a call. After too many failures in a row, the person is asked.
    pub(super) fn record_failure(&self, point: InterceptPoint, detail: &str) {
        *self.lock_last_answered() = None;
        if let Some(deciding) = decision_subject(point) {
            self.context.gates.record_failure(self.entry.name(), deciding, detail);
        }
    }

    fn lock_last_answered(&self) -> MutexGuard<'_, Option<DecisionSubject>> {
        self.last_answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hook_name(&self) -> String {
        self.entry.name().to_string()
    }

    pub(super) fn refuse_turn(&self, reason: &str) -> Refusal {
        Refusal::for_turn(self.hook_name(), abort_reason(reason))
    }

    pub(super) fn discard_turn(&self, reason: &str) -> Refusal {
        Refusal::for_discarded_turn(self.hook_name(), abort_reason(reason))
    }
}

impl Drop for ProcessHookAdapter {
    fn drop(&mut self) {
        let stood = self.lock_last_answered().take();
        if let Some(deciding) = stood {
            self.context.gates.record_answer(self.entry.name(), deciding);
        }
    }
}

/// Waits for a starting process and sends it the query.
///
/// Queries that pass on a timeout are sent one at a time, and the time counts from the send. Otherwise a hook
/// that reads line by line would be late with the last of many simultaneous results, and these would pass
/// unchecked. A gate that is late blocks, and its calls are sequential anyway, so its queries do not wait
/// here.
async fn query_process(
    entry: &ManagedExtension,
    cancel: &CancellationToken,
    point: InterceptPoint,
    question: &(impl HookQuestion + Sync),
    hook: &HookSpec,
) -> Result<RawJson, CallError> {
    let _floor = match decision_subject(point) {
        Some(_) => None,
        None => Some(cancel.run_until_cancelled(entry.query_lock.lock()).await.ok_or(CallError::Cancelled)?),
    };
    let deadline = Deadline::after(hook.timeout_for(point));
    let instance = entry.acquire_handle(cancel, &deadline).await?;
    instance.query_process_hook(cancel, question, format!("{} hook", point.name()), deadline).await
}

/// Returns the subject of the decision at this point if the point is about a call.
const fn decision_subject(point: InterceptPoint) -> Option<DecisionSubject> {
    match point {
        InterceptPoint::BeforeTool => Some(DecisionSubject::Call),
        InterceptPoint::ApproveTool => Some(DecisionSubject::Approval),
        InterceptPoint::BeforeLlm | InterceptPoint::AfterLlm | InterceptPoint::AfterTool => None,
    }
}

/// Returns the text for the user about a turn that a hook ended.
fn abort_reason(reason: &str) -> String {
    match reason.trim() {
        "" => texts::TURN_ABORTED.to_owned(),
        reason => shorten_reason(reason),
    }
}
