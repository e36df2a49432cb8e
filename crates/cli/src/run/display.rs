//! The output of a run together with its interrupts.

use haft_core::model::ModelErrorKind;
use haft_protocol::event::AgentEvent;
use haft_rpc::SessionEvents;
use tokio_util::sync::CancellationToken;

use super::output::RunOutput;
use crate::console::note;
use crate::exit::Exit;
use crate::interrupt::InterruptListener;

/// The output and the interrupts. Both are polled together, so that a slow reader of events does not delay an
/// interrupt.
pub(super) struct RunDisplay {
    pub(super) output: RunOutput,
    pub(super) interrupts: InterruptListener,
    /// Notes and failures of the extensions, and agent events that no run reports.
    pub(super) events: SessionEvents,
    pub(super) cancel: CancellationToken,
}

/// The next action of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RunFlow {
    Continue,
    StopNow,
}

impl RunDisplay {
    pub(super) async fn show(&mut self, event: &AgentEvent) -> anyhow::Result<RunFlow> {
        let shown = self.output.write_event(event);
        tokio::pin!(shown);
        loop {
            tokio::select! {
                biased;
                () = self.interrupts.next() => if handle_interrupt(&self.interrupts, &self.cancel) == RunFlow::StopNow {
                    return Ok(RunFlow::StopNow);
                },
                outcome = &mut shown => return outcome.map(|()| RunFlow::Continue),
            }
        }
    }
}

/// Handles an interrupt: the first requests a stop, the second stops immediately.
pub(crate) fn handle_interrupt(interrupts: &InterruptListener, cancel: &CancellationToken) -> RunFlow {
    if interrupts.is_immediate() {
        return RunFlow::StopNow;
    }
    note("haft: stopping; interrupt again to stop immediately");
    cancel.cancel();
    RunFlow::Continue
}

/// Returns the exit code for a failed model request.
pub(super) fn exit_of_model(kind: ModelErrorKind) -> Exit {
    match kind {
        ModelErrorKind::Auth => Exit::NoProvider,
        ModelErrorKind::Cancelled => Exit::Aborted,
        ModelErrorKind::RateLimited
        | ModelErrorKind::Unavailable
        | ModelErrorKind::Rejected
        | ModelErrorKind::Overflow
        | ModelErrorKind::Connection
        | ModelErrorKind::Truncated => Exit::Provider,
        _ => Exit::Provider,
    }
}
