//! What is said: prompts, commands, and what waits.

use haft_protocol::content::Image;
use haft_protocol::rpc::{Abort, Failure, FollowUp, Prompt as Said, RunCommand, Steer, TakeQueued};

use super::super::commands::{self, Command};
use super::super::pending::{Pending, Taken};
use super::super::state::State;
use super::super::work::Shell;
use super::super::{Ask, Effect};
use super::size::fits;
use crate::editor::{Content, Editor, Submission};
use crate::keys::Prompt;
use crate::queue::When;
use crate::timeouts;

/// Below this likeness, of at most 1, another name is not what was meant.
const ALIKE: f64 = 0.88;

/// A prompt whose images are being read.
#[derive(Debug)]
pub(in crate::app) struct Sending {
    submission: Submission,
    when: When,
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

impl State {
    pub(super) fn prompt_key(&mut self, action: Prompt) {
        match action {
            Prompt::Send | Prompt::FollowUp => {
                if let Some(when) = When::of(action, self.work.is_on()) {
                    self.submit(when);
                }
            }
            Prompt::Abort => self.abort_or_clear(),
            Prompt::TakeBack => self.take_back(Taken::Editor),
            Prompt::ClearOrQuit => self.clear_or_quit(),
            Prompt::SearchHistory => self.input.search_history(),
            Prompt::Complete => self.input.open_completion(&self.known),
            Prompt::OpenEditor => {
                let text = self.input.editor.submission().text;
                self.effect(Effect::OpenEditor(text));
            }
        }
    }

    /// What is written is said, or done.
    pub(in crate::app) fn submit(&mut self, when: When) {
        let submission = self.input.editor.submission();
        if submission.text.is_empty() || self.waits_for_images(when) {
            return;
        }
        let text = submission.text.clone();
        let typed = self.typed(&submission);
        let quits = matches!(&typed, Typed::Own(command, _) if command.name == "quit");
        if (self.held.switches || self.held.waits_for_conversation) && !quits {
            // It is meant for the session that is being opened; the one before is about to be closed. And a conversation
            // that is being read might have it already, so that it would be seen twice.
            self.held.says = true;
            return;
        }
        match typed {
            Typed::Nearly(name) => {
                let typed = text.split_whitespace().next().unwrap_or_default().to_owned();
                self.error(format!("there is no command {typed}; did you mean /{name}? With a blank before it, it is sent as it stands"));
            }
            Typed::Own(command, args) => {
                self.taken_out(&submission);
                (command.run)(self, args);
            }
            Typed::Other(name, args) => {
                self.taken_out(&submission);
                let command = RunCommand { name: name.to_owned(), args: args.to_owned() };
                self.send(command, Pending::Command(Box::new(submission)));
            }
            Typed::Shell(command, kept) => {
                self.taken_out(&submission);
                self.shell(command.to_owned(), kept);
            }
            Typed::Prompt => {
                self.taken_out(&submission);
                self.deliver(submission, when);
            }
        }
    }

    fn typed<'t>(&self, submission: &'t Submission) -> Typed<'t> {
        let text = submission.text.as_str();
        let as_it_stands = submission.kept.starts_with(char::is_whitespace) || !submission.images.is_empty();
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
        if self.known.other(name).is_some() {
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
        let best = self.known.names().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
        (!name.contains('/') && likeness(best) >= ALIKE).then(|| best.to_owned())
    }

    /// The editor is empty, and the history knows what was in it.
    fn taken_out(&mut self, submission: &Submission) {
        self.input.clear();
        self.input.completer.close();
        self.shut.forget();
        if !commands::is_secret(&submission.text) && self.input.history.push(&submission.kept).is_some() {
            self.ask(Ask::Remember(submission.kept.clone()));
        }
    }

    /// Says it as soon as its images are there.
    pub(super) fn deliver(&mut self, submission: Submission, when: When) {
        self.notes.clear();
        self.transcript.scroll(crate::keys::Scroll::Bottom);
        if submission.images.is_empty() {
            return self.say(submission, Vec::new(), when);
        }
        let mut images = Vec::new();
        for path in submission.images.clone() {
            let number = self.next_number();
            images.push((number, None));
            self.ask(Ask::Image { number, path });
        }
        self.sending.push(Sending { submission, when, images });
    }

    pub(super) fn image(&mut self, number: u64, image: Result<Image, Failure>) {
        if self.pasted_image(number, &image) {
            return;
        }
        let is_its = |sending: &Sending| sending.images.iter().any(|(of, _)| *of == number);
        let Some(at) = self.sending.iter().position(is_its) else { return };
        let image = match image {
            Ok(image) => image,
            Err(failure) => {
                let sending = self.sending.remove(at);
                self.error(format!("the prompt was not sent: {failure}"));
                self.input.give_back([&sending.submission.content]);
                return;
            }
        };
        let Some(sending) = self.sending.get_mut(at) else { return };
        let place = sending.images.iter_mut().find(|(of, _)| *of == number);
        if let Some((_, place)) = place {
            *place = Some(image);
        }
        if sending.images.iter().all(|(_, image)| image.is_some()) {
            let Sending { submission, when, images } = self.sending.remove(at);
            // Meanwhile something may have begun, or ended.
            let when = match (when, self.work.is_on()) {
                (_, false) => When::Now,
                (When::FollowUp, true) => When::FollowUp,
                (When::Now | When::Steer, true) => When::Steer,
            };
            self.say(submission, images.into_iter().filter_map(|(_, image)| image).collect(), when);
        }
    }

    fn say(&mut self, submission: Submission, images: Vec<Image>, when: When) {
        let message = submission.text.clone();
        if let Err(why) = fits(&message, &images) {
            self.error(why);
            return self.input.give_back([&submission.content]);
        }
        let kept = Box::new(submission);
        match when {
            When::Now => {
                self.work.prompts += 1;
                self.work.begun += 1;
                self.send(Said { message, images }, Pending::Prompt(kept));
            }
            When::Steer => {
                self.queue.sent(&kept);
                self.send(Steer { message, images }, Pending::Said(kept));
            }
            When::FollowUp => {
                self.queue.sent(&kept);
                self.send(FollowUp { message, images }, Pending::Said(kept));
            }
        }
    }

    /// A text that is said as if it had been typed.
    pub(super) fn say_text(&mut self, text: &str) {
        let submission = Content::of_text(text).submission();
        let when = if self.work.is_on() { When::Steer } else { When::Now };
        if !submission.text.is_empty() {
            self.taken_out(&submission);
            self.deliver(submission, when);
        }
    }

    fn shell(&mut self, command: String, kept: bool) {
        let number = self.next_number();
        self.transcript.shell(number, &command, kept, self.now);
        self.work.shells.push(Shell { number, command: command.clone(), kept });
        self.ask(Ask::Shell { number, command });
    }

    /// A command of the person's is over.
    pub(super) fn shell_end(&mut self, number: u64, outcome: Result<(String, Option<i32>), Failure>) {
        let Some(at) = self.work.shells.iter().position(|shell| shell.number == number) else { return };
        let Shell { command, kept, .. } = self.work.shells.remove(at);
        let shown = outcome.as_ref().map(|(_, status)| *status).map_err(ToString::to_string);
        self.transcript.shell_end(number, shown, self.now);
        if let Ok((output, status)) = outcome
            && kept
        {
            let ended = match status {
                Some(0) => String::new(),
                Some(status) => format!("\n\nIt ended with status {status}."),
                None => "\n\nIt was stopped.".to_owned(),
            };
            let message = format!("I ran `{command}`:\n\n```\n{}\n```{ended}", output.trim_end());
            self.send(Steer { message, images: Vec::new() }, Pending::ShellSaid);
        }
    }

    /// Esc, where nothing is open: search results go first, then the work ends.
    fn abort_or_clear(&mut self) {
        if std::mem::take(&mut self.searched) {
            self.transcript.end_search();
            return;
        }
        self.notes.clear();
        if self.work.is_on() {
            self.abort();
        } else {
            self.stop_shell();
        }
    }

    /// Stops the command of the person's that began last.
    pub(in crate::app) fn stop_shell(&mut self) {
        if let Some(number) = self.work.shells.last().map(|shell| shell.number) {
            self.ask(Ask::StopShell { number });
        }
    }

    /// Ends what is worked on; what waits comes back.
    pub(in crate::app) fn abort(&mut self) {
        self.send(Abort { queued: Some(true) }, Pending::Abort);
        self.take_back(Taken::Editor);
    }

    pub(super) fn take_back(&mut self, taken: Taken) {
        self.held.takes_back = true;
        self.send(TakeQueued {}, Pending::Taken(taken));
    }

    /// What waited is here.
    pub(super) fn taken_back(&mut self, contents: &[Content], taken: Taken) {
        match taken {
            Taken::Editor => self.input.give_back(contents),
            Taken::Sent => {
                let mut editor = Editor::new();
                editor.put_before(contents);
                let submission = editor.take();
                if !submission.text.is_empty() {
                    let when = if self.work.is_on() { When::Steer } else { When::Now };
                    self.deliver(submission, when);
                }
            }
        }
    }

    fn clear_or_quit(&mut self) {
        if !self.input.editor.is_empty() {
            self.input.clear();
            self.quits_until = None;
            return;
        }
        self.quit_the_second_time();
    }

    /// Leaves when it was asked for a moment ago.
    pub(in crate::app) fn quit_the_second_time(&mut self) {
        if self.quits_until.is_some_and(|until| self.now <= until) {
            self.effect(Effect::Quit);
            return;
        }
        self.quits_until = Some(self.now + timeouts::QUIT_AGAIN);
        self.flash_for("ctrl+c again quits", timeouts::QUIT_AGAIN);
    }

    /// Runs one of haft's own commands, as if it had been typed.
    pub(super) fn run(&mut self, name: &str, args: &str) {
        commands::run(self, name, args);
    }
}

/// Whether it could be the name of a command.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_:".contains(c))
}
