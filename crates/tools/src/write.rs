//! `write`: writes a whole file.

use std::path::Path;

use haft_core::tool::{ToolConcurrency, ToolContext, ToolFailureKind, ToolOutput, ToolPreview};
use haft_protocol::content::CallPreview;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::CallSubject;
use crate::builtin::{BuiltIn, SharedToolState, run_until_cancelled};
use crate::diff::Diff;
use crate::environment::{
    AccessKind, ClaimedFile, Environment, FileWriteOutcome, InPlaceReason, ParentPolicy, run_blocking,
    run_blocking_if_large,
};
use crate::failure::ToolFailure;
use crate::path;
use crate::read_tracker::{ContentFingerprint, UnreadFileError};

/// The maximum size of a file that can be changed, in bytes: it is read completely to compare it with the content
/// that was read before.
pub(crate) const MAX_FILE: u64 = 16 * 1024 * 1024;

pub(crate) struct WriteTool;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WriteArgs {
    /// File to write: relative to the working directory, absolute, or starting with ~
    path: String,
    /// The whole new content of the file
    content: String,
}

impl BuiltIn for WriteTool {
    const NAME: &'static str = "write";
    const DESCRIPTION: &'static str = "Write a file: create it, with missing parent directories, or \
    replace its whole content. Read an existing file first, and again if another program has changed it. \
    Permissions are kept; a symbolic link stays and its target is replaced.";
    const GUIDELINES: &'static [&'static str] =
        &["Use write for new files and complete rewrites; change parts of an existing file with edit."];
    const CONCURRENCY: ToolConcurrency = ToolConcurrency::Parallel;
    type Args = WriteArgs;

    fn subject(args: &WriteArgs) -> CallSubject<'_> {
        CallSubject::File(Some(&args.path), AccessKind::Write)
    }

    fn path_mut(args: &mut WriteArgs) -> Option<&mut String> {
        Some(&mut args.path)
    }

    async fn run(
        context: &ToolContext,
        ground: &SharedToolState,
        args: WriteArgs,
    ) -> Result<ToolOutput, ToolFailure> {
        let environment = ground.environment.as_ref();
        let path = path::resolve_file(environment, &args.path)?;
        let shown = path::show(environment, &path);
        let mut file = claim_file(context, environment, &path, ParentPolicy::Create).await?;
        let old = read_for_change(ground, file.as_mut(), &shown).await?;
        check_previewed(context, || digest_old(ground, old.as_ref()), &shown)?;
        let text = args.content;
        let (text, lines, content) = run_blocking_if_large(text.len(), move || {
            let (lines, content) = (text.lines().count(), text.clone().into_bytes());
            (text, lines, content)
        })
        .await?;
        let size = format!("{}, {}", count(lines, "line"), count(content.len(), "byte"));
        let written = replace_content(ground, file.as_mut(), content).await?;
        drop(file);
        let mut output = ToolOutput::text(format!(
            "{} {shown} ({size}){}",
            outcome_verb(written),
            in_place_remark(written)
        ));
        // Comparing megabytes takes long. The file is written in any case.
        let old = old.map(|(content, _)| content);
        let compared =
            tokio::task::spawn_blocking(move || compare_contents(&shown, old, &text)?.details(&shown));
        output.details = compared.await.ok().flatten();
        Ok(output)
    }

    async fn preview(
        context: &ToolContext,
        ground: &SharedToolState,
        args: WriteArgs,
    ) -> Result<Option<ToolPreview>, ToolFailure> {
        let environment = ground.environment.as_ref();
        let path = path::resolve_file(environment, &args.path)?;
        let shown = path::show(environment, &path);
        // The file is free again before the person is asked.
        let old = match claim_file(context, environment, &path, ParentPolicy::Exist).await {
            Ok(mut file) => read_for_change(ground, file.as_mut(), &shown).await?,
            // The call creates the missing directories.
            Err(error) if error.kind() == Some(ToolFailureKind::NotFound) => None,
            Err(error) => return Err(error),
        };
        let state = Some(digest_old(ground, old.as_ref()));
        let binary =
            format!("{shown} is not UTF-8 text, so there is no diff; the call replaces its whole content");
        let old = old.map(|(content, _)| content);
        let diff = run_blocking(move || {
            Ok(compare_contents(&shown, old, &args.content).map(|diff| diff.to_file_diff(&shown)))
        });
        let shown = diff.await?.map_or(CallPreview::Error(binary), CallPreview::Diff);
        Ok(Some(ToolPreview::new(shown).with_state(state)))
    }
}

/// Returns the state of the preview: the content that the call replaces.
fn digest_old(ground: &SharedToolState, old: Option<&(Vec<u8>, ContentFingerprint)>) -> u64 {
    ground.seen.hasher().digest_value(old.map(|(_, print)| print))
}

/// Checks that the call makes the change that a person saw before the approval, if any did.
pub(crate) fn check_previewed(
    context: &ToolContext,
    state: impl FnOnce() -> u64,
    shown: &str,
) -> Result<(), ToolFailure> {
    match context.previewed_state {
        Some(previewed) if previewed != state() => Err(ToolFailure::classified(
            ToolFailureKind::Stale,
            format!("{shown} has changed since the approval; read it again, then retry"),
        )),
        _ => Ok(()),
    }
}

pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Claims the file, unless the call is cancelled first. The steps after that are short and are not interrupted, so
/// that a cancelled call has either changed the file or not. Fails if a changed link leads to another file than the one
/// that the hooks saw.
pub(crate) async fn claim_file(
    context: &ToolContext,
    environment: &dyn Environment,
    path: &Path,
    parents: ParentPolicy,
) -> Result<Box<dyn ClaimedFile>, ToolFailure> {
    let file = run_until_cancelled(context, environment.claim(path, parents)).await?;
    path::check_place(context, file.path())?;
    Ok(file)
}

/// Reads the file to be changed, if it exists. Its content must be the content that was last read. Changes nothing.
pub(crate) async fn read_for_change(
    ground: &SharedToolState,
    file: &mut dyn ClaimedFile,
    shown: &str,
) -> Result<Option<(Vec<u8>, ContentFingerprint)>, ToolFailure> {
    let Some(content) = file.read(MAX_FILE).await? else { return Ok(None) };
    let (content, print) = fingerprint_content(ground, content).await?;
    let key = file.key().await?;
    let unseen = |unseen| {
        let kind = match unseen {
            UnreadFileError::Never => ToolFailureKind::NotRead,
            UnreadFileError::Changed => ToolFailureKind::Stale,
        };
        ToolFailure::classified(kind, format!("{shown} {unseen}"))
    };
    ground.seen.check(&key, print).map_err(unseen)?;
    Ok(Some((content, print)))
}

/// Replaces the content. The session then knows the content that it wrote.
pub(crate) async fn replace_content(
    ground: &SharedToolState,
    file: &mut dyn ClaimedFile,
    content: Vec<u8>,
) -> Result<FileWriteOutcome, ToolFailure> {
    let (content, print) = fingerprint_content(ground, content).await?;
    let written = file.replace(content).await?;
    // The write is complete even if the file cannot be inspected anymore; then it must be read again.
    if let Ok(key) = file.key().await {
        ground.seen.note(key, print);
    }
    Ok(written)
}

async fn fingerprint_content(
    ground: &SharedToolState,
    content: Vec<u8>,
) -> Result<(Vec<u8>, ContentFingerprint), ToolFailure> {
    let (printer, len) = (ground.seen.hasher(), content.len());
    let work = move || {
        let print = printer.fingerprint(&content);
        (content, print)
    };
    Ok(run_blocking_if_large(len, work).await?)
}

/// Returns the change of the file; `None` if the old content is not text.
fn compare_contents(shown: &str, old: Option<Vec<u8>>, new: &str) -> Option<Diff> {
    let old = old.map(String::from_utf8).transpose().ok()?;
    Some(Diff::new(shown, old.as_deref(), new))
}

fn outcome_verb(written: FileWriteOutcome) -> &'static str {
    match written {
        FileWriteOutcome::Created => "created",
        FileWriteOutcome::Replaced | FileWriteOutcome::InPlace(_) => "replaced the content of",
    }
}

pub(crate) fn in_place_remark(written: FileWriteOutcome) -> &'static str {
    match written {
        FileWriteOutcome::Created | FileWriteOutcome::Replaced => "",
        FileWriteOutcome::InPlace(InPlaceReason::HardLinks) => {
            "; overwritten in place, because it has hard links"
        }
        FileWriteOutcome::InPlace(InPlaceReason::Owner) => {
            "; overwritten in place, because it belongs to another user"
        }
        FileWriteOutcome::InPlace(InPlaceReason::Attributes) => {
            "; overwritten in place, because it has attributes that cannot be copied"
        }
        FileWriteOutcome::InPlace(InPlaceReason::Directory) => {
            "; overwritten in place, because no file can be created in its directory"
        }
        FileWriteOutcome::InPlace(InPlaceReason::MountPoint) => {
            "; overwritten in place, because it is a mount point"
        }
    }
}
