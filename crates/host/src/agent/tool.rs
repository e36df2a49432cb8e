//! Tools of extensions as core's [`Tool`].

mod result;
mod result_files;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::{Either, select};
use haft_core::tool::{Tool, ToolConcurrency, ToolContext, ToolOutput, ToolOwner, ToolProgress, ToolSpec};
use haft_core::truncate::{self, TruncationLimits};
use haft_protocol::content::ToolCall;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_protocol::ext::{CallTool, Limits, ResultBlock, ToolCallProgress, ToolResultFrame, capability};
use haft_protocol::ids::ExtensionName;
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio::time::{Duration, sleep, timeout};

use crate::agent::managed_extension::ManagedExtension;
use crate::agent::pins::ToolTextPins;
use crate::extension::frontend::FaultReporter;
use crate::extension::{Deadline, ExtensionHandle};
use crate::session::offers::OfferedTool;
use crate::timeouts::PROGRESS_PAUSE;
use crate::wire::fault::{CallError, FaultCode};
pub(crate) use result::{SanitizedToolResult, limits_of_changed_result};
pub(crate) use result_files::ResultFiles;

/// A tool of an extension, as offered when the tool list was made. Calls go to the current process while that
/// process offers the tool with the same schema.
#[derive(Debug)]
pub(crate) struct ExtensionTool {
    entry: Arc<ManagedExtension>,
    spec: Arc<ToolSpec>,
    /// The time limit of a call.
    time: Duration,
    results: Arc<ResultFiles>,
    pins: Arc<ToolTextPins>,
    reporter: FaultReporter,
}

impl ExtensionTool {
    pub(crate) fn new(
        entry: Arc<ManagedExtension>,
        tool: &OfferedTool,
        results: Arc<ResultFiles>,
        pins: Arc<ToolTextPins>,
        reporter: FaultReporter,
    ) -> Self {
        let mut spec = ToolSpec::new(&tool.name, &tool.description)
            .with_schema(tool.schema.clone())
            .with_guidelines(tool.guidelines.clone())
            .with_owner(ToolOwner::Extension(entry.name().as_str().to_owned()))
            .with_concurrency(match tool.exclusive {
                true => ToolConcurrency::Exclusive,
                false => ToolConcurrency::Parallel,
            });
        spec.label = (!tool.label.is_empty()).then(|| tool.label.clone());
        spec.snippet = (!tool.snippet.is_empty()).then(|| tool.snippet.clone());
        let time = entry.timeouts.tool_call_within(tool.timeout_ms);
        Self { entry, spec: Arc::new(spec), time, results, pins, reporter }
    }

    /// Returns the process to call, or the reason as a phrase that follows the extension's name.
    async fn acquire_handle(
        &self,
        context: &ToolContext,
        deadline: &Deadline,
    ) -> Result<ExtensionHandle, CallError> {
        let entry = self.entry.current();
        let extension = entry.acquire_handle(&context.cancel, deadline).await?;
        // A reload may have happened during the wait.
        match entry.current().tool(&self.spec.name) {
            Some(tool) if self.pins.is_locked_or_pin(&entry.current().spec, &tool) => {
                Err(CallError::Gone { why: LOCKED.to_owned() })
            }
            Some(tool) if tool.schema.same_value(&self.spec.schema) || !is_up(Defense::KnownSchema) => {
                Ok(extension)
            }
            Some(_) => Err(CallError::Gone { why: CHANGED.to_owned() }),
            None => Err(CallError::Gone { why: WITHDRAWN.to_owned() }),
        }
    }
}

impl ExtensionTool {
    /// Starts the extension if needed, and returns the process with the deadline of the call.
    async fn wait_until_ready(
        &self,
        context: &ToolContext,
    ) -> Result<(ExtensionHandle, Deadline), CallError> {
        self.entry.current().ensure_started(&context.cancel).await?;
        let deadline = Deadline::after(self.time);
        Ok((self.acquire_handle(context, &deadline).await?, deadline))
    }

    /// Waits for the extension and sends a note to the user if the wait is long.
    async fn notify_if_slow<T>(&self, reached: impl Future<Output = T> + Send) -> T {
        let mut reached = pin!(reached);
        if let Ok(reached) = timeout(self.entry.timeouts.slow_start_notice, reached.as_mut()).await {
            return reached;
        }
        let message = format!("is not ready yet; tool {} is waiting for the extension", self.spec.name);
        let extension = self.entry.name().clone();
        self.reporter.emit(AgentEvent::ExtNotify { extension, level: NoteLevel::Info, message });
        reached.await
    }

    async fn read_result(
        &self,
        result: ToolResultFrame,
    ) -> Result<(SanitizedToolResult, Option<PathBuf>), JoinError> {
        let limits = *self.entry.current().offers().limits;
        SanitizedToolResult::read_off_thread(
            self.entry.name(),
            &self.spec.name,
            result,
            limits,
            &self.results,
        )
        .await
    }
}

impl SanitizedToolResult {
    /// Reads a result, and saves the full text to a file if it is too long. Runs outside the task that serves
    /// all extensions, because a long result would block that task. Fails when the runtime ends.
    pub(crate) async fn read_off_thread(
        owner: &ExtensionName,
        tool: &str,
        result: ToolResultFrame,
        limits: Limits,
        results: &Arc<ResultFiles>,
    ) -> Result<(Self, Option<PathBuf>), JoinError> {
        let (owner, tool, results) = (owner.clone(), tool.to_owned(), Arc::clone(results));
        // A text within both limits is never truncated, and reading it is faster than waking another thread.
        let short = readable_bytes(&result) <= limits.max_result_text.min(limits.max_result_lines);
        let read = move || {
            let read = Self::new(&owner, &tool, result, limits);
            let kept = read.full_text().and_then(|whole| results.save(whole));
            (read, kept)
        };
        if short { Ok(read()) } else { tokio::task::spawn_blocking(read).await }
    }
}

/// Waits for the answer, and shows the newest progress meanwhile; the last one at the latest before the answer.
async fn show_progress<T>(
    context: &ToolContext,
    mut progress: watch::Receiver<Option<ToolCallProgress>>,
    answer: impl Future<Output = T> + Send,
) -> T {
    let show = |newest: Option<ToolCallProgress>| {
        newest.and_then(read_progress).into_iter().for_each(|newest| context.report_progress(newest));
    };
    let answer = {
        let showing = async {
            while progress.changed().await.is_ok() {
                show(progress.borrow_and_update().clone());
                sleep(PROGRESS_PAUSE).await;
            }
        };
        match select(pin!(answer), pin!(showing)).await {
            Either::Left((answer, _)) => answer,
            // The query is over, and its answer follows.
            Either::Right(((), answer)) => answer.await,
        }
    };
    let newest = progress.borrow_and_update();
    if newest.has_changed() {
        show(newest.clone());
    }
    answer
}

/// Converts progress for observers: the end of its texts. Returns `None` if it has nothing to show.
fn read_progress(ToolCallProgress { content, details, .. }: ToolCallProgress) -> Option<ToolProgress> {
    let replaces = content.is_some();
    let texts = content.into_iter().flatten().filter_map(|block| match block {
        ResultBlock::Text { text } => Some(text),
        ResultBlock::Image(_) | ResultBlock::Unknown { .. } => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let text = truncate::tail(&text, MAX_PROGRESS).text.to_owned();
    (replaces || details.is_some())
        .then_some(ToolProgress::new(text).with_replaces(replaces).with_details(details))
}

/// The part of a progress text that is shown.
const MAX_PROGRESS: TruncationLimits = TruncationLimits { bytes: 16 * 1024, lines: 500 };

/// Removes the fields that need the capability `tools_2`.
fn without_tools_2(result: ToolResultFrame) -> ToolResultFrame {
    ToolResultFrame { details: None, terminate: false, ..result }
}

/// Returns the number of bytes to read, including line ends between blocks.
fn readable_bytes(result: &ToolResultFrame) -> usize {
    let bytes = |block: &ResultBlock| match block {
        ResultBlock::Text { text } => text.len() + 1,
        ResultBlock::Image(image) => image.data.len(),
        // The length of the note about the block.
        ResultBlock::Unknown { .. } => 512,
    };
    result.content.iter().map(bytes).sum()
}

/// The text about a tool whose schema differs from the one that the model knows.
const CHANGED: &str = "was restarted and its tool changed; the new tool is available in the next step";

/// The text about a tool whose texts differ from the approved ones.
const LOCKED: &str = "was restarted with a tool description that differs from the approved one; the tool is locked, and the user was \
                      notified";

/// The text about a tool that is no longer offered.
const WITHDRAWN: &str = "was restarted and no longer offers this tool";

#[async_trait]
impl Tool for ExtensionTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        let (owner, name) = (self.entry.name(), &self.spec.name);
        let failed = |error: &dyn std::fmt::Display| {
            ToolOutput::error(format!("extension {owner}/{name} failed: {error}"))
        };
        let (extension, deadline) = match self.notify_if_slow(self.wait_until_ready(&context)).await {
            Ok(reached) => reached,
            Err(error) => return failed(&error),
        };
        let has = |capability| extension.snapshot().offers.has_capability(capability);
        let (has_tools_2, has_progress) = (has(capability::TOOLS_2), has(capability::PROGRESS));
        let request =
            CallTool { name: name.clone(), args: call.args, tool_id: has_tools_2.then_some(call.id) };
        let what = format!("tool {name}");
        let (progress, shown) = has_progress.then(|| watch::channel(None)).unzip();
        let answer =
            extension.query_with_progress(&context.cancel, request, what.clone().into(), deadline, progress);
        let answer = match shown {
            Some(shown) => Box::pin(show_progress(&context, shown, answer)).await,
            None => answer.await,
        };
        match answer {
            Ok(Ok(result)) => {
                let result = if has_tools_2 { result } else { without_tools_2(result) };
                let (read, kept) = match self.read_result(result).await {
                    Ok(read) => read,
                    Err(error) => return failed(&error),
                };
                for detail in read.rejected.iter().chain(&read.dropped_details) {
                    extension.reporter().report_fault(FaultCode::ResultRejected, format!("{what}: {detail}"));
                }
                extension.reporter().report_hidden_text(read.hidden, &format!("a result of {what}"));
                read.into_output(kept.as_deref())
            }
            Ok(Err(detail)) => {
                extension.reporter().report_fault(FaultCode::FrameInvalid, format!("{what}: {detail}"));
                failed(&detail)
            }
            Err(error) => failed(&error),
        }
    }
}
