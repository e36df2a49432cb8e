//! The model's answer, as it comes and as it is in the end.

use std::time::Instant;

use haft_protocol::message::AssistantBlock;

use super::call::{Call, Origin, Phase, Sum};
use super::calls::Calls;
use super::document::{Document, Moved};
use super::item::{Item, Kind, Text, Thinking};
use super::note::Note;
use super::notes::note;
use crate::clean::Clean;

#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Where its texts, thoughts and calls stand.
    pub(super) items: Vec<usize>,
    /// The text or the thought that grows.
    open: Option<usize>,
    /// The length of its text, in bytes, before interceptors, which may still change it.
    pub(super) told: Option<u64>,
    /// True if pieces of it were left out.
    pub(super) gap: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    Text,
    Thinking,
}

impl Words {
    fn is(self, item: &Item) -> bool {
        match self {
            Self::Text => matches!(item.kind, Kind::Text(_)),
            Self::Thinking => matches!(item.kind, Kind::Thinking(_)),
        }
    }
}

impl Answer {
    pub(super) fn has(&self, at: usize) -> bool {
        self.items.contains(&at)
    }

    pub(super) fn words(&mut self, doc: &mut Document, delta: &str, words: Words, now: Instant) {
        if delta.is_empty() {
            return;
        }
        let open = self.open.filter(|at| doc.items.get(*at).is_some_and(|item| words.is(item)));
        let at = open.unwrap_or_else(|| {
            self.close(doc, now);
            let at = doc.push(match words {
                Words::Text => Kind::Text(Box::default()),
                Words::Thinking => {
                    Kind::Thinking(Box::new(Thinking { began: Some(now), ..Thinking::default() }))
                }
            });
            self.items.push(at);
            self.open = Some(at);
            at
        });
        if let Some(text) = doc.changed(at).and_then(Item::words) {
            text.rendered().push(delta);
        }
    }

    pub(super) fn close(&mut self, doc: &mut Document, now: Instant) {
        let Some(at) = self.open.take() else { return };
        let Some(item) = doc.changed(at) else { return };
        if let Kind::Thinking(thinking) = &mut item.kind {
            thinking.over = true;
            thinking.took = thinking.began.map(|began| now.saturating_duration_since(began));
        }
        if let Some(text) = item.words() {
            text.rendered().finish();
        }
        doc.compress(at);
    }

    /// Withholds the answer, which is not shown: nobody said what it is in the end.
    pub(super) fn withheld(&mut self, doc: &mut Document, now: Instant) {
        self.close(doc, now);
        if self.told.take().is_none_or(|bytes| bytes == 0) {
            return;
        }
        for at in self.items.clone() {
            if let Some(item) = doc.changed(at)
                && let Kind::Text(text) = &mut item.kind
            {
                **text = Text::whole(Clean::default());
            }
        }
        note(doc, Note::muted("an extension withheld the answer"));
    }

    /// The model begins its answer anew: what was shown of it does not count.
    pub(super) fn begins_anew(&mut self, doc: &mut Document, calls: &mut Calls, now: Instant) -> Moved {
        self.close(doc, now);
        let moved = self.put_all(doc, calls, &[]);
        *self = Self::default();
        moved
    }

    pub(super) fn over(&mut self, doc: &mut Document, now: Instant) {
        self.close(doc, now);
        *self = Self::default();
    }

    pub(super) fn answered(
        &mut self,
        doc: &mut Document,
        calls: &mut Calls,
        content: &[AssistantBlock],
        now: Instant,
    ) -> Moved {
        self.close(doc, now);
        let shown = self.text(doc);
        let (told, gap) = (self.told, self.gap);
        let moved = self.put_all(doc, calls, content);
        let said = self.text(doc);
        let bytes = u64::try_from(haft_protocol::message::text_of(content).len()).unwrap_or(u64::MAX);
        let replaced = told.is_some_and(|told| told != bytes) || !gap && !shown.is_empty() && shown != said;
        if replaced {
            note(doc, Note::muted("an extension changed the answer"));
        }
        *self = Self::default();
        moved
    }

    /// Without what is blank, which may be cut off at either end.
    fn text(&self, doc: &Document) -> String {
        let items = self.items.iter().filter_map(|at| doc.items.get(*at));
        let texts = items.filter_map(Item::text);
        texts.flat_map(str::split_whitespace).collect()
    }

    /// Puts blocks in the place of the answer's items. What stands between those stands behind them from then on.
    fn put_all(&mut self, doc: &mut Document, calls: &mut Calls, content: &[AssistantBlock]) -> Moved {
        let from = self.items.first().copied().unwrap_or(doc.items.len()).min(doc.items.len());
        let mut old: Vec<Option<Item>> = doc.items.split_off(from).into_iter().map(Some).collect();
        let mut places = vec![None; old.len()];
        let mut items = Vec::new();
        let mut called = Vec::new();
        for block in content {
            let before = self.before(calls, block, from, &old);
            let place = doc.items.len();
            let item = before.and_then(|at| old.get_mut(at)?.take());
            if let Some(item) = put(item, block) {
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
        let moved = Moved { from, places };
        doc.forget_from(from);
        calls.moved(&moved);
        calls.of_run.extend(called);
        moved
    }

    /// Which of the old items a block is: the first of its kind that is left.
    fn before(
        &self,
        calls: &Calls,
        block: &AssistantBlock,
        from: usize,
        old: &[Option<Item>],
    ) -> Option<usize> {
        let words = match block {
            AssistantBlock::Text { .. } => Words::Text,
            AssistantBlock::Thinking { .. } => Words::Thinking,
            AssistantBlock::ToolCall(call) => return calls.of_run.get(&call.id)?.checked_sub(from),
        };
        let of_answer = |at: &usize| self.items.contains(&(from + at));
        let is = |at: &usize| old.get(*at).and_then(Option::as_ref).is_some_and(|item| words.is(item));
        (0..old.len()).filter(of_answer).find(is)
    }
}

/// A block as an item, made of the old one where there is one. None for what says nothing.
pub(super) fn put(old: Option<Item>, block: &AssistantBlock) -> Option<Item> {
    let new = || match block {
        AssistantBlock::Text { .. } => Kind::Text(Box::new(Text::whole(Clean::default()))),
        AssistantBlock::Thinking { .. } => {
            let text = Text::whole(Clean::default());
            Kind::Thinking(Box::new(Thinking { text, over: true, ..Thinking::default() }))
        }
        AssistantBlock::ToolCall(call) => {
            Kind::Call(Box::new(Call::new(Origin::Model, &call.name, Sum::default(), Phase::Waiting)))
        }
    };
    let mut item = old.unwrap_or_else(|| Item::new(new()));
    match block {
        AssistantBlock::Text { text } | AssistantBlock::Thinking { text } => {
            if text.trim().is_empty() {
                return None;
            }
            let clean = Clean::new(text);
            if item.words().is_some_and(|words| words.as_str() != clean.as_str()) {
                item.set_words(clean);
            }
        }
        AssistantBlock::ToolCall(call) => {
            item.changed();
            if let Some(shown) = item.call().filter(|shown| shown.phase == Phase::Writing || shown.is_new()) {
                shown.wait(&call.name, &call.args);
            }
        }
    }
    Some(item)
}
