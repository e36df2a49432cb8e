//! `Context`: the part of the interface with keyboard focus.

use super::Section;

/// The part of the interface with keyboard focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// The editor of prompts.
    Editor,
    /// The editor, with candidates shown.
    Completion,
    /// A list to pick from.
    Picker,
    /// A dialog with choices or text.
    Dialog,
    /// A dialog that asks for yes or no.
    Confirm,
    /// A search in the prompt history or in the transcript.
    Search,
    /// The transcript.
    Browse,
    /// An extension's panel.
    Panel,
}

impl Context {
    /// All contexts.
    pub const ALL: &'static [Self] = &[
        Self::Editor,
        Self::Completion,
        Self::Picker,
        Self::Dialog,
        Self::Confirm,
        Self::Search,
        Self::Browse,
        Self::Panel,
    ];

    /// Returns the sections of this context, in layers. A key has the meaning of the first layer that contains it.
    /// Within a layer, no key has two meanings.
    pub fn layers(self) -> &'static [&'static [Section]] {
        const EDITOR: &[Section] = &[Section::Edit, Section::Prompt, Section::Scroll, Section::App];
        match self {
            Self::Editor => &[EDITOR],
            Self::Completion => &[&[Section::Completion], EDITOR],
            Self::Picker => &[&[Section::Picker], &[Section::Edit]],
            Self::Dialog => &[&[Section::Dialog], &[Section::Edit]],
            Self::Confirm => &[&[Section::Confirm, Section::Dialog]],
            Self::Search => &[&[Section::Search], &[Section::Edit]],
            Self::Browse => &[&[Section::Browse, Section::Scroll, Section::App]],
            Self::Panel => &[&[Section::Panel]],
        }
    }

    /// Returns the context as the end of a sentence.
    pub fn location_phrase(self) -> &'static str {
        match self {
            Self::Editor => "in the editor",
            Self::Completion => "while candidates are shown",
            Self::Picker => "in lists",
            Self::Dialog => "in dialogs",
            Self::Confirm => "in questions",
            Self::Search => "in searches",
            Self::Browse => "in the transcript",
            Self::Panel => "in panels",
        }
    }
}
