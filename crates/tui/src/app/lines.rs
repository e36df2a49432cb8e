//! The interface where lines are printed and typed, and nothing is drawn: for screen readers and simple terminals.
//!
//! It is the same state as everywhere. What is new in it is printed once ([`State::print`](super::State::print)); a line
//! that is typed is a prompt, a command, or the answer to what is open ([`Event::Typed`](super::Event::Typed)).

mod print;

pub(super) use print::PrintSources;

use std::time::Instant;

use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc::PanelContent;

use crate::clean::CleanLine;

use super::settings::Screen;
use super::waiting::DeliveryPoint;

/// Rows of a list that are printed at once.
const ROWS: usize = 20;

/// The kinds of input, for `/help` where lines are typed.
pub(super) const HELP: &str = "A line is a prompt, a command (`/model`), or the answer to a question. \
A line that ends with `\\` continues on the next line.

| input | action |
|---|---|
| a line while the agent works | sends a message that the agent reads at its next step |
| `>> text` | sends a message that the agent reads when it is done |
| an empty line | sends the text that was printed as not sent |
| `:drop` | discards that text |
| `:output` | prints the whole output of the last tool call |
| a number, while a list is open | selects that row |
| `more` | prints the next rows of the list |
| other text, while a list is open | filters the list |
| `:close` | closes the list, the panel or the question |
| `:up`, `:down`, `:left`, `:right`, `:enter`, `:space`, `:tab` | press that key in a panel; other text is typed into the panel |
| ctrl+c | stops the agent; when the agent is idle, twice within two seconds quits |
| ctrl+d | quits |
";

/// The state of what was printed.
#[derive(Debug, Default)]
pub(super) struct LinearPrinter {
    /// True if lines are printed and nothing is drawn.
    pub(super) enabled: bool,
    /// The number of lists that were opened, or show something else.
    lists: u64,
    /// To be printed next, beside what the state says.
    pending_rows: Vec<CleanLine>,
    /// Until when a line is taken for the answer to a question that has gone by itself.
    stray_until: Option<Instant>,
    draft: String,
    printed: PrintedState,
}

/// The printed state of what changes.
#[derive(Debug, Default)]
struct PrintedState {
    greeted: bool,
    works: bool,
    notes: u64,
    queue: Vec<(DeliveryPoint, String)>,
    /// The revision of the text that waits to be sent.
    editor: u64,
    dialog: Option<u64>,
    /// The list, and up to which row.
    list: Option<(u64, usize)>,
    panel: Option<PrintedPanel>,
}

#[derive(Debug)]
struct PrintedPanel {
    extension: ExtensionName,
    content: PanelContent,
    at: Instant,
}

/// The rows to print.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinearOutput {
    /// The rows, each once.
    pub rows: Vec<CleanLine>,
    /// True if something is asked that grants something: what was typed before is no answer to it.
    pub asks_for_grant: bool,
}

impl LinearPrinter {
    pub(super) fn new(screen: Screen) -> Self {
        Self { enabled: screen == Screen::Linear, ..Self::default() }
    }

    /// Prints something once.
    pub(super) fn print_line(&mut self, text: &str) {
        if self.enabled {
            self.pending_rows.push(CleanLine::new(text));
        }
    }

    /// Prints rows once, whatever they are.
    pub(super) fn print_rows(&mut self, rows: Vec<CleanLine>) {
        self.pending_rows.extend(rows);
    }

    /// Prints the list: it is new, or shows something else.
    pub(super) fn list_changed(&mut self) {
        self.lists += 1;
    }

    pub(super) fn list_narrowed(&mut self) {
        self.lists += 1;
        self.printed.list = None;
    }

    pub(super) fn dialog_answered(&mut self) {
        self.printed.dialog = None;
    }

    /// Joins a line with the lines before it. None while it ends with a backslash: the text continues.
    pub(super) fn join_continuation(&mut self, line: &str) -> Option<String> {
        if let Some(begin) = line.strip_suffix('\\') {
            self.draft.push_str(begin);
            self.draft.push('\n');
            return None;
        }
        Some(std::mem::take(&mut self.draft) + line)
    }

    pub(super) fn drop_draft(&mut self) {
        self.draft.clear();
    }

    /// Takes the next line for the answer to a question that has gone by itself, if it comes soon.
    pub(super) fn expect_stray_line(&mut self, now: Instant) {
        self.stray_until = Some(now + crate::timeouts::LATE_LINE);
    }

    /// True if the line was meant for a question that has gone by itself.
    pub(super) fn is_stray_line(&mut self, now: Instant) -> bool {
        self.stray_until.take().is_some_and(|until| now < until)
    }

    pub(super) fn wakes_at(&self, open: Option<&crate::panel::ExtensionPanel>) -> Option<Instant> {
        let (told, open) = (self.printed.panel.as_ref()?, open?);
        let is_same = told.extension == *open.extension() && told.content == *open.content();
        (!is_same).then(|| told.at + crate::timeouts::PANEL_PRINTED)
    }
}
