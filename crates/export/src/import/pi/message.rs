//! Messages of pi.

use haft_core::session::entry::{CustomMessage, ResponseMetadata, Said};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, StopCause, TokenUsage, ToolMessage};
use serde::Deserialize;

use super::super::maker::EntryBuilder;
use super::{OWNER, parse_contents};

/// The fields of every role.
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

/// The fields of every kind of block.
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
    pub(super) fn into_content(self, maker: &mut EntryBuilder) -> Option<ContentBlock> {
        match (self.kind.as_str(), self.text, self.mime_type, self.data) {
            ("text", Some(text), ..) => Some(ContentBlock::Text { text }),
            ("image", _, Some(mime_type), Some(data)) => {
                Some(ContentBlock::Image(Image { mime_type, data: data.into() }))
            }
            (kind, ..) => report_left_out(maker, kind),
        }
    }

    fn into_assistant_block(self, maker: &mut EntryBuilder) -> Option<AssistantBlock> {
        match (self.kind.as_str(), self.text, self.thinking, self.id, self.name) {
            ("text", Some(text), ..) => Some(AssistantBlock::Text { text }),
            ("thinking", _, Some(text), ..) => Some(AssistantBlock::Thinking { text }),
            ("toolCall", _, _, Some(id), Some(name)) => {
                let args = self.arguments.filter(RawJson::is_object).unwrap_or_else(RawJson::empty_object);
                Some(AssistantBlock::ToolCall(ToolCall { id: ToolCallId::new(id), name, args }))
            }
            (kind, ..) => report_left_out(maker, kind),
        }
    }
}

fn report_left_out<T>(maker: &mut EntryBuilder, kind: &str) -> Option<T> {
    maker.add_problem(format!("a part of the type {kind:?} is left out of its message"));
    None
}

/// The blocks of a message; none if they cannot be read.
pub(super) fn parse_blocks(maker: &mut EntryBuilder, raw: &RawJson) -> Vec<PiBlock> {
    raw.read().unwrap_or_else(|error| {
        maker.add_problem(format!("the content of a message cannot be read: {error}"));
        Vec::new()
    })
}

/// Adds a message; `None` where its role is not known, or it lacks what that role has.
pub(super) fn add(maker: &mut EntryBuilder, raw: &RawJson) -> Option<()> {
    let fields: PiMessage = raw.read().ok()?;
    match fields.role.as_str() {
        "user" => {
            let content = parse_contents(maker, &fields.content?);
            let time = maker.time.clone();
            maker.add(Message::User { content, time });
        }
        "assistant" => add_assistant(maker, fields)?,
        "toolResult" => {
            let content = parse_contents(maker, &fields.content?);
            let message = ToolMessage {
                call_id: ToolCallId::new(fields.tool_call_id?),
                name: fields.tool_name?,
                content,
                is_error: fields.is_error,
                extension: None,
                details: fields.details.filter(RawJson::is_object),
                time: maker.time.clone(),
            };
            maker.add(Message::Tool(message));
        }
        // What pi sends of a command that the user ran. One that was kept from the model stays so.
        "bashExecution" if !fields.exclude_from_context => {
            let text = format!("Ran `{}`\n```\n{}\n```", fields.command?, fields.output.unwrap_or_default());
            add_custom_message(maker, "bashExecution", vec![ContentBlock::Text { text }], true);
        }
        "bashExecution" => _ = maker.add_custom(OWNER, "bashExecution", raw.clone()),
        "custom" | "hookMessage" => {
            let content = parse_contents(maker, &fields.content?);
            add_custom_message(maker, &fields.custom_type?, content, fields.display.unwrap_or(true));
        }
        role @ ("branchSummary" | "compactionSummary") => {
            add_custom_message(maker, role, vec![ContentBlock::Text { text: fields.summary? }], true);
        }
        _ => return None,
    }
    Some(())
}

fn add_custom_message(maker: &mut EntryBuilder, kind: &str, content: Vec<ContentBlock>, display: bool) {
    maker.add(CustomMessage { owner: OWNER.to_owned(), kind: kind.to_owned(), content, display });
}

fn add_assistant(maker: &mut EntryBuilder, fields: PiMessage) -> Option<()> {
    let raw = fields.content?;
    let mut content: Vec<AssistantBlock> = match raw.read::<String>() {
        Ok(text) => vec![AssistantBlock::Text { text }],
        Err(_) => parse_blocks(maker, &raw)
            .into_iter()
            .filter_map(|block| block.into_assistant_block(maker))
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
    // Servers refuse an answer without anything in it.
    if content.is_empty() {
        let text = fields.error_message.unwrap_or_else(|| "(no answer)".to_owned());
        content.push(AssistantBlock::Text { text });
    }
    let used = fields.usage.unwrap_or_default();
    let answer = ResponseMetadata {
        provider: fields.provider.unwrap_or_else(|| OWNER.to_owned()),
        model: fields.model.unwrap_or_default(),
        stop,
        usage: TokenUsage {
            input: used.input,
            output: used.output,
            cache_read: used.cache_read,
            cache_write: used.cache_write,
            cost_usd: used.cost.total,
        },
    };
    let message = AssistantMessage { content, time: maker.time.clone(), native: None };
    maker.add(Said { message: Message::Assistant(message), answer: Some(answer) });
    Some(())
}
