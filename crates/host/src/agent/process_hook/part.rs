//! The part of one process hook in a turn: its query, and what follows from a failure.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::hooks::Refusal;
use haft_packages::HookSpec;
use haft_protocol::RawJson;
use haft_protocol::hook::{Decided, InterceptPoint, Question, texts};
use tokio_util::sync::CancellationToken;

use super::bounds;
use super::names::{NamesTools, told_in};
use super::turns::Turns;
use crate::agent::entry::Entry;
use crate::agent::gates::Deciding;
use crate::agent::hook_context::HookContext;
use crate::agent::policy::{self, Verdict};
use crate::extension::Deadline;
use crate::supervision::failures::FailureFile;
use crate::supervision::slot::Stage;
use crate::wire::fault::{CallError, Failure, FaultCode};

/// The part of one process hook in a turn. Each of core's hooks is implemented for it in a file of its own.
pub(crate) struct HookPart {
    pub(super) entry: Arc<Entry>,
    pub(super) hook: Arc<HookSpec>,
    pub(super) turns: Arc<Turns>,
    pub(super) context: Arc<HookContext>,
    /// The kind of question that it answered last without a failure. Answers about the model, or about what a tool came
    /// to, decide about no call.
    stood: Mutex<Option<Deciding>>,
}

/// It did not answer, or not well. That is reported.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) verdict: Verdict,
    pub(super) error: CallError,
}

impl HookPart {
    /// Its part in turns; none for an extension that is no hook.
    pub(crate) fn new(entry: &Arc<Entry>, turns: Arc<Turns>, context: Arc<HookContext>) -> Option<Self> {
        let hook = Arc::clone(entry.spec.as_hook()?);
        Some(Self { entry: Arc::clone(entry), hook, turns, context, stood: Mutex::default() })
    }

    /// Queries the hook. The parts of its answer that do not count are reported.
    pub(super) async fn query<Q: NamesTools + Clone + Sync>(
        &self,
        cancel: &CancellationToken,
        point: InterceptPoint,
        question: Q,
    ) -> Result<Q::Decision, Unanswered> {
        let entry = self.entry.current();
        let names = self.hook.tool_names;
        let told = told_in(names, &question);
        let answer = match query_process(entry, cancel, point, &*told, &self.hook).await {
            Ok(result) => self.read(point, &*told, &result).map(|decision| question.meant(decision, names)),
            Err(error) => {
                self.not_there(entry, point, &error);
                Err(error)
            }
        };
        match answer {
            Ok(decision) => {
                if let Some(deciding) = deciding(point) {
                    *self.stood() = Some(deciding);
                }
                Ok(decision)
            }
            Err(error) => Err(self.unanswered(point, error)),
        }
    }

    /// Reports a hook that has not said hello by the time that its answer was due, and writes that down for those who ask
    /// when nothing runs: it is the first failure of the hook, and a run may be over before its hello is.
    fn not_there(&self, entry: &Entry, point: InterceptPoint, error: &CallError) {
        let is_first_start = matches!(entry.stage(), Stage::Starting { .. });
        if let (CallError::Gone { why }, true) = (error, is_first_start) {
            let text = format!("{} hook: {why}", point.name());
            if self.turns.is_news(entry.name(), &text) {
                let failure = Failure { code: FaultCode::HookTimeout, message: text };
                let state = Arc::clone(&self.context.shared.state);
                FailureFile::new(state, Arc::clone(&entry.spec)).remember(&failure);
                self.context.reporter(entry.name()).fault(failure.code, failure.message);
            }
        }
    }

    fn unanswered(&self, point: InterceptPoint, error: CallError) -> Unanswered {
        let loosened = self.entry.current().loosened || self.hook.on_timeout_allow;
        Unanswered { verdict: policy::on_hook_failure(point, loosened, &error), error }
    }

    /// Reports an answer that does not count at all, and returns what becomes of what the hook was asked about.
    pub(super) fn rejected(&self, point: InterceptPoint, detail: String) -> Unanswered {
        self.fault(point, &detail);
        self.unanswered(point, CallError::BadResponse { detail })
    }

    fn read<Q: Question>(
        &self,
        point: InterceptPoint,
        question: &Q,
        result: &RawJson,
    ) -> Result<Q::Decision, CallError> {
        match question.decide(result) {
            Ok(Decided { decision, reports, notes }) => {
                reports.iter().for_each(|report| self.fault(point, report));
                for note in notes {
                    tracing::debug!(extension = %self.entry.name(), point = point.name(), note);
                }
                Ok(decision)
            }
            Err(malformed) => {
                let detail = malformed.to_string();
                self.fault(point, &detail);
                Err(CallError::BadResponse { detail })
            }
        }
    }

    /// Reports what is wrong with an answer: once a turn, however often a hook makes the same mistake in it.
    pub(super) fn fault(&self, point: InterceptPoint, detail: &str) {
        let (name, text) = (self.entry.name(), format!("{} hook: {detail}", point.name()));
        if self.turns.is_news(name, &text) {
            self.context.reporter(name).fault(FaultCode::HookError, text);
        } else {
            tracing::debug!(extension = %name, text, "the same again");
        }
    }

    /// A call was blocked because it failed: too often in a row, and a person is asked.
    pub(super) fn failed(&self, point: InterceptPoint, detail: &str) {
        *self.stood() = None;
        if let Some(deciding) = deciding(point) {
            self.context.gates.failed(self.entry.name(), deciding, detail);
        }
    }

    fn stood(&self) -> MutexGuard<'_, Option<Deciding>> {
        self.stood.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn by(&self) -> String {
        self.entry.name().to_string()
    }

    pub(super) fn ended(&self, reason: &str) -> Refusal {
        Refusal::of_turn(self.by(), aborted(reason))
    }

    pub(super) fn discarded(&self, reason: &str) -> Refusal {
        Refusal::discarding(self.by(), aborted(reason))
    }
}

impl Drop for HookPart {
    fn drop(&mut self) {
        let stood = self.stood().take();
        if let Some(deciding) = stood {
            self.context.gates.answered(self.entry.name(), deciding);
        }
    }
}

/// Waits for the process, if it is being started, and sends it the question.
///
/// What passes when it is late is asked one at a time, and its time counts from then: a hook that reads one line after the
/// other would be late with the last of many results that come at once, and they would be shown as they are. A guard that
/// is late blocks, and its calls come one after the other anyway, so that it does not wait here behind others.
async fn query_process(
    entry: &Entry,
    cancel: &CancellationToken,
    point: InterceptPoint,
    question: &(impl Question + Sync),
    hook: &HookSpec,
) -> Result<RawJson, CallError> {
    let _floor = match deciding(point) {
        Some(_) => None,
        None => Some(cancel.run_until_cancelled(entry.floor.lock()).await.ok_or(CallError::Cancelled)?),
    };
    let deadline = Deadline::after(hook.time_for(point));
    let instance = entry.reach(cancel, deadline).await?;
    instance.query_process_hook(cancel, question, format!("{} hook", point.name()), deadline).await
}

/// Returns the subject of its decision there, if that is a call.
const fn deciding(point: InterceptPoint) -> Option<Deciding> {
    match point {
        InterceptPoint::BeforeTool => Some(Deciding::Call),
        InterceptPoint::ApproveTool => Some(Deciding::Approval),
        InterceptPoint::BeforeLlm | InterceptPoint::AfterLlm | InterceptPoint::AfterTool => None,
    }
}

/// Returns the text for the user about a turn that a hook ended.
fn aborted(reason: &str) -> String {
    match reason.trim() {
        "" => texts::TURN_ABORTED.to_owned(),
        reason => bounds::reason(reason),
    }
}
