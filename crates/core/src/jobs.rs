//! Background jobs: commands that run beside the conversation until they end, are stopped, or their agent is dropped.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::join_all;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::timeouts;
use crate::truncate::{self, MAX_BYTES, TruncationLimits};

/// The jobs of one agent that run at the same time.
pub const MAX_RUNNING_JOBS: usize = 8;

/// The ended jobs that are kept with their unread output.
const MAX_ENDED: usize = 24;

/// The background jobs of an agent. Cheap to clone; all clones share the jobs. Dropping the last clone drops the work of
/// all jobs.
///
/// ```
/// use haft_core::jobs::{BackgroundJobs, JobEnd};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let jobs = BackgroundJobs::default();
/// let number = jobs.start("echo hi", |job| async move {
///     job.push_output("hi\n");
///     JobEnd::new("exit code 0").with_tail("hi\n")
/// });
/// let job = jobs.find(number.unwrap()).unwrap();
/// job.wait_for_end().await;
/// assert_eq!(job.take_output().text, "hi\n");
/// assert_eq!(job.status().end.as_deref(), Some("exit code 0"));
/// # }
/// ```
#[derive(Clone, Default)]
pub struct BackgroundJobs {
    table: Arc<Mutex<JobTable>>,
}

#[derive(Default)]
struct JobTable {
    jobs: Vec<(BackgroundJob, JobTask)>,
    last: u32,
}

/// The task of a job, which is dropped with this value.
struct JobTask(AbortHandle);

impl Drop for JobTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl BackgroundJobs {
    /// Starts a job as a task of the current runtime, and returns its number. The work ends soon after
    /// [`BackgroundJob::cancel_token`] is cancelled.
    ///
    /// # Errors
    /// [`TooManyJobs`] if [`MAX_RUNNING_JOBS`] jobs run.
    pub fn start<F>(
        &self,
        command: impl Into<String>,
        work: impl FnOnce(BackgroundJob) -> F,
    ) -> Result<u32, TooManyJobs>
    where
        F: Future<Output = JobEnd> + Send + 'static,
    {
        let mut table = lock(&self.table);
        if table.jobs.iter().filter(|(job, _)| job.is_running()).count() >= MAX_RUNNING_JOBS {
            return Err(TooManyJobs);
        }
        table.last += 1;
        let job = BackgroundJob::new(table.last, command.into());
        let (work, ended) = (AssertUnwindSafe(work(job.clone())).catch_unwind(), job.clone());
        let task = tokio::spawn(async move {
            let end = work.await.unwrap_or_else(|_| JobEnd::new("internal error"));
            ended.finish(end);
        });
        table.jobs.push((job, JobTask(task.abort_handle())));
        let ended = table.jobs.iter().filter(|(job, _)| !job.is_running()).count();
        if ended > MAX_ENDED
            && let Some(oldest) = table.jobs.iter().position(|(job, _)| !job.is_running())
        {
            table.jobs.remove(oldest);
        }
        Ok(table.last)
    }

    /// Returns the job with this number, if it is kept.
    pub fn find(&self, number: u32) -> Option<BackgroundJob> {
        let table = lock(&self.table);
        table.jobs.iter().map(|(job, _)| job).find(|job| job.job_number() == number).cloned()
    }

    /// Returns the kept jobs, the oldest first.
    pub fn list(&self) -> Vec<BackgroundJob> {
        lock(&self.table).jobs.iter().map(|(job, _)| job.clone()).collect()
    }

    /// Returns a note for each job that has ended since the last call and whose end the model has not read.
    pub fn take_end_notes(&self) -> Vec<String> {
        self.list().iter().filter_map(BackgroundJob::take_end_note).collect()
    }

    /// Stops all jobs and waits until they have ended. A job that does not end is dropped.
    pub async fn stop_all(&self) {
        let jobs = self.list();
        jobs.iter().for_each(BackgroundJob::stop);
        let all_ended = join_all(jobs.iter().map(BackgroundJob::wait_for_end));
        if timeout(timeouts::JOBS_END, all_ended).await.is_err() {
            lock(&self.table).jobs.clear();
        }
    }
}

impl fmt::Debug for BackgroundJobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list().iter().map(BackgroundJob::status)).finish()
    }
}

/// The error for a job beyond the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{MAX_RUNNING_JOBS} background jobs are running, which is the limit; stop one first")]
pub struct TooManyJobs;

/// The end of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobEnd {
    /// The end in a few words, for example `exit code 0`.
    pub summary: String,
    /// The end of the whole output. It replaces the collected output if that is unread.
    pub tail: String,
    /// Notes for the model, one sentence each.
    pub notes: Vec<String>,
}

impl JobEnd {
    /// Creates the end of a job without output.
    pub fn new(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), tail: String::new(), notes: Vec::new() }
    }

    /// Sets [`tail`](Self::tail).
    #[must_use]
    pub fn with_tail(self, tail: impl Into<String>) -> Self {
        Self { tail: tail.into(), ..self }
    }

    /// Sets [`notes`](Self::notes).
    #[must_use]
    pub fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }
}

/// The state of a job, for lists.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobStatus {
    /// The number, counted from 1 in each session.
    pub number: u32,
    /// The command.
    pub command: String,
    /// The time since its start, up to its end.
    pub took: Duration,
    /// The end in a few words; `None` while the job runs.
    pub end: Option<String>,
}

/// The unread output of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobOutput {
    /// The output: whole lines while the job runs.
    pub text: String,
    /// The bytes before it that were dropped because they were not read in time.
    pub dropped: usize,
    /// The notes of the end, when the job has ended.
    pub notes: Vec<String>,
}

/// A background job. Cheap to clone; all clones are the same job.
#[derive(Clone)]
pub struct BackgroundJob {
    inner: Arc<JobState>,
}

struct JobState {
    number: u32,
    command: String,
    started: Instant,
    cancel: CancellationToken,
    /// Cancelled when the job has ended.
    ended: CancellationToken,
    progress: Mutex<JobProgress>,
}

#[derive(Default)]
struct JobProgress {
    unread: String,
    dropped: usize,
    was_read: bool,
    took: Option<Duration>,
    end: Option<JobEnd>,
    is_end_known: bool,
}

impl BackgroundJob {
    fn new(number: u32, command: String) -> Self {
        let (cancel, ended) = (CancellationToken::new(), CancellationToken::new());
        let (started, progress) = (Instant::now(), Mutex::default());
        Self { inner: Arc::new(JobState { number, command, started, cancel, ended, progress }) }
    }

    /// Returns the number.
    pub fn job_number(&self) -> u32 {
        self.inner.number
    }

    /// Returns the token that [`stop`](Self::stop) cancels.
    pub fn cancel_token(&self) -> &CancellationToken {
        &self.inner.cancel
    }

    /// Adds output. Only the end of the unread output is kept.
    pub fn push_output(&self, piece: &str) {
        let mut progress = lock(&self.inner.progress);
        progress.unread.push_str(piece);
        // The buffer is twice as large as needed, so that bytes are moved rarely.
        if progress.unread.len() > 2 * MAX_BYTES {
            let start = progress.unread.floor_char_boundary(progress.unread.len() - MAX_BYTES);
            progress.unread.drain(..start);
            progress.dropped += start;
        }
    }

    /// Asks the job to end.
    pub fn stop(&self) {
        self.inner.cancel.cancel();
    }

    /// True until the job has ended.
    pub fn is_running(&self) -> bool {
        !self.inner.ended.is_cancelled()
    }

    /// Waits until the job has ended.
    pub async fn wait_for_end(&self) {
        self.inner.ended.cancelled().await;
    }

    /// Returns the state.
    pub fn status(&self) -> JobStatus {
        let JobState { number, command, started, .. } = self.inner.as_ref();
        let progress = lock(&self.inner.progress);
        JobStatus {
            number: *number,
            command: command.clone(),
            took: progress.took.unwrap_or_else(|| started.elapsed()),
            end: progress.end.as_ref().map(|end| end.summary.clone()),
        }
    }

    /// Removes and returns the unread output.
    pub fn take_output(&self) -> JobOutput {
        let mut progress = lock(&self.inner.progress);
        let is_first = !std::mem::replace(&mut progress.was_read, true);
        let mut notes = Vec::new();
        if let Some(end) = &mut progress.end {
            notes = std::mem::take(&mut end.notes);
            let tail = std::mem::take(&mut end.tail);
            if is_first {
                (progress.unread, progress.dropped) = (tail, 0);
            }
            progress.is_end_known = true;
        }
        // A line in two pieces would not be recognized by filters of results.
        let rest = match progress.unread.rfind('\n') {
            Some(at) if progress.end.is_none() => progress.unread.split_off(at + 1),
            Some(_) | None => String::new(),
        };
        let unread = std::mem::replace(&mut progress.unread, rest);
        let dropped = std::mem::take(&mut progress.dropped);
        let kept = truncate::tail(&unread, TruncationLimits::default());
        JobOutput { text: kept.text.to_owned(), dropped: dropped + kept.omitted_bytes, notes }
    }

    fn take_end_note(&self) -> Option<String> {
        let mut progress = lock(&self.inner.progress);
        let summary = progress.end.as_ref()?.summary.clone();
        let is_known = std::mem::replace(&mut progress.is_end_known, true);
        (!is_known).then(|| format!("job {} has ended: {summary}", self.inner.number))
    }

    fn finish(&self, end: JobEnd) {
        let mut progress = lock(&self.inner.progress);
        progress.took = Some(self.inner.started.elapsed());
        progress.end = Some(end);
        self.inner.ended.cancel();
    }
}

impl fmt::Debug for BackgroundJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.status().fmt(f)
    }
}

/// These locks guard single assignments, which a panic cannot leave half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(summary: &str) -> JobEnd {
        JobEnd::new(summary)
    }

    async fn wait_for_stop(job: BackgroundJob) -> JobEnd {
        job.cancel_token().cancelled().await;
        ended("stopped")
    }

    #[tokio::test]
    async fn output_is_read_once_in_whole_lines_and_keeps_its_end() {
        let jobs = BackgroundJobs::default();
        let number = jobs.start("x", wait_for_stop).unwrap();
        let job = jobs.find(number).unwrap();
        job.push_output("one\ntw");
        assert_eq!(job.take_output().text, "one\n");
        job.push_output("o\n");
        assert_eq!(job.take_output(), JobOutput { text: "two\n".to_owned(), ..JobOutput::default() });
        assert_eq!(job.take_output(), JobOutput::default());
        let line = format!("{}é\n", "x".repeat(60));
        let pushed = 3 * MAX_BYTES / line.len();
        (0..pushed).for_each(|_| job.push_output(&line));
        let output = job.take_output();
        assert!(output.text.ends_with(&line) && output.text.len() <= MAX_BYTES, "{}", output.text.len());
        assert_eq!(output.text.len() + output.dropped, pushed * line.len());
        job.stop();
        job.wait_for_end().await;
        assert_eq!(job.status().end.as_deref(), Some("stopped"));
    }

    #[tokio::test]
    async fn unread_job_returns_the_end_of_the_whole_output() {
        let jobs = BackgroundJobs::default();
        let start = |pushed: &'static str| {
            let end = JobEnd { summary: "exit code 1".into(), tail: "all\n".into(), notes: vec!["n".into()] };
            let number = jobs.start("x", |job| async move {
                job.push_output(pushed);
                end
            });
            jobs.find(number.unwrap()).unwrap()
        };
        let job = start("[…]\nll\n");
        job.wait_for_end().await;
        assert_eq!(jobs.take_end_notes(), ["job 1 has ended: exit code 1"]);
        let whole = JobOutput { text: "all\n".to_owned(), dropped: 0, notes: vec!["n".to_owned()] };
        assert_eq!(job.take_output(), whole);
        assert_eq!(job.take_output(), JobOutput::default());
        // The model learns of an end only once.
        let job = start("");
        job.wait_for_end().await;
        job.take_output();
        assert!(jobs.take_end_notes().is_empty());
    }

    #[tokio::test]
    async fn limits_running_and_ended_jobs() {
        let jobs = BackgroundJobs::default();
        for number in 1..=MAX_RUNNING_JOBS {
            assert_eq!(jobs.start("x", wait_for_stop), Ok(u32::try_from(number).unwrap()));
        }
        assert_eq!(jobs.start("x", wait_for_stop), Err(TooManyJobs));
        jobs.stop_all().await;
        assert!(jobs.list().iter().all(|job| !job.is_running()));
        for _ in 0..MAX_ENDED {
            let number = jobs.start("x", |_| async { ended("done") }).unwrap();
            jobs.find(number).unwrap().wait_for_end().await;
        }
        assert!(jobs.list().len() <= MAX_ENDED + 1 && jobs.find(1).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn end_of_the_jobs_drops_work_that_does_not_stop() {
        let (held, dropped) = tokio::sync::oneshot::channel::<()>();
        let jobs = BackgroundJobs::default();
        let work = |_| async move {
            let _held = held;
            std::future::pending().await
        };
        jobs.start("x", work).unwrap();
        jobs.stop_all().await;
        drop(jobs);
        assert!(dropped.await.is_err());
    }

    #[tokio::test]
    async fn panic_ends_a_job() {
        let jobs = BackgroundJobs::default();
        let number = jobs.start("x", |_| async { panic!("no") }).unwrap();
        let job = jobs.find(number).unwrap();
        job.wait_for_end().await;
        assert_eq!(job.status().end.as_deref(), Some("internal error"));
    }
}
