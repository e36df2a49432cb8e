//! Background commands of the model.

use haft_core::jobs::{BackgroundJob, JobStatus};
use haft_protocol::rpc::{CommandFailure, ErrorCode, JobInfo, JobsData, StopJob};

use super::outcome::{ReplyResult, empty_reply, reply_data};
use crate::session_provider::OpenedSession;

pub(super) fn list_jobs(session: &OpenedSession) -> ReplyResult {
    let jobs = session.agent.background_jobs().list().iter().map(job_info).collect();
    reply_data(JobsData { jobs })
}

fn job_info(job: &BackgroundJob) -> JobInfo {
    let JobStatus { number, command, took, end, .. } = job.status();
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    JobInfo { job: number, command, took_ms, end }
}

pub(super) fn stop_job(session: &OpenedSession, StopJob { job }: StopJob) -> ReplyResult {
    let Some(found) = session.agent.background_jobs().find(job) else {
        return Err(CommandFailure::new(ErrorCode::NotOpen, format!("there is no job {job}")));
    };
    found.stop();
    empty_reply()
}
