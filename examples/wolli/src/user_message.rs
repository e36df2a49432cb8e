//! Prompts of an extension: text, an image, and messages during a run.

use haft_sdk::protocol::content::Image;
use haft_sdk::protocol::rpc::PromptCommand;
use haft_sdk::{Extension, Host, HostError, Response};

/// A PNG of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

pub(crate) fn build() -> Extension {
    Extension::new("user_message", "1.0.0")
        .command("ask", "Ask the model about an image.", |_, host: Host| async move {
            let image = Image { mime_type: "image/png".to_owned(), data: PIXEL.into() };
            let message = "Describe this image:".to_owned();
            let prompt = PromptCommand { message, images: vec![image], ..PromptCommand::default() };
            host.session().execute_command(prompt).await?;
            Ok::<_, HostError>(Response::Noop)
        })
        .command("nudge", "Talk to the working model.", |_, host: Host| async move {
            host.session().steer("Focus on error handling").await?;
            host.session().follow_up("And then summarize").await?;
            Ok::<_, HostError>(Response::Noop)
        })
}
