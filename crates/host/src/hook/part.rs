//! One hook's part in a turn: how it is asked, and what follows when it does not answer well.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_packages::HookSpec;
use haft_protocol::RawJson;
use haft_protocol::hook::{Decided, InterceptPoint, Question};
use tokio_util::sync::CancellationToken;

use super::names::{NamesTools, told_in};
use super::turns::Turns;
use crate::entry::Entry;
use crate::extension::Deadline;
use crate::gates::Deciding;
use crate::host::Host;
use crate::policy::{self, Verdict};
use crate::supervision::slot::Stage;
use crate::wire::fault::{CallError, FaultCode};

/// See the module.
pub(crate) struct HookPart {
    pub(super) entry: Arc<Entry>,
    pub(super) hook: Arc<HookSpec>,
    pub(super) turns: Arc<Turns>,
    pub(super) host: Host,
    /// What it has decided about well, and no failure followed. Answers about the model, or about what a tool came to,
    /// decide about no call.
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
    pub(crate) fn new(entry: &Arc<Entry>, turns: Arc<Turns>, host: Host) -> Option<Self> {
        let hook = Arc::clone(entry.spec.as_hook()?);
        Some(Self { entry: Arc::clone(entry), hook, turns, host, stood: Mutex::default() })
    }

    /// Asks it. What of its answer does not count is reported.
    pub(super) async fn ask<Q: NamesTools + Clone + Sync>(
        &self,
        cancel: &CancellationToken,
        point: InterceptPoint,
        question: Q,
    ) -> Result<Q::Decision, Unanswered> {
        let entry = self.entry.current();
        let names = self.hook.tool_names;
        let told = told_in(names, &question);
        let answer = match consult(entry, cancel, point, &*told, &self.hook).await {
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

    /// It has not said hello by the time that its answer was due, which is the first thing that goes wrong with it, and
    /// nobody is told of otherwise: a run may be over before its hello is.
    fn not_there(&self, entry: &Entry, point: InterceptPoint, error: &CallError) {
        let is_first_start = matches!(entry.stage(), Stage::Starting { .. });
        if let (CallError::Gone { why }, true) = (error, is_first_start) {
            let text = format!("{} hook: {why}", point.name());
            if self.turns.is_news(entry.name(), &text) {
                self.host.not_there(entry, text);
            }
        }
    }

    /// What becomes of what it was asked about.
    pub(super) fn unanswered(&self, point: InterceptPoint, error: CallError) -> Unanswered {
        let loosened = self.entry.current().loosened || self.hook.on_timeout_allow;
        Unanswered { verdict: policy::on_hook_failure(point, loosened, &error), error }
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
            self.host.reporter(name).fault(FaultCode::HookError, text);
        } else {
            tracing::debug!(extension = %name, text, "the same again");
        }
    }

    /// A call was blocked because it failed: too often in a row, and a person is asked.
    pub(super) fn failed(&self, point: InterceptPoint, detail: &str) {
        *self.stood() = None;
        if let Some(deciding) = deciding(point) {
            self.host.gates().failed(self.entry.name(), deciding, detail);
        }
    }

    fn stood(&self) -> MutexGuard<'_, Option<Deciding>> {
        self.stood.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn by(&self) -> String {
        self.entry.name().to_string()
    }
}

impl Drop for HookPart {
    fn drop(&mut self) {
        let stood = self.stood().take();
        if let Some(deciding) = stood {
            self.host.gates().answered(self.entry.name(), deciding);
        }
    }
}

/// Waits for its process, if it is being started, and asks it.
///
/// What passes when it is late is asked one at a time, and its time counts from then: a hook that reads one line after the
/// other would be late with the last of many results that come at once, and they would be shown as they are. A guard that
/// is late blocks, and its calls come one after the other anyway, so that it does not wait here behind others.
async fn consult(
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
    instance.call(cancel, question, label(point), deadline).await
}

/// What it decides about there, if that is a call.
const fn deciding(point: InterceptPoint) -> Option<Deciding> {
    match point {
        InterceptPoint::BeforeTool => Some(Deciding::Call),
        InterceptPoint::ApproveTool => Some(Deciding::Approval),
        InterceptPoint::BeforeLlm | InterceptPoint::AfterLlm | InterceptPoint::AfterTool => None,
    }
}

/// What a question is called in messages.
const fn label(point: InterceptPoint) -> &'static str {
    match point {
        InterceptPoint::BeforeLlm => "before_llm hook",
        InterceptPoint::AfterLlm => "after_llm hook",
        InterceptPoint::BeforeTool => "before_tool hook",
        InterceptPoint::AfterTool => "after_tool hook",
        InterceptPoint::ApproveTool => "approve_tool hook",
    }
}
