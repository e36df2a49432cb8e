//! A key that is hidden in each answer of the model, before it is stored.

use haft_sdk::protocol::message::AssistantBlock;
use haft_sdk::{Extension, InterceptMessageEnd, MessageEndDecision};

pub(crate) fn build() -> Extension {
    Extension::new("message_end", "1.0.0").intercept_message_end(
        |message: InterceptMessageEnd, _host| async move {
            let hidden = message.content.into_iter().map(|block| match block {
                AssistantBlock::Text { text } => {
                    AssistantBlock::Text { text: text.replace("SECRET", "[hidden]") }
                }
                other @ (AssistantBlock::Thinking { .. } | AssistantBlock::ToolCall(_)) => other,
            });
            MessageEndDecision::replace(hidden.collect::<Vec<_>>())
        },
    )
}
