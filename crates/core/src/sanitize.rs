//! Text from outside (models, extensions, tools, files) made safe for a terminal, and for a model.
//!
//! A terminal obeys what it is sent: escape sequences move the cursor, retitle windows, write the clipboard. All of
//! that is removed. Direction marks and characters without a form make a line read as something it is not: a
//! U+FFFD stands in their place, one for a run of them. Letters of every script, combining marks and emoji stay, and
//! so do the joiners and variation selectors that such letters need, where they need them.
//!
//! A model reads what no person sees: [`for_model`] takes out the characters that serve for nothing else.

mod hidden;
mod sequence;

pub use haft_protocol::text::is_hidden;
pub use hidden::{ForModel, for_model};

use haft_protocol::defence::{Defence, is_up};
use hidden::Neighbours;
use sequence::Sequence;

/// Makes a whole text safe: escape sequences and control characters except newline and tab are removed, hidden
/// characters shown as U+FFFD.
///
/// ```
/// use haft_core::sanitize::sanitize;
///
/// assert_eq!(sanitize("\x1b]52;c;cm0gLXJm\x07done \x1b[32mok\x1b[0m"), "done ok");
/// assert_eq!(sanitize("photo\u{202e}gpj.exe"), "photo\u{fffd}gpj.exe");
/// assert_eq!(sanitize("👩\u{200d}🔬 می\u{200c}خواهم"), "👩\u{200d}🔬 می\u{200c}خواهم");
/// ```
pub fn sanitize(text: &str) -> String {
    Sanitizer::default().push(text)
}

/// As [`sanitize`], for one line: newlines and tabs become spaces.
pub fn sanitize_line(text: &str) -> String {
    sanitize(text).replace(['\n', '\t'], " ")
}

/// [`sanitize`] for a text that comes in pieces; a sequence that is cut in two by the pieces is removed too.
#[derive(Debug, Clone, Default)]
pub struct Sanitizer {
    sequence: Sequence,
    neighbours: Neighbours,
}

impl Sanitizer {
    /// The safe part of the next piece.
    pub fn push(&mut self, piece: &str) -> String {
        if !is_up(Defence::Sanitiser) {
            return piece.to_owned();
        }
        let text = piece.chars().filter(|&c| self.sequence.is_text(c));
        text.filter_map(|c| self.neighbours.shown(c)).collect()
    }
}
