//! Converts a tool's result into PicoClaw's form and back.

use haft_adapter_picoclaw::translate;
use haft_adapter_picoclaw::wire::{HookToolResult, InterceptPoint};
use haft_core::tool::{DisplayText, ToolOutput};
use haft_protocol::ext::{Limits, ToolResultFrame as Blocks};
use haft_protocol::ids::RequestId;
use haft_protocol::text::truncate_text;

use super::adapter::ProcessHookAdapter;
use crate::agent::tool::{SanitizedToolResult, limits_of_changed_result};

pub(super) fn to_hook_result(output: &ToolOutput) -> HookToolResult {
    HookToolResult {
        for_user: output.display.as_ref().map(|display| display.text.clone()).unwrap_or_default(),
        is_error: output.is_error,
        response_handled: output.handled,
        ..translate::to_hook_result(&output.content)
    }
}

/// Reads a hook's result for this tool. Long texts, invisible characters and invalid image references are
/// handled as in a result of an extension's tool.
pub(super) async fn read_result(
    hook: &ProcessHookAdapter,
    point: InterceptPoint,
    tool: &str,
    result: &HookToolResult,
    own: Option<&ToolOutput>,
) -> ToolOutput {
    let (name, context) = (hook.entry.name(), &hook.context);
    let limits = *context.shared.limits;
    let limits = own.map_or(limits, |own| limits_of_changed_result(limits, own));
    let content = translate::result_blocks(result, own.map_or(&[], |own| &own.content));
    let is_error = result.is_error;
    let blocks = Blocks { id: RequestId::new(""), content, is_error, details: None, terminate: false };
    let (read, kept) =
        match SanitizedToolResult::read_off_thread(name, tool, blocks, limits, &context.results).await {
            Ok(read) => read,
            Err(error) => return ToolOutput::error(format!("extension {name}/{tool} failed: {error}")),
        };
    if let Some(detail) = &read.rejected {
        hook.report_fault(point, detail);
    }
    context.reporter(name).report_hidden_text(read.hidden, &format!("a result for tool {tool}"));
    // If only text can be delivered, the model has to mention it.
    let handled = result.response_handled && result.media.is_empty();
    let shown = !result.silent && !result.for_user.is_empty();
    let display = shown
        .then(|| DisplayText { by: name.clone(), text: shorten_for_user(&result.for_user, limits, own) });
    let terminate = own.is_some_and(|own| own.terminate);
    ToolOutput { handled, terminate, display, ..read.into_output(kept.as_deref()) }
}

fn shorten_for_user(text: &str, limits: Limits, own: Option<&ToolOutput>) -> String {
    let own = own.and_then(|own| own.display.as_ref()).map_or(0, |display| display.text.len());
    truncate_text(text, limits.max_result_text.max(own))
}
