//! Drafts that the model no longer reads once a newer message follows.

use haft_sdk::protocol::content::ContentBlock;
use haft_sdk::protocol::message::Message;
use haft_sdk::{ContextDecision, Extension, InterceptContext};

/// True if a message of the person is a draft.
fn is_draft(message: &Message) -> bool {
    let Message::User { content, .. } = message else { return false };
    matches!(content.first(), Some(ContentBlock::Text { text }) if text.starts_with("(draft)"))
}

pub(crate) fn build() -> Extension {
    Extension::new("context_filter", "1.0.0").intercept_context(
        |context: InterceptContext, _host| async move {
            let mut messages = context.messages;
            let newest = messages.pop();
            messages.retain(|message| !is_draft(message));
            ContextDecision::replace(messages.into_iter().chain(newest).collect::<Vec<_>>())
        },
    )
}
