//! A tool with a long result, which haft cuts.

use haft_sdk::{Extension, NoArgs, ToolResult};

pub(crate) fn build() -> Extension {
    Extension::new("long_output", "1.0.0").tool(
        "numbers",
        "List many numbers; haft cuts the result after 2,000 lines.",
        |_: NoArgs, _host| async {
            let lines: Vec<String> = (1..=3000).map(|number| number.to_string()).collect();
            ToolResult::text(lines.join("\n"))
        },
    )
}
