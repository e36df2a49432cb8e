//! The output of a run beside its interrupts.

use haft_core::model::ModelErrorKind;
use haft_protocol::event::AgentEvent;
use tokio_util::sync::CancellationToken;

use super::output::RunOutput;
use super::queue::EventQueueReceiver;
use crate::console::note;
use crate::exit::Exit;
use crate::interrupt::InterruptListener;

/// Where events go and interrupts come from. Both are looked at together: a reader that takes no events must not
/// hold up an interrupt.
pub(super) struct RunDisplay {
    pub(super) output: RunOutput,
    pub(super) interrupts: InterruptListener,
    /// Notes and faults of the extensions, and the agent's own events that no run tells.
    pub(super) events: EventQueueReceiver,
    pub(super) cancel: CancellationToken,
}

/// The continuation of a run's output.
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

/// The first interrupt asks to stop, the second does not wait for it.
pub(crate) fn handle_interrupt(interrupts: &InterruptListener, cancel: &CancellationToken) -> RunFlow {
    if interrupts.is_immediate() {
        return RunFlow::StopNow;
    }
    note("haft: stopping; once more to stop at once");
    cancel.cancel();
    RunFlow::Continue
}

/// Returns the exit code when a model did not answer.
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
    }
}
