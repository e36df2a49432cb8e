//! Import of sessions of zot: rows without ids, in the order of the conversation.

use std::collections::HashMap;

use haft_core::session::entry::{
    Compaction, EntryBody, MessageEntry, ModelChange, Name, ResponseMetadata, SessionEntry,
};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{
    AssistantBlock, AssistantMessage, Message, Rfc3339Time, StopCause, TokenUsage, ToolMessage,
};
use serde::Deserialize;

use super::ParsedSession;
use super::builder::{EntryBuilder, parse_time};

const OWNER: &str = "zot";

/// The fields of all kinds of rows.
#[derive(Deserialize)]
struct ZotRow {
    #[serde(rename = "type")]
    kind: String,
    meta: Option<RawJson>,
    message: Option<ZotMessage>,
    messages: Option<Vec<ZotMessage>>,
    usage: Option<ZotUsage>,
    cumulative: Option<ZotUsage>,
    title: Option<String>,
}

#[derive(Deserialize)]
struct ZotMeta {
    #[serde(default)]
    model: String,
    #[serde(default)]
    provider: String,
    started: Option<String>,
    #[serde(default)]
    title: String,
}

#[derive(Deserialize)]
struct ZotMessage {
    role: String,
    #[serde(default)]
    content: Vec<ZotBlock>,
    time: Option<String>,
}

/// A content block. Blocks have no type field; the fields present determine the type.
#[derive(Deserialize)]
struct ZotBlock {
    text: Option<String>,
    mime_type: Option<String>,
    data: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<RawJson>,
    #[serde(default)]
    server: bool,
    call_id: Option<String>,
    #[serde(default)]
    content: Vec<ZotBlock>,
    #[serde(default)]
    is_error: bool,
    reasoning_id: Option<String>,
    summary: Option<String>,
    encrypted_content: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct ZotUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    cost_usd: f64,
}

pub(super) fn read(bytes: &[u8]) -> ParsedSession {
    let mut reader = ZotReader {
        builder: EntryBuilder::new(),
        model: ModelChange { provider: OWNER.to_owned(), model: String::new() },
        created: None,
        tools: HashMap::new(),
        total: ZotUsage::default(),
        pending: None,
    };
    for (number, row) in super::parse_rows(bytes) {
        reader.builder.line = number;
        match row {
            Ok((line, row)) => reader.read_row(line, row),
            Err(why) => reader.builder.add_problem(format!("skipped: {why}")),
        }
    }
    ParsedSession::from_builder(reader.builder, reader.created)
}

struct ZotReader {
    builder: EntryBuilder,
    model: ModelChange,
    created: Option<Rfc3339Time>,
    /// The tool names of the calls, which results do not contain.
    tools: HashMap<String, String>,
    total: ZotUsage,
    /// A usage row that precedes its answer.
    pending: Option<TokenUsage>,
}

impl ZotReader {
    fn read_row(&mut self, line: &str, row: ZotRow) {
        let ZotRow { kind, meta, message, messages, usage, cumulative, title } = row;
        match (kind.as_str(), meta, message, messages, title) {
            ("meta", Some(meta), ..) => self.read_meta(meta),
            ("message", _, Some(message), ..) => self.add_message(message),
            ("compaction", _, _, Some(messages), _) => self.add_compaction(messages),
            ("rename", .., Some(name)) => _ = self.builder.add(Name { name }),
            ("usage", ..) => self.add_usage(usage.unwrap_or_default(), cumulative),
            _ => self.keep_unknown(&kind, line),
        }
    }

    fn keep_unknown(&mut self, kind: &str, line: &str) {
        self.builder.add_problem(format!("a row of type {kind:?} was not recognized and is kept unchanged"));
        if let Ok(data) = RawJson::parse(line) {
            self.builder.add_custom(OWNER, kind, data);
        }
    }

    fn read_meta(&mut self, raw: RawJson) {
        let Ok(ZotMeta { model, provider, started, title }) = raw.read::<ZotMeta>() else {
            return self.builder.add_problem("cannot read the session's metadata");
        };
        let first = self.created.is_none();
        if let Some(started) = started.as_deref().and_then(parse_time).filter(|_| first) {
            self.builder.time = started.clone();
            self.created = Some(started);
            self.builder.add_import_record(OWNER, raw);
        }
        let change = ModelChange { provider, model };
        if change != self.model && !change.model.is_empty() {
            self.model = change.clone();
            self.builder.add(change);
        }
        if first && !title.is_empty() {
            self.builder.add(Name { name: title });
        }
    }

    fn add_message(&mut self, ZotMessage { role, content, time }: ZotMessage) {
        if let Some(time) = time.as_deref().and_then(parse_time) {
            self.builder.time = time;
        }
        // A result may be in a message of any role.
        let (results, content): (Vec<ZotBlock>, Vec<ZotBlock>) =
            content.into_iter().partition(|block| is_filled(block.call_id.as_deref()));
        results.into_iter().for_each(|result| self.add_result(result));
        match role.as_str() {
            _ if content.is_empty() => {}
            "assistant" => self.add_assistant(content),
            "user" => {
                let content: Vec<ContentBlock> =
                    content.into_iter().filter_map(|block| self.content_block(block)).collect();
                let time = self.builder.time.clone();
                self.builder.add(Message::User { content, time });
            }
            role => self.builder.add_problem(format!("left out a part of a message with role {role:?}")),
        }
    }

    fn add_assistant(&mut self, blocks: Vec<ZotBlock>) {
        let content: Vec<AssistantBlock> =
            blocks.into_iter().filter_map(|block| self.assistant_block(block)).collect();
        if content.is_empty() {
            return;
        }
        let calls = content.iter().any(|block| matches!(block, AssistantBlock::ToolCall(_)));
        let answer = ResponseMetadata::new(
            self.model.provider.clone(),
            self.model.model.clone(),
            if calls { StopCause::ToolUse } else { StopCause::End },
            self.pending.take().unwrap_or_default(),
        );
        let message = AssistantMessage::new(content, self.builder.time.clone());
        self.builder.add(MessageEntry::new(Message::Assistant(message)).with_answer(answer));
    }

    fn assistant_block(&mut self, block: ZotBlock) -> Option<AssistantBlock> {
        if [&block.reasoning_id, &block.summary, &block.encrypted_content]
            .into_iter()
            .any(|it| is_filled(it.as_deref()))
        {
            let text = block.summary.unwrap_or_default();
            return (!text.is_empty()).then_some(AssistantBlock::Thinking { text });
        }
        if let (Some(id), Some(name)) = (block.id, block.name) {
            if block.server {
                self.builder.add_problem(format!("left out the provider's own call of {name:?}"));
                return None;
            }
            self.tools.insert(id.clone(), name.clone());
            let args = block.arguments.filter(RawJson::is_object).unwrap_or_else(RawJson::empty_object);
            return Some(AssistantBlock::ToolCall(ToolCall { id: ToolCallId::new(id), name, args }));
        }
        if is_filled(block.mime_type.as_deref()) {
            self.builder.add_problem("left out an image made by the model");
            return None;
        }
        block.text.map(|text| AssistantBlock::Text { text })
    }

    fn add_result(&mut self, block: ZotBlock) {
        let call_id = block.call_id.unwrap_or_default();
        let name = self.tools.get(&call_id).cloned().unwrap_or_else(|| "unknown".to_owned());
        let content = block.content.into_iter().filter_map(|block| self.content_block(block)).collect();
        let message = ToolMessage::new(ToolCallId::new(call_id), name, content, self.builder.time.clone())
            .with_is_error(block.is_error);
        self.builder.add(Message::Tool(message));
    }

    fn content_block(&mut self, block: ZotBlock) -> Option<ContentBlock> {
        match (block.mime_type.filter(|kind| !kind.is_empty()), block.data, block.text) {
            (Some(mime_type), Some(data), _) => {
                Some(ContentBlock::Image(Image { mime_type, data: data.into() }))
            }
            (None, _, Some(text)) => Some(ContentBlock::Text { text }),
            _ => {
                self.builder.add_problem("left out a message part of unknown type");
                None
            }
        }
    }

    /// Adds a compaction from the messages with which zot continues: the summary and the kept messages.
    fn add_compaction(&mut self, messages: Vec<ZotMessage>) {
        let mut messages = messages.into_iter();
        let text = |message: ZotMessage| {
            let texts = message.content.into_iter().filter_map(|block| block.text);
            texts.collect::<Vec<_>>().join("\n")
        };
        let summary = messages.next().map(text).unwrap_or_default();
        self.builder.add(Compaction::new(summary, 0));
        messages.for_each(|message| self.add_message(message));
    }

    /// Some versions write the usage of an answer before it, others after the turn.
    fn add_usage(&mut self, usage: ZotUsage, cumulative: Option<ZotUsage>) {
        let usage = match cumulative {
            // Some versions write the cumulative sum also as the usage of the turn.
            Some(total) => {
                let before = std::mem::replace(&mut self.total, total);
                total.increase_over(before).unwrap_or(usage)
            }
            None => usage,
        };
        let usage = TokenUsage::default()
            .with_input(usage.input_tokens)
            .with_output(usage.output_tokens)
            .with_cache_read(usage.cache_read_tokens)
            .with_cache_write(usage.cache_write_tokens)
            .with_cost_usd(usage.cost_usd);
        match self.builder.last_entry() {
            Some(SessionEntry {
                body: EntryBody::MessageEntry(MessageEntry { answer: Some(answer), .. }),
                ..
            }) if answer.usage == TokenUsage::default() => {
                answer.usage = usage;
            }
            Some(_) | None => *self.pending.get_or_insert_default() += usage,
        }
    }
}

impl ZotUsage {
    /// Returns the increase over an earlier sum; `None` if a value decreased.
    fn increase_over(self, before: Self) -> Option<Self> {
        Some(Self {
            input_tokens: self.input_tokens.checked_sub(before.input_tokens)?,
            output_tokens: self.output_tokens.checked_sub(before.output_tokens)?,
            cache_read_tokens: self.cache_read_tokens.checked_sub(before.cache_read_tokens)?,
            cache_write_tokens: self.cache_write_tokens.checked_sub(before.cache_write_tokens)?,
            cost_usd: (self.cost_usd - before.cost_usd).max(0.0),
        })
    }
}

fn is_filled(text: Option<&str>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}
