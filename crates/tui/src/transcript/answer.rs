//! What the model says, as it comes and as it is in the end.

use std::time::Instant;

use haft_protocol::message::AssistantBlock;

use super::Transcript;
use super::args::Sum;
use super::call::{Call, Origin, Phase};
use super::item::{Item, Kind, Thinking};
use super::note::Note;
use super::text::Text;
use crate::clean::Clean;

/// The answer that is being given.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Where its texts, thoughts and calls stand.
    items: Vec<usize>,
    /// The text or the thought that grows.
    open: Option<usize>,
    /// How long its text is, in bytes, before interceptors.
    told: Option<u64>,
    /// Whether pieces of it were left out.
    gap: bool,
}

/// What kind of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    Text,
    Thinking,
}

impl Words {
    fn is(self, item: &Item) -> bool {
        match &item.kind {
            Kind::Text(_) => self == Self::Text,
            Kind::Thinking(_) => self == Self::Thinking,
            Kind::User(_) | Kind::Call(_) | Kind::Note(_) | Kind::Page(_) => false,
        }
    }
}

impl Answer {
    /// Whether an item is part of it.
    pub(super) fn has(&self, at: usize) -> bool {
        self.items.contains(&at)
    }
}

impl Transcript {
    /// Another answer begins.
    pub(super) fn answer_starts(&mut self, now: Instant) {
        self.close_words(now);
        self.answer = Answer::default();
    }

    /// The model says so much more.
    pub(super) fn words(&mut self, delta: &str, words: Words, now: Instant) {
        if delta.is_empty() {
            return;
        }
        let open = self.answer.open.filter(|at| self.items.get(*at).is_some_and(|item| words.is(item)));
        let at = open.unwrap_or_else(|| {
            self.close_words(now);
            let at = self.push(match words {
                Words::Text => Kind::Text(Box::default()),
                Words::Thinking => {
                    Kind::Thinking(Box::new(Thinking { began: Some(now), ..Thinking::default() }))
                }
            });
            self.answer.items.push(at);
            self.answer.open = Some(at);
            at
        });
        if let Some(text) = self.changed(at).and_then(Item::words) {
            text.push(delta);
        }
    }

    /// What grows is whole.
    pub(super) fn close_words(&mut self, now: Instant) {
        let Some(at) = self.answer.open.take() else { return };
        let Some(item) = self.changed(at) else { return };
        if let Kind::Thinking(thinking) = &mut item.kind {
            thinking.over = true;
            thinking.took = thinking.began.map(|began| now.saturating_duration_since(began));
        }
        if let Some(text) = item.words() {
            text.finish();
        }
        if !self.layouts.has(at) {
            self.compress([at]);
        }
    }

    /// A call is part of the answer.
    pub(super) fn answer_calls(&mut self, at: usize) {
        self.answer.items.push(at);
    }

    /// The answer is complete, and so long; interceptors may still change it.
    pub(super) fn answer_given(&mut self, text_bytes: u64) {
        self.answer.told = Some(text_bytes);
    }

    /// Pieces were left out.
    pub(super) fn answer_has_gap(&mut self) {
        self.answer.gap = true;
    }

    /// What was given is not shown: nobody said what it is in the end.
    pub(super) fn answer_withheld(&mut self, now: Instant) {
        self.close_words(now);
        if self.answer.told.take().is_none_or(|bytes| bytes == 0) {
            return;
        }
        for at in self.answer.items.clone() {
            if let Some(item) = self.changed(at)
                && let Kind::Text(text) = &mut item.kind
            {
                **text = Text::whole("");
            }
        }
        self.note(Note::muted("an extension withheld the answer"));
    }

    /// The model begins its answer anew: what was shown of it does not count.
    pub(super) fn answer_anew(&mut self, now: Instant) {
        self.close_words(now);
        self.put_answer(&[]);
        self.answer = Answer::default();
    }

    /// The answer is over, however it came to be.
    pub(super) fn answer_over(&mut self, now: Instant) {
        self.close_words(now);
        self.answer = Answer::default();
    }

    /// What the answer is in the end.
    pub(super) fn answered(&mut self, content: &[AssistantBlock], now: Instant) {
        self.close_words(now);
        let shown = self.text_of_answer();
        let (told, gap) = (self.answer.told, self.answer.gap);
        self.put_answer(content);
        let said = self.text_of_answer();
        let bytes = u64::try_from(haft_protocol::message::text_of(content).len()).unwrap_or(u64::MAX);
        let replaced = told.is_some_and(|told| told != bytes) || !gap && !shown.is_empty() && shown != said;
        if replaced {
            self.note(Note::muted("an extension changed the answer"));
        }
        self.answer = Answer::default();
    }

    /// Without what is blank, which may be cut off at either end.
    fn text_of_answer(&self) -> String {
        let items = self.answer.items.iter().filter_map(|at| self.items.get(*at));
        let texts = items.filter_map(|item| match &item.kind {
            Kind::Text(text) => Some(text.as_str()),
            Kind::User(_) | Kind::Thinking(_) | Kind::Call(_) | Kind::Note(_) | Kind::Page(_) => None,
        });
        texts.flat_map(str::split_whitespace).collect()
    }

    /// Puts blocks in the place of the answer's items. What stands between those stands behind them from then on.
    fn put_answer(&mut self, content: &[AssistantBlock]) {
        let from = self.answer.items.first().copied().unwrap_or(self.items.len()).min(self.items.len());
        let mut old: Vec<Option<Item>> = self.items.split_off(from).into_iter().map(Some).collect();
        let mut places = vec![None; old.len()];
        let mut items = Vec::new();
        let mut called = Vec::new();
        for block in content {
            let before = self.before(block, from, &old);
            let place = self.items.len();
            let item = before.and_then(|at| old.get_mut(at)?.take());
            if let Some(item) = put(item, block) {
                if let AssistantBlock::ToolCall(call) = block {
                    called.push((call.id.clone(), place));
                }
                if let Some(moved) = before.and_then(|at| places.get_mut(at)) {
                    *moved = Some(place);
                }
                items.push(place);
                self.items.push(item);
            }
        }
        for (at, item) in old.into_iter().enumerate() {
            let dropped = self.answer.items.contains(&(from + at));
            if let Some(item) = item.filter(|_| !dropped) {
                if let Some(moved) = places.get_mut(at) {
                    *moved = Some(self.items.len());
                }
                self.items.push(item);
            }
        }
        self.answer.items = items;
        self.moved(from, &places);
        self.calls.extend(called);
    }

    /// Which of the old items a block is: the first of its kind that is left.
    fn before(&self, block: &AssistantBlock, from: usize, old: &[Option<Item>]) -> Option<usize> {
        let words = match block {
            AssistantBlock::Text { .. } => Words::Text,
            AssistantBlock::Thinking { .. } => Words::Thinking,
            AssistantBlock::ToolCall(call) => return self.calls.get(&call.id)?.checked_sub(from),
        };
        let of_answer = |at: &usize| self.answer.items.contains(&(from + at));
        let is = |at: &usize| old.get(*at).and_then(Option::as_ref).is_some_and(|item| words.is(item));
        (0..old.len()).filter(of_answer).find(is)
    }

    /// Items stand elsewhere, from one on; those without a place are gone.
    fn moved(&mut self, from: usize, places: &[Option<usize>]) {
        let place = |at: usize| match at.checked_sub(from) {
            Some(index) => places.get(index).copied().flatten(),
            None => Some(at),
        };
        let stays = |at: &mut usize| place(*at).map(|new| *at = new).is_some();
        self.calls.retain(|_, at| stays(at));
        self.hosted.retain(|_, at| stays(at));
        self.shells.retain(|_, at| stays(at));
        self.told.moved(from, places);
        self.forget_searched(from);
        self.settled.moved(from);
        let forgotten = self.layouts.forget_from(from);
        self.compress(forgotten);
    }
}

/// A block as an item, made of the old one where there is one. None for what says nothing.
pub(super) fn put(old: Option<Item>, block: &AssistantBlock) -> Option<Item> {
    match block {
        AssistantBlock::Text { text } if text.trim().is_empty() => None,
        AssistantBlock::Thinking { text } if text.trim().is_empty() => None,
        AssistantBlock::Text { text } => {
            Some(with_words(old, text, || Kind::Text(Box::new(Text::whole("")))))
        }
        AssistantBlock::Thinking { text } => Some(with_words(old, text, || {
            let text = Text::whole("");
            Kind::Thinking(Box::new(Thinking { text, over: true, ..Thinking::default() }))
        })),
        AssistantBlock::ToolCall(call) => {
            let mut item = old.unwrap_or_else(|| {
                let sum = Sum::default();
                Item::new(Kind::Call(Box::new(Call::new(Origin::Model, &call.name, sum, Phase::Waiting))))
            });
            item.changed();
            if let Some(shown) = item.call().filter(|shown| shown.phase == Phase::Writing || shown.is_new()) {
                shown.phase = Phase::Waiting;
                shown.sum = Sum::of(&call.name, &call.args);
            }
            Some(item)
        }
    }
}

fn with_words(old: Option<Item>, text: &str, new: impl FnOnce() -> Kind) -> Item {
    let mut item = old.unwrap_or_else(|| Item::new(new()));
    let clean = Clean::new(text);
    if item.words().is_some_and(|words| words.as_str() != clean.as_str()) {
        item.set_words(clean);
    }
    item
}
