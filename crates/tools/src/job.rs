//! `job`: the output of a background command, and its end.

use std::time::Duration;

use haft_core::jobs::{BackgroundJob, BackgroundJobs, JobOutput};
use haft_core::tool::{ToolConcurrency, ToolContext, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::CallSubject;
use crate::builtin::{BuiltIn, SharedToolState, run_until_cancelled};
use crate::failure::ToolFailure;
use crate::timeouts;

pub(crate) struct JobTool;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct JobArgs {
    /// Number of the job, from the result of bash
    id: u32,
    /// True to stop the job and all its processes
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<bool>,
    /// Seconds to wait for the end of the job. Default: 0
    #[schemars(range(max = 600))]
    #[serde(skip_serializing_if = "Option::is_none")]
    wait: Option<u64>,
}

impl BuiltIn for JobTool {
    const NAME: &'static str = "job";
    const DESCRIPTION: &'static str = "Get the output of a background command of bash that was not read before, and \
    its state; or stop it. Unread output is dropped except for its last 50 KB, and a note tells how \
    much. All jobs end with the session.";
    const GUIDELINES: &'static [&'static str] =
        &["Pass wait to job rather than calling it again and again; stop each job that is no longer needed."];
    const CONCURRENCY: ToolConcurrency = ToolConcurrency::Parallel;
    type Args = JobArgs;

    fn subject(_: &JobArgs) -> CallSubject<'_> {
        CallSubject::StartedCommand
    }

    fn path_mut(_: &mut JobArgs) -> Option<&mut String> {
        None
    }

    async fn run(
        context: &ToolContext,
        _: &SharedToolState,
        args: JobArgs,
    ) -> Result<ToolOutput, ToolFailure> {
        let job = find_job(context.jobs.as_ref(), args.id)?;
        if args.stop == Some(true) {
            job.stop();
            job.wait_for_end().await;
        } else if let Some(seconds) = args.wait {
            let limit = Duration::from_secs(seconds).min(timeouts::JOB_WAIT_MAX);
            let end = tokio::time::timeout(limit, job.wait_for_end());
            // The end of the time is not an error.
            run_until_cancelled(context, async { Ok(end.await.is_ok()) }).await?;
        }
        Ok(ToolOutput::text(describe_job(&job)))
    }
}

fn find_job(jobs: Option<&BackgroundJobs>, number: u32) -> Result<BackgroundJob, ToolFailure> {
    jobs.and_then(|jobs| jobs.find(number)).ok_or_else(|| {
        let known = jobs.map(BackgroundJobs::list).unwrap_or_default();
        let known: Vec<_> = known.iter().map(|job| job.job_number().to_string()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        format!("no job {number}; known jobs: {known}").into()
    })
}

/// Returns the new output of a job and its state.
fn describe_job(job: &BackgroundJob) -> String {
    // The state is read first: a job that ends in between is reported as running, with its last output.
    let status = job.status();
    let JobOutput { text, dropped, notes, .. } = job.take_output();
    let mut lines = String::new();
    if dropped > 0 {
        lines.push_str(&format!("[{dropped} bytes before this were dropped]\n"));
    }
    lines.push_str(if text.is_empty() { "[no new output]" } else { &text });
    let seconds = status.took.as_secs();
    let state = match status.end {
        None => format!("job {} has been running for {seconds} s", status.number),
        Some(end) => format!("job {} has ended after {seconds} s: {end}", status.number),
    };
    for note in notes.into_iter().chain([state]) {
        if !lines.ends_with('\n') {
            lines.push('\n');
        }
        lines.push_str(&format!("[{note}]"));
    }
    lines
}
