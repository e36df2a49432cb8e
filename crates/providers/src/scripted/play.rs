//! Replays a script: finds the step and produces the answer.

use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use haft_core::model::{ModelError, ModelErrorKind, ModelEvent, ModelResponse, wrap_invalid_args};
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, Message, TokenUsage};
use tokio_util::sync::CancellationToken;

use super::script::{MessageRole, ModelScript, ScriptCall, ScriptStep, StepCondition};

type ReplayItem = Result<ModelEvent, ModelError>;

#[derive(Debug)]
pub(super) struct ScriptPlayer {
    used: Vec<bool>,
    calls: u64,
}

impl ScriptPlayer {
    pub(super) fn new(steps: usize) -> Self {
        Self { used: vec![false; steps], calls: 0 }
    }

    /// Returns the answer to these messages, from the first unused step that matches, and the pause before each item.
    pub(super) fn answer(
        &mut self,
        script: &ModelScript,
        messages: &[Message],
    ) -> Result<(Vec<ReplayItem>, Duration), ModelError> {
        let free = script.steps.iter().zip(&mut self.used);
        let mut fitting =
            free.filter(|(step, used)| (!**used || step.repeat) && step.when.matches_last(messages));
        let Some((step, used)) = fitting.next() else {
            let left = self.used.iter().filter(|used| !**used).count();
            let message =
                format!("the script has no step for this message ({left} unused steps do not match)");
            return Err(ModelError::new(ModelErrorKind::Rejected, message));
        };
        *used = true;
        Ok((self.play_step(step, messages), Duration::from_millis(step.pause_ms)))
    }

    fn play_step(&mut self, step: &ScriptStep, messages: &[Message]) -> Vec<ReplayItem> {
        let mut items = Vec::new();
        let mut content = Vec::new();
        for line in &step.say {
            if let Some(text) = &line.text {
                let text = fill_placeholders(text, messages);
                items.extend(split_chunks(&text, step.chunk).map(ModelEvent::Text).map(Ok));
                content.push(AssistantBlock::Text { text });
            } else if let Some(text) = &line.thinking {
                let text = fill_placeholders(text, messages);
                items.extend(split_chunks(&text, step.chunk).map(ModelEvent::Thinking).map(Ok));
                content.push(AssistantBlock::Thinking { text });
            } else if let Some(call) = &line.call {
                content.push(AssistantBlock::ToolCall(self.call(call, step.chunk, &mut items)));
            }
        }
        let end = match &step.error {
            Some(failure) => Err(ModelError::new(failure.kind, &failure.message)),
            None => Ok(ModelEvent::Done(
                ModelResponse::new(content, step.stop())
                    .with_usage(step.usage.map_or_else(TokenUsage::default, TokenUsage::from)),
            )),
        };
        items.push(end);
        items
    }

    fn call(&mut self, call: &ScriptCall, chunk: usize, items: &mut Vec<ReplayItem>) -> ToolCall {
        self.calls += 1;
        let id = ToolCallId::new(format!("call_{}", self.calls));
        let args = call.args.clone().unwrap_or_else(|| match &call.args_text {
            Some(text) => RawJson::parse(text)
                .ok()
                .filter(RawJson::is_object)
                .unwrap_or_else(|| wrap_invalid_args(text)),
            None => RawJson::empty_object(),
        });
        let text = call.args_text.as_deref().unwrap_or(args.as_str());
        items.push(Ok(ModelEvent::ToolCallStart { id: id.clone(), name: call.name.clone() }));
        items.extend(
            split_chunks(text, chunk).map(|delta| Ok(ModelEvent::ToolCallArgs { id: id.clone(), delta })),
        );
        items.push(Ok(ModelEvent::ToolCallEnd { id: id.clone() }));
        ToolCall { id, name: call.name.clone(), args }
    }
}

/// Returns the items one by one until the request is cancelled.
pub(super) fn cancellable_stream(
    cancel: CancellationToken,
    items: Vec<ReplayItem>,
    pause: Duration,
) -> impl Stream<Item = ReplayItem> + Send {
    let paused = stream::iter(items).then(move |item| async move {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        item
    });
    let cancelled = cancel.clone();
    let last = stream::once(async move {
        let error = ModelError::new(ModelErrorKind::Cancelled, "the request was cancelled");
        cancelled.is_cancelled().then_some(Err(error))
    });
    // If the answer's last item was sent, it is the end, even if the cancellation follows directly.
    let mut ended = false;
    let until = Box::pin(paused.take_until(cancel.cancelled_owned())).map(Some).chain(last);
    until.filter_map(std::future::ready).take_while(move |item| {
        let go_on = !ended;
        ended = matches!(item, Ok(ModelEvent::Done(_)) | Err(_));
        std::future::ready(go_on)
    })
}

impl StepCondition {
    fn matches_last(&self, messages: &[Message]) -> bool {
        let last = messages.last();
        let role = self.last_role.is_none_or(|role| last.is_some_and(|last| role_of(last) == role));
        let text = self.contains.as_ref();
        role && text.is_none_or(|text| last.is_some_and(|last| text_of(last).contains(text)))
    }
}

fn role_of(message: &Message) -> MessageRole {
    match message {
        Message::User { .. } => MessageRole::User,
        Message::Assistant(_) => MessageRole::Assistant,
        Message::Tool(_) => MessageRole::Tool,
    }
}

fn text_of(message: &Message) -> String {
    match message {
        Message::User { content, .. } => joined_text(content),
        Message::Assistant(message) => message.text(),
        Message::Tool(message) => joined_text(&message.content),
    }
}

const LAST_RESULT: &str = "{{last_tool_result";

/// Expands `{{last_tool_result}}` and `{{last_tool_result:NAME}}` in the text. A missing result is empty. The inserted
/// text is not expanded again.
fn fill_placeholders(text: &str, messages: &[Message]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, mark)) = rest.split_once(LAST_RESULT) {
        out.push_str(before);
        let Some((name, after)) = mark.split_once("}}") else {
            out.push_str(LAST_RESULT);
            rest = mark;
            continue;
        };
        out.push_str(&last_result(messages, name.strip_prefix(':')));
        rest = after;
    }
    out.push_str(rest);
    out
}

fn last_result(messages: &[Message], name: Option<&str>) -> String {
    let results = messages.iter().rev().filter_map(|message| match message {
        Message::Tool(message) => Some(message),
        Message::User { .. } | Message::Assistant(_) => None,
    });
    let mut fitting = results.filter(|message| name.is_none_or(|name| message.name == name));
    fitting.next().map(|message| joined_text(&message.content)).unwrap_or_default()
}

fn split_chunks(text: &str, size: usize) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let size = if size == 0 { characters.len().max(1) } else { size };
    characters.chunks(size).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}
