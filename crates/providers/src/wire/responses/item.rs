//! `StatedItem`: an item of an answer as an event states it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::native::ItemFields;
use crate::wire::json::JsonText;

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    Message,
    Thinking,
    Call,
    /// An item that is sent back as it is.
    Opaque,
    /// An item that waits for a result, which haft cannot send. No request offers such tools.
    Foreign,
}

/// The kind of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextSource {
    Answer,
    /// The text in which the model refuses to answer.
    Refusal,
    /// A summary of the thinking.
    Summary,
    /// The thinking itself, which only open models show.
    Thinking,
}

/// The types of items that the client executes.
const FOREIGN_CALLS: [&str; 6] = [
    "apply_patch_call",
    "computer_call",
    "custom_tool_call",
    "local_shell_call",
    "mcp_approval_request",
    "shell_call",
];

/// An item as an event states it. Each field is read on its own, so that no unusual field breaks the answer.
#[derive(Debug)]
pub(super) struct StatedItem<'a> {
    raw: &'a RawValue,
    fields: BTreeMap<String, &'a RawValue>,
}

/// A part of a message or of thinking.
#[derive(Deserialize)]
struct StatedPart<'a> {
    #[serde(borrow)]
    text: Option<JsonText<'a>>,
    #[serde(borrow)]
    refusal: Option<JsonText<'a>>,
}

impl TextSource {
    pub(super) fn item_kind(self) -> ItemKind {
        match self {
            Self::Answer | Self::Refusal => ItemKind::Message,
            Self::Summary | Self::Thinking => ItemKind::Thinking,
        }
    }
}

impl<'a> StatedItem<'a> {
    /// Returns `None` for a value that is not an item.
    pub(super) fn read(raw: &'a RawValue) -> Option<Self> {
        Some(Self { raw, fields: serde_json::from_str(raw.get()).ok()? })
    }

    pub(super) fn kind(&self) -> ItemKind {
        match self.text("type").as_ref().map(JsonText::as_str) {
            Some("message") => ItemKind::Message,
            Some("reasoning") => ItemKind::Thinking,
            Some("function_call") => ItemKind::Call,
            Some(kind) if !FOREIGN_CALLS.contains(&kind) => ItemKind::Opaque,
            Some(_) | None => ItemKind::Foreign,
        }
    }

    /// Returns the whole item.
    pub(super) fn raw_item(&self) -> &'a RawValue {
        self.raw
    }

    /// Returns a text that is not empty.
    pub(super) fn text(&self, name: &str) -> Option<JsonText<'a>> {
        let text: JsonText<'a> = serde_json::from_str(self.fields.get(name)?.get()).ok()?;
        (!text.as_str().is_empty()).then_some(text)
    }

    /// Returns the arguments of a call. Some servers send an object instead of a text.
    pub(super) fn call_arguments(&self) -> Option<JsonText<'a>> {
        let raw = *self.fields.get("arguments")?;
        serde_json::from_str(raw.get()).ok().or_else(|| Some(JsonText::from_borrowed(raw.get())))
    }

    /// Returns the text of a message or of thinking: the summary, or else the thinking itself.
    pub(super) fn content(&self) -> Option<(TextSource, String)> {
        let parts = |name: &str| -> Vec<StatedPart<'a>> {
            let list = self.fields.get(name).and_then(|list| serde_json::from_str(list.get()).ok());
            list.unwrap_or_default()
        };
        let (source, text) = match self.kind() {
            ItemKind::Message => {
                let parts = parts("content");
                let refuses = parts.iter().any(|part| part.refusal.is_some());
                (if refuses { TextSource::Refusal } else { TextSource::Answer }, join(&parts, ""))
            }
            ItemKind::Thinking => match join(&parts("summary"), PARAGRAPH) {
                summary if summary.is_empty() => (TextSource::Thinking, join(&parts("content"), PARAGRAPH)),
                summary => (TextSource::Summary, summary),
            },
            ItemKind::Call | ItemKind::Opaque | ItemKind::Foreign => return None,
        };
        (!text.is_empty()).then_some((source, text))
    }

    /// Returns the fields that the portable message lacks.
    pub(super) fn native_fields(&self) -> ItemFields {
        let portable: &[&str] = match self.kind() {
            ItemKind::Message => &["type", "role", "status", "content"],
            ItemKind::Thinking => &["type", "status", "summary", "content"],
            ItemKind::Call => &["type", "status", "call_id", "name", "arguments"],
            ItemKind::Opaque | ItemKind::Foreign => return ItemFields::new(),
        };
        let unknown = self.fields.iter().filter(|(name, value)| {
            !portable.contains(&name.as_str()) && !matches!(value.get(), "null" | "\"\"")
        });
        unknown.map(|(name, value)| (name.clone(), (*value).to_owned())).collect()
    }
}

/// The space between two parts of thinking.
pub(super) const PARAGRAPH: &str = "\n\n";

fn join(parts: &[StatedPart<'_>], separator: &str) -> String {
    let texts = parts.iter().filter_map(|part| part.text.as_ref().or(part.refusal.as_ref()));
    texts.map(JsonText::as_str).collect::<Vec<_>>().join(separator)
}
