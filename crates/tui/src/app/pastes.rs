//! Pastes that are not complete: paths that may be images, which stay text until their files have been read, and the
//! clipboard while it is read.

use std::path::PathBuf;

use super::BackendRequest;
use super::outbox::Outbox;
use crate::queue::DeliveryTime;

#[derive(Debug, Default)]
pub(super) struct PendingPastes {
    waiting: Vec<ImagePathPaste>,
    awaits_clipboard: bool,
    /// The prompt to send after all pastes are resolved.
    delayed_submit: Option<DeliveryTime>,
}

#[derive(Debug)]
struct ImagePathPaste {
    text: String,
    paths: Vec<PathBuf>,
    /// The numbers of the image requests without an answer.
    unresolved: Vec<u64>,
}

impl PendingPastes {
    pub(super) fn request_images(&mut self, text: String, paths: Vec<PathBuf>, out: &mut Outbox) {
        let mut unresolved = Vec::new();
        for path in paths.clone() {
            let number = out.next_number();
            unresolved.push(number);
            out.ask_backend(BackendRequest::Image { number, path });
        }
        self.waiting.push(ImagePathPaste { text, paths, unresolved });
    }

    pub(super) fn request_clipboard(&mut self, out: &mut Outbox) {
        if !std::mem::replace(&mut self.awaits_clipboard, true) {
            out.ask_backend(BackendRequest::Clipboard);
        }
    }

    /// Returns true if the text still awaits the clipboard: no prompt was sent since the request.
    pub(super) fn take_clipboard_request(&mut self) -> bool {
        std::mem::take(&mut self.awaits_clipboard)
    }

    pub(super) fn is_waiting_for(&self, number: u64) -> bool {
        self.waiting.iter().any(|paste| paste.unresolved.contains(&number))
    }

    /// Applies an answer. Returns the paste once it is resolved: all its files are images, or one of them is not.
    pub(super) fn resolve_image(&mut self, number: u64, is_image: bool) -> Option<(String, Vec<PathBuf>)> {
        let at = self.waiting.iter().position(|paste| paste.unresolved.contains(&number))?;
        let is_resolved = match self.waiting.get_mut(at) {
            Some(paste) if is_image => {
                paste.unresolved.retain(|open| *open != number);
                paste.unresolved.is_empty()
            }
            // One file that is not an image makes the whole paste text.
            Some(_) | None => true,
        };
        is_resolved.then(|| {
            let ImagePathPaste { text, paths, .. } = self.waiting.remove(at);
            (text, paths)
        })
    }

    /// Delays a prompt until its pastes are resolved. Returns false if the prompt can be sent now; a second attempt
    /// always can.
    pub(super) fn delay_submit(&mut self, when: DeliveryTime) -> bool {
        let waits = !self.is_resolved() && self.delayed_submit.is_none();
        match waits {
            true => self.delayed_submit = Some(when),
            false => *self = Self::default(),
        }
        waits
    }

    /// Takes the delayed prompt after all pastes are resolved.
    pub(super) fn take_delayed_submit(&mut self) -> Option<DeliveryTime> {
        let is_resolved = self.is_resolved();
        self.delayed_submit.take_if(|_| is_resolved)
    }

    fn is_resolved(&self) -> bool {
        self.waiting.is_empty() && !self.awaits_clipboard
    }

    /// Cancels the delayed prompt.
    pub(super) fn cancel_submit(&mut self) {
        self.delayed_submit = None;
    }
}
