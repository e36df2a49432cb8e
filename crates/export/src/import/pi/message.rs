//! Messages of pi.

use haft_core::session::entry::{CustomMessage, MessageEntry, ResponseMetadata};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, StopCause, TokenUsage, ToolMessage};
use serde::Deserialize;

use super::super::builder::EntryBuilder;
use super::{OWNER, parse_contents};

/// The fields of all roles.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PiMessage {
    role: String,
    content: Option<RawJson>,
    provider: Option<String>,
    model: Option<String>,
    usage: Option<PiUsage>,
    stop_reason: Option<String>,
    error_message: Option<String>,
    tool_call_id: Option<String>,
    tool_name: Option<String>,
    #[serde(default)]
    is_error: bool,
    details: Option<RawJson>,
    custom_type: Option<String>,
    display: Option<bool>,
    summary: Option<String>,
    command: Option<String>,
    output: Option<String>,
    #[serde(default)]
    exclude_from_context: bool,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PiUsage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    cost: PiCost,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct PiCost {
    total: f64,
}

/// The fields of all kinds of blocks.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PiBlock {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    thinking: Option<String>,
    mime_type: Option<String>,
    data: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<RawJson>,
}

impl PiBlock {
    pub(super) fn into_content(self, builder: &mut EntryBuilder) -> Option<ContentBlock> {
        match (self.kind.as_str(), self.text, self.mime_type, self.data) {
            ("text", Some(text), ..) => Some(ContentBlock::Text { text }),
            ("image", _, Some(mime_type), Some(data)) => {
                Some(ContentBlock::Image(Image { mime_type, data: data.into() }))
            }
            (kind, ..) => report_left_out(builder, kind),
        }
    }

    fn into_assistant_block(self, builder: &mut EntryBuilder) -> Option<AssistantBlock> {
        match (self.kind.as_str(), self.text, self.thinking, self.id, self.name) {
            ("text", Some(text), ..) => Some(AssistantBlock::Text { text }),
            ("thinking", _, Some(text), ..) => Some(AssistantBlock::Thinking { text }),
            ("toolCall", _, _, Some(id), Some(name)) => {
                let args = self.arguments.filter(RawJson::is_object).unwrap_or_else(RawJson::empty_object);
                Some(AssistantBlock::ToolCall(ToolCall { id: ToolCallId::new(id), name, args }))
            }
            (kind, ..) => report_left_out(builder, kind),
        }
    }
}

fn report_left_out<T>(builder: &mut EntryBuilder, kind: &str) -> Option<T> {
    builder.add_problem(format!("left out a message part of type {kind:?}"));
    None
}

/// Parses the blocks of a message; empty if they cannot be read.
pub(super) fn parse_blocks(builder: &mut EntryBuilder, raw: &RawJson) -> Vec<PiBlock> {
    raw.read().unwrap_or_else(|error| {
        builder.add_problem(format!("cannot read the content of a message: {error}"));
        Vec::new()
    })
}

/// Adds a message. Returns `None` if its role is not known or a required field is missing.
pub(super) fn add(builder: &mut EntryBuilder, raw: &RawJson) -> Option<()> {
    let fields: PiMessage = raw.read().ok()?;
    match fields.role.as_str() {
        "user" => {
            let content = parse_contents(builder, &fields.content?);
            let time = builder.time.clone();
            builder.add(Message::User { content, time });
        }
        "assistant" => add_assistant(builder, fields)?,
        "toolResult" => {
            let content = parse_contents(builder, &fields.content?);
            let message = ToolMessage::new(
                ToolCallId::new(fields.tool_call_id?),
                fields.tool_name?,
                content,
                builder.time.clone(),
            )
            .with_is_error(fields.is_error)
            .with_details(fields.details.filter(RawJson::is_object));
            builder.add(Message::Tool(message));
        }
        // The text that pi sends for a command that the user ran. A command excluded from the context stays excluded.
        "bashExecution" if !fields.exclude_from_context => {
            let text = format!("Ran `{}`\n```\n{}\n```", fields.command?, fields.output.unwrap_or_default());
            add_custom_message(builder, "bashExecution", vec![ContentBlock::Text { text }]);
        }
        "bashExecution" => _ = builder.add_custom(OWNER, "bashExecution", raw.clone()),
        "custom" | "hookMessage" => {
            let content = parse_contents(builder, &fields.content?);
            builder.add(
                CustomMessage::new(OWNER.to_owned(), fields.custom_type?, content)
                    .with_display(fields.display.unwrap_or(true))
                    .with_details(fields.details),
            );
        }
        role @ ("branchSummary" | "compactionSummary") => {
            add_custom_message(builder, role, vec![ContentBlock::Text { text: fields.summary? }]);
        }
        _ => return None,
    }
    Some(())
}

fn add_custom_message(builder: &mut EntryBuilder, kind: &str, content: Vec<ContentBlock>) {
    let (owner, kind) = (OWNER.to_owned(), kind.to_owned());
    builder.add(CustomMessage::new(owner, kind, content));
}

fn add_assistant(builder: &mut EntryBuilder, fields: PiMessage) -> Option<()> {
    let raw = fields.content?;
    let mut content: Vec<AssistantBlock> = match raw.read::<String>() {
        Ok(text) => vec![AssistantBlock::Text { text }],
        Err(_) => parse_blocks(builder, &raw)
            .into_iter()
            .filter_map(|block| block.into_assistant_block(builder))
            .collect(),
    };
    let calls = content.iter().any(|block| matches!(block, AssistantBlock::ToolCall(_)));
    let stop = match fields.stop_reason.as_deref() {
        Some("length") => StopCause::Length,
        Some("error") => StopCause::Error,
        Some("aborted") => StopCause::Aborted,
        Some("toolUse") => StopCause::ToolUse,
        Some(_) => StopCause::End,
        None if calls => StopCause::ToolUse,
        None => StopCause::End,
    };
    // Providers reject an empty answer.
    if content.is_empty() {
        let text = fields.error_message.unwrap_or_else(|| "(no answer)".to_owned());
        content.push(AssistantBlock::Text { text });
    }
    let used = fields.usage.unwrap_or_default();
    let answer = ResponseMetadata::new(
        fields.provider.unwrap_or_else(|| OWNER.to_owned()),
        fields.model.unwrap_or_default(),
        stop,
        TokenUsage::default()
            .with_input(used.input)
            .with_output(used.output)
            .with_cache_read(used.cache_read)
            .with_cache_write(used.cache_write)
            .with_cost_usd(used.cost.total),
    );
    let message = AssistantMessage::new(content, builder.time.clone());
    builder.add(MessageEntry::new(Message::Assistant(message)).with_answer(answer));
    Some(())
}
