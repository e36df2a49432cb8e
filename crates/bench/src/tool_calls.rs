//! A call of an extension's tool, from the question to the lines that forward the result.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_core::hooks::CancellationToken;
use haft_core::tool::{Tool, ToolContext, ToolOutput};
use haft_host::Host;
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, ToolCall};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use tokio::runtime::Runtime;

use crate::children::ChildProgram;
use crate::extension_query::{bench_host_config, extension_spec, runtime};

/// Space for the text around a content and for escapes in the content, in bytes.
const ROOM: usize = 4096;

/// A host with one extension, whose tool is called as an agent calls it.
pub(crate) struct ToolCallCandidate {
    runtime: Runtime,
    host: Host,
    tool: Arc<dyn Tool>,
    call: ToolCall,
    /// The buffer for the event's line, reused for every call.
    line: Vec<u8>,
}

impl ToolCallCandidate {
    pub(crate) fn start(program: &ChildProgram) -> Result<Self> {
        let runtime = runtime()?;
        let host = runtime.block_on(
            Host::builder(bench_host_config()).specs(vec![extension_spec("peer", program)]).start(),
        );
        let tool = host
            .tools()
            .pop()
            .with_context(|| format!("the extension registered no tool: {:?}", host.statuses()))?;
        let call =
            ToolCall { id: ToolCallId::new("call_1"), name: "long".into(), args: RawJson::empty_object() };
        Ok(Self { runtime, host, tool, call, line: Vec::new() })
    }

    /// Measures one call. If `on` is true, the result is also forwarded, in an event's line and in a message to the
    /// model.
    pub(crate) fn block(&mut self, on: bool) -> Result<[f64; 1]> {
        let context = ToolContext::new(CancellationToken::new(), drop);
        let start = Instant::now();
        let output = self.runtime.block_on(self.tool.execute(context, self.call.clone()));
        ensure!(!output.is_error, "the tool call failed: {:?}", output.content.first());
        let kept = output
            .content
            .last()
            .and_then(ContentBlock::as_text)
            .and_then(saved_output_path)
            .map(ToOwned::to_owned);
        if on {
            forward_output(output, &mut self.line)?;
        }
        let elapsed = start.elapsed();
        if let Some(file) = kept {
            std::fs::remove_file(&file).with_context(|| format!("remove {file}"))?;
        }
        Ok([elapsed.as_secs_f64()])
    }

    pub(crate) fn end(self) {
        self.runtime.block_on(self.host.shutdown());
    }
}

/// Returns the file that holds the complete text of a truncated result.
fn saved_output_path(text: &str) -> Option<&str> {
    let (_, file) = text.rsplit_once("; complete output: ")?;
    file.strip_suffix(']')
}

/// Encodes the content as part of a request body, and writes the event line that reports it.
fn forward_output(output: ToolOutput, line: &mut Vec<u8>) -> Result<()> {
    // The buffer has room for the whole body, whose length is nearly known.
    let most = |content: &ContentBlock| match content {
        ContentBlock::Text { text } => text.len() + ROOM,
        ContentBlock::Image(image) => image.data.len() + ROOM,
    };
    let mut body = Vec::with_capacity(output.content.iter().map(most).sum());
    serde_json::to_writer(&mut body, &output.content)?;
    // For an image, the event has only its type and size.
    let said = |content: &ContentBlock| match content {
        ContentBlock::Text { text } => text.len(),
        ContentBlock::Image(_) => 0,
    };
    let said: usize = output.content.iter().map(said).sum();
    let event = AgentEvent::ToolResult {
        id: ToolCallId::new("call_1"),
        name: "long".into(),
        is_error: output.is_error,
        content: output.content,
        extension: None,
        synthetic_by: None,
        details: None,
        entry: None,
    };
    line.clear();
    serde_json::to_writer(&mut *line, &event)?;
    ensure!(line.len() > said, "the event has no content");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_output_file_of_truncated_text() {
        assert_eq!(
            saved_output_path("a\n[truncated: 1 bytes left out; complete output: /tmp/x.txt]"),
            Some("/tmp/x.txt")
        );
        assert_eq!(saved_output_path("a"), None);
    }
}
