//! Commands that run in the background, as jobs of the agent.

use std::sync::Arc;

use haft_core::jobs::JobEnd;
use haft_core::tool::{ToolContext, ToolOutput};

use super::blocked::blocked_note;
use crate::builtin::{ResultAudience, SharedToolState};
use crate::environment::{RunEnd, RunReport, ShellCommand};
use crate::failure::ToolFailure;

/// Starts a command as a job in the environment of the call, and returns its number.
pub(super) fn start_job(
    context: &ToolContext,
    ground: &SharedToolState,
    command: ShellCommand,
) -> Result<ToolOutput, ToolFailure> {
    let jobs = context.jobs.as_ref().filter(|_| ground.reader == ResultAudience::Model);
    let Some(jobs) = jobs else {
        return Err("background commands are only for the model; run the command without background"
            .to_owned()
            .into());
    };
    let environment = Arc::clone(&ground.environment);
    let text = command.command.clone();
    let started = jobs.start(text, |job| async move {
        let output = job.clone();
        let progress = move |piece: String| output.push_output(&piece);
        match environment.run(job.cancel_token(), command, &progress).await {
            Ok(report) => {
                let blocked = match report.end == RunEnd::Exited(0) {
                    true => None,
                    false => blocked_note(environment.as_ref(), &report.tail).await,
                };
                job_end(report, blocked)
            }
            Err(error) => JobEnd::new(format!("not started: {error}")),
        }
    });
    let number = started.map_err(|error| ToolFailure::from(error.to_string()))?;
    Ok(ToolOutput::text(format!(
        "[job {number} has started; the tool job with id {number} returns its output or stops it]"
    )))
}

fn job_end(report: RunReport, blocked: Option<String>) -> JobEnd {
    let summary = match report.end {
        RunEnd::Exited(code) => format!("exit code {code}"),
        RunEnd::Signaled(signal) => format!("killed by signal {signal}"),
        RunEnd::TimedOut => "killed at its time limit".to_owned(),
        RunEnd::Cancelled => "stopped".to_owned(),
        RunEnd::WantedTerminal => "killed because it needs a terminal".to_owned(),
    };
    let notes = report.notes().into_iter().chain(blocked).collect();
    JobEnd::new(summary).with_tail(report.tail).with_notes(notes)
}
