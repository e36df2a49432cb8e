//! The hook after a tool call for one extension.

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::hooks::{AfterToolExecute, FinishedCall, ResultDecision};
use haft_core::tool::ToolOutput;
use haft_protocol::ext::{
    InterceptKind, InterceptToolResult, ResultBlock, ToolResultChange, ToolResultDecision, ToolResultFrame,
};
use haft_protocol::ids::{ExtensionName, RequestId};
use tokio_util::sync::CancellationToken;

use super::{display_text, refuse_turn};
use crate::agent::hook_context::HookContext;
use crate::agent::managed_extension::ManagedExtension;
use crate::agent::tool::{SanitizedToolResult, limits_of_changed_result};
use crate::session::overlong_details;

/// One extension's part after each tool call.
pub(crate) struct ToolResultHook {
    entry: Arc<ManagedExtension>,
    context: Arc<HookContext>,
}

impl ToolResultHook {
    pub(crate) fn new(entry: Arc<ManagedExtension>, context: Arc<HookContext>) -> Self {
        Self { entry, context }
    }

    /// Returns the result with the changes. Texts, images and details have the limits of a tool of an
    /// extension, or those of the original result if that is longer.
    async fn apply_change(&self, tool: &str, change: ToolResultChange, own: ToolOutput) -> ToolOutput {
        let ToolResultChange { content, mut details, is_error, display, handled } = change;
        let own = self.with_delivery(own, display, handled);
        let is_error = is_error.unwrap_or(own.is_error);
        let failure = own.failure.filter(|_| is_error);
        let limits = *self.context.shared.limits;
        if let Some(dropped) = overlong_details(details.as_ref(), limits.max_line) {
            self.report_fault(&dropped);
            details = None;
        }
        let Some(content) = content else {
            let details = details.or_else(|| own.details.clone());
            return own.with_is_error(is_error).with_failure(failure).with_details(details);
        };
        let frame =
            ToolResultFrame { id: RequestId::new(""), content, is_error, details, terminate: own.terminate };
        let limits = limits_of_changed_result(limits, &own);
        let name = self.entry.name();
        let read =
            SanitizedToolResult::read_off_thread(name, tool, frame, limits, &self.context.results).await;
        let Ok((read, kept)) = read else { return ToolOutput::error("the result was lost: haft is ending") };
        if let Some(detail) = &read.rejected {
            self.report_fault(detail);
        }
        let reporter = self.context.reporter(name);
        reporter.report_hidden_text(read.hidden, &format!("a result for tool {tool}"));
        let mut output = read.into_output(kept.as_deref());
        if output.content == own.content {
            output.details = output.details.or_else(|| own.details.clone());
        }
        output.with_failure(failure).with_handled(own.handled).with_display(own.display)
    }

    /// Returns the result with this text for the person.
    fn with_delivery(&self, own: ToolOutput, display: Option<String>, handled: Option<bool>) -> ToolOutput {
        let longest = own.display.as_ref().map_or(0, |own| own.text.len());
        let limit = self.context.shared.limits.max_result_text.max(longest);
        let display = match display {
            None => own.display.clone(),
            Some(text) => display_text(self.entry.name(), &text, limit),
        };
        let handled = handled.unwrap_or(own.handled);
        own.with_display(display).with_handled(handled)
    }

    fn report_fault(&self, detail: &str) {
        self.entry.report_mistake(InterceptKind::ToolResult, detail);
    }
}

#[async_trait]
impl AfterToolExecute for ToolResultHook {
    async fn after_tool_execute(
        &self,
        cancel: &CancellationToken,
        FinishedCall { call, took, .. }: &FinishedCall,
        output: ToolOutput,
    ) -> ResultDecision {
        let question = InterceptToolResult {
            tool_id: call.id.clone(),
            tool_name: call.name.clone(),
            tool_args: call.args.clone(),
            content: output.content.iter().cloned().map(ResultBlock::from).collect(),
            details: output.details.clone(),
            is_error: output.is_error,
            display: output.display.as_ref().map(|display| display.text.clone()),
            handled: output.handled,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        };
        let changed = match self.entry.query(cancel, question).await {
            Ok(ToolResultDecision::Change(change)) => self.apply_change(&call.name, change, output).await,
            Ok(ToolResultDecision::Stop(stop)) => {
                return ResultDecision::Refuse(refuse_turn(self.entry.name(), stop));
            }
            Ok(ToolResultDecision::Unchanged) | Err(_) => output,
        };
        changed.into()
    }

    fn belongs_to(&self, extension: &ExtensionName) -> bool {
        self.entry.name() == extension
    }

    fn name(&self) -> &str {
        self.entry.name().as_str()
    }
}
