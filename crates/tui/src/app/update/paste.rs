//! Pastes: they go to what has the keyboard. Paths of images become those images as soon as the program has read them.

use std::path::{Path, PathBuf};

use haft_protocol::content::Image;
use haft_protocol::rpc::Failure;

use super::super::Ask;
use super::super::overlay::Overlay;
use super::super::state::State;
use super::keys::Focus;
use crate::editor::Pasted;
use crate::keys::Browse;
use crate::queue::When;

/// Pastes that may be images.
#[derive(Debug, Default)]
pub(in crate::app) struct Pastes {
    waiting: Vec<MayBeImages>,
    /// The prompt is sent as soon as that is known.
    sends: Option<When>,
}

impl Pastes {
    /// The prompt that waited for it is not sent after all.
    pub(super) fn keep(&mut self) {
        self.sends = None;
    }
}

/// A paste that may be images. Until that is known it is text.
#[derive(Debug)]
struct MayBeImages {
    text: String,
    paths: Vec<PathBuf>,
    /// What was asked and is not answered.
    asked: Vec<u64>,
}

impl State {
    pub(super) fn paste(&mut self, text: &str) {
        self.quits_until = None;
        if self.is_late_paste() {
            return;
        }
        match self.focus() {
            Focus::Dialog => {
                let now = self.now;
                if let Some(asked) = self.dialogs.shown() {
                    asked.dialog.paste(text, now);
                }
            }
            Focus::Picker => {
                if let Some(Overlay::Picker(picker, _)) = &mut self.overlay {
                    picker.paste(text);
                }
            }
            Focus::Panel => self.panel_paste(text),
            Focus::Search => {
                if let Some(search) = &mut self.input.search {
                    search.editor.insert(text);
                }
                self.search_changed();
            }
            Focus::Page => {}
            Focus::Browse | Focus::Completion | Focus::Editor => {
                if std::mem::take(&mut self.browses) {
                    self.transcript.browsed(Browse::Close);
                }
                if let Pasted::Images { text, paths } = self.input.editor.paste(text, Path::is_absolute) {
                    self.ask_for_images(text, paths);
                }
                self.input.complete(&self.known);
            }
        }
    }

    fn ask_for_images(&mut self, text: String, paths: Vec<PathBuf>) {
        let mut asked = Vec::new();
        for path in paths.clone() {
            let number = self.next_number();
            asked.push(number);
            self.ask(Ask::Image { number, path });
        }
        self.pastes.waiting.push(MayBeImages { text, paths, asked });
    }

    /// Whether a path that was pasted is an image. False where nobody asked that.
    pub(super) fn pasted_image(&mut self, number: u64, image: &Result<Image, Failure>) -> bool {
        let waiting = &mut self.pastes.waiting;
        let Some(at) = waiting.iter().position(|paste| paste.asked.contains(&number)) else { return false };
        let is_over = match (image, waiting.get_mut(at)) {
            (Ok(_), Some(paste)) => {
                paste.asked.retain(|asked| *asked != number);
                paste.asked.is_empty()
            }
            // It stays the text that it is, with all that was pasted beside it.
            _ => true,
        };
        if is_over {
            let MayBeImages { text, paths, .. } = waiting.remove(at);
            match image {
                Ok(_) => {
                    if self.input.editor.fold_images(&text, paths) {
                        self.input.complete(&self.known);
                    }
                }
                Err(failure) => self.flash(format!("it stays text: {failure}")),
            }
        }
        if self.pastes.waiting.is_empty()
            && let Some(when) = self.pastes.sends.take()
        {
            self.submit(when);
        }
        true
    }

    /// Whether a prompt has to wait until it is known what was pasted into it. Who asks a second time does not wait.
    pub(super) fn waits_for_images(&mut self, when: When) -> bool {
        let waits = !self.pastes.waiting.is_empty() && self.pastes.sends.is_none();
        match waits {
            true => self.pastes.sends = Some(when),
            false => self.pastes = Pastes::default(),
        }
        waits
    }
}
