//! The conversation as text, so that the model that sums it up does not go on with it.

use haft_protocol::content::Content;
use haft_protocol::message::{AssistantBlock, Message};

use super::message_of;
use crate::session::entry::Entry;

/// Bytes of a tool's result, or of its arguments, that are worth summing up.
const LONGEST: usize = 2_000;

/// What an entry says to the model, as text for a summary; `None` for one that is not of the conversation. Long results
/// and arguments of tools are cut in the middle, and a picture is a word.
pub fn entry_text(entry: &Entry) -> Option<String> {
    let message = message_of(entry)?;
    let text = match message.as_ref() {
        Message::User { content, .. } => format!("[user]\n{}", content_text(content)),
        Message::Tool(result) => {
            let failed = if result.is_error { ", failed" } else { "" };
            format!("[result of {}{failed}]\n{}", result.name, shortened(&content_text(&result.content)))
        }
        Message::Assistant(said) => {
            // What was thought is either said or done, too.
            let blocks = said.content.iter().filter_map(|block| match block {
                AssistantBlock::Text { text } => Some(format!("[assistant]\n{text}")),
                AssistantBlock::Thinking { .. } => None,
                AssistantBlock::ToolCall(call) => {
                    Some(format!("[call of {}]\n{}", call.name, shortened(call.args.as_str())))
                }
            });
            blocks.collect::<Vec<_>>().join("\n\n")
        }
    };
    Some(text).filter(|text| !text.is_empty())
}

fn content_text(content: &[Content]) -> String {
    let words = content.iter().map(|block| match block {
        Content::Text { text } => text.as_str(),
        Content::Image(_) => "[image]",
    });
    words.collect::<Vec<_>>().join("\n")
}

fn shortened(text: &str) -> String {
    without_middle(text, LONGEST)
}

/// A text of at most about this many bytes: its beginning, a word on what is missing, and twice as much of its end.
pub(super) fn without_middle(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(bytes / 3);
    let tail = text.ceil_char_boundary(text.len() - (bytes - bytes / 3));
    let (start, end) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!("{start}\n[… {} bytes left out …]\n{end}", tail - head)
}

/// A text of at most this many bytes, from its beginning.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}
