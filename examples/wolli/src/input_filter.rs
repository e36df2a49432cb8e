//! Inputs: changed, or handled without the model.

use haft_sdk::protocol::content::InputSource;
use haft_sdk::{Extension, InputDecision, InterceptInput, NoteLevel};

pub(crate) fn build() -> Extension {
    Extension::new("input_filter", "1.0.0").intercept_input(|input: InterceptInput, host| async move {
        if input.source == InputSource::Extension {
            return InputDecision::Unchanged;
        }
        if let Some(question) = input.text.strip_prefix("?quick ") {
            return InputDecision::replace(format!("Respond briefly: {question}"));
        }
        if input.text == "ping" {
            host.notify(NoteLevel::Info, "pong");
            return InputDecision::Handled;
        }
        InputDecision::Unchanged
    })
}
