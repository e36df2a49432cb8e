//! The model's answer, while it streams and in its final form.

use std::time::Instant;

use haft_protocol::message::AssistantBlock;

use super::call::{ArgumentSummary, CallItem, CallOrigin, CallPhase};
use super::calls::OpenCalls;
use super::document::{ItemMoves, TranscriptDocument};
use super::item::{ItemKind, ModelText, ThinkingItem, TranscriptItem};
use super::note::NoteItem;
use super::notes::push_note;
use crate::clean::CleanText;

#[derive(Debug, Default)]
pub(super) struct AnswerInProgress {
    /// The indexes of its texts, thoughts and calls.
    pub(super) items: Vec<usize>,
    /// The text or thought that grows.
    open: Option<usize>,
    /// The length of its text in bytes before interceptors, which may still change it.
    pub(super) sent_bytes: Option<u64>,
    /// True if pieces of it were dropped.
    pub(super) gap: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerTextKind {
    Text,
    Thinking,
}

impl AnswerTextKind {
    fn matches_item(self, item: &TranscriptItem) -> bool {
        match self {
            Self::Text => matches!(item.kind, ItemKind::Text(_)),
            Self::Thinking => matches!(item.kind, ItemKind::Thinking(_)),
        }
    }
}

impl AnswerInProgress {
    pub(super) fn contains(&self, at: usize) -> bool {
        self.items.contains(&at)
    }

    pub(super) fn push_delta(
        &mut self,
        doc: &mut TranscriptDocument,
        delta: &str,
        words: AnswerTextKind,
        now: Instant,
    ) {
        if delta.is_empty() {
            return;
        }
        let open = self.open.filter(|at| doc.items.get(*at).is_some_and(|item| words.matches_item(item)));
        let at = open.unwrap_or_else(|| {
            self.close(doc, now);
            let at = doc.push(match words {
                AnswerTextKind::Text => ItemKind::Text(Box::default()),
                AnswerTextKind::Thinking => {
                    let label = doc.thinking_label.clone();
                    let began = Some(now);
                    ItemKind::Thinking(Box::new(ThinkingItem { began, label, ..ThinkingItem::default() }))
                }
            });
            self.items.push(at);
            self.open = Some(at);
            at
        });
        if let Some(text) = doc.change_item(at).and_then(TranscriptItem::model_text) {
            text.rendered_mut().push(delta);
        }
    }

    pub(super) fn close(&mut self, doc: &mut TranscriptDocument, now: Instant) {
        let Some(at) = self.open.take() else { return };
        let Some(item) = doc.change_item(at) else { return };
        if let ItemKind::Thinking(thinking) = &mut item.kind {
            thinking.over = true;
            thinking.took = thinking.began.map(|began| now.saturating_duration_since(began));
        }
        if let Some(text) = item.model_text() {
            text.rendered_mut().finish();
        }
        doc.drop_rendering(at);
    }

    /// Hides the answer, because its final form was never reported.
    pub(super) fn withhold(&mut self, doc: &mut TranscriptDocument, now: Instant) {
        self.close(doc, now);
        if self.sent_bytes.take().is_none_or(|bytes| bytes == 0) {
            return;
        }
        for at in self.items.clone() {
            if let Some(item) = doc.change_item(at)
                && let ItemKind::Text(text) = &mut item.kind
            {
                **text = ModelText::from_finished(CleanText::default());
            }
        }
        push_note(doc, NoteItem::muted("an extension withheld the answer"));
    }

    /// Restarts the answer of the model and discards the part shown so far.
    pub(super) fn restart(
        &mut self,
        doc: &mut TranscriptDocument,
        calls: &mut OpenCalls,
        now: Instant,
    ) -> ItemMoves {
        self.close(doc, now);
        let moved = self.replace_items(doc, calls, &[]);
        *self = Self::default();
        moved
    }

    pub(super) fn finish(&mut self, doc: &mut TranscriptDocument, now: Instant) {
        self.close(doc, now);
        *self = Self::default();
    }

    pub(super) fn apply_final_content(
        &mut self,
        doc: &mut TranscriptDocument,
        calls: &mut OpenCalls,
        content: &[AssistantBlock],
        now: Instant,
    ) -> ItemMoves {
        self.close(doc, now);
        let shown = self.text(doc);
        let (told, gap) = (self.sent_bytes, self.gap);
        let moved = self.replace_items(doc, calls, content);
        let said = self.text(doc);
        let bytes = u64::try_from(haft_protocol::message::text_of(content).len()).unwrap_or(u64::MAX);
        let replaced = told.is_some_and(|told| told != bytes) || !gap && !shown.is_empty() && shown != said;
        if replaced {
            push_note(doc, NoteItem::muted("an extension changed the answer"));
        }
        *self = Self::default();
        moved
    }

    /// Returns the text without leading and trailing blanks, which may be cut off.
    fn text(&self, doc: &TranscriptDocument) -> String {
        let items = self.items.iter().filter_map(|at| doc.items.get(*at));
        let texts = items.filter_map(TranscriptItem::text);
        texts.flat_map(str::split_whitespace).collect()
    }

    /// Replaces the items of the answer with blocks. Items in between are moved behind them.
    fn replace_items(
        &mut self,
        doc: &mut TranscriptDocument,
        calls: &mut OpenCalls,
        content: &[AssistantBlock],
    ) -> ItemMoves {
        let from = self.items.first().copied().unwrap_or(doc.items.len()).min(doc.items.len());
        let mut old: Vec<Option<TranscriptItem>> = doc.items.split_off(from).into_iter().map(Some).collect();
        let mut places = vec![None; old.len()];
        let mut items = Vec::new();
        let mut called = Vec::new();
        for block in content {
            let before = self.find_old_item(calls, block, from, &old);
            let place = doc.items.len();
            let item = before.and_then(|at| old.get_mut(at)?.take());
            if let Some(item) = item_from_block(item, block) {
                if let AssistantBlock::ToolCall(call) = block {
                    called.push((call.id.clone(), place));
                }
                if let Some(moved) = before.and_then(|at| places.get_mut(at)) {
                    *moved = Some(place);
                }
                items.push(place);
                doc.items.push(item);
            }
        }
        for (at, item) in old.into_iter().enumerate() {
            let dropped = self.items.contains(&(from + at));
            if let Some(item) = item.filter(|_| !dropped) {
                if let Some(moved) = places.get_mut(at) {
                    *moved = Some(doc.items.len());
                }
                doc.items.push(item);
            }
        }
        self.items = items;
        let moved = ItemMoves { from, places };
        doc.forget_from(from);
        calls.apply_moves(&moved);
        calls.of_run.extend(called);
        moved
    }

    /// Returns the old item of a block: the first remaining one of its kind.
    fn find_old_item(
        &self,
        calls: &OpenCalls,
        block: &AssistantBlock,
        from: usize,
        old: &[Option<TranscriptItem>],
    ) -> Option<usize> {
        let words = match block {
            AssistantBlock::Text { .. } => AnswerTextKind::Text,
            AssistantBlock::Thinking { .. } => AnswerTextKind::Thinking,
            AssistantBlock::ToolCall(call) => return calls.of_run.get(&call.id)?.checked_sub(from),
        };
        let of_answer = |at: &usize| self.items.contains(&(from + at));
        let is =
            |at: &usize| old.get(*at).and_then(Option::as_ref).is_some_and(|item| words.matches_item(item));
        (0..old.len()).filter(of_answer).find(is)
    }
}

/// Makes an item of a block, reusing the old item if there is one. `None` for an empty block.
pub(super) fn item_from_block(old: Option<TranscriptItem>, block: &AssistantBlock) -> Option<TranscriptItem> {
    let new = || match block {
        AssistantBlock::Text { .. } => {
            ItemKind::Text(Box::new(ModelText::from_finished(CleanText::default())))
        }
        AssistantBlock::Thinking { .. } => {
            let text = ModelText::from_finished(CleanText::default());
            ItemKind::Thinking(Box::new(ThinkingItem { text, over: true, ..ThinkingItem::default() }))
        }
        AssistantBlock::ToolCall(call) => ItemKind::Call(Box::new(CallItem::new(
            CallOrigin::Model,
            &call.name,
            ArgumentSummary::default(),
            CallPhase::Waiting,
        ))),
    };
    let mut item = old.unwrap_or_else(|| TranscriptItem::new(new()));
    match block {
        AssistantBlock::Text { text } | AssistantBlock::Thinking { text } => {
            if text.trim().is_empty() {
                return None;
            }
            let clean = CleanText::new(text);
            if item.model_text().is_some_and(|words| words.as_str() != clean.as_str()) {
                item.set_model_text(clean);
            }
        }
        AssistantBlock::ToolCall(call) => {
            item.mark_changed();
            if let Some(shown) =
                item.call().filter(|shown| shown.phase == CallPhase::Writing || shown.is_new())
            {
                shown.set_waiting(&call.name, &call.args);
            }
        }
    }
    Some(item)
}
