//! The interface where lines are printed and typed, and nothing is drawn: for screen readers and simple terminals.
//!
//! It is the same state as everywhere. What is new in it is printed once ([`State::print`]); a line that is typed is a
//! prompt, a command, or the answer to what is open ([`Event::Typed`](super::Event::Typed)).

mod hear;
mod print;

use std::time::Instant;

use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc::PanelContent;

use crate::clean::CleanLine;

use super::settings::Screen;
use super::state::State;
use super::waiting::Until;

/// Rows of a list that are printed at once.
const ROWS: usize = 20;

/// What can be typed, for `/help` where lines are typed.
pub(super) const HELP: &str = "A line is a prompt, a command (`/model`), or the answer to what is asked. \
A line that ends with `\\` goes on with the next one.

| typed | does |
|---|---|
| a line while the agent works | is read by it at its next step |
| `>> text` | is read when the agent is done |
| an empty line | sends what was taken back or put there by an extension, if it is printed that there is something |
| `:drop` | forgets that |
| `:output` | prints all that the last call printed |
| a number, while a list is open | picks that row |
| `more` | prints the next rows of the list |
| other text, while a list is open | prints the rows that fit it |
| `:close` | closes the list, the panel or the question |
| `:up`, `:down`, `:left`, `:right`, `:enter`, `:space`, `:tab` | are keys of a panel; other text is typed into it |
| ctrl+c | stops the agent; twice within two seconds, while nothing goes on, leaves |
| ctrl+d | leaves |
";

/// What is known of what was printed.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Whether lines are printed and nothing is drawn.
    pub(super) on: bool,
    /// How many lists were opened, or show something else.
    pub(super) lists: u64,
    /// To be printed next, beside what the state says.
    said: Vec<CleanLine>,
    /// Until when a line is taken for the answer to a question that has gone by itself.
    pub(super) late_until: Option<Instant>,
    /// The lines of a text that goes on.
    draft: String,
    told: Told,
}

/// What was printed of what changes.
#[derive(Debug, Default)]
struct Told {
    greeted: bool,
    works: bool,
    notes: u64,
    queue: Vec<(Until, String)>,
    /// The revision of the text that waits to be sent.
    editor: u64,
    dialog: Option<u64>,
    /// The list, and up to which row.
    list: Option<(u64, usize)>,
    panel: Option<Panel>,
}

/// A panel, as it was printed.
#[derive(Debug)]
struct Panel {
    extension: ExtensionName,
    content: PanelContent,
    at: Instant,
}

/// What is to be printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printed {
    /// The rows, each once.
    pub rows: Vec<CleanLine>,
    /// Whether something is asked that grants something: what was typed before is no answer to it.
    pub asks: bool,
}

impl Lines {
    pub(super) fn new(screen: Screen) -> Self {
        Self { on: screen == Screen::Linear, ..Self::default() }
    }

    /// Says something once.
    pub(super) fn say(&mut self, text: &str) {
        if self.on {
            self.said.push(CleanLine::new(text));
        }
    }
}

impl State {
    /// When there is something to print though nothing happens.
    pub(super) fn lines_wake_at(&self) -> Option<Instant> {
        let (told, open) = (self.lines.told.panel.as_ref()?, self.panel.panel()?);
        let is_same = told.extension == *open.extension() && told.content == *open.content();
        (!is_same).then(|| told.at + crate::timeouts::PANEL_PRINTED)
    }
}
