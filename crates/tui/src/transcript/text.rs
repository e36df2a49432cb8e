//! A text of the model: as it grows, and as a whole.

use ratatui_core::text::Line;

use crate::clean::Clean;
use crate::markdown::Streaming;
use crate::theme::Theme;

/// A text of the model.
#[derive(Debug)]
pub(super) enum Text {
    /// With what has been rendered of it, for as long as it grows or is near the view.
    Rendered {
        streaming: Box<Streaming>,
        finished: bool,
        /// How many of its blocks stand on the terminal for good, while it is not printed as a whole.
        printed: usize,
    },
    /// As short as it can be kept.
    Whole(Clean),
}

impl Default for Text {
    fn default() -> Self {
        Self::Rendered { streaming: Box::default(), finished: false, printed: 0 }
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
        if let Self::Rendered { streaming, finished, .. } = self {
            streaming.finish();
            *finished = true;
        }
    }

    /// Forgets what has been rendered, unless it still grows or is printed by its blocks.
    pub(super) fn compress(&mut self) {
        if let Self::Rendered { streaming, finished: true, printed: 0 } = self {
            *self = Self::Whole(streaming.text().clone());
        }
    }

    /// Has its lines and blocks kept with it again.
    fn expand(&mut self) -> Option<&mut Streaming> {
        if let Self::Whole(text) = self {
            let mut streaming = Box::<Streaming>::default();
            streaming.push(text.as_str());
            streaming.finish();
            *self = Self::Rendered { streaming, finished: true, printed: 0 };
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

    /// How many of its blocks have been printed, while it has not been printed as a whole.
    pub(super) fn printed(&self) -> usize {
        match self {
            Self::Rendered { printed, .. } => *printed,
            Self::Whole(_) => 0,
        }
    }

    /// So many of its blocks have been printed.
    pub(super) fn set_printed(&mut self, blocks: usize) {
        if let Self::Rendered { printed, .. } = self {
            *printed = blocks;
        }
    }

    /// Another text in its place. Of what has been printed, the blocks count that are the same.
    pub(super) fn replace(&mut self, text: Clean) {
        let blocks = self.printed();
        let before = match self {
            Self::Rendered { streaming, .. } if blocks > 0 => streaming.begin(blocks).to_owned(),
            Self::Rendered { .. } | Self::Whole(_) => String::new(),
        };
        *self = Self::Whole(text);
        if blocks > 0 && self.expand().is_some_and(|now| now.begin(blocks) == before) {
            self.set_printed(blocks);
        }
    }

    /// The lines, where they are kept with the text.
    pub(super) fn lines(&mut self, width: u16, theme: &Theme) -> Option<&[Line<'static>]> {
        match self {
            Self::Rendered { streaming, .. } => Some(streaming.lines(width, theme)),
            Self::Whole(_) => None,
        }
    }
}
