//! The hook for the user's input for one extension.

use async_trait::async_trait;
use haft_core::hooks::{OnInput, UserInput, UserInputDecision};
use haft_core::image;
use haft_core::sanitize::strip_hidden_chars;
use haft_protocol::content::Image;
use haft_protocol::ext::{InputDecision, InterceptInput};
use tokio_util::sync::CancellationToken;

use crate::agent::managed_extension::ManagedExtension;

#[async_trait]
impl OnInput for ManagedExtension {
    async fn on_input(&self, cancel: &CancellationToken, input: &UserInput) -> UserInputDecision {
        let UserInput { text, images, source, .. } = input.clone();
        match self.query(cancel, InterceptInput { text, images, source }).await {
            Ok(InputDecision::Unchanged) | Err(_) => UserInputDecision::Keep,
            Ok(InputDecision::Change { text, images }) => change_input(self, text, images, input),
            Ok(InputDecision::Handled) => UserInputDecision::Handled,
        }
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}

/// Returns the changed input. An image that models cannot read makes the whole answer invalid.
fn change_input(
    entry: &ManagedExtension,
    text: Option<String>,
    images: Option<Vec<Image>>,
    own: &UserInput,
) -> UserInputDecision {
    let checked = |image: Image| match own.images.contains(&image) {
        true => Ok(image),
        false => image::from_base64(image.data),
    };
    let images = match images.map(|images| images.into_iter().map(checked).collect()).transpose() {
        Ok(images) => images,
        Err(error) => {
            entry.report_hook_error(&format!("input intercept: an image cannot be used: {error}"));
            return UserInputDecision::Keep;
        }
    };
    let text = text.map(|text| {
        let read = strip_hidden_chars(&text);
        if let Some(extension) = entry.handle() {
            extension.reporter().report_hidden_text(read.hidden, "the changed input");
        }
        read.text.into_owned()
    });
    UserInputDecision::Change(
        own.clone()
            .with_text(text.unwrap_or_else(|| own.text.clone()))
            .with_images(images.unwrap_or_else(|| own.images.clone())),
    )
}
