//! `read`: reads a page of a text file, or an image.

mod pager;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use haft_core::image;
use haft_core::tool::{ToolConcurrency, ToolContext, ToolOutput};
use haft_core::truncate::{MAX_BYTES, MAX_LINES};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::CallSubject;
use crate::builtin::{BuiltIn, ResultAudience, SharedToolState, run_until_cancelled};
use crate::environment::{AccessKind, Environment, FileKind, ParentPolicy, run_blocking_if_large};
use crate::failure::ToolFailure;
use crate::path;
use crate::write::{MAX_FILE, claim_file};
use pager::{LinePager, TextPage};

/// The number of bytes per read: more than a page, so that most files need one call.
const CHUNK: usize = 256 * 1024;

pub(crate) struct ReadTool;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ReadArgs {
    /// File to read: relative to the working directory, absolute, or starting with ~
    pub(crate) path: String,
    /// First line to read, counted from 1. Default: 1
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offset: Option<u64>,
    /// The number of lines to read. Default and most: 2000
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u64>,
}

impl BuiltIn for ReadTool {
    const NAME: &'static str = "read";
    const DESCRIPTION: &'static str = "Read the file at path: text, or an image to look at (png, jpg, gif, \
    webp; up to 5 MiB). Text is returned as in the file, without line numbers: all of it, or limit lines \
    from line offset on, at most 2000 lines or 50 KB at a time. If more lines follow, a note at the end \
    gives the next offset. Directories and binary files are rejected.";
    const GUIDELINES: &'static [&'static str] = &[
        "Use read to look at files instead of cat, head or sed in bash; for a long file pass offset and limit.",
        "Use read before you change a file with edit or write, and again after another program has changed it.",
    ];
    const CONCURRENCY: ToolConcurrency = ToolConcurrency::Parallel;
    type Args = ReadArgs;

    fn subject(args: &ReadArgs) -> CallSubject<'_> {
        CallSubject::File(Some(&args.path), AccessKind::Read)
    }

    fn path_mut(args: &mut ReadArgs) -> Option<&mut String> {
        Some(&mut args.path)
    }

    async fn run(
        context: &ToolContext,
        ground: &SharedToolState,
        args: ReadArgs,
    ) -> Result<ToolOutput, ToolFailure> {
        let environment = ground.environment.as_ref();
        let path = path::resolve(environment, &args.path)?;
        // Waits for the changes of earlier calls in the same message.
        let mut file = claim_file(context, environment, &path, ParentPolicy::Exist).await?;
        let stat = run_until_cancelled(context, environment.stat(&path)).await?;
        if stat.kind == FileKind::Directory {
            return Err(
                format!("{} is a directory; use ls to list it", path::show(environment, &path)).into()
            );
        }
        let wanted = ReadRequest::new(path, &args, ground.reader);
        if stat.len > MAX_FILE {
            return wanted.output_for_long_file(context, environment, stat.len).await;
        }
        let content = run_until_cancelled(context, file.read(MAX_FILE)).await?.unwrap_or_default();
        let len = content.len();
        let key = run_until_cancelled(context, file.key()).await?;
        let (printer, shown) = (ground.seen.hasher(), path::show(environment, &wanted.path));
        let looked = move || {
            wanted.output_for_content(&shown, &content).map(|output| (output, printer.fingerprint(&content)))
        };
        let (output, print) = run_blocking_if_large(len, looked).await??;
        ground.seen.note(key, print);
        Ok(output)
    }
}

struct ReadRequest {
    path: PathBuf,
    offset: u64,
    lines: usize,
    reader: ResultAudience,
}

impl ReadRequest {
    fn new(path: PathBuf, args: &ReadArgs, reader: ResultAudience) -> Self {
        let lines = usize::try_from(args.limit.unwrap_or(u64::MAX)).unwrap_or(MAX_LINES).clamp(1, MAX_LINES);
        Self { path, offset: args.offset.unwrap_or(1).max(1), lines, reader }
    }

    /// Returns the result for a file with known content.
    fn output_for_content(&self, shown: &str, content: &[u8]) -> Result<ToolOutput, ToolFailure> {
        if image::mime_type(content).is_some() {
            return show_image(shown, content);
        }
        let mut pager = LinePager::new(self.offset, self.lines);
        for chunk in content.chunks(CHUNK) {
            if chunk.contains(&0) {
                return Err(binary_file_error(shown));
            }
            if pager.feed(chunk) {
                break;
            }
        }
        self.text(shown, &pager.finish())
    }

    /// Returns the result for a file that is too long to be changed. Only the bytes up to the end of the page are
    /// read.
    async fn output_for_long_file(
        &self,
        context: &ToolContext,
        environment: &dyn Environment,
        len: u64,
    ) -> Result<ToolOutput, ToolFailure> {
        let shown = path::show(environment, &self.path);
        let first = run_until_cancelled(context, environment.read(&self.path, 0, CHUNK)).await?;
        if image::mime_type(&first).is_some() {
            return Err(image_too_big_error(&shown, len));
        }
        let pager = LinePager::new(self.offset, self.lines);
        let page = read_page(context, environment, &self.path, first, pager).await?;
        self.text(&shown, &page)
    }

    fn text(&self, shown: &str, page: &TextPage) -> Result<ToolOutput, ToolFailure> {
        if page.lines == 0 && page.skipped > 0 {
            let lines = page.skipped;
            return Err(format!(
                "offset {} is past the end of {shown}, which has {lines} lines",
                self.offset
            )
            .into());
        }
        let notes = self.notes(shown, page);
        Ok(match self.reader {
            ResultAudience::Model => ToolOutput::text(output_for_model(page, &notes)),
            ResultAudience::Program => self.output_for_program(page, notes),
        })
    }

    fn notes(&self, shown: &str, page: &TextPage) -> Vec<String> {
        if page.lines == 0 {
            return vec![format!("{shown} is empty")];
        }
        let mut notes = Vec::new();
        let (offset, last) = (self.offset, self.last_line(page));
        if page.cut_line {
            notes.push(format!(
                "line {last} is longer than {} KB and was cut; to see the rest, run in bash: sed -n '{last}p' {shown} | cut -b {}-",
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
        notes
    }

    fn output_for_program(&self, page: &TextPage, notes: Vec<String>) -> ToolOutput {
        let mut output = ToolOutput::text(page.text.clone());
        output.content.extend(notes.into_iter().map(ContentBlock::text));
        if page.more {
            let next = BTreeMap::from([("next_offset", self.last_line(page) + 1)]);
            output.details = RawJson::from_value(&next).ok();
        }
        output
    }

    fn last_line(&self, page: &TextPage) -> u64 {
        self.offset + page.lines - 1
    }
}

fn output_for_model(page: &TextPage, notes: &[String]) -> String {
    if let ([empty], 0) = (notes, page.lines) {
        return format!("[{empty}]");
    }
    let mut text = page.text.clone();
    for note in notes {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{note}]\n"));
    }
    text
}

/// Reads until the page is full; bytes after it are never read.
async fn read_page(
    context: &ToolContext,
    environment: &dyn Environment,
    path: &Path,
    first: Vec<u8>,
    mut pager: LinePager,
) -> Result<TextPage, ToolFailure> {
    let mut chunk = first;
    let mut position = 0;
    loop {
        if chunk.contains(&0) {
            return Err(binary_file_error(&path::show(environment, path)));
        }
        position += chunk.len() as u64;
        let at_end = chunk.len() < CHUNK;
        if pager.feed(&chunk) || at_end {
            return Ok(pager.finish());
        }
        chunk = run_until_cancelled(context, environment.read(path, position, CHUNK)).await?;
    }
}

fn binary_file_error(shown: &str) -> ToolFailure {
    format!(
        "{shown} is a binary file (it contains NUL bytes) and cannot be shown; use bash with file, xxd or \
        strings, or with iconv if it is UTF-16 text"
    )
    .into()
}

fn image_too_big_error(shown: &str, len: u64) -> ToolFailure {
    format!("{shown} is an image of {len} bytes, and the limit is 5 MiB; reduce its size first").into()
}

fn show_image(shown: &str, bytes: &[u8]) -> Result<ToolOutput, ToolFailure> {
    if bytes.len() > image::MAX_BYTES {
        return Err(image_too_big_error(shown, bytes.len() as u64));
    }
    let mime_type = image::check(bytes).map_err(|error| format!("cannot show {shown}: {error}"))?;
    let note = ContentBlock::text(format!("[{shown}: {mime_type}, {} bytes]", bytes.len()));
    let block = Image { mime_type: mime_type.to_owned(), data: BASE64_STANDARD.encode(bytes).into() };
    Ok(ToolOutput::text("").with_content(vec![note, ContentBlock::Image(block)]))
}
