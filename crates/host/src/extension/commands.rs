//! What is asked about an extension's commands.

use haft_protocol::ext::{CommandAction, CompleteCommand, CompletionItem, InvokeCommand};
use tokio_util::sync::CancellationToken;

use super::{Deadline, Extension};
use crate::wire::fault::{CallError, FaultCode};

impl Extension {
    /// Runs one of its commands.
    pub(crate) async fn command(
        &self,
        cancel: &CancellationToken,
        command: InvokeCommand,
        deadline: Deadline,
    ) -> Result<CommandAction, CallError> {
        let what = format!("/{}", command.name);
        let outcome = self.query(cancel, command, what.clone().into(), deadline).await?;
        outcome.map_err(|detail| self.bad_answer(FaultCode::FrameInvalid, &what, detail))
    }

    /// Asks what may follow one of its commands.
    pub(crate) async fn complete(
        &self,
        cancel: &CancellationToken,
        command: CompleteCommand,
        deadline: Deadline,
    ) -> Result<Vec<CompletionItem>, CallError> {
        let what = format!("completion of /{}", command.name);
        let outcome = self.query(cancel, command, what.clone().into(), deadline).await?;
        outcome.map_err(|detail| self.bad_answer(FaultCode::FrameInvalid, &what, detail))
    }
}
