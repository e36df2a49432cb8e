//! Answers that are there as a whole, for models that do not come by them piece by piece.

use futures::{StreamExt, stream};
use haft_protocol::content::ToolCall;
use haft_protocol::message::{AssistantBlock, Stop, Usage};

use super::{ModelEvent, ModelResponse, ModelStream};

impl ModelResponse {
    /// An answer in text, after which the model has no more to say.
    pub fn text(text: impl Into<String>) -> Self {
        let content = vec![AssistantBlock::Text { text: text.into() }];
        Self { content, stop: Stop::End, usage: Usage::default(), native: None }
    }

    /// An answer that calls tools, and waits for their results.
    pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        let content = calls.into_iter().map(AssistantBlock::ToolCall).collect();
        Self { content, stop: Stop::ToolUse, usage: Usage::default(), native: None }
    }

    /// The answer as a stream: each block in one piece, then [`ModelEvent::Done`].
    ///
    /// ```
    /// # use futures::StreamExt;
    /// use haft_core::model::{ModelEvent, ModelResponse};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let answer = ModelResponse::text("Hello!");
    /// let events: Vec<_> = answer.clone().into_stream().collect().await;
    /// assert_eq!(events, [Ok(ModelEvent::Text("Hello!".into())), Ok(ModelEvent::Done(answer))]);
    /// # }
    /// ```
    pub fn into_stream(self) -> ModelStream {
        let mut events: Vec<ModelEvent> = self.content.iter().flat_map(pieces).collect();
        events.push(ModelEvent::Done(self));
        stream::iter(events.into_iter().map(Ok)).boxed()
    }
}

/// What is told of a block while it comes.
fn pieces(block: &AssistantBlock) -> Vec<ModelEvent> {
    match block {
        AssistantBlock::Text { text } => vec![ModelEvent::Text(text.clone())],
        AssistantBlock::Thinking { text } => vec![ModelEvent::Thinking(text.clone())],
        AssistantBlock::ToolCall(ToolCall { id, name, args }) => vec![
            ModelEvent::ToolCallStart { id: id.clone(), name: name.clone() },
            ModelEvent::ToolCallArgs { id: id.clone(), delta: args.as_str().to_owned() },
            ModelEvent::ToolCallEnd { id: id.clone() },
        ],
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;
    use haft_protocol::ids::ToolCallId;

    use super::*;

    #[tokio::test]
    async fn a_call_comes_with_its_arguments() {
        let id = ToolCallId::new("t1");
        let args = RawJson::parse(r#"{"n":1}"#).unwrap();
        let answer = ModelResponse::calls([ToolCall { id: id.clone(), name: "echo".into(), args }]);
        assert_eq!(answer.stop, Stop::ToolUse);
        let events: Vec<_> = answer.clone().into_stream().map(Result::unwrap).collect().await;
        assert_eq!(
            events,
            [
                ModelEvent::ToolCallStart { id: id.clone(), name: "echo".into() },
                ModelEvent::ToolCallArgs { id: id.clone(), delta: r#"{"n":1}"#.into() },
                ModelEvent::ToolCallEnd { id },
                ModelEvent::Done(answer),
            ]
        );
    }
}
