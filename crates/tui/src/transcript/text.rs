//! A text of the model: as it grows, and as a whole.

use ratatui_core::text::Line;

use crate::clean::Clean;
use crate::markdown::Streaming;
use crate::theme::Theme;

/// A text of the model.
#[derive(Debug)]
pub(super) enum Text {
    /// With what has been rendered of it, for as long as it grows or is near the view.
    Rendered { streaming: Box<Streaming>, finished: bool },
    /// As short as it can be kept.
    Whole(Clean),
}

impl Default for Text {
    fn default() -> Self {
        Self::Rendered { streaming: Box::default(), finished: false }
    }
}

impl Text {
    pub(super) fn whole(outside: &str) -> Self {
        Self::Whole(Clean::new(outside))
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Rendered { streaming, .. } => streaming.text().as_str(),
            Self::Whole(text) => text.as_str(),
        }
    }

    pub(super) fn is_blank(&self) -> bool {
        self.as_str().trim().is_empty()
    }

    /// Whether it grows no more.
    pub(super) fn is_finished(&self) -> bool {
        match self {
            Self::Rendered { finished, .. } => *finished,
            Self::Whole(_) => true,
        }
    }

    pub(super) fn push(&mut self, piece: &str) {
        match self {
            Self::Rendered { streaming, .. } => streaming.push(piece),
            Self::Whole(text) => text.push(&Clean::new(piece)),
        }
    }

    pub(super) fn finish(&mut self) {
        if let Self::Rendered { streaming, finished } = self {
            streaming.finish();
            *finished = true;
        }
    }

    /// Forgets what has been rendered, unless it still grows.
    pub(super) fn compress(&mut self) {
        if let Self::Rendered { streaming, finished: true } = self {
            *self = Self::Whole(streaming.text().clone());
        }
    }

    /// Has its lines and blocks kept with it again.
    fn expand(&mut self) -> Option<&mut Streaming> {
        if let Self::Whole(text) = self {
            let mut streaming = Box::<Streaming>::default();
            streaming.push(text.as_str());
            streaming.finish();
            *self = Self::Rendered { streaming, finished: true };
        }
        match self {
            Self::Rendered { streaming, .. } => Some(streaming),
            Self::Whole(_) => None,
        }
    }

    /// With how many lines each of its blocks ends that is finished.
    pub(super) fn blocks(&mut self, width: u16, theme: &Theme) -> &[usize] {
        self.expand().map(|streaming| streaming.blocks(width, theme)).unwrap_or_default()
    }

    /// Another text in its place. Whether its first blocks are the same.
    pub(super) fn replace(&mut self, text: Clean, blocks: usize) -> bool {
        if blocks == 0 {
            *self = Self::Whole(text);
            return false;
        }
        let before = self.expand().map(|before| before.begin(blocks).to_owned()).unwrap_or_default();
        *self = Self::Whole(text);
        self.expand().is_some_and(|now| now.begin(blocks) == before)
    }

    /// The lines, where they are kept with the text.
    pub(super) fn lines(&mut self, width: u16, theme: &Theme) -> Option<&[Line<'static>]> {
        match self {
            Self::Rendered { streaming, .. } => Some(streaming.lines(width, theme)),
            Self::Whole(_) => None,
        }
    }
}
