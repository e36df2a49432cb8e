//! What is said: prompts, commands, and what waits.

use std::time::Instant;

use haft_protocol::content::Image;
use haft_protocol::rpc::{Abort, Failure, FollowUp, Prompt as Said, RunCommand, Steer, TakeQueued};

use super::super::held::{Form, Queued, Unsent};

use super::super::commands::{self, Command};
use super::super::pending::{Pending, Taken};
use super::super::state::State;
use super::super::status::quit_offer;
use super::super::{Ask, Effect};
use super::size::fits;
use crate::editor::{Content, Editor, Submission};
use crate::queue::{TakenBack, When};

/// Below this likeness, of at most 1, another name is not what was meant.
const ALIKE: f64 = 0.88;

/// A prompt whose images are being read.
#[derive(Debug)]
pub(in crate::app) struct Sending {
    submission: Submission,
    when: When,
    plain: bool,
    images: Vec<(u64, Option<Image>)>,
}

/// What a text is, as it was typed.
enum Typed<'t> {
    Own(&'static Command, &'t str),
    /// A command of an extension, a template or a skill.
    Other(&'t str, &'t str),
    /// A command for the shell; whether the model is told what came of it.
    Shell(&'t str, bool),
    /// No command, but nearly this one.
    Nearly(String),
    Prompt,
}

impl Sending {
    /// What it was in the editor.
    pub(super) fn content(self) -> Content {
        self.submission.content
    }
}

impl State {
    /// What is written is said, or done.
    pub(in crate::app) fn submit(&mut self, when: When) {
        if let Some(submission) = self.composer.submit(when) {
            self.say_when_possible(Unsent { submission, when, form: Form::Typed });
        }
    }

    /// Says it, or does it, as soon as it can be.
    pub(in crate::app) fn say_when_possible(&mut self, unsent: Unsent) {
        let quits = matches!(self.typed(&unsent), Typed::Own(command, _) if command.name == "quit");
        match self.holds() && !quits {
            // It is meant for the session that is being opened; the one before is about to be closed. And a conversation
            // that is being read might have it already, so that it would be seen twice.
            true => self.held.unsent.push_back(unsent),
            false => self.mean(&unsent),
        }
    }

    /// Whether nothing can be said now: no session is there to hear it, or not all that was to come before it.
    fn holds(&self) -> bool {
        self.held.next.is_some()
            || self.conversation.is_read()
            || self.resumes
            || self.out.is_pending(Pending::is_left)
    }

    /// Says what could not be said so far, as far as that is possible now.
    pub(super) fn say_unsent(&mut self) {
        while !self.holds()
            && let Some(unsent) = self.held.unsent.pop_front()
        {
            self.mean(&unsent);
        }
    }

    /// What could not be said is in the editor.
    pub(in crate::app) fn give_back_unsent(&mut self) {
        let unsent = std::mem::take(&mut self.held.unsent);
        self.composer.give_back(unsent.iter().map(|unsent| &unsent.submission.content));
    }

    /// Says what was typed, or does what it means.
    fn mean(&mut self, unsent: &Unsent) {
        let Unsent { submission, when, form } = unsent;
        let kept = || Box::new(submission.clone());
        match self.typed(unsent) {
            Typed::Nearly(name) => {
                let typed = submission.text.split_whitespace().next().unwrap_or_default();
                self.error(format!("there is no command {typed}; did you mean /{name}? With a blank before it, it is sent as it stands"));
                // A line is typed again.
                if *form != Form::Line {
                    self.composer.give_back([&submission.content]);
                }
            }
            Typed::Own(command, args) => {
                self.remember(submission);
                (command.run)(self, args);
            }
            Typed::Other(name, args) => {
                self.remember(submission);
                let command = RunCommand { name: name.to_owned(), args: args.to_owned() };
                self.out.send(command, Pending::Command(kept()));
            }
            Typed::Shell(command, told) => {
                self.remember(submission);
                self.shell(command.to_owned(), told);
            }
            Typed::Prompt => {
                self.remember(submission);
                let when = self.by_now(*when);
                if *form == Form::Line && when == When::Now {
                    self.conversation.transcript_mut().typed(&submission.text);
                }
                self.deliver(submission.clone(), when, is_plain(submission));
            }
        }
    }

    /// Something may have begun meanwhile, or ended.
    fn by_now(&self, when: When) -> When {
        match (when, self.work.is_on()) {
            (_, false) => When::Now,
            (When::FollowUp, true) => When::FollowUp,
            (When::Now | When::Steer, true) => When::Steer,
        }
    }

    fn typed<'t>(&self, unsent: &'t Unsent) -> Typed<'t> {
        let Unsent { submission, form, .. } = unsent;
        let text = submission.text.as_str();
        let as_it_stands = *form == Form::Prompt || is_plain(submission) || !submission.images.is_empty();
        if as_it_stands {
            return Typed::Prompt;
        }
        let shell = |command: &'t str, kept| match command.trim() {
            "" => Typed::Prompt,
            command => Typed::Shell(command, kept),
        };
        if let Some(command) = text.strip_prefix("!!") {
            return shell(command, false);
        }
        if let Some(command) = text.strip_prefix('!') {
            return shell(command, true);
        }
        let Some(typed) = text.strip_prefix('/') else { return Typed::Prompt };
        let (name, args) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        if let Some(command) = Command::named(name) {
            return Typed::Own(command, args.trim());
        }
        if self.composer.known().other(name).is_some() {
            return Typed::Other(name, args.trim());
        }
        match self.nearly(name) {
            Some(nearly) => Typed::Nearly(nearly),
            // One word alone is meant as a command; if there is none, whoever runs it says so, and it comes back.
            None if args.trim().is_empty() && is_name(name) => Typed::Other(name, ""),
            // A prompt may begin with a path.
            None => Typed::Prompt,
        }
    }

    fn nearly(&self, name: &str) -> Option<String> {
        let likeness = |known: &str| strsim::jaro_winkler(known, name);
        let best = self.composer.known().names().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
        (!name.contains('/') && likeness(best) >= ALIKE).then(|| best.to_owned())
    }

    /// The history knows it.
    fn remember(&mut self, submission: &Submission) {
        self.panel.allow_all();
        if !commands::is_secret(&submission.text) && self.composer.remember(&submission.kept) {
            self.out.ask(Ask::Remember(submission.kept.clone()));
        }
    }

    /// Says it as soon as its images are there.
    pub(super) fn deliver(&mut self, submission: Submission, when: When, plain: bool) {
        self.notes.clear();
        self.conversation.transcript_mut().scroll(crate::keys::Scroll::Bottom);
        if submission.images.is_empty() {
            return self.say(submission, Vec::new(), when, plain);
        }
        let mut images = Vec::new();
        for path in submission.images.clone() {
            let number = self.out.next_number();
            images.push((number, None));
            self.out.ask(Ask::Image { number, path });
        }
        self.sending.push(Sending { submission, when, plain, images });
    }

    pub(super) fn image(&mut self, number: u64, image: Result<Image, Failure>) {
        if self.composer.image(number, &image, &mut self.out) {
            return;
        }
        let is_its = |sending: &Sending| sending.images.iter().any(|(of, _)| *of == number);
        let Some(at) = self.sending.iter().position(is_its) else { return };
        let image = match image {
            Ok(image) => image,
            Err(failure) => {
                let sending = self.sending.remove(at);
                self.error(format!("the prompt was not sent: {failure}"));
                self.composer.give_back([&sending.submission.content]);
                return;
            }
        };
        let Some(sending) = self.sending.get_mut(at) else { return };
        let place = sending.images.iter_mut().find(|(of, _)| *of == number);
        if let Some((_, place)) = place {
            *place = Some(image);
        }
        if sending.images.iter().all(|(_, image)| image.is_some()) {
            let Sending { submission, when, plain, images } = self.sending.remove(at);
            let when = self.by_now(when);
            let images = images.into_iter().filter_map(|(_, image)| image).collect();
            self.say(submission, images, when, plain);
        }
    }

    /// `plain` says that it is no command, whatever it begins with.
    fn say(&mut self, submission: Submission, images: Vec<Image>, when: When, plain: bool) {
        let message = submission.text.clone();
        if let Err(why) = fits(&message, &images) {
            self.error(why);
            return self.composer.give_back([&submission.content]);
        }
        let kept = Box::new(submission);
        match when {
            When::Now => {
                self.work.prompts += 1;
                self.work.begun += 1;
                self.out.send(Said { message, images, plain: plain.then_some(true) }, Pending::Prompt(kept));
            }
            When::Steer => {
                self.held.told += 1;
                self.queue.sent(&kept);
                self.out.send(Steer { message, images }, Pending::Said(kept));
            }
            When::FollowUp => {
                self.held.told += 1;
                self.queue.sent(&kept);
                self.out.send(FollowUp { message, images }, Pending::Said(kept));
            }
        }
    }

    /// Esc, where nothing is open: search results go first, then the work ends.
    pub(in crate::app) fn abort_or_clear(&mut self) {
        if self.conversation.end_results() {
            return;
        }
        self.notes.clear();
        match self.work.is_on() {
            true => self.abort(),
            false if !self.held.unsent.is_empty() => self.give_back_unsent(),
            false if self.work.shells.is_empty() && self.has_prompts_waiting() => {
                self.take_back(Taken::Editor)
            }
            false => self.stop_shell(),
        }
    }

    /// A run that fails leaves what waited for it where it is.
    fn has_prompts_waiting(&self) -> bool {
        self.queue.waiting().any(|waiting| !waiting.shell)
    }

    /// Ends what is worked on; what waits comes back.
    pub(in crate::app) fn abort(&mut self) {
        self.out.send(Abort { queued: Some(true) }, Pending::Abort);
        self.take_back(Taken::Editor);
    }

    pub(in crate::app) fn take_back(&mut self, taken: Taken) {
        if taken == Taken::Editor {
            self.give_back_unsent();
        }
        self.held.waiting = Queued::Asked;
        self.out.send(TakeQueued {}, Pending::Taken(taken));
    }

    /// What waited is here. What commands printed waits on.
    pub(super) fn taken_back(&mut self, back: TakenBack, taken: Taken) {
        let TakenBack { prompts, printed } = back;
        printed.into_iter().for_each(|printed| self.say_printed(printed));
        match taken {
            Taken::Editor => self.composer.give_back(&prompts),
            Taken::Sent => {
                let mut editor = Editor::new();
                editor.put_before(&prompts);
                let submission = editor.take();
                if !submission.text.is_empty() {
                    let when = self.by_now(When::Now);
                    // As the agent would have been told it.
                    self.deliver(submission, when, true);
                }
            }
        }
    }

    /// Quits if the same key was pressed a moment ago: `armed` is the time until which that counts.
    pub(in crate::app) fn quit_the_second_time(&mut self, armed: Option<Instant>) {
        if self.status.quits(armed, self.now) {
            self.out.effect(Effect::Quit);
            return;
        }
        self.lines.say(&quit_offer(&self.keymap, self.work.is_on()));
    }

    /// Runs one of haft's own commands, as if it had been typed.
    pub(super) fn run(&mut self, name: &str, args: &str) {
        commands::run(self, name, args);
    }
}

/// Whether the model is told it as it stands, whatever it begins with: that is what a blank before it says.
fn is_plain(submission: &Submission) -> bool {
    submission.kept.starts_with(char::is_whitespace)
}

/// Whether it could be the name of a command.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_:".contains(c))
}
