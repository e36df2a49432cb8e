//! The interface on the terminal's own screen: what has been printed, and what takes a screen of its own for a while.

use ratatui_core::text::Line;

use crate::clean::CleanLine;
use crate::keys::Scroll;

use super::settings::Screen;
use super::state::State;

/// The longest name of a session that is printed.
const LONGEST_NAME: usize = 60;

/// What is known of what has been printed.
#[derive(Debug, Default)]
pub(super) struct Inline {
    /// Whether it is the terminal's own screen.
    pub(super) on: bool,
    /// Whether it has been printed whose program this is.
    pub(super) greeted: bool,
    /// What was not printed of a conversation that is shown no more.
    pub(super) left: Vec<Line<'static>>,
    /// Which conversation begins.
    pub(super) begins: Option<String>,
}

impl Inline {
    pub(super) fn new(screen: Screen) -> Self {
        Self { on: screen == Screen::Inline, ..Self::default() }
    }
}

impl State {
    /// Whether the end of the terminal's own screen is drawn, and not all of a screen.
    pub(super) fn is_below(&self) -> bool {
        self.inline.on && !self.has_cover() && !self.panel.is_open() && !self.conversation.is_open()
    }

    /// The conversation that is shown is left: what was not printed of it is, as it is now.
    pub(super) fn leave_conversation(&mut self) {
        if !self.inline.on || self.conversation.is_read() && !self.inline.greeted {
            return;
        }
        let look = self.look(self.now);
        let rest = self.rest(self.size.0, &look);
        self.inline.left.extend(rest);
    }

    /// Another conversation begins.
    pub(super) fn begin_printing(&mut self, fallback: &str) {
        if !self.inline.on || !self.inline.greeted {
            return;
        }
        let name = self.session.about().unwrap_or(fallback);
        let name = CleanLine::new(name.lines().next().unwrap_or_default()).shortened(LONGEST_NAME);
        self.inline.begins = Some(name.as_str().to_owned());
    }

    /// Before something is done in the transcript: it is opened. Whether it is of use here at all.
    pub(super) fn open_transcript(&mut self, scroll: Scroll) -> bool {
        if !self.is_below() {
            return true;
        }
        match scroll {
            Scroll::CopyAnswer => true,
            // The end is what is seen.
            Scroll::PageDown | Scroll::LineDown | Scroll::MessageDown | Scroll::Bottom => false,
            Scroll::Search | Scroll::Browse => {
                self.measure_transcript();
                true
            }
            Scroll::PageUp | Scroll::LineUp | Scroll::MessageUp | Scroll::Top => {
                self.browse_transcript();
                true
            }
        }
    }

    /// Unfolds calls, or what the model thinks, or folds them. What is printed cannot be unfolded: that is seen in the
    /// transcript.
    pub(super) fn unfold(&mut self, is_calls: bool) {
        let opens = self.is_below();
        if opens {
            self.measure_transcript();
        }
        let (calls, thinking) = self.conversation.transcript_mut().unfolded();
        match is_calls {
            true if !(opens && calls) => self.conversation.transcript_mut().toggle_calls(),
            false if !(opens && thinking) => self.conversation.transcript_mut().toggle_thinking(),
            true | false => {}
        }
        if opens {
            self.browse_transcript();
        }
    }

    fn browse_transcript(&mut self) {
        self.measure_transcript();
        self.composer.close_popup();
        self.conversation.browse();
    }

    fn measure_transcript(&mut self) {
        let area = super::view::main_area(self);
        self.conversation.open_in(area.height);
    }

    /// A match was taken: it is looked at.
    pub(super) fn stay_in_transcript(&mut self) {
        if self.inline.on {
            self.browse_transcript();
        }
    }
}
