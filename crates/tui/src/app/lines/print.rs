//! What is printed.

use std::time::Instant;

use super::super::menu::Menu;
use super::super::state::State;
use super::super::waiting::Until;
use super::{Panel, Printed, ROWS};
use crate::clean::{Clean, CleanLine};
use crate::timeouts;
use crate::transcript::spoken::rows_of;

impl State {
    /// What is to be printed since it was asked last, as rows of a width.
    ///
    /// While something is asked that grants something, nothing else is: nobody else's words stand between the question
    /// and the answer.
    pub fn print(&mut self, now: Instant, width: u16) -> Printed {
        let mut rows: Vec<CleanLine> = Vec::new();
        let mut asks = false;
        rows.extend(self.greeting());
        rows.append(&mut self.lines.said);
        if !self.grants_now() {
            rows.extend(self.begun());
            rows.extend(self.conversation.transcript_mut().spoken(width));
            rows.extend(self.new_notes());
            rows.extend(self.changed_queue());
            rows.extend(self.ended());
        }
        rows.extend(self.held_text());
        rows.extend(self.opened_list());
        if !self.grants_now() {
            rows.extend(self.changed_panel(now));
        }
        let mut rows: Vec<CleanLine> = rows.iter().flat_map(|row| rows_of(row, 0, width)).collect();
        let number = self.dialogs.number();
        if number != self.lines.told.dialog {
            if self.lines.told.dialog.is_some() && number.is_none() {
                rows.push("the question is over".into());
            }
            self.lines.told.dialog = number;
            if let Some(dialog) = self.dialogs.shown() {
                // These are rows already: what would be granted is not divided, so that nothing of it is left out.
                rows.extend(dialog.spoken(width));
                asks = dialog.question().grants;
            }
        }
        Printed { rows, asks }
    }

    /// What was to be printed stands on the terminal.
    pub fn was_printed(&mut self, now: Instant) {
        if let Some(dialog) = self.dialogs.shown() {
            dialog.was_printed(now);
        }
    }

    /// Whether nobody may see what is typed.
    pub fn hides_input(&self) -> bool {
        use crate::dialog::Wanted;
        let wanted = self.dialogs.first().map(|dialog| &dialog.question().wanted);
        wanted == Some(&Wanted::Input { secret: true })
    }

    /// Whether something is asked that grants something, and stands there.
    fn grants_now(&self) -> bool {
        let grants = self.dialogs.first().is_some_and(|dialog| dialog.question().grants);
        grants && self.dialogs.number() == self.lines.told.dialog
    }

    fn greeting(&mut self) -> Vec<CleanLine> {
        if self.lines.told.greeted || self.out.session().is_none() {
            return Vec::new();
        }
        self.lines.told.greeted = true;
        let session = &self.session;
        let head = format!("haft {}, {}/{}", self.version, session.provider, session.model);
        vec![CleanLine::new(&head), "type a prompt and enter; /help prints what else can be typed".into()]
    }

    fn begun(&mut self) -> Option<CleanLine> {
        let begins = self.work.is_on() && !self.lines.told.works;
        self.lines.told.works |= begins;
        begins.then(|| "working".into())
    }

    fn ended(&mut self) -> Option<CleanLine> {
        let ends = !self.work.is_on() && self.lines.told.works;
        self.lines.told.works &= !ends;
        ends.then(|| "ready".into())
    }

    fn new_notes(&mut self) -> Vec<CleanLine> {
        let new = self.notes.count().saturating_sub(self.lines.told.notes);
        self.lines.told.notes = self.notes.count();
        let new = usize::try_from(new).unwrap_or(usize::MAX);
        let skipped = self.notes.iter().count().saturating_sub(new);
        let mut rows = Vec::new();
        for note in self.notes.iter().skip(skipped) {
            let kind = match note.level {
                haft_protocol::event::Level::Error => "error: ",
                haft_protocol::event::Level::Warn => "warning: ",
                haft_protocol::event::Level::Info | haft_protocol::event::Level::Success => "",
            };
            let mut kind = kind;
            for line in Clean::new(&note.text).lines() {
                let kind = std::mem::take(&mut kind);
                rows.push(CleanLine::new(&format!("[{}] {kind}{line}", note.owner)));
            }
        }
        rows
    }

    /// What waits that did not before.
    fn changed_queue(&mut self) -> Vec<CleanLine> {
        let now = self.waiting();
        let before = std::mem::replace(&mut self.lines.told.queue, now.clone());
        let new = now.iter().filter(|waiting| !before.contains(waiting));
        let row = |(until, text): &(Until, String)| {
            let until = match until {
                Until::Step => "for the agent's next step",
                Until::Done => "until the agent is done",
                Until::Prompt => "for your next prompt",
                Until::Session => "until the session is open",
            };
            CleanLine::new(&format!("waits {until}: {text}"))
        };
        new.map(row).collect()
    }

    /// What would be sent by an empty line.
    fn held_text(&mut self) -> Vec<CleanLine> {
        let revision = self.composer.editor().revision();
        let before = std::mem::replace(&mut self.lines.told.editor, revision);
        if before == revision || self.composer.editor().is_empty() {
            return Vec::new();
        }
        let text = self.composer.editor().submission().text;
        let mut rows: Vec<CleanLine> = vec!["not sent; an empty line sends it, :drop forgets it:".into()];
        rows.extend(Clean::new(&text).lines().map(|line| CleanLine::new(&format!("  {line}"))));
        rows
    }

    /// A list that is new, or its next rows.
    fn opened_list(&mut self) -> Vec<CleanLine> {
        let Some(picker) = self.menu.as_ref().map(Menu::picker) else {
            self.lines.told.list = None;
            return Vec::new();
        };
        let (told, upto) = self.lines.told.list.unwrap_or_default();
        if told == self.lines.lists {
            return Vec::new();
        }
        let from = if told == 0 || upto >= picker.fitting() { 0 } else { upto };
        let rows = picker.numbered(from, ROWS);
        let upto = from + rows.len();
        self.lines.told.list = Some((self.lines.lists, upto));
        let left = picker.fitting().saturating_sub(upto);
        let more = if left > 0 { format!(", `more` for {left} more") } else { String::new() };
        let mut all = vec![CleanLine::new(&format!("{}:", picker.title()))];
        if picker.fitting() == 0 {
            all.push("nothing fits".into());
        }
        all.extend(rows);
        all.push(CleanLine::new(&format!("a number picks{more}, text narrows the list, :close leaves it")));
        all
    }

    /// A panel that is new, says something else, or is closed. What changes quickly is printed now and then.
    fn changed_panel(&mut self, now: Instant) -> Vec<CleanLine> {
        let told = &mut self.lines.told.panel;
        let Some(open) = self.panel.panel() else {
            let closed = told.take();
            let row = |panel: Panel| CleanLine::new(&format!("[{}] the panel is closed", panel.extension));
            return closed.map(row).into_iter().collect();
        };
        let is_its = |panel: &&mut Panel| {
            panel.extension == *open.extension() && panel.content.panel_id == open.content().panel_id
        };
        let known = told.as_mut().filter(is_its);
        let is_new = known.is_none();
        if let Some(panel) = known {
            let soon = now < panel.at + timeouts::PANEL_PRINTED;
            if panel.content == *open.content() || soon {
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
                "text is typed into the panel; :up, :down, :left, :right, :enter, :space, :tab are keys; \
                 :close closes it"
                    .into(),
            );
        }
        *told = Some(Panel { extension, content, at: now });
        rows
    }
}
