//! What lines mean that are typed.

use haft_protocol::rpc::UiAnswer;

use super::super::held::{Form, Unsent};
use super::super::menu;
use super::super::state::State;
use crate::dialog::Heard;
use crate::editor::Content;
use crate::picker::Picked;
use crate::queue::When;

/// What closes what is open.
const CLOSE: &str = ":close";

/// Before a text that is read when the agent is done.
const FOLLOW_UP: &str = ">>";

/// Keys of a panel, as they are typed.
const KEYS: &[&str] = &[
    "up",
    "down",
    "left",
    "right",
    "enter",
    "space",
    "tab",
    "backspace",
    "delete",
    "home",
    "end",
    "pageup",
    "pagedown",
];

impl State {
    /// A line was typed.
    pub(in crate::app) fn heard(&mut self, line: &str) {
        if !self.dialogs.is_empty() {
            return self.heard_by_dialog(line);
        }
        if let Some(begin) = line.strip_suffix('\\') {
            self.lines.draft.push_str(begin);
            self.lines.draft.push('\n');
            return;
        }
        let text = std::mem::take(&mut self.lines.draft) + line;
        self.quits_until = None;
        if self.lines.late_until.take().is_some_and(|until| self.now < until) && !text.trim().is_empty() {
            // It is printed that it was not sent, and how to send it.
            return self.composer.give_back([&Content::of_text(&text)]);
        }
        match self.menu.is_some() {
            true => self.heard_by_list(text.trim()),
            false if self.panel.is_open() => self.heard_by_panel(&text),
            false => self.heard_by_agent(&text),
        }
    }

    /// Ctrl+c, where that is no key.
    pub(in crate::app) fn interrupted(&mut self) {
        self.lines.draft.clear();
        if self.work.is_on() {
            self.abort();
        } else if !self.work.shells.is_empty() {
            self.stop_shell();
        } else if !self.dialogs.is_empty() {
            self.answer_shown(UiAnswer::Cancelled);
        } else if self.menu.is_some() {
            self.close_list();
        } else if self.panel.is_open() {
            self.close_panel();
        } else if !self.held.unsent.is_empty() {
            self.give_back_unsent();
        } else {
            self.quit_the_second_time();
        }
    }

    fn heard_by_dialog(&mut self, line: &str) {
        let now = self.now;
        let Some(dialog) = self.dialogs.shown() else { return };
        let how = dialog.how();
        let grants = dialog.question().grants;
        match dialog.said(line, now) {
            Heard::More => {}
            Heard::TooEarly => {
                self.lines.say("not taken as an answer: it was typed too early; please answer once more");
            }
            Heard::Unclear => self.lines.say(&how),
            Heard::Answered(answer) => {
                match &answer {
                    UiAnswer::Confirmed(true) if grants => self.lines.say("allowed"),
                    UiAnswer::Confirmed(false) | UiAnswer::Cancelled if grants => {
                        self.lines.say("not allowed")
                    }
                    UiAnswer::Confirmed(_) | UiAnswer::Value(_) | UiAnswer::Cancelled => {}
                }
                self.answer_shown(answer);
            }
        }
    }

    fn answer_shown(&mut self, answer: UiAnswer) {
        self.lines.told.dialog = None;
        if let Some(purpose) = self.dialogs.close_shown() {
            self.answered(purpose, answer);
        }
    }

    fn heard_by_list(&mut self, text: &str) {
        let Some(menu) = &mut self.menu else { return };
        if text == CLOSE {
            return self.close_list();
        }
        if text == "more" {
            self.lines.lists += 1;
            return;
        }
        match text.parse::<usize>().ok().map(|number| menu.picker().key_of(number).map(str::to_owned)) {
            Some(Some(key)) => menu::picked(&mut self.menu, Picked::Taken(key), &mut self.out),
            Some(None) => self.lines.say("there is no such row"),
            None => {
                menu.narrow(text);
                self.lines.lists += 1;
                self.lines.told.list = None;
            }
        }
    }

    fn close_list(&mut self) {
        menu::picked(&mut self.menu, Picked::Closed, &mut self.out);
        self.carry_out(None);
        self.lines.say("closed");
    }

    fn heard_by_panel(&mut self, text: &str) {
        let word = text.trim();
        if word == CLOSE {
            return self.close_panel();
        }
        let key =
            word.strip_prefix(':').filter(|name| KEYS.contains(name)).and_then(|name| name.parse().ok());
        let mut typed = text.chars();
        match (key, typed.next(), typed.next()) {
            (Some(chord), ..) => self.key(chord),
            (None, None, _) => {}
            (None, Some(c), None) if c != ' ' => match c.to_string().parse() {
                Ok(chord) => self.key(chord),
                Err(_) => self.paste(text),
            },
            (None, Some(_), _) => self.paste(text),
        }
    }

    fn close_panel(&mut self) {
        if let Ok(chord) = "esc".parse() {
            self.key(chord);
        }
    }

    fn heard_by_agent(&mut self, text: &str) {
        match text.trim() {
            ":drop" => return self.composer.clear(),
            ":output" => return self.say_output(),
            // It came too late for what it was meant for, and is nothing for the model.
            CLOSE => return self.lines.say("nothing is open"),
            "" if self.composer.editor().is_empty() => return,
            "" => return self.submit(When::Steer),
            _ => {}
        }
        let later = text.strip_prefix(FOLLOW_UP);
        let when = if later.is_some() { When::FollowUp } else { When::Steer };
        let text = later.map_or(text, str::trim_start);
        let submission = Content::of_text(text).submission();
        if !submission.text.is_empty() {
            self.say_when_possible(Unsent { submission, when, form: Form::Line });
        }
    }

    fn say_output(&mut self) {
        match self.conversation.transcript().last_output(u16::MAX) {
            Some(rows) => self.lines.said.extend(rows),
            None => self.lines.say("nothing was called"),
        }
    }
}
