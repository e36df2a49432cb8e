//! Converts the transcript to the wire library's types.
//!
//! A message from the same provider and model is sent back in its native form, including signatures and encrypted
//! reasoning. Any other message is rebuilt from its portable content. The wire library decides how to send reasoning
//! that the new model cannot verify.

use std::collections::HashMap;

use haft_protocol::content::{ContentBlock, Image, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, ToolMessage};
use rig_core::message::{
    self as rig, AssistantContent, CallId, DocumentSourceKind, ImageMediaType, MimeType, ToolFunction,
    ToolName, ToolResultContent, UserContent,
};
use serde_json::Value;

/// Converts the messages. Empty messages are left out, because providers reject them.
pub(super) fn convert_history(messages: &[Message], origin: &str) -> Vec<rig::Message> {
    let mut history = HistoryConverter { origin, ids: HashMap::new(), out: Vec::new(), results: Vec::new() };
    for message in messages {
        match message {
            Message::User { content, .. } => history.add_user(content),
            Message::Assistant(message) => history.add_assistant(message),
            Message::Tool(message) => history.add_tool_result(message),
        }
    }
    history.flush_results();
    history.out
}

struct HistoryConverter<'a> {
    origin: &'a str,
    /// The wire library's ids of the calls so far, where they differ from haft's ids.
    ids: HashMap<ToolCallId, CallId>,
    out: Vec<rig::Message>,
    results: Vec<rig::ToolResult>,
}

impl HistoryConverter<'_> {
    fn add_user(&mut self, content: &[ContentBlock]) {
        self.flush_results();
        let content = convert_blocks(content, UserContent::Text, UserContent::Image);
        if !content.is_empty() {
            self.out.push(rig::Message::User { content });
        }
    }

    fn add_assistant(&mut self, message: &AssistantMessage) {
        self.flush_results();
        let rebuilt = restore_native(message, self.origin).unwrap_or_else(|| rebuild_message(message));
        for (call, theirs) in message.tool_calls().zip(rebuilt.tool_calls()) {
            self.ids.insert(call.id.clone(), theirs.id.clone());
        }
        if !rebuilt.content.is_empty() {
            self.out.push(rig::Message::Assistant(rebuilt));
        }
    }

    fn add_tool_result(&mut self, message: &ToolMessage) {
        let Ok(name) = ToolName::new(&message.name) else { return };
        let id = &message.call_id;
        let call = self.ids.get(id).cloned().unwrap_or_else(|| CallId::from_wire(id.as_str()));
        let mut content = convert_blocks(&message.content, ToolResultContent::Text, ToolResultContent::Image);
        if content.is_empty() {
            content.push(ToolResultContent::text("(no output)"));
        }
        self.results.push(rig::ToolResult { call, name, content, is_error: message.is_error });
    }

    fn flush_results(&mut self) {
        if !self.results.is_empty() {
            self.out.push(rig::Message::tool_results(std::mem::take(&mut self.results)));
        }
    }
}

/// Returns the provider's native form, if the same model wrote the message and its calls are unchanged.
fn restore_native(message: &AssistantMessage, origin: &str) -> Option<rig::AssistantMessage> {
    let native = message.native.as_ref().filter(|native| native.origin == origin)?;
    let mut restored: rig::AssistantMessage = native.data.read().ok()?;
    for block in &mut restored.content {
        // Arguments that are not an object would be sent back unchanged, and a server may reject all further requests.
        if let AssistantContent::ToolCall(call) = block
            && call.function.invalid_arguments.is_some()
        {
            call.native = None;
        }
    }
    let ours = message.tool_calls().map(|call| call.name.as_str());
    let theirs = restored.tool_calls().map(|call| call.function.name.as_str());
    ours.eq(theirs).then_some(restored)
}

fn rebuild_message(message: &AssistantMessage) -> rig::AssistantMessage {
    let content = message.content.iter().filter_map(|block| match block {
        AssistantBlock::Text { text } => nonempty_text(text).map(AssistantContent::Text),
        AssistantBlock::Thinking { text } => {
            nonempty_text(text).map(|_| AssistantContent::Reasoning(rig::Reasoning::new(text)))
        }
        AssistantBlock::ToolCall(call) => rebuild_call(call),
    });
    rig::AssistantMessage::new(content.collect())
}

fn rebuild_call(call: &ToolCall) -> Option<AssistantContent> {
    let name = ToolName::new(&call.name).ok()?;
    let args: Value = call.args.read().unwrap_or_default();
    let id = CallId::from_wire(call.id.as_str());
    Some(AssistantContent::ToolCall(rig::ToolCall::new(id, ToolFunction::new(name, args))))
}

/// Converts the blocks that have content. `T` holds texts and images.
fn convert_blocks<T>(
    content: &[ContentBlock],
    text: fn(rig::Text) -> T,
    image: fn(rig::Image) -> T,
) -> Vec<T> {
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text { text: words } => nonempty_text(words).map(text),
        ContentBlock::Image(shown) => Some(convert_image(shown).map_or_else(text, image)),
    };
    content.iter().filter_map(block).collect()
}

fn nonempty_text(text: &str) -> Option<rig::Text> {
    (!text.trim().is_empty()).then(|| rig::Text::new(text))
}

fn convert_image(image: &Image) -> Result<rig::Image, rig::Text> {
    let Some(media_type) = ImageMediaType::from_mime_type(&image.mime_type) else {
        return Err(rig::Text::new(format!("(an image of type {} that cannot be shown)", image.mime_type)));
    };
    Ok(rig::Image {
        data: DocumentSourceKind::base64(image.data.as_str()),
        media_type: Some(media_type),
        ..rig::Image::default()
    })
}
