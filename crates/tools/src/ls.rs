//! `ls`: lists a directory.

use haft_core::tool::{ToolConcurrency, ToolContext, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::CallSubject;
use crate::builtin::{BuiltIn, SharedToolState, run_until_cancelled, shorten_head};
use crate::environment::{AccessKind, DirectoryEntry, FileKind};
use crate::failure::ToolFailure;
use crate::path;

pub(crate) struct LsTool;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LsArgs {
    /// Directory to list. Default: the working directory
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
}

impl BuiltIn for LsTool {
    const NAME: &'static str = "ls";
    const DESCRIPTION: &'static str = "List one directory, including hidden and ignored entries, sorted. \
    Directories end with a slash, symbolic links show their target.";
    const GUIDELINES: &'static [&'static str] =
        &["Use ls to see what is in a directory instead of ls in bash."];
    const CONCURRENCY: ToolConcurrency = ToolConcurrency::Parallel;
    type Args = LsArgs;

    fn subject(args: &LsArgs) -> CallSubject<'_> {
        CallSubject::File(args.path.as_deref(), AccessKind::Read)
    }

    fn path_mut(args: &mut LsArgs) -> Option<&mut String> {
        args.path.as_mut()
    }

    async fn run(
        context: &ToolContext,
        ground: &SharedToolState,
        args: LsArgs,
    ) -> Result<ToolOutput, ToolFailure> {
        let environment = ground.environment.as_ref();
        let path = path::resolve_root(context, environment, args.path.as_deref()).await?;
        let mut entries = run_until_cancelled(context, environment.list(&path)).await?;
        if entries.is_empty() {
            return Ok(ToolOutput::text(format!("[{} is empty]", path::show(environment, &path))));
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let list: String = entries.iter().map(show).collect();
        Ok(ToolOutput::text(shorten_head(&list, "use find to search for names")))
    }
}

fn show(entry: &DirectoryEntry) -> String {
    let name = &entry.name;
    match (entry.kind, &entry.target) {
        (FileKind::Directory, _) => format!("{name}/\n"),
        (FileKind::Link, Some(target)) => format!("{name} -> {}\n", target.display()),
        (FileKind::Link, None) => format!("{name} (symbolic link)\n"),
        (FileKind::Other, _) => format!("{name} (not a regular file)\n"),
        (FileKind::File, _) => format!("{name}\n"),
    }
}
