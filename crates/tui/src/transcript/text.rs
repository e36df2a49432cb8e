//! A text of the model: as it grows, and as a whole.

use crate::clean::Clean;
use crate::markdown::Streaming;

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
    /// How many of its blocks stand on the terminal for good, while it is not printed as a whole.
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

    /// Returns its lines and blocks, which are kept with it from then on.
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
