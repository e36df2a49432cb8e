//! Assembles the entries of `reasoning_details` from their pieces.

use serde_json::value::{RawValue, to_raw_value};

use super::json::read_lenient;
use super::native::{NativeDetail, RawFields};
use crate::limits::MAX_BLOCKS;
use crate::wire::events::limit_error;
use crate::wire::json::JsonText;
use crate::wire::{AnswerBuilder, AnswerError};

/// The entries so far.
#[derive(Debug, Default)]
pub(super) struct DetailAssembler {
    entries: Vec<DetailEntry>,
    /// True if the texts of the entries are not the thinking of the answer.
    differs: bool,
}

#[derive(Debug)]
struct DetailEntry {
    /// The name of the field with text; `None` for encrypted thinking.
    name: Option<&'static str>,
    /// The text, if the field exists.
    text: Option<String>,
    fields: RawFields,
}

impl DetailAssembler {
    /// Reads the entries of a piece. `thinking` is the thinking of the same piece. Returns the text of the entries.
    ///
    /// # Errors
    /// If the answer is too large.
    pub(super) fn read(
        &mut self,
        details: Option<&RawValue>,
        thinking: &str,
        answer: &mut AnswerBuilder,
    ) -> Result<String, AnswerError> {
        let details: Vec<&RawValue> = read_lenient(details).unwrap_or_default();
        let mut said = String::new();
        for detail in details {
            let Some(fields) = read_lenient::<RawFields>(Some(detail)) else { continue };
            answer.count_bytes(detail.get().len())?;
            let entry = DetailEntry::new(fields);
            said.push_str(entry.text.as_deref().unwrap_or_default());
            self.add(entry)?;
        }
        self.differs |= !thinking.is_empty() && said != thinking;
        Ok(said)
    }

    /// Adds an entry, or the next piece of the last one.
    fn add(&mut self, piece: DetailEntry) -> Result<(), AnswerError> {
        let Some(last) = self.entries.last_mut().filter(|last| piece.continues_entry(last)) else {
            if self.entries.len() >= MAX_BLOCKS {
                return Err(limit_error(format_args!(
                    "the answer has more than {MAX_BLOCKS} pieces of reasoning"
                )));
            }
            self.entries.push(piece);
            return Ok(());
        };
        if let Some(more) = piece.text {
            last.text.get_or_insert_default().push_str(&more);
        }
        for (name, value) in piece.fields {
            let absent = last.fields.get(&name).is_none_or(|old| matches!(old.get(), "null" | "\"\""));
            if absent {
                last.fields.insert(name, value);
            }
        }
        Ok(())
    }

    /// Returns the native form. Texts that are not the thinking of the answer become fields.
    pub(super) fn take(&mut self) -> Vec<NativeDetail> {
        let entries = std::mem::take(&mut self.entries).into_iter();
        entries
            .map(|DetailEntry { name, text, mut fields }| {
                let text = name.zip(text).and_then(|(name, text)| {
                    if !self.differs {
                        return Some((name.to_owned(), text.len()));
                    }
                    fields.extend(to_raw_value(&text).ok().map(|text| (name.to_owned(), text)));
                    None
                });
                NativeDetail { text, fields }
            })
            .collect()
    }
}

impl DetailEntry {
    fn new(mut fields: RawFields) -> Self {
        let kind: Option<JsonText<'_>> = read_lenient(fields.get("type").map(|kind| &**kind));
        let name = match kind.as_ref().map(JsonText::as_str) {
            Some("reasoning.text") => Some("text"),
            Some("reasoning.summary") => Some("summary"),
            _ => None,
        };
        let text = name.and_then(|name| fields.remove(name));
        let text: Option<JsonText<'_>> = read_lenient(text.as_deref());
        Self { name, text: text.map(|text| text.as_str().to_owned()), fields }
    }

    /// True for a piece of the entry `last`.
    fn continues_entry(&self, last: &Self) -> bool {
        let index = |entry: &Self| entry.fields.get("index").map(|index| index.get().to_owned());
        self.name.is_some() && self.name == last.name && index(self) == index(last)
    }
}
