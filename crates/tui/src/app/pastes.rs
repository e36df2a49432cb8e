//! `PendingPastes`: pastes of paths that may be images. They are text until the program has read the files.

use std::path::PathBuf;

use super::BackendRequest;
use super::outbox::Outbox;
use crate::queue::DeliveryTime;

#[derive(Debug, Default)]
pub(super) struct PendingPastes {
    waiting: Vec<ImagePathPaste>,
    /// Sends the prompt as soon as all of that is known.
    delayed_submit: Option<DeliveryTime>,
}

#[derive(Debug)]
struct ImagePathPaste {
    text: String,
    paths: Vec<PathBuf>,
    /// The numbers of the questions without an answer.
    unresolved: Vec<u64>,
}

impl PendingPastes {
    pub(super) fn request_images(&mut self, text: String, paths: Vec<PathBuf>, out: &mut Outbox) {
        let mut asked = Vec::new();
        for path in paths.clone() {
            let number = out.next_number();
            asked.push(number);
            out.ask_backend(BackendRequest::Image { number, path });
        }
        self.waiting.push(ImagePathPaste { text, paths, unresolved: asked });
    }

    pub(super) fn is_waiting_for(&self, number: u64) -> bool {
        self.waiting.iter().any(|paste| paste.unresolved.contains(&number))
    }

    /// Takes an answer. Returns the paste once nothing more is to be known of it: all its files are images, or this one
    /// is none.
    pub(super) fn resolve_image(&mut self, number: u64, is_image: bool) -> Option<(String, Vec<PathBuf>)> {
        let at = self.waiting.iter().position(|paste| paste.unresolved.contains(&number))?;
        let is_over = match self.waiting.get_mut(at) {
            Some(paste) if is_image => {
                paste.unresolved.retain(|asked| *asked != number);
                paste.unresolved.is_empty()
            }
            // The paste stays text, with everything that was pasted beside it.
            Some(_) | None => true,
        };
        is_over.then(|| {
            let ImagePathPaste { text, paths, .. } = self.waiting.remove(at);
            (text, paths)
        })
    }

    /// Delays a prompt until its pastes are known. Returns false if it need not wait: a second try does not.
    pub(super) fn delay_submit(&mut self, when: DeliveryTime) -> bool {
        let waits = !self.waiting.is_empty() && self.delayed_submit.is_none();
        match waits {
            true => self.delayed_submit = Some(when),
            false => *self = Self::default(),
        }
        waits
    }

    /// Takes the prompt that was delayed, once everything is known.
    pub(super) fn take_delayed_submit(&mut self) -> Option<DeliveryTime> {
        self.delayed_submit.take_if(|_| self.waiting.is_empty())
    }

    /// Does not send the prompt that was delayed.
    pub(super) fn cancel_submit(&mut self) {
        self.delayed_submit = None;
    }
}
