//! The items of the transcript, one after the other.

use std::time::{Duration, Instant};

use haft_protocol::content::{Content, joined_text};

use super::call::{Call, Phase};
use super::note::Note;
use super::row::Picture;
use crate::clean::{Clean, CleanLine};
use crate::markdown::Streaming;

#[derive(Debug)]
pub(super) struct Item {
    pub(super) kind: Kind,
    /// Counts its changes, so that its layout is known to be old.
    pub(super) version: u32,
    /// True if this one is unfolded; without a value, it is as all of its kind are.
    pub(super) unfolded: Option<bool>,
    pub(super) printed: bool,
}

#[derive(Debug)]
pub(super) enum Kind {
    User(Box<User>),
    Text(Box<Text>),
    Thinking(Box<Thinking>),
    Call(Box<Call>),
    Note(Box<Note>),
    Page(Box<Page>),
}

#[derive(Debug)]
pub(super) struct User {
    pub(super) text: Clean,
    pub(super) images: Vec<Picture>,
}

#[derive(Debug, Default)]
pub(super) struct Thinking {
    pub(super) text: Text,
    pub(super) began: Option<Instant>,
    pub(super) took: Option<Duration>,
    pub(super) over: bool,
}

/// A text with a heading: what a command shows.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) owner: Option<CleanLine>,
    pub(super) heading: CleanLine,
    pub(super) body: Clean,
    pub(super) markdown: bool,
}

/// The kinds that are unfolded by default.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Folds {
    pub(super) calls: bool,
    pub(super) thinking: bool,
}

impl User {
    pub(super) fn new(content: &[Content]) -> Self {
        Self { text: Clean::new(joined_text(content).trim_end()), images: Picture::all(content) }
    }
}

impl Item {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, version: 0, unfolded: None, printed: false }
    }

    pub(super) fn changed(&mut self) {
        self.version = self.version.wrapping_add(1);
    }

    pub(super) fn is_over(&self) -> bool {
        match &self.kind {
            Kind::Text(text) => text.is_finished(),
            Kind::Thinking(thinking) => thinking.over,
            Kind::Call(call) => call.is_over(),
            Kind::User(_) | Kind::Note(_) | Kind::Page(_) => true,
        }
    }

    /// Another text in the place of the one that it has. What is not as it was printed is printed anew.
    pub(super) fn set_words(&mut self, text: Clean) {
        self.printed &= !matches!(self.kind, Kind::Text(_));
        if let Some(words) = self.words() {
            words.replace(text);
        }
        self.changed();
    }

    pub(super) fn folds(&self) -> bool {
        match &self.kind {
            Kind::Call(_) | Kind::Thinking(_) => true,
            Kind::Note(note) => note.more.is_some(),
            Kind::User(_) | Kind::Text(_) | Kind::Page(_) => false,
        }
    }

    pub(super) fn is_open(&self, folds: Folds) -> bool {
        let as_others = match &self.kind {
            Kind::Call(_) | Kind::Note(_) => folds.calls,
            Kind::Thinking(_) => folds.thinking,
            Kind::User(_) | Kind::Text(_) | Kind::Page(_) => true,
        };
        self.unfolded.unwrap_or(as_others)
    }

    /// True if it is a row among rows: no row is free between two of them.
    pub(super) fn is_compact(&self) -> bool {
        matches!(self.kind, Kind::Call(_) | Kind::Note(_))
    }

    pub(super) fn is_message(&self) -> bool {
        matches!(self.kind, Kind::User(_) | Kind::Text(_))
    }

    pub(super) fn running(&self) -> Option<&Call> {
        let Kind::Call(call) = &self.kind else { return None };
        (call.phase == Phase::Running).then_some(call)
    }

    pub(super) fn call(&mut self) -> Option<&mut Call> {
        let Kind::Call(call) = &mut self.kind else { return None };
        Some(call)
    }

    pub(super) fn note(&self) -> Option<&Note> {
        let Kind::Note(note) = &self.kind else { return None };
        Some(note)
    }

    pub(super) fn text(&self) -> Option<&str> {
        let Kind::Text(text) = &self.kind else { return None };
        Some(text.as_str())
    }

    /// The model's text, or its thinking.
    pub(super) fn words(&mut self) -> Option<&mut Text> {
        match &mut self.kind {
            Kind::Text(text) => Some(text),
            Kind::Thinking(thinking) => Some(&mut thinking.text),
            Kind::User(_) | Kind::Call(_) | Kind::Note(_) | Kind::Page(_) => None,
        }
    }

    pub(super) fn parts(&self, see: &mut dyn FnMut(&str)) {
        match &self.kind {
            Kind::User(user) => see(user.text.as_str()),
            Kind::Text(text) => see(text.as_str()),
            Kind::Thinking(thinking) => see(thinking.text.as_str()),
            Kind::Call(call) => call.parts(see),
            Kind::Note(note) => note.parts(see),
            Kind::Page(page) => {
                see(page.heading.as_str());
                see(page.body.as_str());
            }
        }
    }

    pub(super) fn copied(&self) -> String {
        if let Kind::Call(call) = &self.kind {
            return call.copied();
        }
        let mut text: Vec<String> = Vec::new();
        self.parts(&mut |part| text.push(part.trim_end().to_owned()));
        text.retain(|part| !part.is_empty());
        text.join("\n")
    }
}

/// A text of the model: as it grows, and as a whole.
#[derive(Debug)]
pub(super) struct Text {
    /// All of it, while nothing of it is rendered.
    whole: Clean,
    /// Kept for as long as it grows or is near the view.
    rendered: Option<Box<Rendered>>,
}

/// The text with its lines and blocks.
#[derive(Debug, Default)]
struct Rendered {
    streaming: Streaming,
    /// The number of its blocks that are on the terminal for good, while it is not printed as a whole.
    printed: usize,
}

/// A text that grows.
impl Default for Text {
    fn default() -> Self {
        Self { whole: Clean::default(), rendered: Some(Box::default()) }
    }
}

impl Text {
    /// A text that is finished.
    pub(super) fn whole(whole: Clean) -> Self {
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
    pub(super) fn compress(&mut self) {
        let may_go = |rendered: &mut Box<Rendered>| rendered.streaming.is_finished() && rendered.printed == 0;
        if let Some(rendered) = self.rendered.take_if(may_go) {
            self.whole = rendered.streaming.text().clone();
        }
    }

    pub(super) fn rendered(&mut self) -> &mut Streaming {
        let rendered = self.rendered.get_or_insert_with(|| {
            let mut rendered = Box::<Rendered>::default();
            rendered.streaming.push(std::mem::take(&mut self.whole).as_str());
            rendered.streaming.finish();
            rendered
        });
        &mut rendered.streaming
    }

    /// Returns how many of its blocks have been printed, while it has not been printed as a whole.
    pub(super) fn printed(&self) -> usize {
        self.rendered.as_ref().map_or(0, |rendered| rendered.printed)
    }

    pub(super) fn set_printed(&mut self, blocks: usize) {
        if let Some(rendered) = &mut self.rendered {
            rendered.printed = blocks;
        }
    }

    /// Another text in its place. Of what has been printed, the blocks count that are the same.
    pub(super) fn replace(&mut self, text: Clean) {
        let before = std::mem::replace(self, Self::whole(text)).rendered;
        if let Some(Rendered { mut streaming, printed: blocks @ 1.. }) = before.map(|before| *before)
            && streaming.begin(blocks) == self.rendered().begin(blocks)
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
        assert!(size_of::<Item>() <= 24, "there may be a hundred thousand: {}", size_of::<Item>());
        assert!(size_of::<Text>() <= 32, "{}", size_of::<Text>());
    }
}
