//! What the interface wants done.

use std::time::Instant;

use super::super::perform::Performs;
use super::super::{clipboard, editor};
use super::{Done, Draft, Driver, End, Event, Interface, Program, TerminalError, out};
use crate::app::{Ask, Effect};

impl<I: Interface, P: Program> Performs for Driver<I, P> {
    fn hears(&mut self, now: Instant, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(_) | Event::Paste(_) | Event::Mouse(_) | Event::Resize(..) => self.pace.touched(now),
            Event::Edited(_) | Event::Copied(_) => self.pace.touched(now),
            Event::Line(_) | Event::Gone | Event::Answer(_) | Event::Tick => self.pace.changed(now),
            Event::Typed(_) | Event::Interrupt => self.pace.changed(now),
        }
        self.interface.update(now, event)
    }

    async fn perform(&mut self, effect: Effect) -> Result<Option<Event>, TerminalError> {
        match effect {
            // Nobody takes commands any more: that the connection is over is an event of its own.
            Effect::Send(request) => drop(self.requests.send(*request)),
            Effect::Ask(ask) => self.ask(ask),
            Effect::Copy(text) => return self.copy(&text).map(Some),
            Effect::OpenEditor(text) => {
                return Ok(self.open_editor(&text).err().map(|error| Event::Edited(Err(error))));
            }
            Effect::Suspend => return self.suspend().await,
            Effect::Redraw => self.redraw(),
            Effect::Bell => self.say("\x07")?,
            Effect::Title(title) => self.title(&title)?,
            Effect::Quit => self.end = self.end.or(Some(End::Quit)),
        }
        Ok(None)
    }
}

impl<I: Interface, P: Program> Driver<I, P> {
    fn ask(&mut self, ask: Ask) {
        let (program, answer) = (self.program.clone(), self.answer.clone());
        self.tasks.spawn(async move {
            program.answer(ask, answer).await;
            Done::Asked
        });
    }

    fn copy(&self, text: &str) -> Result<Event, TerminalError> {
        let copied = match clipboard::copy(text, self.environment.tmux) {
            Ok(sequence) => self.say(&sequence).map(Ok)?,
            Err(error) => Err(error),
        };
        Ok(Event::Copied(copied))
    }

    fn title(&self, title: &str) -> Result<(), TerminalError> {
        if !self.environment.ignores_unknown() {
            return Ok(());
        }
        self.say(&super::super::title::title(title))
    }

    /// Writes to the terminal beside the frames; nothing while another program has it.
    fn say(&self, text: &str) -> Result<(), TerminalError> {
        if self.input.is_paused() {
            return Ok(());
        }
        out::write(text).map_err(TerminalError::Write)
    }

    /// Gives the terminal to the person's editor. The error is for the person.
    fn open_editor(&mut self, text: &str) -> Result<(), String> {
        if self.input.is_paused() {
            return Err("An editor is open already.".to_owned());
        }
        let mut command = editor::command(&self.environment)?;
        let name = command.first().cloned().unwrap_or_default();
        let draft = Draft::new(text)
            .map_err(|error| format!("The text cannot be written for the editor: {error}."))?;
        command.push(draft.path().to_string_lossy().into_owned());
        self.input.pause();
        self.give_back();
        let program = self.program.clone();
        self.tasks.spawn(async move {
            let ended = program.edit(command).await;
            Done::Edited(draft, name, ended)
        });
        Ok(())
    }

    async fn suspend(&mut self) -> Result<Option<Event>, TerminalError> {
        if self.input.is_paused() || cfg!(not(unix)) {
            return Ok(None);
        }
        self.give_back();
        // What cannot be stopped goes on.
        let _ = self.signals.stop().await;
        self.guard.take_again()?;
        self.forget();
        Ok(self.measured().map(|(columns, rows)| Event::Resize(columns, rows)))
    }
}
