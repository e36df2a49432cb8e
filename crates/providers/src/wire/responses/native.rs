//! The native form of an answer: what only the same model can use again.
//!
//! It is the list of the answer's items in order. Texts and calls are taken from the portable message, so that the
//! session does not store them twice; the ids, the encrypted thinking and all fields that haft does not know are kept.

use std::borrow::Cow;
use std::collections::BTreeMap;

use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::message::{AssistantBlock, AssistantMessage};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{InputItem, ItemContent, ItemPart, TypedItem, call_id};
use crate::wire::turn::object_arguments;

/// The fields of an item that the portable message lacks.
pub(super) type ItemFields = BTreeMap<String, Box<RawValue>>;

/// The same, borrowed from a session.
pub(super) type StoredFields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// An item of the answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NativeItem {
    /// The next text of the portable message.
    Text(ItemFields),
    /// The same, in which the model refuses to answer.
    Refusal(ItemFields),
    /// The next call of the portable message.
    Call(ItemFields),
    /// The next thinking of the portable message, which is a summary.
    Summary(ItemFields),
    /// The next thinking of the portable message, which is complete.
    Thinking(ItemFields),
    /// Thinking without text.
    Encrypted(ItemFields),
    /// The next text or thinking of the portable message, which the API does not accept back.
    Omitted,
    /// Any other item, as the API sent it: calls of the server's tools.
    Other(Box<RawValue>),
}

/// The same, borrowed from a session.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredItem<'a> {
    #[serde(borrow)]
    Text(StoredFields<'a>),
    #[serde(borrow)]
    Refusal(StoredFields<'a>),
    #[serde(borrow)]
    Call(StoredFields<'a>),
    #[serde(borrow)]
    Summary(StoredFields<'a>),
    #[serde(borrow)]
    Thinking(StoredFields<'a>),
    #[serde(borrow)]
    Encrypted(StoredFields<'a>),
    Omitted,
    #[serde(borrow)]
    Other(&'a RawValue),
}

/// The items of an answer that is complete.
#[derive(Debug, Default)]
pub(super) struct NativeItems(Vec<NativeItem>);

impl NativeItems {
    /// Adds an item behind its thinking. The API accepts thinking only with the item that followed it, which it would
    /// not recognize if it is not complete.
    pub(super) fn push(&mut self, item: NativeItem, complete: bool) {
        if !complete {
            self.omit_last_thinking();
        }
        self.0.push(item);
    }

    /// Adds thinking, which belongs to the item behind it.
    pub(super) fn push_thinking(&mut self, item: NativeItem) {
        self.0.push(item);
    }

    /// Notes a block of the portable message that is not sent back.
    pub(super) fn push_omitted(&mut self) {
        self.omit_last_thinking();
        self.0.push(NativeItem::Omitted);
    }

    /// Returns the native form; `None` if the portable message has everything.
    pub(super) fn finish(mut self) -> Option<RawJson> {
        self.omit_last_thinking();
        let portable = |item: &NativeItem| {
            matches!(item, NativeItem::Text(fields) | NativeItem::Call(fields)
                if fields.keys().all(|name| name == "id"))
        };
        (!self.0.iter().all(portable)).then(|| RawJson::from_value(&self.0).ok())?
    }

    /// Notes that the item behind the last thinking is not sent back, so that the thinking cannot be sent back either.
    pub(super) fn omit_last_thinking(&mut self) {
        let is_thinking = |item: &NativeItem| {
            matches!(
                item,
                NativeItem::Summary(_)
                    | NativeItem::Thinking(_)
                    | NativeItem::Encrypted(_)
                    | NativeItem::Omitted
            )
        };
        let start = self.0.iter().rposition(|item| !is_thinking(item)).map_or(0, |last| last + 1);
        let last = self.0.split_off(start).into_iter();
        let shown = last.filter(|item| !matches!(item, NativeItem::Encrypted(_)));
        self.0.extend(shown.map(|_| NativeItem::Omitted));
    }
}

/// Returns the items of an answer: as the API sent them if the same model wrote it, otherwise only texts and calls.
pub(super) fn assistant_items<'a>(
    message: &'a AssistantMessage,
    native: Option<&'a RawJson>,
) -> Vec<InputItem<'a>> {
    native.and_then(|native| restored_items(message, native)).unwrap_or_else(|| portable_items(message))
}

/// Returns `None` if the message was changed after the model wrote it.
fn restored_items<'a>(message: &'a AssistantMessage, native: &'a RawJson) -> Option<Vec<InputItem<'a>>> {
    let stored: Vec<StoredItem<'a>> = serde_json::from_str(native.as_str()).ok()?;
    let mut said = message.content.iter();
    let mut items = Vec::with_capacity(stored.len());
    for item in stored {
        let item = match item {
            StoredItem::Other(item) => InputItem::Raw(item),
            StoredItem::Encrypted(fields) => reasoning_item(Vec::new(), Vec::new(), fields),
            StoredItem::Omitted => match said.next()? {
                AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } => continue,
                AssistantBlock::ToolCall(_) => return None,
            },
            StoredItem::Text(fields) => restored_text(next_text(&mut said)?, false, fields),
            StoredItem::Refusal(fields) => restored_text(next_text(&mut said)?, true, fields),
            StoredItem::Summary(fields) => {
                let summary = ItemPart::SummaryText { text: next_thinking(&mut said)? };
                reasoning_item(vec![summary], Vec::new(), fields)
            }
            StoredItem::Thinking(fields) => {
                let content = ItemPart::ReasoningText { text: next_thinking(&mut said)? };
                reasoning_item(Vec::new(), vec![content], fields)
            }
            StoredItem::Call(fields) => match said.next()? {
                AssistantBlock::ToolCall(called) => InputItem::Restored { item: call(called), fields },
                AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } => return None,
            },
        };
        items.push(item);
    }
    said.next().is_none().then_some(items)
}

fn next_text<'a>(said: &mut impl Iterator<Item = &'a AssistantBlock>) -> Option<&'a str> {
    match said.next()? {
        AssistantBlock::Text { text } => Some(text),
        AssistantBlock::Thinking { .. } | AssistantBlock::ToolCall(_) => None,
    }
}

fn next_thinking<'a>(said: &mut impl Iterator<Item = &'a AssistantBlock>) -> Option<&'a str> {
    match said.next()? {
        AssistantBlock::Thinking { text } => Some(text),
        AssistantBlock::Text { .. } | AssistantBlock::ToolCall(_) => None,
    }
}

/// The parts of an answer have a form of their own, in which the API requires an id.
fn restored_text<'a>(text: &'a str, refuses: bool, fields: StoredFields<'a>) -> InputItem<'a> {
    let (status, content) = match (fields.contains_key("id"), refuses) {
        (false, _) => (None, ItemContent::Text(text.into())),
        (true, true) => (Some("completed"), ItemContent::Parts(vec![ItemPart::Refusal { refusal: text }])),
        (true, false) => {
            let part = ItemPart::OutputText { text, annotations: [] };
            (Some("completed"), ItemContent::Parts(vec![part]))
        }
    };
    InputItem::Restored { item: TypedItem::Message { role: "assistant", status, content }, fields }
}

fn reasoning_item<'a>(
    summary: Vec<ItemPart<'a>>,
    content: Vec<ItemPart<'a>>,
    fields: StoredFields<'a>,
) -> InputItem<'a> {
    InputItem::Restored { item: TypedItem::Reasoning { summary, content }, fields }
}

/// Thinking of other models is sent as text, because the API accepts only its own.
fn portable_items(message: &AssistantMessage) -> Vec<InputItem<'_>> {
    let items = message.content.iter().filter_map(|block| match block {
        AssistantBlock::Text { text } | AssistantBlock::Thinking { text } => {
            let content = ItemContent::Text(text.into());
            (!text.trim().is_empty()).then_some(TypedItem::Message {
                role: "assistant",
                status: None,
                content,
            })
        }
        AssistantBlock::ToolCall(called) => (!called.name.is_empty()).then(|| call(called)),
    });
    items.map(InputItem::Typed).collect()
}

fn call(call: &ToolCall) -> TypedItem<'_> {
    let arguments = match object_arguments(call) {
        Cow::Borrowed(arguments) => arguments.as_str().into(),
        Cow::Owned(arguments) => arguments.as_str().to_owned().into(),
    };
    TypedItem::FunctionCall { call_id: call_id(call.id.as_str()), name: &call.name, arguments }
}
