//! A tool that changes a file in the same queue as `write` and `edit`.

use std::error::Error;
use std::path::Path;

use haft_sdk::{Extension, Host, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Replacement {
    path: String,
    old_text: String,
    new_text: String,
}

pub(crate) fn build() -> Extension {
    Extension::new("file_queue", "1.0.0").tool(
        "replace_text",
        "Replace a text in a file.",
        |args: Replacement, host: Host| async move {
            let file = Path::new(&host.info().await.cwd).join(&args.path);
            let _lock = host.lock_file(file.to_string_lossy()).await?;
            let text = std::fs::read_to_string(&file)?;
            std::fs::write(&file, text.replace(&args.old_text, &args.new_text))?;
            Ok::<_, Box<dyn Error + Send + Sync>>(ToolResult::text(format!("Updated {}", args.path)))
        },
    )
}
