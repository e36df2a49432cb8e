//! A scripted model.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use haft_core::hooks::CancellationToken;
use haft_core::model::{
    Model, ModelError, ModelErrorKind, ModelEvent, ModelId, ModelRequest, ModelResponse, ModelStream,
};
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::Message;
use tokio::sync::Notify;

/// The answer of the model to one request.
pub(crate) enum Answer {
    Say(&'static str),
    /// The same piece, repeated.
    Pieces(&'static str, usize),
    Call(&'static str, &'static str),
    Calls(Vec<(&'static str, &'static str)>),
    /// Sends the first part at once, and the rest when notified.
    Held(&'static str, Arc<Notify>, &'static str),
    /// Retries, falls back to another model, thinks, and then sends this text.
    Hesitates(&'static str),
    /// Sends the text after this many seconds.
    Takes(u64, &'static str),
    Fail(&'static str),
    Panic,
}

/// A scripted model: one answer for each request, then `echo: …`.
pub(crate) struct Played {
    name: &'static str,
    answers: Mutex<VecDeque<Answer>>,
}

impl Played {
    pub(crate) fn new(name: &'static str, answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self { name, answers: Mutex::new(answers.into_iter().collect()) })
    }
}

#[async_trait]
impl Model for Played {
    fn info(&self) -> ModelId {
        info(self.name)
    }

    async fn stream(&self, _: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let next = self.answers.lock().unwrap().pop_front();
        let Some(next) = next else {
            return Ok(ModelResponse::text(format!("echo: {}", last_text(&request))).into_stream());
        };
        Ok(match next {
            Answer::Say(text) => ModelResponse::text(text).into_stream(),
            Answer::Pieces(text, count) => {
                let pieces = (0..count).map(move |_| Ok(ModelEvent::Text(text.into())));
                let whole = ModelEvent::Done(ModelResponse::text(text.repeat(count)));
                let all = stream::iter(pieces.chain([Ok(whole)]));
                all.then(async |event| {
                    tokio::task::yield_now().await;
                    event
                })
                .boxed()
            }
            Answer::Call(name, args) => calls([(name, args)]),
            Answer::Calls(all) => calls(all),
            Answer::Held(before, gate, after) => held(before, gate, after),
            Answer::Hesitates(text) => hesitates(text),
            Answer::Takes(seconds, text) => {
                let late = async move {
                    // sleep: virtual time
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    ModelResponse::text(text).into_stream()
                };
                stream::once(late).flatten().boxed()
            }
            Answer::Fail(why) => return Err(ModelError::new(ModelErrorKind::Rejected, why)),
            Answer::Panic => panic!("the model is broken"),
        })
    }
}

fn info(model: &str) -> ModelId {
    ModelId { provider: "played".into(), model: model.into() }
}

fn calls(calls: impl IntoIterator<Item = (&'static str, &'static str)>) -> ModelStream {
    let calls = calls.into_iter().enumerate().map(|(at, (name, args))| {
        let (id, args) = (ToolCallId::new(format!("call-{}", at + 1)), RawJson::parse(args).unwrap());
        ToolCall { id, name: name.into(), args }
    });
    ModelResponse::with_tool_calls(calls).into_stream()
}

fn held(before: &'static str, gate: Arc<Notify>, after: &'static str) -> ModelStream {
    let whole = ModelResponse::text(format!("{before}{after}"));
    let rest = async move {
        gate.notified().await;
        stream::iter([Ok(ModelEvent::Text(after.into())), Ok(ModelEvent::Done(whole))])
    };
    stream::iter([Ok(ModelEvent::Text(before.into()))]).chain(stream::once(rest).flatten()).boxed()
}

fn hesitates(text: &'static str) -> ModelStream {
    let again = ModelEvent::Retry {
        attempt: 2,
        delay: Duration::from_millis(500),
        message: "overloaded".into(),
        max_attempts: 2,
        kind: ModelErrorKind::Unavailable,
    };
    let other = ModelEvent::Fallback { from: info("one"), to: info("spare"), message: "overloaded".into() };
    let thinks = ModelEvent::Thinking("Let me see.".into());
    let events = [again, other, thinks, ModelEvent::Text(text.into())];
    let whole = ModelEvent::Done(ModelResponse::text(text));
    stream::iter(events.into_iter().chain([whole]).map(Ok)).boxed()
}

fn last_text(request: &ModelRequest) -> String {
    let text = request.messages.iter().rev().find_map(|message| match message {
        Message::User { content, .. } => Some(joined_text(content)),
        Message::Assistant(_) | Message::Tool(_) => None,
    });
    text.unwrap_or_default()
}
