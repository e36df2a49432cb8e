//! Decodes the events of an answer (<https://platform.openai.com/docs/api-reference/responses-streaming>).
//!
//! An answer is a list of items: messages, thinking and calls. An item is announced, arrives in pieces, and is stated
//! again when it is complete. The last event states all items. Servers leave out steps, indexes and ids, so that each
//! step works without the steps before it.

use std::collections::btree_map::Entry;

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::message::StopCause;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::item::{ItemKind, PARAGRAPH, StatedItem, TextSource};
use super::native::{ItemFields, NativeItem, NativeItems};
use crate::limits::MAX_BLOCKS;
use crate::wire::events::limit_error;
use crate::wire::json::JsonText;
use crate::wire::{AnswerBuilder, AnswerDecoder, AnswerError};

/// The decoder of one answer.
#[derive(Debug, Default)]
pub(super) struct ResponsesDecoder {
    /// The items in the order of their first events.
    items: Vec<OutputItem>,
    complete: bool,
}

#[derive(Debug)]
struct OutputItem {
    kind: ItemKind,
    /// The key of a call in the [`AnswerBuilder`].
    key: u64,
    index: Option<u64>,
    id: Option<String>,
    /// True once the call is part of the answer.
    begun: bool,
    /// True after the event that states the complete item.
    complete: bool,
    /// The kind of the text so far; `None` without text.
    source: Option<TextSource>,
    /// True if the text is not only white space.
    visible: bool,
    /// The number of the last part of the thinking.
    part: u64,
    /// The fields for the native form.
    fields: ItemFields,
    /// The whole item, if it is opaque.
    opaque: Option<Box<RawValue>>,
}

/// An event. Its fields are read later, because they have other types in events of other kinds.
#[derive(Deserialize)]
struct ResponsesEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<JsonText<'a>>,
    #[serde(borrow)]
    output_index: Option<&'a RawValue>,
    #[serde(borrow)]
    item_id: Option<&'a RawValue>,
    #[serde(borrow)]
    content_index: Option<&'a RawValue>,
    #[serde(borrow)]
    summary_index: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
}

/// The state of the whole answer.
#[derive(Default, Deserialize)]
struct ResponseState<'a> {
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    incomplete_details: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct IncompleteDetails<'a> {
    #[serde(borrow)]
    reason: Option<JsonText<'a>>,
}

#[derive(Default, Deserialize)]
struct ResponsesUsage {
    /// All tokens of the input, those of the cache included.
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    /// OpenRouter: in US dollars.
    cost: Option<f64>,
    /// xAI: in units of 10⁻¹⁰ US dollars.
    cost_in_usd_ticks: Option<f64>,
}

#[derive(Default, Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl AnswerDecoder for ResponsesDecoder {
    fn read_event(&mut self, text: &str, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        // Some servers end their answer like Chat Completions.
        if text.trim() == "[DONE]" {
            return Ok(());
        }
        let event: ResponsesEvent<'_> =
            serde_json::from_str(text).map_err(|error| AnswerError::invalid_event(&error))?;
        match event.kind.as_ref().map(JsonText::as_str) {
            Some("error") => Err(AnswerError::in_answer(text)),
            Some("response.failed") => Err(failed_answer(text, &read_field(event.response), "failed")),
            Some("response.completed") => self.read_end(text, &read_field(event.response), false, answer),
            Some("response.incomplete") => self.read_end(text, &read_field(event.response), true, answer),
            Some("response.output_item.added") => self.announce_item(&event, answer),
            Some("response.output_item.done") => self.read_stated(&event, answer),
            Some("response.output_text.delta") => self.add_text(&event, TextSource::Answer, answer),
            Some("response.refusal.delta") => self.add_text(&event, TextSource::Refusal, answer),
            Some("response.reasoning_summary_text.delta") => {
                self.add_text(&event, TextSource::Summary, answer)
            }
            Some("response.reasoning_text.delta") => self.add_text(&event, TextSource::Thinking, answer),
            Some("response.function_call_arguments.delta") => self.add_arguments(&event, answer),
            // Events that repeat others, and events that are newer than this module.
            Some(_) => Ok(()),
            None => self.read_untyped(text, answer),
        }
    }

    fn finish(&mut self, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        if !self.complete {
            return Err(AnswerError::Truncated);
        }
        let mut native = NativeItems::default();
        std::mem::take(&mut self.items).into_iter().for_each(|item| item.add_to(&mut native));
        answer.native = native.finish();
        Ok(())
    }
}

impl ResponsesDecoder {
    /// Reads the whole answer in one event, or the error that some servers send in place of an event.
    fn read_untyped(&mut self, text: &str, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        let response: ResponseState<'_> = serde_json::from_str(text).unwrap_or_default();
        match (response.status.or(response.output), response.error) {
            (Some(_), _) => self.read_end(text, &response, false, answer),
            (None, Some(_)) => Err(AnswerError::in_answer(text)),
            (None, None) => Ok(()),
        }
    }

    fn announce_item(
        &mut self,
        event: &ResponsesEvent<'_>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        let Some(stated) = event.item.and_then(StatedItem::read) else { return Ok(()) };
        self.begin_stated(event.index(), &stated, answer).map(drop)
    }

    /// Reads the event that states a complete item.
    fn read_stated(
        &mut self,
        event: &ResponsesEvent<'_>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        let Some(stated) = event.item.and_then(StatedItem::read) else { return Ok(()) };
        let (index, id) = (event.index(), stated.text("id"));
        let id = id.as_ref().map(JsonText::as_str);
        let position = match self.find(index, id, stated.kind()) {
            Some(position) if self.is_same(position, index, id, stated.kind()) => position,
            Some(_) | None => self.begin_stated(index, &stated, answer)?,
        };
        self.complete_item(position, &stated, answer)
    }

    /// Begins an item. The call of an item without a name begins when the item is complete.
    fn begin_stated(
        &mut self,
        index: Option<u64>,
        stated: &StatedItem<'_>,
        answer: &mut AnswerBuilder,
    ) -> Result<usize, AnswerError> {
        let id = stated.text("id");
        let position = self.begin_item(stated.kind(), index, id.as_ref().map(JsonText::as_str), answer)?;
        if let Some(item) = self.items.get_mut(position) {
            item.begin_call(stated, answer)?;
        }
        Ok(position)
    }

    fn begin_item(
        &mut self,
        kind: ItemKind,
        index: Option<u64>,
        id: Option<&str>,
        answer: &mut AnswerBuilder,
    ) -> Result<usize, AnswerError> {
        if self.items.len() >= MAX_BLOCKS && is_up(Defense::AnswerBudget) {
            let limit = format_args!("the answer has more than {MAX_BLOCKS} texts and tool calls");
            return Err(limit_error(limit));
        }
        answer.count_bytes(id.map_or(0, str::len))?;
        answer.end_block();
        let position = self.items.len();
        self.items.push(OutputItem {
            kind,
            key: position as u64,
            index,
            id: id.map(str::to_owned),
            begun: false,
            complete: false,
            source: None,
            visible: false,
            part: 0,
            fields: ItemFields::new(),
            opaque: None,
        });
        Ok(position)
    }

    /// Returns the position of the item that an event is about: by its index, or else by its id (which some servers
    /// change from event to event), or else the last item.
    fn find(&self, index: Option<u64>, id: Option<&str>, kind: ItemKind) -> Option<usize> {
        let by_index = || index.and_then(|_| self.items.iter().rposition(|item| item.index == index));
        let by_id = || id.and_then(|_| self.items.iter().rposition(|item| item.id.as_deref() == id));
        let last = || {
            let last = self.items.last()?;
            let fits = !last.complete && last.kind == kind && (index.is_none() || last.index.is_none());
            fits.then(|| self.items.len() - 1)
        };
        by_index().or_else(by_id).or_else(last)
    }

    /// True if an event states the item at this position, and not another one of the same kind.
    fn is_same(&self, position: usize, index: Option<u64>, id: Option<&str>, kind: ItemKind) -> bool {
        self.items.get(position).filter(|item| item.kind == kind).is_some_and(|item| {
            let no_id = id.is_none() || item.id.is_none();
            let compatible = if item.complete { index.is_some() && no_id } else { index.is_some() || no_id };
            compatible || item.id.as_deref() == id
        })
    }

    fn add_text(
        &mut self,
        event: &ResponsesEvent<'_>,
        source: TextSource,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        let Some(delta) = read_text(event.delta).filter(|delta| !delta.as_str().is_empty()) else {
            return Ok(());
        };
        let (index, id, kind) = (event.index(), read_text(event.item_id), source.item_kind());
        let id = id.as_ref().map(JsonText::as_str);
        let known = self.find(index, id, kind);
        let known = known.filter(|position| self.items.get(*position).is_some_and(|item| item.kind == kind));
        let position = match known {
            Some(position) => position,
            None => self.begin_item(kind, index, id, answer)?,
        };
        let part = match source {
            TextSource::Summary => event.summary_index,
            TextSource::Answer | TextSource::Refusal | TextSource::Thinking => event.content_index,
        };
        match self.items.get_mut(position) {
            Some(item) => {
                item.add_text(source, read_number(part).unwrap_or_default(), delta.as_str(), answer)
            }
            None => Ok(()),
        }
    }

    fn add_arguments(
        &self,
        event: &ResponsesEvent<'_>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        let (Some(delta), id) = (read_text(event.delta), read_text(event.item_id)) else { return Ok(()) };
        let found = self.find(event.index(), id.as_ref().map(JsonText::as_str), ItemKind::Call);
        match found.and_then(|position| self.items.get(position)) {
            Some(item) if item.begun => answer.add_arguments(item.key, delta.as_str()),
            Some(_) | None => Ok(()),
        }
    }

    /// Completes an item. The event that states it decides what the pieces before it have left open.
    fn complete_item(
        &mut self,
        position: usize,
        stated: &StatedItem<'_>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        match self.items.get_mut(position) {
            Some(item) if !item.complete => item.read_complete(stated, answer),
            Some(item) => item.add_missing_fields(stated, answer),
            None => Ok(()),
        }
    }

    /// Reads the last event. `text` is the event; `cut` is true if it reports an incomplete answer.
    fn read_end(
        &mut self,
        text: &str,
        response: &ResponseState<'_>,
        cut: bool,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        self.complete_items(response.output, answer)?;
        count_usage(response.usage, answer);
        let status = read_text(response.status);
        let status = status.as_ref().map_or("", JsonText::as_str);
        if matches!(status, "failed" | "cancelled") {
            return Err(failed_answer(text, response, status));
        }
        let details: IncompleteDetails<'_> = read_field(response.incomplete_details);
        answer.stop = Some(match details.reason.as_ref().map(JsonText::as_str) {
            Some(reason @ "content_filter") => return Err(AnswerError::Refused(reason.to_owned())),
            // `max_output_tokens`, and reasons that are newer than this module.
            _ if cut || status == "incomplete" => StopCause::Length,
            _ if answer.has_calls() => StopCause::ToolUse,
            _ => StopCause::End,
        });
        self.complete = true;
        Ok(())
    }

    /// Completes the items that the last event states and no event before it did.
    fn complete_items(
        &mut self,
        output: Option<&RawValue>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        let stated: Vec<&RawValue> = read_field(output);
        let mut taken = Vec::new();
        for (index, stated) in (0..).zip(stated) {
            let Some(stated) = StatedItem::read(stated) else { continue };
            let position = match self.find_stated(index, &stated, &taken) {
                Some(position) => position,
                None => self.begin_stated(None, &stated, answer)?,
            };
            taken.push(position);
            self.complete_item(position, &stated, answer)?;
        }
        Ok(())
    }

    /// Returns the position of an item of the last event: by its id, or else by its index, or else the first item of
    /// its kind whose id does not contradict. No item is taken twice.
    fn find_stated(&self, index: u64, stated: &StatedItem<'_>, taken: &[usize]) -> Option<usize> {
        let (id, kind) = (stated.text("id"), stated.kind());
        let id = id.as_ref().map(JsonText::as_str);
        let find = |fits: &dyn Fn(&OutputItem) -> bool| {
            let mut items = self.items.iter().enumerate();
            let found = items.find(|(at, item)| item.kind == kind && fits(item) && !taken.contains(at));
            found.map(|(position, _)| position)
        };
        find(&|item| id.is_some() && item.id.as_deref() == id)
            .or_else(|| find(&|item| item.index == Some(index)))
            .or_else(|| find(&|item| id.is_none() || item.id.is_none()))
    }
}

impl OutputItem {
    /// Begins the call, if the item is a call with a name.
    fn begin_call(&mut self, stated: &StatedItem<'_>, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        let Some(name) = stated.text("name").filter(|_| self.kind == ItemKind::Call && !self.begun) else {
            return Ok(());
        };
        self.begun = true;
        let id = stated.text("call_id");
        answer.begin_call(self.key, id.as_ref().map(JsonText::as_str), name.as_str())
    }

    fn add_text(
        &mut self,
        source: TextSource,
        part: u64,
        delta: &str,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        // The complete item has stated its text, and a server may send both the thinking and its summary.
        let other_thinking =
            self.kind == ItemKind::Thinking && self.source.is_some_and(|known| known != source);
        if self.complete || other_thinking {
            return Ok(());
        }
        if self.kind == ItemKind::Thinking && self.source.is_some() && self.part != part {
            answer.add_thinking(PARAGRAPH)?;
        }
        self.part = part;
        self.push_text(source, delta, answer)
    }

    fn push_text(
        &mut self,
        source: TextSource,
        text: &str,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        self.visible |= !text.trim().is_empty();
        self.source = Some(source);
        match source {
            TextSource::Summary | TextSource::Thinking => answer.add_thinking(text),
            TextSource::Answer | TextSource::Refusal => answer.add_text(text),
        }
    }

    fn read_complete(
        &mut self,
        stated: &StatedItem<'_>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        self.complete = true;
        self.begin_call(stated, answer)?;
        match (self.kind, stated.content()) {
            (ItemKind::Call, _) if self.begun => {
                if let Some(arguments) = stated.call_arguments() {
                    answer.complete_arguments(self.key, arguments.as_str())?;
                }
                answer.end_call(self.key);
            }
            (ItemKind::Opaque, _) => {
                answer.count_bytes(stated.raw_item().get().len())?;
                self.opaque = Some(stated.raw_item().to_owned());
            }
            (_, Some((source, text))) if self.source.is_none() => self.push_text(source, &text, answer)?,
            _ => {}
        }
        answer.end_block();
        self.add_missing_fields(stated, answer)
    }

    /// Adds the fields for the native form. Some servers state the encrypted thinking only in the last event.
    fn add_missing_fields(
        &mut self,
        stated: &StatedItem<'_>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        for (name, value) in stated.native_fields() {
            let size = name.len() + value.get().len();
            if let Entry::Vacant(field) = self.fields.entry(name) {
                answer.count_bytes(size)?;
                field.insert(value);
            }
        }
        Ok(())
    }

    fn add_to(self, native: &mut NativeItems) {
        let fields = self.fields;
        match self.kind {
            ItemKind::Message => match self.source {
                None => native.omit_last_thinking(),
                Some(_) if !self.visible => native.push_omitted(),
                Some(TextSource::Refusal) => native.push(NativeItem::Refusal(fields), self.complete),
                Some(_) => native.push(NativeItem::Text(fields), self.complete),
            },
            ItemKind::Call if self.begun => native.push(NativeItem::Call(fields), self.complete),
            ItemKind::Thinking => {
                let encrypted = self.complete && fields.contains_key("encrypted_content");
                match self.source {
                    None if encrypted => native.push_thinking(NativeItem::Encrypted(fields)),
                    None => {}
                    Some(TextSource::Thinking) if self.complete => {
                        native.push_thinking(NativeItem::Thinking(fields))
                    }
                    Some(_) if encrypted => native.push_thinking(NativeItem::Summary(fields)),
                    Some(_) => native.push_thinking(NativeItem::Omitted),
                }
            }
            ItemKind::Call | ItemKind::Opaque | ItemKind::Foreign => match self.opaque {
                Some(item) => native.push(NativeItem::Other(item), true),
                None => native.omit_last_thinking(),
            },
        }
    }
}

impl ResponsesEvent<'_> {
    fn index(&self) -> Option<u64> {
        read_number(self.output_index)
    }
}

/// Returns the value of a field, or its default if the field has another type.
fn read_field<'a, T: Deserialize<'a> + Default>(field: Option<&'a RawValue>) -> T {
    field.and_then(|field| serde_json::from_str(field.get()).ok()).unwrap_or_default()
}

fn read_text(field: Option<&RawValue>) -> Option<JsonText<'_>> {
    serde_json::from_str(field?.get()).ok()
}

fn read_number(field: Option<&RawValue>) -> Option<u64> {
    field?.get().trim_matches('"').parse().ok()
}

/// Returns the error of an answer that ended with this status.
fn failed_answer(event: &str, response: &ResponseState<'_>, status: &str) -> AnswerError {
    match response.error {
        Some(_) => AnswerError::in_answer(event),
        None => AnswerError::Refused(format!("the answer {status}")),
    }
}

fn count_usage(usage: Option<&RawValue>, answer: &mut AnswerBuilder) {
    let usage: ResponsesUsage = read_field(usage);
    let details = usage.input_tokens_details.unwrap_or_default();
    let counted = &mut answer.usage;
    counted.cache_read = details.cached_tokens.unwrap_or_default();
    counted.cache_write = details.cache_write_tokens.unwrap_or_default();
    let cached = counted.cache_read.saturating_add(counted.cache_write);
    counted.input = usage.input_tokens.unwrap_or_default().saturating_sub(cached);
    counted.output = usage.output_tokens.unwrap_or_default();
    let dollars = usage.cost_in_usd_ticks.map(|ticks| ticks / 1e10);
    answer.cost_usd = dollars.or(usage.cost).filter(|cost| cost.is_finite());
}
