//! `edit`: exact replacements, all or none.

mod replace;

use std::path::Path;

use haft_core::tool::{Concurrency, ToolContext, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use similar::TextDiff;

use crate::builtin::{BuiltIn, ToolFailure, shorten_head};
use crate::environment::Environment;
use crate::write::{claim, remark};
use crate::{path, timeouts};
use replace::{Replacement, replace};

/// The longest file that can be edited, in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;

pub(crate) struct Edit;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct EditArgs {
    /// File to change: relative to the working directory, absolute, or starting with ~
    path: String,
    /// Replacements. Each old_text is looked up in the file as it is now, not after the others; they must not overlap
    #[schemars(length(min = 1))]
    edits: Vec<EditArg>,
}

/// The names in camel case are what other harnesses taught models. The schema requires neither form, because it
/// would then refuse the other; what is missing is told below. It takes no null, which is no text.
#[derive(Debug, Deserialize, JsonSchema)]
struct EditArg {
    /// Required. Text to replace: exactly as in the file, white space included, and in it only once
    #[serde(alias = "oldText")]
    #[schemars(extend("type" = "string"))]
    old_text: Option<String>,
    /// Required. Text to put there; empty to delete
    #[serde(alias = "newText")]
    #[schemars(extend("type" = "string"))]
    new_text: Option<String>,
}

impl BuiltIn for Edit {
    const NAME: &'static str = "edit";
    const DESCRIPTION: &'static str = "Change parts of the text file at path by exact replacement. edits is a list of \
        objects, each with old_text (what is there) and new_text (what is to be there). Every old_text must occur \
        exactly once in the file; if one does not, nothing is changed and the error says why. Line endings and byte \
        order mark are kept. The result is a unified diff.";
    const GUIDELINES: &'static [&'static str] = &[
        "Use edit for changes to existing files; put all changes to one file into one call of edit.",
        "Keep each old_text of edit short, but long enough to be unique in the file.",
    ];
    const CONCURRENCY: Concurrency = Concurrency::Exclusive;
    type Args = EditArgs;

    async fn run(
        context: &ToolContext,
        environment: &dyn Environment,
        args: EditArgs,
    ) -> Result<ToolOutput, ToolFailure> {
        let edits = args.edits.into_iter().enumerate().map(replacement).collect::<Result<Vec<_>, _>>()?;
        let path = path::resolve_file(environment, &args.path)?;
        let shown = path::show(environment, &path);
        let mut file = claim(context, environment, &path).await?;
        let old = file.read(MAX_FILE).await?;
        let old = old.ok_or_else(|| format!("{shown} does not exist; create it with write"))?;
        let name = shown.clone();
        // Searching and comparing megabytes takes its time.
        let changed = tokio::task::spawn_blocking(move || change(&name, old, &edits));
        let change = changed.await.map_err(|_| format!("{shown} could not be compared"))??;
        let written = file.replace(change.content).await?;
        let diff = shorten_head(&change.diff, "see the rest with read");
        Ok(ToolOutput::text(format!("edited {shown}{}\n{diff}", remark(written))))
    }
}

fn replacement((index, edit): (usize, EditArg)) -> Result<Replacement, ToolFailure> {
    match (edit.old_text, edit.new_text) {
        (Some(old), Some(new)) => Ok(Replacement { old, new }),
        (None, _) => Err(format!("edits[{index}] has no old_text").into()),
        (_, None) => Err(format!("edits[{index}] has no new_text; pass an empty one to delete").into()),
    }
}

/// New content, and how it differs.
struct Change {
    content: Vec<u8>,
    diff: String,
}

fn change(shown: &str, old: Vec<u8>, edits: &[Replacement]) -> Result<Change, String> {
    let old = String::from_utf8(old)
        .map_err(|_| format!("{shown} is not UTF-8 text and cannot be edited; use bash"))?;
    let new =
        replace(&old, edits).map_err(|problems| format!("{shown} is unchanged:\n{}", problems.join("\n")))?;
    let diff = diff(shown, &old, &new);
    Ok(Change { content: new.into_bytes(), diff })
}

fn diff(shown: &str, old: &str, new: &str) -> String {
    // Carriage returns and the mark would only confuse whoever reads the diff.
    let [old, new] = [old, new].map(|text| text.trim_start_matches('\u{feff}').replace("\r\n", "\n"));
    let (from, to) = match Path::new(shown).is_absolute() {
        true => (shown.to_owned(), shown.to_owned()),
        false => (format!("a/{shown}"), format!("b/{shown}")),
    };
    TextDiff::configure()
        .timeout(timeouts::DIFF)
        .diff_lines(old.as_str(), new.as_str())
        .unified_diff()
        .header(&from, &to)
        .to_string()
}
