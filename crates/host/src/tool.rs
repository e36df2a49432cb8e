//! Tools that extensions own, as core's [`Tool`].

mod result;

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::tool::{Concurrency, Tool, ToolContext, ToolOutput, ToolOwner, ToolSpec};
use haft_protocol::content::ToolCall;
use haft_protocol::ext::CallTool;

use crate::extension::{Extension, OfferedTool};
use crate::fault::FaultCode;

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
                let (output, rejected) = result::output(extension, name, result);
                if let Some(detail) = rejected {
                    self.extension.reporter().fault(FaultCode::ResultRejected, format!("{what}: {detail}"));
                }
                output
            }
            Ok(Err(detail)) => {
                self.extension.reporter().fault(FaultCode::FrameInvalid, format!("{what}: {detail}"));
                ToolOutput::error(format!("extension {extension}/{name} failed: {detail}"))
            }
            Err(error) => ToolOutput::error(format!("extension {extension}/{name} failed: it {error}")),
        }
    }
}
