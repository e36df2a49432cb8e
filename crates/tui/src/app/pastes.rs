//! `Pastes`: pastes of paths that may be images. They are text until the program has read the files.

use std::path::PathBuf;

use super::BackendRequest;
use super::outbox::Outbox;
use crate::queue::DeliveryTime;

#[derive(Debug, Default)]
pub(super) struct Pastes {
    waiting: Vec<MayBeImages>,
    /// Sends the prompt as soon as all of that is known.
    sends: Option<DeliveryTime>,
}

#[derive(Debug)]
struct MayBeImages {
    text: String,
    paths: Vec<PathBuf>,
    /// The numbers of the questions without an answer.
    asked: Vec<u64>,
}

impl Pastes {
    pub(super) fn ask(&mut self, text: String, paths: Vec<PathBuf>, out: &mut Outbox) {
        let mut asked = Vec::new();
        for path in paths.clone() {
            let number = out.next_number();
            asked.push(number);
            out.ask(BackendRequest::Image { number, path });
        }
        self.waiting.push(MayBeImages { text, paths, asked });
    }

    pub(super) fn asked(&self, number: u64) -> bool {
        self.waiting.iter().any(|paste| paste.asked.contains(&number))
    }

    /// Takes an answer. Returns the paste once nothing more is to be known of it: all its files are images, or this one
    /// is none.
    pub(super) fn answered(&mut self, number: u64, is_image: bool) -> Option<(String, Vec<PathBuf>)> {
        let at = self.waiting.iter().position(|paste| paste.asked.contains(&number))?;
        let is_over = match self.waiting.get_mut(at) {
            Some(paste) if is_image => {
                paste.asked.retain(|asked| *asked != number);
                paste.asked.is_empty()
            }
            // The paste stays text, with everything that was pasted beside it.
            Some(_) | None => true,
        };
        is_over.then(|| {
            let MayBeImages { text, paths, .. } = self.waiting.remove(at);
            (text, paths)
        })
    }

    /// Delays a prompt until its pastes are known. Returns false if it need not wait: a second try does not.
    pub(super) fn delay(&mut self, when: DeliveryTime) -> bool {
        let waits = !self.waiting.is_empty() && self.sends.is_none();
        match waits {
            true => self.sends = Some(when),
            false => *self = Self::default(),
        }
        waits
    }

    /// Takes the prompt that was delayed, once everything is known.
    pub(super) fn take_delayed(&mut self) -> Option<DeliveryTime> {
        self.sends.take_if(|_| self.waiting.is_empty())
    }

    /// Does not send the prompt that was delayed.
    pub(super) fn keep(&mut self) {
        self.sends = None;
    }
}
