//! `grep`: finds lines in files.

use std::fmt::Write;
use std::path::Path;

use haft_core::tool::{ToolConcurrency, ToolContext, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::CallSubject;
use crate::builtin::{BuiltIn, SharedToolState, run_until_cancelled, shorten_head};
use crate::environment::{AccessKind, Environment, GrepHits, GrepLine, GrepQuery, GrepText};
use crate::failure::ToolFailure;
use crate::path;
use crate::write::count;

/// The default and the maximum number of matches.
const MATCHES: usize = 100;
const MAX_MATCHES: usize = 2_000;

/// The maximum number of context lines on either side.
const MAX_CONTEXT: usize = 20;

pub(crate) struct GrepTool;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct GrepArgs {
    /// Regular expression (Rust syntax: no look-around, no back-references), matched line by line
    pattern: String,
    /// Directory or file to search. Default: the working directory
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Search only files that match this glob, e.g. *.rs or src/**/*.{ts,tsx}
    #[serde(skip_serializing_if = "Option::is_none")]
    glob: Option<String>,
    /// Treat pattern as plain text. Default: false
    #[serde(skip_serializing_if = "Option::is_none")]
    literal: Option<bool>,
    /// Ignore case. Default: false
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_case: Option<bool>,
    /// Lines to show before and after each match. Default: 0, most: 20
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<usize>,
    /// Most matches to show. Default: 100, most: 2000
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
}

impl BuiltIn for GrepTool {
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Find lines in files by regular expression or plain text. Matches \
    have the form path:line:text, context lines path-line-text. Files named by .gitignore, .git itself and \
    binary files are left out; a note gives the number of binary files.";
    const GUIDELINES: &'static [&'static str] =
        &["Use grep to search file contents instead of grep or rg in bash; narrow it with path and glob."];
    const CONCURRENCY: ToolConcurrency = ToolConcurrency::Parallel;
    type Args = GrepArgs;

    fn subject(args: &GrepArgs) -> CallSubject<'_> {
        CallSubject::File(args.path.as_deref(), AccessKind::Read)
    }

    fn path_mut(args: &mut GrepArgs) -> Option<&mut String> {
        args.path.as_mut()
    }

    async fn run(
        context: &ToolContext,
        ground: &SharedToolState,
        args: GrepArgs,
    ) -> Result<ToolOutput, ToolFailure> {
        let environment = ground.environment.as_ref();
        let root = path::resolve_root(context, environment, args.path.as_deref()).await?;
        run_until_cancelled(context, environment.stat(&root)).await?;
        let query = GrepQuery {
            root,
            pattern: args.pattern,
            literal: args.literal.unwrap_or(false),
            ignore_case: args.ignore_case.unwrap_or(false),
            glob: args.glob,
            context: args.context.unwrap_or(0).min(MAX_CONTEXT),
            limit: args.limit.unwrap_or(MATCHES).clamp(1, MAX_MATCHES),
        };
        let with_context = query.context > 0;
        let found = environment.grep(&context.cancel, query).await?;
        Ok(ToolOutput::text(output(environment, &found, with_context)))
    }
}

fn output(environment: &dyn Environment, found: &GrepHits, with_context: bool) -> String {
    let mut text = String::new();
    let mut last: Option<&GrepLine> = None;
    for line in &found.lines {
        let joined = last.is_some_and(|last| last.path == line.path && last.number + 1 == line.number);
        if with_context && last.is_some() && !joined {
            text.push_str("--\n");
        }
        text.push_str(&show(environment, line));
        last = Some(line);
    }
    let mut text = match found.matches {
        0 => "no matches\n".to_owned(),
        _ => shorten_head(&text, "narrow the search with path or glob"),
    };
    if found.capped {
        ensure_newline(&mut text);
        let _ = writeln!(text, "[stopped after {} matches; narrow the search or raise limit]", found.matches);
    }
    if found.binary > 0 {
        ensure_newline(&mut text);
        let _ = writeln!(text, "[skipped {}]", count(found.binary, "binary file"));
    }
    note_unreadable(&mut text, found.unreadable);
    text
}

fn show(environment: &dyn Environment, line: &GrepLine) -> String {
    let path = path::show(environment, Path::new(&line.path));
    match &line.text {
        GrepText::Match(text) => format!("{path}:{}:{text}\n", line.number),
        GrepText::Context(text) => format!("{path}-{}-{text}\n", line.number),
    }
}

/// Adds a note if files or directories could not be read.
pub(crate) fn note_unreadable(text: &mut String, count: usize) {
    if count > 0 {
        ensure_newline(text);
        let _ = writeln!(text, "[{count} files or directories could not be read]");
    }
}

pub(crate) fn ensure_newline(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}
