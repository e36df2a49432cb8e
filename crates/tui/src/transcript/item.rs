//! The items of the transcript.

use std::time::{Duration, Instant};

use haft_protocol::content::{ContentBlock, parse_attached_file, written_text};

use super::call::{CallItem, CallPhase};
use super::note::NoteItem;
use super::row::AttachedImage;
use crate::clean::{CleanLine, CleanText};
use crate::editor::{MOST_CHARACTERS, MOST_LINES};
use crate::markdown::StreamingMarkdown;

#[derive(Debug)]
pub(super) struct TranscriptItem {
    pub(super) kind: ItemKind,
    /// A counter of changes, to invalidate layouts.
    pub(super) version: u32,
    /// The fold state of this item; `None` follows the default of its kind.
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
    /// A label for each attached file.
    pub(super) attached: Vec<CleanLine>,
    pub(super) images: Vec<AttachedImage>,
}

#[derive(Debug, Default)]
pub(super) struct ThinkingItem {
    pub(super) text: ModelText,
    pub(super) began: Option<Instant>,
    pub(super) took: Option<Duration>,
    pub(super) over: bool,
    /// The text shown for the hidden thoughts; `None` for haft's own.
    pub(super) label: Option<CleanLine>,
}

/// A text with a heading, for example the output of a command of haft.
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
    /// The number of rows of a long prompt, folded.
    pub(super) const FOLDED_ROWS: usize = 8;

    /// True if the prompt is folded by default, for example because it contains a long paste.
    pub(super) fn is_long(&self) -> bool {
        let text = self.text.as_str();
        text.lines().count() > MOST_LINES + 2 || text.chars().count() > MOST_CHARACTERS + 200
    }

    pub(super) fn new(content: &[ContentBlock]) -> Self {
        Self {
            text: CleanText::new(written_text(content).trim_end()),
            attached: content.iter().skip(1).filter_map(attached_label).collect(),
            images: AttachedImage::from_content(content),
        }
    }
}

/// `attached src/main.rs, 120 lines`
fn attached_label(block: &ContentBlock) -> Option<CleanLine> {
    let (name, text) = parse_attached_file(block)?;
    let lines = match text.lines().count() {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    };
    Some(CleanLine::new(&format!("attached {name}, {lines}")))
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

    /// Replaces the text of the model. If it differs from the printed text, it is printed again.
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
            ItemKind::User(user) => user.is_long(),
            ItemKind::Text(_) | ItemKind::Page(_) => false,
        }
    }

    pub(super) fn is_open(&self, folds: FoldDefaults) -> bool {
        let as_others = match &self.kind {
            ItemKind::Call(_) | ItemKind::Note(_) => folds.calls,
            ItemKind::Thinking(_) => folds.thinking,
            ItemKind::User(user) => folds.calls || !user.is_long(),
            ItemKind::Text(_) | ItemKind::Page(_) => true,
        };
        self.unfolded.unwrap_or(as_others)
    }

    /// True for an item without blank rows between neighbors of its kind.
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

    /// Returns the model's text, or its thinking.
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

/// A text of the model, growing or finished.
#[derive(Debug)]
pub(super) struct ModelText {
    /// The whole text, while no part is rendered.
    whole: CleanText,
    /// The rendering, kept while the text grows or is near the view.
    rendered: Option<Box<RenderedText>>,
}

/// The text with its lines and blocks.
#[derive(Debug, Default)]
struct RenderedText {
    streaming: StreamingMarkdown,
    /// The number of printed blocks, while the text is not printed as a whole.
    printed: usize,
}

/// A growing text.
impl Default for ModelText {
    fn default() -> Self {
        Self { whole: CleanText::default(), rendered: Some(Box::default()) }
    }
}

impl ModelText {
    /// Makes a finished text.
    pub(super) fn from_finished(whole: CleanText) -> Self {
        Self { whole, rendered: None }
    }

    pub(super) fn as_str(&self) -> &str {
        self.rendered.as_ref().map_or(&self.whole, |rendered| rendered.streaming.text()).as_str()
    }

    pub(super) fn is_blank(&self) -> bool {
        self.as_str().trim().is_empty()
    }

    /// True if the text is finished.
    pub(super) fn is_finished(&self) -> bool {
        self.rendered.as_ref().is_none_or(|rendered| rendered.streaming.is_finished())
    }

    /// Drops the rendering, unless the text grows or is printed block by block.
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

    /// Returns the number of printed blocks, while the text has not been printed as a whole.
    pub(super) fn printed_blocks(&self) -> usize {
        self.rendered.as_ref().map_or(0, |rendered| rendered.printed)
    }

    pub(super) fn set_printed(&mut self, blocks: usize) {
        if let Some(rendered) = &mut self.rendered {
            rendered.printed = blocks;
        }
    }

    /// Replaces the text. Printed blocks that are equal still count as printed.
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
    fn item_size_is_small() {
        assert!(
            size_of::<TranscriptItem>() <= 24,
            "there may be a hundred thousand: {}",
            size_of::<TranscriptItem>()
        );
        assert!(size_of::<ModelText>() <= 32, "{}", size_of::<ModelText>());
    }
}
