//! Tools that extensions own, as core's [`Tool`].

mod kept;
mod result;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use haft_core::tool::{Tool, ToolConcurrency, ToolContext, ToolOutput, ToolOwner, ToolSpec};
use haft_protocol::content::ToolCall;
use haft_protocol::defence::{Defence, is_up};
use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_protocol::ext::{CallTool, Limits, ResultBlock, ToolResultFrame};
use haft_protocol::ids::ExtensionName;
use tokio::task::JoinError;
use tokio::time::timeout;

use crate::agent::entry::ManagedExtension;
use crate::agent::pins::ToolTextPins;
use crate::extension::frontend::FaultReporter;
use crate::extension::{Deadline, ExtensionHandle};
use crate::session::offers::OfferedTool;
use crate::wire::fault::{CallError, FaultCode};
pub(crate) use kept::ResultFiles;
pub(crate) use result::SanitizedToolResult;

/// One tool of one extension, as it was offered when the tools were taken. Its calls go to the process of the moment,
/// as long as that one offers it with the same schema.
#[derive(Debug)]
pub(crate) struct ExtensionTool {
    entry: Arc<ManagedExtension>,
    spec: Arc<ToolSpec>,
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
        let spec = Arc::new(ToolSpec {
            name: tool.name.clone(),
            description: tool.description.clone(),
            schema: tool.schema.clone(),
            guidelines: tool.guidelines.clone(),
            owner: ToolOwner::Extension(entry.name().as_str().to_owned()),
            concurrency: ToolConcurrency::Parallel,
        });
        Self { entry, spec, results, pins, reporter }
    }

    /// The process to call, or why it cannot be called, fit to follow "it".
    async fn acquire_handle(
        &self,
        context: &ToolContext,
        deadline: Deadline,
    ) -> Result<ExtensionHandle, CallError> {
        let entry = self.entry.current();
        let extension = entry.acquire_handle(&context.cancel, deadline).await?;
        // A reload may have come while it was waited for.
        match entry.current().tool(&self.spec.name) {
            Some(tool) if self.pins.is_locked_or_pin(&entry.current().spec, &tool) => {
                Err(CallError::Gone { why: LOCKED.to_owned() })
            }
            Some(tool) if tool.schema.same_value(&self.spec.schema) || !is_up(Defence::KnownSchema) => {
                Ok(extension)
            }
            Some(_) => Err(CallError::Gone { why: CHANGED.to_owned() }),
            None => Err(CallError::Gone { why: WITHDRAWN.to_owned() }),
        }
    }
}

impl ExtensionTool {
    /// The same after it was started, if it has to be; and until when it may answer.
    async fn wait_until_ready(
        &self,
        context: &ToolContext,
    ) -> Result<(ExtensionHandle, Deadline), CallError> {
        self.entry.current().ensure_started(&context.cancel).await?;
        let deadline = Deadline::after(self.entry.timeouts.tool_call);
        Ok((self.acquire_handle(context, deadline).await?, deadline))
    }

    /// Waits for the extension; when that takes so long that people wonder, they are told.
    async fn notify_if_slow<T>(&self, reached: impl Future<Output = T> + Send) -> T {
        let mut reached = pin!(reached);
        if let Ok(reached) = timeout(self.entry.timeouts.slow_start_notice, reached.as_mut()).await {
            return reached;
        }
        let message = format!("is not ready yet; tool {} waits for it", self.spec.name);
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
    /// Reads a result, and puts the whole of it into a file if it is too long. Beside the task that serves all
    /// extensions, which must not stand still for a long one. Fails when the runtime ends.
    pub(crate) async fn read_off_thread(
        owner: &ExtensionName,
        tool: &str,
        result: ToolResultFrame,
        limits: Limits,
        results: &Arc<ResultFiles>,
    ) -> Result<(Self, Option<PathBuf>), JoinError> {
        let (owner, tool, results) = (owner.clone(), tool.to_owned(), Arc::clone(results));
        // A text within both of these is never cut, and is read in less time than another thread takes to wake.
        let short = readable_bytes(&result) <= limits.max_result_text.min(limits.max_result_lines);
        let read = move || {
            let read = Self::new(&owner, &tool, result, limits);
            let kept = read.full_text().and_then(|whole| results.save(whole));
            (read, kept)
        };
        if short { Ok(read()) } else { tokio::task::spawn_blocking(read).await }
    }
}

/// The number of bytes there are to read, line ends between blocks included.
fn readable_bytes(result: &ToolResultFrame) -> usize {
    let bytes = |block: &ResultBlock| match block {
        ResultBlock::Text { text } => text.len() + 1,
        ResultBlock::Image(image) => image.data.len(),
        // As long as what is said of it.
        ResultBlock::Unknown { .. } => 512,
    };
    result.content.iter().map(bytes).sum()
}

/// The text about a tool that has another schema than the one the model knows.
const CHANGED: &str = "was started anew and its tool changed; the tool is offered anew in the next turn";

/// The text about a tool that has other texts than the approved ones.
const LOCKED: &str = "was started anew and its tool has other texts than when it was approved; it is locked, and the user has \
                      been told";

/// The text about a tool that is not there any more.
const WITHDRAWN: &str = "was started anew and does not offer this tool any more";

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
            Err(error) => return failed(&format_args!("it {error}")),
        };
        let request = CallTool { name: name.clone(), args: call.args };
        let what = format!("tool {name}");
        match extension.query(&context.cancel, request, what.clone().into(), deadline).await {
            Ok(Ok(result)) => {
                let (read, kept) = match self.read_result(result).await {
                    Ok(read) => read,
                    Err(error) => return failed(&error),
                };
                if let Some(detail) = &read.rejected {
                    extension.reporter().report_fault(FaultCode::ResultRejected, format!("{what}: {detail}"));
                }
                extension.reporter().report_hidden_text(read.hidden, &format!("a result of {what}"));
                read.into_output(kept.as_deref())
            }
            Ok(Err(detail)) => {
                extension.reporter().report_fault(FaultCode::FrameInvalid, format!("{what}: {detail}"));
                failed(&detail)
            }
            Err(error) => failed(&format_args!("it {error}")),
        }
    }
}
