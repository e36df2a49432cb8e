//! Another session in the place of the one that is shown.

use haft_protocol::rpc::{
    CloseSession, Fork, NewSession, QueueData, SetModel, SetThinking, SwitchSession, TakeQueued,
};
use haft_protocol::thinking::Thinking;

use super::super::Ask;
use super::super::held::{Held, Next, Origin};
use super::super::pending::Pending;
use super::super::session::Session;
use super::super::state::State;
use crate::editor::Content;
use crate::queue::{Queue, TakenBack};

/// The most characters of a name in a row that says where a fork comes from.
const LONGEST_NAME: usize = 60;

impl State {
    /// Opens a session to be shown in the place of this one: one at a time. Whether it can be.
    fn open_next(&mut self, origin: Origin) -> bool {
        let may = self.held.next.is_none();
        match may {
            // From here on, the events of other sessions are kept: one of them will be shown.
            true => self.held.next = Some(Next::new(origin)),
            false => self.flash("another session is being opened"),
        }
        may
    }

    pub(in crate::app) fn open_new(&mut self) {
        if self.open_next(Origin::New) {
            self.out.send(NewSession { ephemeral: None }, Pending::Made);
        }
    }

    pub(in crate::app) fn open_fork(&mut self, entry: Option<String>) {
        if self.open_next(Origin::Fork(entry.clone())) {
            self.out.send(Fork { entry }, Pending::Made);
        }
    }

    /// Goes on with a session that there is.
    pub(in crate::app) fn open_stored(&mut self, id: String) {
        if self.out.session() == Some(id.as_str()) {
            self.stays();
        } else if self.open_next(Origin::Stored) {
            self.switch_to(id);
        }
    }

    /// It is the session that is shown.
    fn stays(&mut self) {
        self.held.next = None;
        self.flash("this is that session");
        self.picked_session();
    }

    /// Whichever session it is in that the person goes on: there is one.
    pub(super) fn picked_session(&mut self) {
        self.resumes = false;
        self.say_unsent();
    }

    /// The session is there. A new one goes on with the model of the one that is shown.
    pub(super) fn made(&mut self, id: String) {
        if self.held.next.as_ref().is_some_and(|next| next.origin == Origin::New) {
            if let Some(model) = self.session.own_model.clone() {
                let carried = Pending::CarriedOver(id.clone());
                self.out.send_to(SetModel { model }, Some(id.clone()), carried);
            }
            let level = self.session.wanted_thinking.unwrap_or(self.session.thinking);
            if level != Thinking::Default || self.session.wanted_thinking.is_some() {
                self.out.send_to(SetThinking { level }, Some(id.clone()), Pending::Quiet);
            }
        }
        self.switch_to(id);
    }

    fn switch_to(&mut self, id: String) {
        self.out.send_to(SwitchSession {}, Some(id), Pending::Switched);
    }

    /// The session can be shown.
    pub(super) fn switched(&mut self, id: String) {
        match self.out.session() == Some(id.as_str()) {
            true => self.stays(),
            false => self.adopt(id),
        }
    }

    /// The new session has the model of the one before: who was told of another one is told anew.
    pub(super) fn carried_over(&mut self, id: &str) {
        if self.out.session() == Some(id) {
            self.ask_state();
        }
    }

    /// That session is shown from here on, and the one before it is closed.
    fn adopt(&mut self, id: String) {
        let Some(next) = self.held.next.take() else { return };
        self.leave_conversation();
        let origin = next.origin.clone();
        let goes_on = matches!(origin, Origin::Fork(_)).then(|| id.clone());
        let before = std::mem::take(&mut self.session);
        let left = self.out.set_session(id.clone());
        self.session = Session {
            provider: before.provider.clone(),
            model: before.model.clone(),
            cwd: before.cwd.clone(),
            wanted_thinking: before.wanted_thinking.filter(|_| origin == Origin::New),
            ..Session::default()
        };
        let queue = std::mem::take(&mut self.queue);
        self.out.leave(&queue, goes_on.as_deref());
        self.close_what_was_shown();
        let unsent = std::mem::take(&mut self.held.unsent);
        self.held = Held { unsent, ..Held::new() };
        self.conversation.read_anew();
        self.out.ask(Ask::Conversation { session: id.clone() });
        self.leave_behind(&before, left.as_deref(), &origin);
        if !queue.is_empty() {
            let pending = Pending::Left(Box::new(queue), goes_on);
            self.out.send_to(TakeQueued {}, left.clone(), pending);
        }
        for event in next.of(&id) {
            self.event(event, Some(id.clone()));
        }
        self.refresh();
        self.out.ask(Ask::Branch);
        if let Some(closed) = left.filter(|left| *left != id) {
            self.out.send_to(CloseSession {}, Some(closed), Pending::Silent);
        }
    }

    /// Nothing of the session before is seen but the commands of the person's that run.
    fn close_what_was_shown(&mut self) {
        self.conversation.begin_anew();
        self.notes.clear();
        self.panel.close();
        self.panel.allow_all();
        self.composer.cancel_delayed();
        self.dialogs.close_replies();
        self.work.is_over();
        self.reloads = None;
        self.resumes = false;
        self.composer.known_mut().sessions = None;
        self.composer.known_mut().said = None;
    }

    /// What was under way for the session before: prompts come back into the editor, and what commands print is told to
    /// a session that goes on with it, or to nobody.
    fn leave_behind(&mut self, before: &Session, left: Option<&str>, origin: &Origin) {
        if let Origin::Fork(entry) = origin {
            self.forked(before, left.unwrap_or_default(), entry.as_deref());
        } else {
            for shell in self.work.shells.iter_mut().filter(|shell| shell.kept) {
                shell.kept = false;
                self.conversation.transcript_mut().shell_left(shell.number);
            }
        }
        let sending: Vec<Content> =
            std::mem::take(&mut self.sending).into_iter().map(|sending| sending.content()).collect();
        self.back_from_before(&sending);
    }

    /// Says where a fork comes from.
    fn forked(&mut self, before: &Session, id: &str, entry: Option<&str>) {
        let about: String = before.about().unwrap_or(id).chars().take(LONGEST_NAME).collect();
        let place = entry.map_or_else(|| "where it stood".to_owned(), |entry| format!("at {entry}"));
        self.info(format!("forked from {about} {place}; /resume {id} goes back to it"));
    }

    /// What waited in the session before, as it was taken back there. What commands printed is told to the session that
    /// goes on with it.
    pub(super) fn left(&mut self, mut queue: Queue, goes_on: Option<&str>, taken: Option<QueueData>) {
        let back = match taken {
            Some(QueueData { steering, follow_up, .. }) => queue.taken(steering, follow_up),
            // It is closed already: whatever waited was read by nobody.
            None => queue.take_back(),
        };
        let TakenBack { prompts, printed } = back;
        self.back_from_before(&prompts);
        let goes_on = goes_on.is_some() && self.out.session() == goes_on;
        for printed in printed {
            match goes_on {
                true => self.say_printed(printed),
                false => self.info(format!(
                    "the model was not told what `{}` printed: that session is closed",
                    printed.command
                )),
            }
        }
        self.say_unsent();
    }

    /// Prompts that the session before did not begin with are in the editor.
    pub(super) fn back_from_before(&mut self, contents: &[Content]) {
        let said = match contents.len() {
            0 => return,
            1 => "a prompt that waited in the session before is in the editor".to_owned(),
            count => format!("{count} prompts that waited in the session before are in the editor"),
        };
        self.composer.give_back(contents);
        self.info(said);
    }

    /// Asks for the conversation; what happens until it is known follows it.
    pub(super) fn begin_conversation(&mut self, id: &str) {
        self.conversation.read();
        self.out.ask(Ask::Conversation { session: id.to_owned() });
    }

    /// No other session will be shown after all. What was said in it is in the editor.
    pub(super) fn end_switch(&mut self) {
        self.held.next = None;
        self.give_back_unsent();
    }
}
