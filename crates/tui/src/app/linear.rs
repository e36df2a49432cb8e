//! The linear mode, which prints and reads lines instead of drawing: for screen readers and simple terminals.
//!
//! [`AppState::take_linear_output`](super::AppState::take_linear_output) returns each change of the state once. A typed
//! line ([`UiEvent::TypedLine`](super::UiEvent::TypedLine)) is a prompt, a command, or input for the open component.

mod print;

pub(super) use print::PrintSources;

use std::time::Instant;

use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc::PanelContent;

use crate::clean::CleanLine;

use super::settings::Screen;
use super::waiting_messages::DeliveryPoint;

/// The maximum number of rows of a list that are printed at once.
const ROWS: usize = 20;

/// The kinds of input, for `/help` in the linear mode.
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

/// The printer of the linear mode.
#[derive(Debug, Default)]
pub(super) struct LinearPrinter {
    /// True in the linear mode.
    pub(super) enabled: bool,
    /// The revision of the open list: the number of lists that were opened or changed.
    lists: u64,
    /// Rows to print next, in addition to the changes of the state.
    pending_rows: Vec<CleanLine>,
    /// The time until which a line is treated as an answer to a question that closed unanswered.
    stray_until: Option<Instant>,
    draft: String,
    printed: PrintedState,
}

/// The part of the state that has been printed.
#[derive(Debug, Default)]
struct PrintedState {
    greeted: bool,
    works: bool,
    notes: u64,
    queue: Vec<(DeliveryPoint, String)>,
    /// The revision of the printed composer text.
    editor: u64,
    dialog: Option<u64>,
    /// The revision of the printed list, and the number of printed rows.
    list: Option<(u64, usize)>,
    panel: Option<PrintedPanel>,
}

#[derive(Debug)]
struct PrintedPanel {
    extension: ExtensionName,
    content: PanelContent,
    at: Instant,
}

/// The output of the linear mode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinearOutput {
    /// The rows to print.
    pub rows: Vec<CleanLine>,
    /// True if the rows end with a question that grants something. Lines typed before it must not answer it.
    pub asks_for_grant: bool,
}

impl LinearPrinter {
    pub(super) fn new(screen: Screen) -> Self {
        Self { enabled: screen == Screen::Linear, ..Self::default() }
    }

    /// Prints a line.
    pub(super) fn print_line(&mut self, text: &str) {
        if self.enabled {
            self.pending_rows.push(CleanLine::new(text));
        }
    }

    /// Prints rows.
    pub(super) fn print_rows(&mut self, rows: Vec<CleanLine>) {
        self.pending_rows.extend(rows);
    }

    /// Prints the list again, because it was opened or changed.
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

    /// Joins a line with its predecessors. Returns `None` if the line ends with a backslash and the text continues.
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

    /// Treats a line that arrives soon as an answer to a question that closed unanswered.
    pub(super) fn expect_stray_line(&mut self, now: Instant) {
        self.stray_until = Some(now + crate::timeouts::LATE_LINE);
    }

    /// True if the line was meant for a question that closed unanswered.
    pub(super) fn is_stray_line(&mut self, now: Instant) -> bool {
        self.stray_until.take().is_some_and(|until| now < until)
    }

    pub(super) fn wakes_at(&self, open: Option<&crate::panel::ExtensionPanel>) -> Option<Instant> {
        let (printed, open) = (self.printed.panel.as_ref()?, open?);
        let is_same = printed.extension == *open.extension() && printed.content == *open.content();
        (!is_same).then(|| printed.at + crate::timeouts::PANEL_PRINTED)
    }
}
