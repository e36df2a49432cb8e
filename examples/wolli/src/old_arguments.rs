//! A tool that still accepts the arguments of its older version, which its schema does not name.

use haft_sdk::{Extension, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct PatchCall {
    path: String,
    #[serde(default)]
    edits: Vec<TextEdit>,
    /// The only edit, in sessions of version 1.
    #[serde(flatten)]
    #[schemars(skip)]
    old_edit: Option<TextEdit>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "the example applies no edits")]
struct TextEdit {
    old_text: String,
    new_text: String,
}

pub(crate) fn build() -> Extension {
    Extension::new("old_arguments", "1.0.0").tool(
        "patch",
        "Replace texts in a file.",
        |call: PatchCall, _host| async move {
            let edits: Vec<TextEdit> = call.edits.into_iter().chain(call.old_edit).collect();
            ToolResult::text(format!("Applying {} edit block(s) to {}", edits.len(), call.path))
        },
    )
}
