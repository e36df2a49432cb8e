//! `write`: a whole file.

use std::path::Path;

use haft_core::tool::{Concurrency, ToolContext, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::builtin::{BuiltIn, ToolFailure, while_wanted};
use crate::environment::{ClaimedFile, Environment, Written};
use crate::path;

pub(crate) struct Write;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WriteArgs {
    /// File to write: relative to the working directory, absolute, or starting with ~
    path: String,
    /// The whole new content of the file
    content: String,
}

impl BuiltIn for Write {
    const NAME: &'static str = "write";
    const DESCRIPTION: &'static str = "Write a file: create it, with the directories above it, or replace its whole \
        content. Permissions of an existing file are kept; a symbolic link stays and its target is replaced.";
    const GUIDELINES: &'static [&'static str] =
        &["Use write for new files and complete rewrites; change parts of an existing file with edit."];
    const CONCURRENCY: Concurrency = Concurrency::Exclusive;
    type Args = WriteArgs;

    async fn run(
        context: &ToolContext,
        environment: &dyn Environment,
        args: WriteArgs,
    ) -> Result<ToolOutput, ToolFailure> {
        let path = path::resolve(environment, &args.path)?;
        if let Some(parent) = path.parent() {
            environment.create_dirs(parent).await?;
        }
        let mut file = claim(context, environment, &path).await?;
        let size =
            format!("{}, {}", count(args.content.lines().count(), "line"), count(args.content.len(), "byte"));
        let written = file.replace(args.content.into_bytes()).await?;
        let shown = path::show(environment, &path);
        Ok(ToolOutput::text(format!("{} {shown} ({size}){}", verb(written), remark(written))))
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Waits for the file, but not longer than the call is wanted. What follows is short and is not interrupted, so that
/// a cancelled call has either changed the file or not.
pub(crate) async fn claim(
    context: &ToolContext,
    environment: &dyn Environment,
    path: &Path,
) -> Result<Box<dyn ClaimedFile>, ToolFailure> {
    Ok(while_wanted(context, environment.claim(path)).await?)
}

fn verb(written: Written) -> &'static str {
    match written {
        Written::Created => "created",
        Written::Replaced | Written::InPlace => "replaced the content of",
    }
}

/// What is worth saying about how the content got there.
pub(crate) fn remark(written: Written) -> &'static str {
    match written {
        Written::Created | Written::Replaced => "",
        Written::InPlace => "; overwritten in place, because it has hard links or another owner",
    }
}
