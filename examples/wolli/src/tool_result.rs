//! Results of `bash`: only the first line, marked as shortened.

use haft_sdk::protocol::ext::ResultBlock;
use haft_sdk::{Extension, InterceptToolResult, RawJson, ToolResultChange, ToolResultDecision};

pub(crate) fn build() -> Extension {
    Extension::new("tool_result", "1.0.0").intercept_tool_result(
        |result: InterceptToolResult, _host| async move {
            let Some(ResultBlock::Text { text }) =
                result.content.first().filter(|_| result.tool_name == "bash")
            else {
                return Ok(ToolResultDecision::Unchanged);
            };
            let line = text.lines().next().unwrap_or_default().to_owned();
            Ok::<_, serde_json::Error>(ToolResultDecision::Change(ToolResultChange {
                content: Some(vec![ResultBlock::Text { text: line }]),
                details: Some(RawJson::from_value(&serde_json::json!({"shortened": true}))?),
                is_error: Some(false),
                ..ToolResultChange::default()
            }))
        },
    )
}
