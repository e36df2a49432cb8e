//! The output of a run beside its interrupts.

use haft_core::model::ModelErrorKind;
use haft_protocol::event::AgentEvent;
use tokio_util::sync::CancellationToken;

use super::output::Output;
use super::queue::Receiver;
use crate::console::note;
use crate::exit::Exit;
use crate::interrupt::Interrupts;

/// Where events go and interrupts come from. Both are looked at together: a reader that takes no events must not
/// hold up an interrupt.
pub(super) struct Screen {
    pub(super) output: Output,
    pub(super) interrupts: Interrupts,
    /// Notes and faults of the extensions, and the agent's own events that no run tells.
    pub(super) events: Receiver,
    pub(super) cancel: CancellationToken,
}

/// The continuation of a run's output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    GoOn,
    StopAtOnce,
}

impl Screen {
    pub(super) async fn show(&mut self, event: &AgentEvent) -> anyhow::Result<Flow> {
        let shown = self.output.event(event);
        tokio::pin!(shown);
        loop {
            tokio::select! {
                biased;
                () = self.interrupts.next() => if interrupted(&self.interrupts, &self.cancel) == Flow::StopAtOnce {
                    return Ok(Flow::StopAtOnce);
                },
                outcome = &mut shown => return outcome.map(|()| Flow::GoOn),
            }
        }
    }
}

/// The first interrupt asks to stop, the second does not wait for it.
pub(crate) fn interrupted(interrupts: &Interrupts, cancel: &CancellationToken) -> Flow {
    if interrupts.at_once() {
        return Flow::StopAtOnce;
    }
    note("haft: stopping; once more to stop at once");
    cancel.cancel();
    Flow::GoOn
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
