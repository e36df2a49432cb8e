//! `edit`: exact replacements, either all or none.

mod replace;

use std::path::Path;

use haft_core::tool::{ToolConcurrency, ToolContext, ToolFailureKind, ToolOutput, ToolPreview};
use haft_protocol::content::CallPreview;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::CallSubject;
use crate::builtin::{BuiltIn, SharedToolState, shorten_head};
use crate::diff::Diff;
use crate::environment::{AccessKind, ClaimedFile, ParentPolicy, run_blocking};
use crate::failure::ToolFailure;
use crate::path;
use crate::write::{check_previewed, claim_file, in_place_remark, read_for_change, replace_content};
use replace::{TextReplacement, replace};

pub(crate) struct EditTool;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EditArgs {
    /// File to change: relative to the working directory, absolute, or starting with ~
    path: String,
    /// Replacements. Each old_text is searched in the original file, not in the result of the others; they must not overlap
    #[schemars(length(min = 1))]
    edits: Vec<EditArg>,
}

/// The camel-case names are those that models learned from other harnesses. The schema requires neither form, because
/// it would then reject the other; a missing field is reported below. `null` is rejected because it is not a text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct EditArg {
    /// Required. Text to replace, exactly as in the file with its whitespace. It must occur only once
    #[serde(alias = "oldText", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = "string"))]
    old_text: Option<String>,
    /// Required. New text; empty to delete
    #[serde(alias = "newText", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = "string"))]
    new_text: Option<String>,
}

impl BuiltIn for EditTool {
    const NAME: &'static str = "edit";
    const DESCRIPTION: &'static str = "Change parts of the text file at path by exact replacement. edits \
    is a list of objects, each with old_text (the present text) and new_text (its replacement). Every \
    old_text must occur exactly once in the file; otherwise nothing is changed, and the error gives the \
    reason. Read the file first, and again if another program has changed it. Line endings, byte order \
    mark and bytes that are not UTF-8 are kept. The result is a unified diff.";
    const GUIDELINES: &'static [&'static str] = &[
        "Use edit for changes to existing files that you have read; put all changes to one file into one call of edit.",
        "Keep each old_text of edit short, but long enough to be unique in the file.",
    ];
    const CONCURRENCY: ToolConcurrency = ToolConcurrency::Parallel;
    type Args = EditArgs;

    fn subject(args: &EditArgs) -> CallSubject<'_> {
        CallSubject::File(Some(&args.path), AccessKind::Write)
    }

    fn path_mut(args: &mut EditArgs) -> Option<&mut String> {
        Some(&mut args.path)
    }

    async fn run(
        context: &ToolContext,
        ground: &SharedToolState,
        args: EditArgs,
    ) -> Result<ToolOutput, ToolFailure> {
        let environment = ground.environment.as_ref();
        let path = path::resolve_file(environment, &args.path)?;
        let shown = path::show(environment, &path);
        let (mut file, EditedContent { content, diff }) = edit_content(context, ground, &path, args).await?;
        check_previewed(context, || digest_changes(ground, &diff), &shown)?;
        let written = replace_content(ground, file.as_mut(), content).await?;
        let unified = shorten_head(&diff.unified, "see the rest with read");
        let mut output = ToolOutput::text(format!("edited {shown}{}\n{unified}", in_place_remark(written)));
        output.details = diff.details(&shown);
        Ok(output)
    }

    async fn preview(
        context: &ToolContext,
        ground: &SharedToolState,
        args: EditArgs,
    ) -> Result<Option<ToolPreview>, ToolFailure> {
        let environment = ground.environment.as_ref();
        let path = path::resolve_file(environment, &args.path)?;
        let (_, EditedContent { diff, .. }) = edit_content(context, ground, &path, args).await?;
        let shown = CallPreview::Diff(diff.to_file_diff(&path::show(environment, &path)));
        Ok(Some(ToolPreview::new(shown).with_state(digest_changes(ground, &diff))))
    }
}

/// Returns the state of the preview: the removed and added lines. The person has not approved a change of other lines,
/// but an earlier call of the same message may change other parts of the file.
fn digest_changes(ground: &SharedToolState, diff: &Diff) -> u64 {
    ground.seen.hasher().digest_value(diff.changed_lines())
}

/// Claims the file and computes its new content.
async fn edit_content(
    context: &ToolContext,
    ground: &SharedToolState,
    path: &Path,
    args: EditArgs,
) -> Result<(Box<dyn ClaimedFile>, EditedContent), ToolFailure> {
    let environment = ground.environment.as_ref();
    let edits = args.edits.into_iter().enumerate().map(parse_replacement).collect::<Result<Vec<_>, _>>()?;
    let shown = path::show(environment, path);
    let mut file = claim_file(context, environment, path, ParentPolicy::Exist).await?;
    let old = read_for_change(ground, file.as_mut(), &shown).await?;
    let missing = || {
        ToolFailure::classified(
            ToolFailureKind::NotFound,
            format!("{shown} does not exist; create it with write"),
        )
    };
    let (old, _) = old.ok_or_else(missing)?;
    // Searching and comparing megabytes takes long.
    let edited = run_blocking(move || Ok(apply_edits(&shown, old, &edits))).await??;
    Ok((file, edited))
}

fn parse_replacement((index, edit): (usize, EditArg)) -> Result<TextReplacement, ToolFailure> {
    match (edit.old_text, edit.new_text) {
        (Some(old), Some(new)) => Ok(TextReplacement { old, new }),
        (None, _) => Err(format!("edits[{index}] has no old_text").into()),
        (_, None) => {
            Err(format!("edits[{index}] has no new_text; pass an empty string to delete the text").into())
        }
    }
}

/// The new content and its diff.
struct EditedContent {
    content: Vec<u8>,
    diff: Diff,
}

fn apply_edits(shown: &str, old: Vec<u8>, edits: &[TextReplacement]) -> Result<EditedContent, String> {
    let lossy = std::str::from_utf8(&old).is_err();
    let old = to_text(old).ok_or_else(|| format!("cannot edit {shown}: it is not UTF-8 text; use bash"))?;
    let new =
        replace(&old, edits).map_err(|problems| format!("{shown} is unchanged:\n{}", problems.join("\n")))?;
    let diff = match lossy {
        true => Diff::new(shown, Some(&to_readable(&old)), &to_readable(&new)),
        false => Diff::new(shown, Some(&old), &new),
    };
    Ok(EditedContent { content: to_bytes(new, lossy), diff })
}

/// The character that represents the byte 0x80 outside of text; the other bytes follow. These are private-use
/// code points, which text hardly ever contains.
const FIRST: u32 = 0x0010_ff00;

/// Converts bytes to text with a character for each invalid byte. Returns `None` if the text contains such characters
/// itself.
fn to_text(bytes: Vec<u8>) -> Option<String> {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Some(text),
        Err(error) => error.into_bytes(),
    };
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().chars().any(stands_for_byte) {
            return None;
        }
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().filter_map(|&byte| char::from_u32(FIRST + u32::from(byte))));
    }
    Some(text)
}

/// Converts the text back to bytes. `lossy` is true if the text contains such characters.
fn to_bytes(text: String, lossy: bool) -> Vec<u8> {
    if !lossy {
        return text.into_bytes();
    }
    let mut bytes = Vec::with_capacity(text.len());
    for char in text.chars() {
        match u8::try_from(u32::from(char).wrapping_sub(FIRST)) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend(char.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    bytes
}

fn to_readable(text: &str) -> String {
    text.chars().map(|char| if stands_for_byte(char) { char::REPLACEMENT_CHARACTER } else { char }).collect()
}

fn stands_for_byte(char: char) -> bool {
    (FIRST..FIRST + 0x100).contains(&u32::from(char))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_every_byte() {
        let all: Vec<u8> = (0..=255).collect();
        for bytes in [all, b"caf\xe9\r\n\xff\xfe".to_vec(), "ä\u{feff}".into(), vec![0xf0, 0x9f, 0x98]] {
            let text = to_text(bytes.clone()).unwrap();
            assert_eq!(to_bytes(text, true), bytes);
        }
        assert_eq!(to_readable(&to_text(b"caf\xe9".to_vec()).unwrap()), "caf\u{fffd}");
        assert_eq!(to_text("\u{10fff0}\n".bytes().chain([0xff]).collect()), None);
    }
}
