//! A call of an extension's tool, from the question to the lines that carry the result on.

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

use crate::asking::{bench_host_config, extension_spec, runtime};
use crate::children::ChildProgram;

/// Bytes for what stands around a content, and for escapes in it.
const ROOM: usize = 4096;

/// A host with one extension, whose tool is called as an agent calls it.
pub(crate) struct ToolCallCandidate {
    runtime: Runtime,
    host: Host,
    tool: Arc<dyn Tool>,
    call: ToolCall,
    /// Of the event's line, as whoever writes lines to a file keeps one.
    line: Vec<u8>,
}

impl ToolCallCandidate {
    pub(crate) fn start(program: &ChildProgram) -> Result<Self> {
        let runtime = runtime()?;
        let host = runtime.block_on(
            Host::builder(bench_host_config()).specs(vec![extension_spec("peer", program)]).start(),
        );
        let tool = host.tools().pop().with_context(|| format!("it has no tool: {:?}", host.statuses()))?;
        let call =
            ToolCall { id: ToolCallId::new("call_1"), name: "long".into(), args: RawJson::empty_object() };
        Ok(Self { runtime, host, tool, call, line: Vec::new() })
    }

    /// `on`: what came is carried on, in an event's line and in a message to the model.
    pub(crate) fn block(&mut self, on: bool) -> Result<[f64; 1]> {
        let context = ToolContext::new(CancellationToken::new(), drop);
        let start = Instant::now();
        let output = self.runtime.block_on(self.tool.execute(context, self.call.clone()));
        ensure!(!output.is_error, "it failed: {:?}", output.content.first());
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

/// The file with the whole of a text that was cut.
fn saved_output_path(text: &str) -> Option<&str> {
    let (_, file) = text.rsplit_once("; all of it is in ")?;
    file.strip_suffix(']')
}

/// The content as a body's part, and the line of the event that says it.
fn forward_output(output: ToolOutput, line: &mut Vec<u8>) -> Result<()> {
    // Made with room for all of it, as a body whose length is nearly known.
    let most = |content: &ContentBlock| match content {
        ContentBlock::Text { text } => text.len() + ROOM,
        ContentBlock::Image(image) => image.data.len() + ROOM,
    };
    let mut body = Vec::with_capacity(output.content.iter().map(most).sum());
    serde_json::to_writer(&mut body, &output.content)?;
    // Of an image an event says only what it is and how long.
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
    };
    line.clear();
    serde_json::to_writer(&mut *line, &event)?;
    ensure!(line.len() > said, "an event without its content");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_cut_text_is_named_at_its_end() {
        assert_eq!(
            saved_output_path("a\n[truncated: 1 bytes left out; all of it is in /tmp/x.txt]"),
            Some("/tmp/x.txt")
        );
        assert_eq!(saved_output_path("a"), None);
    }
}
