//! `read`: a page of a text file, or an image.

mod image;
mod pager;

use std::path::Path;

use haft_core::tool::{Concurrency, ToolContext, ToolOutput};
use haft_core::truncate::{MAX_BYTES, MAX_LINES};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::builtin::{BuiltIn, ToolFailure, while_wanted};
use crate::environment::{Environment, FileKind};
use crate::path;
use pager::{Page, Pager};

/// Bytes that are asked for at a time: more than a page, so that most files need one call.
const CHUNK: usize = 256 * 1024;

pub(crate) struct Read;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ReadArgs {
    /// File to read: relative to the working directory, absolute, or starting with ~
    path: String,
    /// First line to read, counted from 1. Default: 1
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// How many lines to read. Default and most: 2000
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

impl BuiltIn for Read {
    const NAME: &'static str = "read";
    const DESCRIPTION: &'static str = "Read the file at path: text, or an image to look at (png, jpg, gif, webp; up to \
        5 MiB). Text comes as it is in the file, without line numbers: all of it, or limit lines from line offset \
        on, at most 2000 lines or 50 KB at a time. When more lines follow, a note at the end names the offset to go \
        on with. Directories and binary files are refused.";
    const GUIDELINES: &'static [&'static str] = &[
        "Use read to look at files instead of cat, head or sed in bash; for a long file pass offset and limit.",
        "Use read before you change a file with edit, so that old_text is exact.",
    ];
    const CONCURRENCY: Concurrency = Concurrency::Parallel;
    type Args = ReadArgs;

    async fn run(
        context: &ToolContext,
        environment: &dyn Environment,
        args: ReadArgs,
    ) -> Result<ToolOutput, ToolFailure> {
        let path = path::resolve(environment, &args.path)?;
        let shown = path::show(environment, &path);
        let stat = while_wanted(context, environment.stat(&path)).await?;
        if stat.kind == FileKind::Directory {
            return Err(format!("{shown} is a directory; list it with ls").into());
        }
        let first = while_wanted(context, environment.read(&path, 0, CHUNK)).await?;
        if haft_core::image::mime_type(&first).is_some() {
            return image::read(environment, &path, stat.len).await;
        }
        let offset = args.offset.unwrap_or(1).max(1);
        let lines = usize::try_from(args.limit.unwrap_or(u64::MAX)).unwrap_or(MAX_LINES).clamp(1, MAX_LINES);
        let pager = Pager::new(offset, lines);
        let page = scan(context, environment, &path, first, pager).await?;
        text(&shown, offset, &page)
    }
}

/// Reads on until the page is full: what lies behind it is never read.
async fn scan(
    context: &ToolContext,
    environment: &dyn Environment,
    path: &Path,
    first: Vec<u8>,
    mut pager: Pager,
) -> Result<Page, ToolFailure> {
    let mut chunk = first;
    let mut position = 0;
    loop {
        if chunk.contains(&0) {
            let shown = path::show(environment, path);
            return Err(format!(
                "{shown} is a binary file (it contains NUL bytes) and not shown; look at it with bash: file, xxd, \
                 strings, or iconv if it is UTF-16 text"
            )
            .into());
        }
        position += chunk.len() as u64;
        let at_end = chunk.len() < CHUNK;
        if pager.feed(&chunk) || at_end {
            return Ok(pager.finish());
        }
        chunk = while_wanted(context, environment.read(path, position, CHUNK)).await?;
    }
}

fn text(shown: &str, offset: u64, page: &Page) -> Result<ToolOutput, ToolFailure> {
    if page.lines == 0 {
        return match page.skipped {
            0 => Ok(ToolOutput::text(format!("[{shown} is empty]"))),
            lines => Err(format!("offset {offset} is behind the end: {shown} has {lines} lines").into()),
        };
    }
    let mut notes = Vec::new();
    let last = offset + page.lines - 1;
    if page.cut_line {
        notes.push(format!(
            "line {last} is longer than {} KB and cut; see the rest with bash: sed -n '{last}p' {shown} | cut -b {}-",
            MAX_BYTES / 1024,
            page.text.len() + 1,
        ));
    }
    if page.more {
        notes.push(format!("showing lines {offset}-{last}; more follow, use offset={}", last + 1));
    }
    if page.lossy {
        notes.push("bytes that are not UTF-8 are shown as \u{fffd}".to_owned());
    }
    let mut text = page.text.clone();
    for note in notes {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{note}]\n"));
    }
    Ok(ToolOutput::text(text))
}
