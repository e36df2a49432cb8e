//! The items of the transcript, one after the other.

use std::time::{Duration, Instant};

use haft_protocol::content::{ContentBlock, joined_text};

use super::call::{CallItem, CallPhase};
use super::note::NoteItem;
use super::row::AttachedImage;
use crate::clean::{CleanLine, CleanText};
use crate::markdown::StreamingMarkdown;

#[derive(Debug)]
pub(super) struct TranscriptItem {
    pub(super) kind: ItemKind,
    /// Counts its changes, so that its layout is known to be old.
    pub(super) version: u32,
    /// True if this one is unfolded; without a value, it is as all of its kind are.
    pub(super) unfolded: Option<bool>,
    pub(super) printed: bool,
}

#[derive(Debug)]
pub(super) enum ItemKind {
    User(Box<UserItem>),
    Text(Box<ModelText>),
    Thinking(Box<ThinkingItem>),
    Call(Box<CallItem>),
    Note(Box<NoteItem>),
    Page(Box<PageItem>),
}

#[derive(Debug)]
pub(super) struct UserItem {
    pub(super) text: CleanText,
    pub(super) images: Vec<AttachedImage>,
}

#[derive(Debug, Default)]
pub(super) struct ThinkingItem {
    pub(super) text: ModelText,
    pub(super) began: Option<Instant>,
    pub(super) took: Option<Duration>,
    pub(super) over: bool,
}

/// A text with a heading: what a command shows.
#[derive(Debug)]
pub(super) struct PageItem {
    pub(super) owner: Option<CleanLine>,
    pub(super) heading: CleanLine,
    pub(super) body: CleanText,
    pub(super) markdown: bool,
}

/// The kinds that are unfolded by default.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FoldDefaults {
    pub(super) calls: bool,
    pub(super) thinking: bool,
}

impl UserItem {
    pub(super) fn new(content: &[ContentBlock]) -> Self {
        Self {
            text: CleanText::new(joined_text(content).trim_end()),
            images: AttachedImage::from_content(content),
        }
    }
}

impl TranscriptItem {
    pub(super) fn new(kind: ItemKind) -> Self {
        Self { kind, version: 0, unfolded: None, printed: false }
    }

    pub(super) fn mark_changed(&mut self) {
        self.version = self.version.wrapping_add(1);
    }

    pub(super) fn is_over(&self) -> bool {
        match &self.kind {
            ItemKind::Text(text) => text.is_finished(),
            ItemKind::Thinking(thinking) => thinking.over,
            ItemKind::Call(call) => call.is_over(),
            ItemKind::User(_) | ItemKind::Note(_) | ItemKind::Page(_) => true,
        }
    }

    /// Another text in the place of the one that it has. What is not as it was printed is printed anew.
    pub(super) fn set_model_text(&mut self, text: CleanText) {
        self.printed &= !matches!(self.kind, ItemKind::Text(_));
        if let Some(words) = self.model_text() {
            words.replace(text);
        }
        self.mark_changed();
    }

    pub(super) fn is_foldable(&self) -> bool {
        match &self.kind {
            ItemKind::Call(_) | ItemKind::Thinking(_) => true,
            ItemKind::Note(note) => note.more.is_some(),
            ItemKind::User(_) | ItemKind::Text(_) | ItemKind::Page(_) => false,
        }
    }

    pub(super) fn is_open(&self, folds: FoldDefaults) -> bool {
        let as_others = match &self.kind {
            ItemKind::Call(_) | ItemKind::Note(_) => folds.calls,
            ItemKind::Thinking(_) => folds.thinking,
            ItemKind::User(_) | ItemKind::Text(_) | ItemKind::Page(_) => true,
        };
        self.unfolded.unwrap_or(as_others)
    }

    /// True if it is a row among rows: no row is free between two of them.
    pub(super) fn is_compact(&self) -> bool {
        matches!(self.kind, ItemKind::Call(_) | ItemKind::Note(_))
    }

    pub(super) fn is_message(&self) -> bool {
        matches!(self.kind, ItemKind::User(_) | ItemKind::Text(_))
    }

    pub(super) fn running_call(&self) -> Option<&CallItem> {
        let ItemKind::Call(call) = &self.kind else { return None };
        (call.phase == CallPhase::Running).then_some(call)
    }

    pub(super) fn call(&mut self) -> Option<&mut CallItem> {
        let ItemKind::Call(call) = &mut self.kind else { return None };
        Some(call)
    }

    pub(super) fn note(&self) -> Option<&NoteItem> {
        let ItemKind::Note(note) = &self.kind else { return None };
        Some(note)
    }

    pub(super) fn text(&self) -> Option<&str> {
        let ItemKind::Text(text) = &self.kind else { return None };
        Some(text.as_str())
    }

    /// The model's text, or its thinking.
    pub(super) fn model_text(&mut self) -> Option<&mut ModelText> {
        match &mut self.kind {
            ItemKind::Text(text) => Some(text),
            ItemKind::Thinking(thinking) => Some(&mut thinking.text),
            ItemKind::User(_) | ItemKind::Call(_) | ItemKind::Note(_) | ItemKind::Page(_) => None,
        }
    }

    pub(super) fn visit_texts(&self, see: &mut dyn FnMut(&str)) {
        match &self.kind {
            ItemKind::User(user) => see(user.text.as_str()),
            ItemKind::Text(text) => see(text.as_str()),
            ItemKind::Thinking(thinking) => see(thinking.text.as_str()),
            ItemKind::Call(call) => call.visit_texts(see),
            ItemKind::Note(note) => note.visit_texts(see),
            ItemKind::Page(page) => {
                see(page.heading.as_str());
                see(page.body.as_str());
            }
        }
    }

    pub(super) fn clipboard_text(&self) -> String {
        if let ItemKind::Call(call) = &self.kind {
            return call.clipboard_text();
        }
        let mut text: Vec<String> = Vec::new();
        self.visit_texts(&mut |part| text.push(part.trim_end().to_owned()));
        text.retain(|part| !part.is_empty());
        text.join("\n")
    }
}

/// A text of the model: as it grows, and as a whole.
#[derive(Debug)]
pub(super) struct ModelText {
    /// All of it, while nothing of it is rendered.
    whole: CleanText,
    /// Kept for as long as it grows or is near the view.
    rendered: Option<Box<RenderedText>>,
}

/// The text with its lines and blocks.
#[derive(Debug, Default)]
struct RenderedText {
    streaming: StreamingMarkdown,
    /// The number of its blocks that are on the terminal for good, while it is not printed as a whole.
    printed: usize,
}

/// A text that grows.
impl Default for ModelText {
    fn default() -> Self {
        Self { whole: CleanText::default(), rendered: Some(Box::default()) }
    }
}

impl ModelText {
    /// A text that is finished.
    pub(super) fn from_finished(whole: CleanText) -> Self {
        Self { whole, rendered: None }
    }

    pub(super) fn as_str(&self) -> &str {
        self.rendered.as_ref().map_or(&self.whole, |rendered| rendered.streaming.text()).as_str()
    }

    pub(super) fn is_blank(&self) -> bool {
        self.as_str().trim().is_empty()
    }

    /// True if it grows no more.
    pub(super) fn is_finished(&self) -> bool {
        self.rendered.as_ref().is_none_or(|rendered| rendered.streaming.is_finished())
    }

    /// Forgets what has been rendered, unless it still grows or is printed by its blocks.
    pub(super) fn drop_rendering(&mut self) {
        let may_go =
            |rendered: &mut Box<RenderedText>| rendered.streaming.is_finished() && rendered.printed == 0;
        if let Some(rendered) = self.rendered.take_if(may_go) {
            self.whole = rendered.streaming.text().clone();
        }
    }

    pub(super) fn rendered_mut(&mut self) -> &mut StreamingMarkdown {
        let rendered = self.rendered.get_or_insert_with(|| {
            let mut rendered = Box::<RenderedText>::default();
            rendered.streaming.push(std::mem::take(&mut self.whole).as_str());
            rendered.streaming.finish();
            rendered
        });
        &mut rendered.streaming
    }

    /// Returns how many of its blocks have been printed, while it has not been printed as a whole.
    pub(super) fn printed_blocks(&self) -> usize {
        self.rendered.as_ref().map_or(0, |rendered| rendered.printed)
    }

    pub(super) fn set_printed(&mut self, blocks: usize) {
        if let Some(rendered) = &mut self.rendered {
            rendered.printed = blocks;
        }
    }

    /// Another text in its place. Of what has been printed, the blocks count that are the same.
    pub(super) fn replace(&mut self, text: CleanText) {
        let before = std::mem::replace(self, Self::from_finished(text)).rendered;
        if let Some(RenderedText { mut streaming, printed: blocks @ 1.. }) = before.map(|before| *before)
            && streaming.text_of_blocks(blocks) == self.rendered_mut().text_of_blocks(blocks)
        {
            self.set_printed(blocks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_small() {
        assert!(
            size_of::<TranscriptItem>() <= 24,
            "there may be a hundred thousand: {}",
            size_of::<TranscriptItem>()
        );
        assert!(size_of::<ModelText>() <= 32, "{}", size_of::<ModelText>());
    }
}
