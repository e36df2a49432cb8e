//! Prompts that are sent after their images were read.

use haft_protocol::content::Image;
use haft_protocol::rpc::CommandFailure;

use crate::editor::{EditorContent, Submission};
use crate::queue::DeliveryTime;

/// A prompt whose images are being read.
#[derive(Debug)]
pub(super) struct ImagePrompt {
    pub(super) submission: Submission,
    pub(super) when: DeliveryTime,
    /// True if the text is never a command, even if it begins with `/`.
    pub(super) plain: bool,
    images: Vec<(u64, Option<Image>)>,
}

/// The prompts whose images are being read.
#[derive(Debug, Default)]
pub(super) struct ImagePromptQueue {
    open: Vec<ImagePrompt>,
}

/// The outcome of a loaded image.
#[derive(Debug)]
pub(super) enum ImageLoadOutcome {
    Waiting,
    Complete(ImagePrompt, Vec<Image>),
    /// The prompt is not sent.
    Failed(ImagePrompt, CommandFailure),
}

impl ImagePromptQueue {
    /// Adds a prompt that waits for the images with these numbers.
    pub(super) fn add(&mut self, submission: Submission, when: DeliveryTime, plain: bool, images: Vec<u64>) {
        let images = images.into_iter().map(|number| (number, None)).collect();
        self.open.push(ImagePrompt { submission, when, plain, images });
    }

    pub(super) fn accept_image(
        &mut self,
        number: u64,
        image: Result<Image, CommandFailure>,
    ) -> ImageLoadOutcome {
        let requested = |sending: &ImagePrompt| sending.images.iter().any(|(of, _)| *of == number);
        let Some(at) = self.open.iter().position(requested) else { return ImageLoadOutcome::Waiting };
        let image = match image {
            Ok(image) => image,
            Err(failure) => return ImageLoadOutcome::Failed(self.open.remove(at), failure),
        };
        let Some(sending) = self.open.get_mut(at) else { return ImageLoadOutcome::Waiting };
        if let Some((_, place)) = sending.images.iter_mut().find(|(of, _)| *of == number) {
            *place = Some(image);
        }
        if sending.images.iter().any(|(_, image)| image.is_none()) {
            return ImageLoadOutcome::Waiting;
        }
        let mut sending = self.open.remove(at);
        let images = std::mem::take(&mut sending.images).into_iter().filter_map(|(_, image)| image);
        ImageLoadOutcome::Complete(sending, images.collect())
    }

    pub(super) fn take_contents(&mut self) -> Vec<EditorContent> {
        std::mem::take(&mut self.open).into_iter().map(|sending| sending.submission.content).collect()
    }
}
