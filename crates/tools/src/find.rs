//! `find`: finds files by name.

use std::fmt::Write;

use haft_core::tool::{ToolConcurrency, ToolContext, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::CallSubject;
use crate::builtin::{BuiltIn, SharedToolState, run_until_cancelled, shorten_head};
use crate::environment::{AccessKind, FileKind, FindHit, FindHits, FindQuery};
use crate::failure::ToolFailure;
use crate::grep::{ensure_newline, note_unreadable};
use crate::path;

/// The default and the maximum number of results.
const HITS: usize = 1_000;
const MAX_HITS: usize = 2_000;

pub(crate) struct FindTool;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FindArgs {
    /// Glob: without a slash it matches names at any depth (*.rs), with a slash it matches paths below the directory
    /// (src/**/*.rs)
    glob: String,
    /// Directory to search. Default: the working directory
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Most results to show. Default: 1000, most: 2000
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
}

impl BuiltIn for FindTool {
    const NAME: &'static str = "find";
    const DESCRIPTION: &'static str = "Find files and directories by glob. Paths are relative to the \
    searched directory and sorted; directories end with a slash. Files named by .gitignore and .git itself \
    are left out.";
    const GUIDELINES: &'static [&'static str] =
        &["Use find to look for files by name instead of find or fd in bash."];
    const CONCURRENCY: ToolConcurrency = ToolConcurrency::Parallel;
    type Args = FindArgs;

    fn subject(args: &FindArgs) -> CallSubject<'_> {
        CallSubject::File(args.path.as_deref(), AccessKind::Read)
    }

    fn path_mut(args: &mut FindArgs) -> Option<&mut String> {
        args.path.as_mut()
    }

    async fn run(
        context: &ToolContext,
        ground: &SharedToolState,
        args: FindArgs,
    ) -> Result<ToolOutput, ToolFailure> {
        let environment = ground.environment.as_ref();
        let root = path::resolve_root(context, environment, args.path.as_deref()).await?;
        if run_until_cancelled(context, environment.stat(&root)).await?.kind != FileKind::Directory {
            return Err(format!("{} is not a directory", path::show(environment, &root)).into());
        }
        let limit = args.limit.unwrap_or(HITS).clamp(1, MAX_HITS);
        let found = environment.find(&context.cancel, FindQuery { root, glob: args.glob, limit }).await?;
        Ok(ToolOutput::text(output(&found)))
    }
}

fn output(found: &FindHits) -> String {
    let list: String = found.hits.iter().map(show).collect();
    let mut text = match found.hits.len() {
        0 => "no files\n".to_owned(),
        _ => shorten_head(&list, "narrow the glob or the path"),
    };
    if found.capped {
        ensure_newline(&mut text);
        let _ = writeln!(text, "[stopped after {} results; narrow the glob or the path]", found.hits.len());
    }
    note_unreadable(&mut text, found.unreadable);
    text
}

fn show(hit: &FindHit) -> String {
    format!("{}{}\n", hit.path.display(), if hit.is_dir { "/" } else { "" })
}
