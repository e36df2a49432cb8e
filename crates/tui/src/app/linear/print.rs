//! The rows that the linear mode prints for changes of the interface.

use std::time::Instant;

use super::super::dialogs::{CLOSED, DialogQueue};
use super::super::notes::ExtensionNotes;
use super::super::session::CurrentSession;
use super::super::waiting_messages::DeliveryPoint;
use super::{LinearOutput, LinearPrinter, PrintedPanel, ROWS};
use crate::clean::{CleanLine, CleanText};
use crate::editor::Editor;
use crate::picker::Picker;
use crate::timeouts;
use crate::transcript::Transcript;
use crate::transcript::linear::wrap_rows;

/// The parts of the interface that are printed.
pub(in crate::app) struct PrintSources<'s> {
    pub(in crate::app) version: &'s str,
    /// None until the session is known.
    pub(in crate::app) session: Option<&'s CurrentSession>,
    pub(in crate::app) works: bool,
    pub(in crate::app) waiting: Vec<(DeliveryPoint, String)>,
    pub(in crate::app) transcript: &'s mut Transcript,
    pub(in crate::app) notes: &'s ExtensionNotes,
    pub(in crate::app) editor: &'s Editor,
    pub(in crate::app) picker: Option<&'s Picker>,
    pub(in crate::app) panel: Option<&'s crate::panel::ExtensionPanel>,
    pub(in crate::app) dialogs: &'s mut DialogQueue,
}

impl LinearPrinter {
    /// Returns the rows to print since the last call, wrapped to `width` columns.
    ///
    /// While a question that grants something is open, the output of the model and of extensions is held back, so that
    /// none of it appears between the question and the answer.
    pub(in crate::app) fn print(
        &mut self,
        facts: PrintSources<'_>,
        now: Instant,
        width: u16,
    ) -> LinearOutput {
        let mut rows: Vec<CleanLine> = Vec::new();
        let mut asks = false;
        rows.extend(self.greeting_rows(&facts));
        rows.append(&mut self.pending_rows);
        if !self.is_grant_open(facts.dialogs) {
            rows.extend(self.work_started_row(facts.works));
            rows.extend(facts.transcript.take_linear_rows(width));
            rows.extend(self.new_note_rows(facts.notes));
            rows.extend(self.new_queue_rows(facts.waiting));
            rows.extend(self.work_ended_row(facts.works));
        }
        rows.extend(self.unsent_text_rows(facts.editor));
        rows.extend(self.list_rows(facts.picker));
        if !self.is_grant_open(facts.dialogs) {
            rows.extend(self.panel_rows(facts.panel, now));
        }
        let mut rows: Vec<CleanLine> = rows.iter().flat_map(|row| wrap_rows(row, 0, width)).collect();
        let number = facts.dialogs.current_number();
        if number != self.printed.dialog {
            if self.printed.dialog.is_some() && number.is_none() {
                rows.push(CLOSED.into());
            }
            self.printed.dialog = number;
            if let Some(dialog) = facts.dialogs.current_mut() {
                // The dialog wraps its own rows: a grant is shown in full.
                rows.extend(dialog.linear_rows(width));
                asks = dialog.question().grants;
            }
        }
        LinearOutput { rows, asks_for_grant: asks }
    }

    /// True if a question that grants something is open and was printed.
    fn is_grant_open(&self, dialogs: &DialogQueue) -> bool {
        let grants = dialogs.current().is_some_and(|dialog| dialog.question().grants);
        grants && dialogs.current_number() == self.printed.dialog
    }

    fn greeting_rows(&mut self, facts: &PrintSources<'_>) -> Vec<CleanLine> {
        let Some(session) = facts.session.filter(|_| !self.printed.greeted) else { return Vec::new() };
        self.printed.greeted = true;
        let head = format!("haft {}, {}/{}", facts.version, session.provider, session.model);
        vec![CleanLine::new(&head), "type a prompt and press enter; /help lists the commands".into()]
    }

    fn work_started_row(&mut self, works: bool) -> Option<CleanLine> {
        let begins = works && !self.printed.works;
        self.printed.works |= begins;
        begins.then(|| "working".into())
    }

    fn work_ended_row(&mut self, works: bool) -> Option<CleanLine> {
        let ends = !works && self.printed.works;
        self.printed.works &= !ends;
        ends.then(|| "ready".into())
    }

    fn new_note_rows(&mut self, notes: &ExtensionNotes) -> Vec<CleanLine> {
        let new = notes.count().saturating_sub(self.printed.notes);
        self.printed.notes = notes.count();
        let new = usize::try_from(new).unwrap_or(usize::MAX);
        let skipped = notes.iter().count().saturating_sub(new);
        let mut rows = Vec::new();
        for note in notes.iter().skip(skipped) {
            let kind = match note.level {
                haft_protocol::event::NoteLevel::Error => "error: ",
                haft_protocol::event::NoteLevel::Warn => "warning: ",
                haft_protocol::event::NoteLevel::Info | haft_protocol::event::NoteLevel::Success => "",
            };
            let mut kind = kind;
            for line in CleanText::new(&note.text).lines() {
                let kind = std::mem::take(&mut kind);
                rows.push(CleanLine::new(&format!("[{}] {kind}{line}", note.owner)));
            }
        }
        rows
    }

    /// Returns a row for each newly queued message.
    fn new_queue_rows(&mut self, now: Vec<(DeliveryPoint, String)>) -> Vec<CleanLine> {
        let before = std::mem::replace(&mut self.printed.queue, now.clone());
        let new = now.iter().filter(|waiting| !before.contains(waiting));
        let row = |(until, text): &(DeliveryPoint, String)| {
            let until = match until {
                DeliveryPoint::Step => "for the agent's next step",
                DeliveryPoint::Done => "until the agent is done",
                DeliveryPoint::Prompt => "for your next prompt",
                DeliveryPoint::Session => "until the session is open",
            };
            CleanLine::new(&format!("queued {until}: {text}"))
        };
        new.map(row).collect()
    }

    /// Returns the rows that show the unsent text.
    fn unsent_text_rows(&mut self, editor: &Editor) -> Vec<CleanLine> {
        let revision = editor.revision();
        let before = std::mem::replace(&mut self.printed.editor, revision);
        if before == revision || editor.is_empty() {
            return Vec::new();
        }
        let text = editor.submission().text;
        let mut rows: Vec<CleanLine> =
            vec!["not sent; an empty line sends this text, :drop discards it:".into()];
        rows.extend(CleanText::new(&text).lines().map(|line| CleanLine::new(&format!("  {line}"))));
        rows
    }

    fn list_rows(&mut self, picker: Option<&Picker>) -> Vec<CleanLine> {
        let Some(picker) = picker else {
            self.printed.list = None;
            return Vec::new();
        };
        let (revision, upto) = self.printed.list.unwrap_or_default();
        if revision == self.lists {
            return Vec::new();
        }
        let from = if revision == 0 || upto >= picker.match_count() { 0 } else { upto };
        let rows = picker.numbered_rows(from, ROWS);
        let upto = from + rows.len();
        self.printed.list = Some((self.lists, upto));
        let left = picker.match_count().saturating_sub(upto);
        let more = if left > 0 { format!(", `more` prints {left} more rows") } else { String::new() };
        let mut all = vec![CleanLine::new(&format!("{}:", picker.title()))];
        if picker.match_count() == 0 {
            all.push("no matches".into());
        }
        all.extend(rows);
        all.push(CleanLine::new(&format!(
            "a number selects a row{more}, text filters the list, :close closes it"
        )));
        all
    }

    /// Returns the rows of a panel that was opened, changed or closed. Frequent changes are printed at intervals.
    fn panel_rows(&mut self, open: Option<&crate::panel::ExtensionPanel>, now: Instant) -> Vec<CleanLine> {
        let printed = &mut self.printed.panel;
        let Some(open) = open else {
            let closed = printed.take();
            let row = |panel: PrintedPanel| CleanLine::new(&format!("[{}] panel closed", panel.extension));
            return closed.map(row).into_iter().collect();
        };
        let is_same_panel = |panel: &&mut PrintedPanel| {
            panel.extension == *open.extension() && panel.content.panel_id == open.content().panel_id
        };
        let known = printed.as_mut().filter(is_same_panel);
        let is_new = known.is_none();
        if let Some(panel) = known {
            let is_too_soon = now < panel.at + timeouts::PANEL_PRINTED;
            if panel.content == *open.content() || is_too_soon {
                return Vec::new();
            }
        }
        let (extension, content) = (open.extension().clone(), open.content().clone());
        let mut rows = vec![CleanLine::new(&format!("[{extension}] panel {}", content.title))];
        rows.extend(content.lines.iter().map(|line| CleanLine::new(&format!("  {line}"))));
        if !content.footer.is_empty() {
            rows.push(CleanLine::new(&format!("  {}", content.footer)));
        }
        if is_new {
            rows.push(
                "text goes to the panel; :up, :down, :left, :right, :enter, :space, :tab press a key; :close \
                 closes the panel"
                    .into(),
            );
        }
        *printed = Some(PrintedPanel { extension, content, at: now });
        rows
    }
}
