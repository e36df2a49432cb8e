//! Converts a tool's result into PicoClaw's form and back.

use haft_protocol::content::{ContentBlock, Image, ImageData, joined_text};
use haft_protocol::ext::ResultBlock;

use crate::wire::HookToolResult;

/// The prefix of a reference to an image of the result; its number follows. A reference is used because
/// images are long and hooks send back everything that they receive.
const OWN_IMAGE: &str = "media://image-";

/// Returns a result with this content for the model.
pub fn to_hook_result(content: &[ContentBlock]) -> HookToolResult {
    let images = content.iter().filter(|block| matches!(block, ContentBlock::Image(_))).count();
    HookToolResult {
        for_llm: joined_text(content),
        media: (0..images).map(|number| format!("{OWN_IMAGE}{number}")).collect(),
        ..HookToolResult::default()
    }
}

/// Returns the content of a hook's result. `own` is the content of the original result, whose images it may keep.
pub fn result_blocks(result: &HookToolResult, own: &[ContentBlock]) -> Vec<ResultBlock> {
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
fn resolve_image(reference: &str, own: &[ContentBlock]) -> Option<Image> {
    if let Some(number) = reference.strip_prefix(OWN_IMAGE) {
        let mut images = own.iter().filter_map(|block| match block {
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
        let own = [png("a"), ContentBlock::text("fog"), png("b")];
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
        assert_eq!(shown(&result_blocks(&result, &own)), expect);
    }
}
