//! Converts a tool's result into PicoClaw's form and back.

use haft_adapter_picoclaw::wire::{HookToolResult, InterceptPoint};
use haft_core::tool::{DisplayText, ToolOutput};
use haft_protocol::content::{ContentBlock, Image, ImageData, joined_text};
use haft_protocol::ext::{ResultBlock, ToolResultFrame as Blocks};
use haft_protocol::ids::RequestId;

use super::adapter::ProcessHookAdapter;
use super::bounds;
use crate::agent::tool::{SanitizedToolResult, limits_of_changed_result};

/// The prefix of a reference to an image of the result; its number follows. A reference is used because
/// images are long and hooks send back everything that they receive.
const OWN_IMAGE: &str = "media://image-";

pub(super) fn to_hook_result(output: &ToolOutput) -> HookToolResult {
    let images = output.content.iter().filter(|block| matches!(block, ContentBlock::Image(_))).count();
    HookToolResult {
        for_llm: joined_text(&output.content),
        for_user: output.display.as_ref().map(|display| display.text.clone()).unwrap_or_default(),
        is_error: output.is_error,
        response_handled: output.handled,
        media: (0..images).map(|number| format!("{OWN_IMAGE}{number}")).collect(),
        ..HookToolResult::default()
    }
}

/// Reads a hook's result for this tool. Long texts, invisible characters and invalid image references are
/// handled as in a result of an extension's tool.
pub(super) async fn read_result(
    hook: &ProcessHookAdapter,
    point: InterceptPoint,
    tool: &str,
    result: &HookToolResult,
    own: Option<&ToolOutput>,
) -> ToolOutput {
    let (name, context) = (hook.entry.name(), &hook.context);
    let limits = *context.shared.limits;
    let limits = own.map_or(limits, |own| limits_of_changed_result(limits, own));
    let content = result_blocks(result, own);
    let is_error = result.is_error;
    let blocks = Blocks { id: RequestId::new(""), content, is_error, details: None, terminate: false };
    let (read, kept) =
        match SanitizedToolResult::read_off_thread(name, tool, blocks, limits, &context.results).await {
            Ok(read) => read,
            Err(error) => return ToolOutput::error(format!("extension {name}/{tool} failed: {error}")),
        };
    if let Some(detail) = &read.rejected {
        hook.report_fault(point, detail);
    }
    context.reporter(name).report_hidden_text(read.hidden, &format!("a result for tool {tool}"));
    // If only text can be delivered, the model has to mention it.
    let handled = result.response_handled && result.media.is_empty();
    let shown = !result.silent && !result.for_user.is_empty();
    let display = shown.then(|| DisplayText {
        by: name.clone(),
        text: bounds::shorten_for_user(&result.for_user, limits, own),
    });
    let terminate = own.is_some_and(|own| own.terminate);
    ToolOutput { handled, terminate, display, ..read.into_output(kept.as_deref()) }
}

fn result_blocks(result: &HookToolResult, own: Option<&ToolOutput>) -> Vec<ResultBlock> {
    let mut blocks = vec![ResultBlock::Text { text: result.for_llm.clone() }];
    for reference in &result.media {
        blocks.push(match resolve_image(reference, own) {
            Some(image) => ResultBlock::Image(image),
            None => ResultBlock::Text { text: format!("[media: {reference}]") },
        });
    }
    blocks.extend(result.artifact_tags.iter().map(|tag| ResultBlock::Text { text: tag.clone() }));
    blocks
}

/// Returns an image of the result itself, or an image from a data URL.
fn resolve_image(reference: &str, own: Option<&ToolOutput>) -> Option<Image> {
    if let Some(number) = reference.strip_prefix(OWN_IMAGE) {
        let mut images = own?.content.iter().filter_map(|block| match block {
            ContentBlock::Image(image) => Some(image),
            ContentBlock::Text { .. } => None,
        });
        return images.nth(number.parse().ok()?).cloned();
    }
    let (mime_type, data) = reference.strip_prefix("data:")?.split_once(";base64,")?;
    Some(Image { mime_type: mime_type.to_owned(), data: ImageData::from(data.to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(data: &str) -> ContentBlock {
        ContentBlock::Image(Image { mime_type: "image/png".into(), data: ImageData::from(data.to_owned()) })
    }

    fn shown(blocks: &[ResultBlock]) -> Vec<String> {
        let shown = |block: &ResultBlock| match block {
            ResultBlock::Text { text } => text.clone(),
            ResultBlock::Image(image) => format!("<{} {}>", image.mime_type, &*image.data),
            ResultBlock::Unknown { kind } => kind.clone(),
        };
        blocks.iter().map(shown).collect()
    }

    #[test]
    fn restores_images_by_reference() {
        let own = ToolOutput {
            content: vec![png("a"), ContentBlock::text("fog"), png("b")],
            ..ToolOutput::text("")
        };
        let mut result = to_hook_result(&own);
        assert_eq!((result.for_llm.as_str(), result.media.len()), ("fog", 2));
        result.media.reverse();
        result.media.extend(["media://image-7", "data:image/gif;base64,R0", "/tmp/x.png"].map(str::to_owned));
        result.artifact_tags = vec!["[file:/tmp/x]".to_owned()];
        let expect = [
            "fog",
            "<image/png b>",
            "<image/png a>",
            "[media: media://image-7]",
            "<image/gif R0>",
            "[media: /tmp/x.png]",
            "[file:/tmp/x]",
        ];
        assert_eq!(shown(&result_blocks(&result, Some(&own))), expect);
    }
}
