//! Tools that extensions own, as core's [`Tool`].

mod result;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use haft_core::tool::{Concurrency, Tool, ToolContext, ToolOutput, ToolOwner, ToolSpec};
use haft_protocol::content::ToolCall;
use haft_protocol::ext::CallTool;

use crate::extension::{Extension, OfferedTool};
use crate::fault::FaultCode;
use result::Read;

/// One tool of one extension. Schema and calls always belong to the same one.
#[derive(Debug)]
pub(crate) struct ExtensionTool {
    extension: Extension,
    spec: Arc<ToolSpec>,
}

impl ExtensionTool {
    pub(crate) fn new(extension: Extension, tool: &OfferedTool) -> Self {
        let spec = Arc::new(ToolSpec {
            name: tool.name.clone(),
            description: tool.description.clone(),
            schema: tool.schema.clone(),
            guidelines: tool.guidelines.clone(),
            owner: ToolOwner::Extension(extension.name().as_str().to_owned()),
            concurrency: Concurrency::Parallel,
        });
        Self { extension, spec }
    }
}

#[async_trait]
impl Tool for ExtensionTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        let (extension, name) = (self.extension.name(), &self.spec.name);
        let request = CallTool { name: name.clone(), args: call.args };
        let after = self.extension.timeouts().tool_call;
        let what = format!("tool {name}");
        match self.extension.ask(&context.cancel, request, &what, after).await {
            Ok(Ok(result)) => {
                let read = Read::new(extension, name, result);
                if let Some(detail) = &read.rejected {
                    self.extension.reporter().fault(FaultCode::ResultRejected, format!("{what}: {detail}"));
                }
                self.extension.reporter().hidden(read.hidden, &format!("a result of {what}"));
                let kept = keep(read.whole()).await;
                read.output(kept.as_deref())
            }
            Ok(Err(detail)) => {
                self.extension.reporter().fault(FaultCode::FrameInvalid, format!("{what}: {detail}"));
                ToolOutput::error(format!("extension {extension}/{name} failed: {detail}"))
            }
            Err(error) => ToolOutput::error(format!("extension {extension}/{name} failed: it {error}")),
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
