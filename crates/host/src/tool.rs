//! Tools that extensions own, as core's [`Tool`].

mod result;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use haft_core::tool::{Concurrency, Tool, ToolContext, ToolOutput, ToolOwner, ToolSpec};
use haft_protocol::content::ToolCall;
use haft_protocol::defence::{Defence, is_up};
use haft_protocol::ext::{CallTool, ToolResult};

use crate::entry::Entry;
use crate::extension::{Deadline, Extension, OfferedTool};
use crate::fault::{CallError, FaultCode};
use result::Read;

/// One tool of one extension, as it was offered when the tools were taken. Its calls go to the process of the moment,
/// as long as that one offers it with the same schema.
#[derive(Debug)]
pub(crate) struct ExtensionTool {
    entry: Arc<Entry>,
    spec: Arc<ToolSpec>,
}

impl ExtensionTool {
    pub(crate) fn new(entry: Arc<Entry>, tool: &OfferedTool) -> Self {
        let spec = Arc::new(ToolSpec {
            name: tool.name.clone(),
            description: tool.description.clone(),
            schema: tool.schema.clone(),
            guidelines: tool.guidelines.clone(),
            owner: ToolOwner::Extension(entry.name().as_str().to_owned()),
            concurrency: Concurrency::Parallel,
        });
        Self { entry, spec }
    }

    /// The process to call.
    ///
    /// # Errors
    /// Why it cannot be called, fit to follow "it".
    async fn reach(&self, context: &ToolContext, deadline: Deadline) -> Result<Extension, CallError> {
        let entry = self.entry.current();
        let extension = entry.reach(&context.cancel, deadline).await?;
        // A reload may have come while it was waited for.
        match entry.current().tool(&self.spec.name) {
            Some(tool) if tool.schema == self.spec.schema || !is_up(Defence::KnownSchema) => Ok(extension),
            Some(_) => Err(CallError::Gone { why: CHANGED.to_owned() }),
            None => Err(CallError::Gone { why: WITHDRAWN.to_owned() }),
        }
    }
}

impl ExtensionTool {
    /// Reads a result beside the task that serves all extensions, which must not stand still for a long one.
    ///
    /// # Errors
    /// When the runtime ends.
    async fn read(&self, result: ToolResult) -> Result<Read, tokio::task::JoinError> {
        let (owner, name) = (self.entry.name().clone(), self.spec.name.clone());
        let limits = *self.entry.current().offers().limits;
        tokio::task::spawn_blocking(move || Read::new(&owner, &name, result, limits)).await
    }
}

/// What is said of a tool that has another schema than the one the model knows.
const CHANGED: &str = "was started anew and its tool changed; the tool is offered anew in the next turn";

/// What is said of a tool that is not there any more.
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
        let awake = self.entry.current().awake(&context.cancel).await;
        let deadline = Deadline::after(self.entry.timeouts.tool_call);
        let reached = match awake {
            Ok(()) => self.reach(&context, deadline).await,
            Err(error) => Err(error),
        };
        let extension = match reached {
            Ok(extension) => extension,
            Err(error) => return failed(&format_args!("it {error}")),
        };
        let request = CallTool { name: name.clone(), args: call.args };
        let what = format!("tool {name}");
        match extension.ask(&context.cancel, request, what.clone().into(), deadline).await {
            Ok(Ok(result)) => {
                let read = match self.read(result).await {
                    Ok(read) => read,
                    Err(error) => return failed(&error),
                };
                if let Some(detail) = &read.rejected {
                    extension.reporter().fault(FaultCode::ResultRejected, format!("{what}: {detail}"));
                }
                extension.reporter().hidden(read.hidden, &format!("a result of {what}"));
                let kept = keep(read.whole()).await;
                read.output(kept.as_deref())
            }
            Ok(Err(detail)) => {
                extension.reporter().fault(FaultCode::FrameInvalid, format!("{what}: {detail}"));
                failed(&detail)
            }
            Err(error) => failed(&format_args!("it {error}")),
        }
    }
}

/// Puts the whole of a long text into a new file, which only its owner can read and which the system's own cleaning of
/// temporary files removes some day: the model may come back to it long after the call.
async fn keep(whole: Option<String>) -> Option<PathBuf> {
    let whole = whole?;
    let write = move || -> io::Result<PathBuf> {
        let mut file = tempfile::Builder::new().prefix("haft-result-").suffix(".txt").tempfile()?;
        file.write_all(whole.as_bytes())?;
        file.keep().map(|(_, path)| path).map_err(|error| error.error)
    };
    match tokio::task::spawn_blocking(write).await.map_err(io::Error::other).flatten() {
        Ok(path) => Some(path),
        Err(error) => {
            tracing::warn!(%error, "long result not kept");
            None
        }
    }
}
